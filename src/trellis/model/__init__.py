"""The model as data: weights, vocabulary, labels, and the file they live in."""
