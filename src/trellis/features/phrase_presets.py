"""Templates of phrases that need not be written down: by name (docs/trees.md)."""

from __future__ import annotations

_ENDS = ("first", "last", "first-1", "last+1")

# After Hall, Durrett and Klein (2014): the words at both ends of a phrase and around it, its length and its outline,
# the words around a split point; here with tags beside the words, and pairs of them.
PHRASE_PRESETS: dict[str, list[str]] = {
    "rules": ["bias"],
    "spans": [
        "bias",
        *(f"word[{place}]" for place in _ENDS),
        *(f"rare_suffix(word[{place}], 3)" for place in _ENDS),
        *(f"pos[{place}]" for place in _ENDS),
        *("length", "outline"),
        *("pos[first-1] & pos[last+1]", "pos[first] & pos[last]"),
        *("pos[first-1] & pos[first]", "pos[last] & pos[last+1]"),
        *("pos[first] & pos[first+1]", "pos[last-1] & pos[last]"),
        *("pos[first-2] & pos[first-1]", "pos[last+1] & pos[last+2]"),
        "pos[first-1] & pos[first] & pos[last] & pos[last+1]",
        *("word[first+1]", "word[last-1]"),
        *("word[first] & word[last]", "word[first] & pos[last]", "pos[first] & word[last]"),
        *("pos[first] & length", "pos[last] & length"),
        *("word[split]", "word[split-1]"),
        *("rare_suffix(word[split], 3)", "rare_suffix(word[split-1], 3)"),
        *("pos[split]", "pos[split-1]"),
        *("pos[split-1] & pos[split]", "pos[split] & pos[split+1]", "pos[split-2] & pos[split-1]"),
        *("word[split-1] & pos[split]", "pos[split-1] & word[split]"),
    ],
}
