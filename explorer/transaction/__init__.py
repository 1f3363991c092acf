"""How a version comes into being: staged actions, conflicts, the commit loop."""
