"""What can be learned, one package per task; all have the same verbs and the same file names."""
