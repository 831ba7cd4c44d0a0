"""A shelf of pipelines: train, evaluate and pack models of Universal Dependencies treebanks."""
