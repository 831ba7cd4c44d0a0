"""Ready-made lists of templates, each as readable as the table of the paper it comes from."""

from __future__ import annotations


def _window(look: str, first: int, last: int) -> list[str]:
    """One look, with {} in place of its offset, for every offset of a window."""
    return [look.format(offset) for offset in range(first, last + 1)]


def _runs(column: str, length: int, first: int, last: int) -> list[str]:
    """All n-grams of a given length within first..last; length 2 gives bigrams."""
    return [" & ".join(_window(f"{column}[{{}}]", k, k + length - 1)) for k in range(first, last - length + 2)]


def _chunking(words: list[str]) -> list[str]:
    """Words around the token, some of their bigrams, and all tags, bigrams and trigrams of tags."""
    tags = [run for length in (1, 2, 3) for run in _runs("pos", length, -2, 2)]
    return [*_runs("word", 1, -2, 2), *words, *tags]


# Collins 2002, figure 3: words and part-of-speech tags around the token.
COLLINS_CHUNKING = _chunking(_runs("word", 2, -2, 2))

# The template file that CRF++ and CRFsuite ship for CoNLL-2000: as figure 3, with two word bigrams.
CHUNKING = _chunking(_runs("word", 2, -1, 1))

# Ratnaparkhi 1996, table 1, used as Collins 2002 (section 4.2) says: no difference between rare and other words.
RATNAPARKHI_POS = [
    "word[0]",
    *(f"prefix(word[0], {k})" for k in (1, 2, 3, 4)),
    *(f"suffix(word[0], {k})" for k in (1, 2, 3, 4)),
    *("has_digit(word[0])", "has_upper(word[0])", "has_hyphen(word[0])"),
    *("word[-1]", "word[-2]", "word[1]", "word[2]"),
]

# Altun, section 5.3: S1 has the features of an HMM, S2 adds spelling, all of it in a window of three words.
ALTUN_S1 = ["word[0]"]
ALTUN_S2 = [
    *_window("word[{}]", -1, 1),
    *(look for k in (1, 2, 3) for look in _window(f"suffix(word[{{}}], {k})", -1, 1)),
    *(
        look
        for function in ("is_capitalized", "has_dot", "has_hyphen", "has_digit")
        for look in _window(f"{function}(word[{{}}])", -1, 1)
    ),
    "is_first",
]

# Features of a hidden Markov model: the word; for rare words their suffixes (Brants 2000, TnT).
HMM = ["word[0]", *(f"rare_suffix(word[0], {k})" for k in range(8))]

# Words of any language: the word and its neighbours, prefixes, suffixes and word shape. This preset and those below
# were chosen on dev sentences only (docs/presets.md).
DEFAULT = [
    *_runs("word", 1, -2, 2),
    "word[-1] & word[0]",
    "word[0] & word[1]",
    "lower(word[0])",
    *(f"prefix(lower(word[0]), {k})" for k in range(1, 8)),
    *(f"suffix(lower(word[0]), {k})" for k in range(1, 8)),
    "prefix(lower(word[0]), 3) & suffix(lower(word[0]), 3)",
    *_window("shape(word[{}])", -1, 1),
    "has_upper(word[0])",
    "is_first & shape(word[0])",
    *("suffix(lower(word[-1]), 3)", "suffix(lower(word[1]), 3)"),
]

# The same with label trigrams, and words with the preceding label: better on large corpora.
RICH = [
    *DEFAULT,
    *("label[-2..-1]", "label[-1] & lower(word[0])", "label[-1] & suffix(lower(word[0]), 2)"),
]

# Morphological tags: suffixes combined with the word shape.
MORPHOLOGY = [*DEFAULT, *(f"shape(word[0]) & suffix(lower(word[0]), {k})" for k in range(2, 7))]

# Named entities: label trigrams, shapes of neighbouring words, also combined with labels.
NER = [
    *DEFAULT,
    "label[-2..-1]",
    "label[-1] & shape(word[-1]) & shape(word[0])",
    "label[-1] & shape(word[0]) & shape(word[1])",
    *(f"prefix(word[{offset}], 3)" for offset in (-1, 1)),
    *(f"suffix(lower(word[{offset}]), 2)" for offset in (-1, 1)),
    "lower(word[-1]) & shape(word[0])",
    "shape(word[0]) & lower(word[1])",
]

# Chunks of tagged words: the looks of CHUNKING, longer conjunctions, prefixes and suffixes of the word.
PHRASES = [
    *CHUNKING,
    *_runs("pos", 4, -2, 2),
    *("pos[-3]", "pos[3]", "pos[2] & pos[3]"),
    *(f"word[{word}] & pos[{pos}]" for word in (-1, 0, 1) for pos in (-1, 0, 1)),
    *("word[-2] & word[-1]", "word[-1] & word[1]", "word[1] & word[2]"),
    *(f"prefix(lower(word[0]), {k})" for k in (2, 3, 4)),
    *(f"suffix(lower(word[0]), {k})" for k in (2, 3, 4)),
    "label[-2..-1]",
    "label[-1] & word[0]",
]

# Characters: all n-grams of up to four letters near the token, and label 4-grams.
LETTER_RUNS = [run for n, reach in ((1, 3), (2, 2), (3, 2), (4, 3)) for run in _runs("letter", n, -reach, reach)]
LETTERS = [*LETTER_RUNS, "label[-3..-1]"]

# Characters of unspaced text, labelled as parts of words: surrounding characters, their classes, and the words of
# training that begin, end or continue here.
SEGMENTATION = [
    *_runs("character", 1, -2, 2),
    *_runs("character", 2, -2, 2),
    "character[-1] & character[1]",
    "kinds(character[-1]) & kinds(character[0]) & kinds(character[1])",
    *(f"{function}(character[0])" for function in ("begins", "inside", "ends")),
    *(f"{function}(character[0]) & character[0]" for function in ("begins", "inside", "ends")),
]

# Attributes the user computed: a list of strings per token, or a dict of name to value.
ATTRIBUTES = ["attributes[0]"]

# Templates of segments, in addition to their length, for each column read by templates of tokens; {0} is the column.
SEGMENTS = ["{0}[segment]", "{0}[first] & {0}[last]"]

PRESETS: dict[str, list[str]] = {
    "default": DEFAULT,
    "rich": RICH,
    "ner": NER,
    "phrases": PHRASES,
    "morphology": MORPHOLOGY,
    "chunking": CHUNKING,
    "collins-chunking": COLLINS_CHUNKING,
    "ratnaparkhi-pos": RATNAPARKHI_POS,
    "altun-s1": ALTUN_S1,
    "altun-s2": ALTUN_S2,
    "hmm": HMM,
    "letters": LETTERS,
    "segmentation": SEGMENTATION,
    "attributes": ATTRIBUTES,
}

# Substitutes for a missing column of a preset: the first one in the corpus is used.
ALIASES: dict[str, tuple[str, ...]] = {
    "word": ("form", "token", "letter"),
    "character": ("char", "letter"),
    "letter": ("char", "character", "word", "form"),
    "pos": ("upos", "xpos", "tag"),
    "attributes": ("features",),
}
