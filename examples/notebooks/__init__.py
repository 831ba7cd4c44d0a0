"""Notebooks for readers and courses, with their outputs; ``python -m examples.notebooks`` makes the outputs again."""
