"""What the features of a table ask of a commit, one module for each kind of rule."""
