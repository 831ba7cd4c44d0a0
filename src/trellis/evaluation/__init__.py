"""How good a tagging is: tokens, sentences, spans."""
