"""What the views ask for; only this package talks to the engine."""
