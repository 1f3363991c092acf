"""Views: layout, and which answer stands where."""
