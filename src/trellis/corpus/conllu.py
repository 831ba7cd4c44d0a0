"""CoNLL-U, the format of Universal Dependencies: ten columns, comments, word ranges and empty nodes."""

from __future__ import annotations

from trellis.corpus.columns import Layout

CONLLU_NAMES = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")

# Words are the tokens. Ranges (1-2), empty nodes (8.1) and comments are kept as extras and written back.
CONLLU = Layout(CONLLU_NAMES, tabs=True, comments=True, ids=True)
