"""Private helpers, independent of models: errors, argument checks, arrays, atomic writes."""
