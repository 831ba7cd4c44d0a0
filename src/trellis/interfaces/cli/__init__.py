"""The command line; each command is a small file, imported when it is called."""
