"""From columns of strings to integer ids of features: the only place that knows strings."""
