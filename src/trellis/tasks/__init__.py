"""One package per task; all have the same verbs and the same module names."""
