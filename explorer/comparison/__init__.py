"""Two versions side by side: files, rows, statistics, schema, properties and protocol."""
