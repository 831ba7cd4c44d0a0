"""From raw text to CoNLL-U: tokens, words, tags, lemmas and trees."""
