"""Benchmarks, one file each: ``python -m benchmarks [NAME] [--data FOLDER] [--quick]``."""
