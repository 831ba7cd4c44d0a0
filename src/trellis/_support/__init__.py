"""Private helpers that know nothing of models: errors, checks of arguments, arrays, atomic writes."""
