"""Parts of a tagger's training: encoding, pruning, dictionaries, documents, streams, warm starts."""
