"""Programs that are built with trellis; run them from the root of the repository, ``python -m examples.NAME``."""
