"""What makes a page one that is served to others: sign-in, headers, health."""
