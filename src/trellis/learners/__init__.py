"""One algorithm of the papers a file."""
