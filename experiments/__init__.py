"""The papers' experiments and the theory on a corpus; run from a clone: ``python -m experiments``."""
