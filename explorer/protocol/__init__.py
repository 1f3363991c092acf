"""What the specification says: values in, values out, no I/O."""
