"""The papers' experiments, one per file; ``experiments.EXPERIMENTS`` lists them."""
