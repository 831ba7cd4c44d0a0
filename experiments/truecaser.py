"""The training of the bundled truecaser, ``builtin:truecase``: the casing of each word of a text without capitals.

Its labels are lower, Title, UPPER and MiXed. The corpus is the manual of Python (pydoc_data.topics), which is under the
licence of the Python Software Foundation. ``python -m experiments.truecaser`` trains it again, replaces the bundled
file, and shows its scores on held-out paragraphs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from pydoc_data.topics import topics

from trellis.corpus.corpus import Corpus
from trellis.corpus.objects import from_mapping
from trellis.corpus.tokens import tokenize
from trellis.learners.crf import CRF
from trellis.tasks.tagging.builtin import builtin_file
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.options import Features
from trellis.tasks.tagging.train import train

HELD_OUT = 10  # every n-th paragraph
FEATURES = [
    "bias",
    "is_first",
    "word[0]",
    "word[-1]",
    "word[1]",
    "word[-1] & word[0]",
    "word[0] & word[1]",
    "suffix(word[0], 3)",
    "suffix(word[0], 5)",
    "prefix(word[0], 3)",
    "shape(word[0])",
]


def casing(word: str) -> str:
    """How a word is written."""
    letters = [c for c in word if c.isalpha()]
    if not any(c.isupper() for c in letters):
        return "lower"
    if word[0].isupper() and not any(c.isupper() for c in letters[1:]):
        return "Title"
    return "UPPER" if all(c.isupper() for c in letters) else "MiXed"


def _corpus(paragraphs: Iterable[str]) -> Corpus:
    sentences = [[token.text for token in sentence] for part in paragraphs for sentence in tokenize(part)]
    words = [[word.lower() for word in sentence] for sentence in sentences]
    return from_mapping({"word": words, "case": [[casing(word) for word in s] for s in sentences]}, None)


def corpora() -> tuple[Corpus, Corpus]:
    """Training and held-out corpora. Duplicate paragraphs, code and tables are removed."""
    parts = dict.fromkeys(part for name in sorted(topics) for part in topics[name].split("\n\n"))
    prose = [part for part in parts if len(part) > 80 and not part.startswith(("   ", "+", "|"))]
    return _corpus(p for i, p in enumerate(prose) if i % HELD_OUT), _corpus(prose[::HELD_OUT])


def truecaser() -> tuple[Tagger, Corpus]:
    """The tagger, and the held-out corpus."""
    training, test = corpora()
    learner = CRF(c1=1.0, c2=0.0, epochs=200)
    about = {"text": "the manual of Python, pydoc_data.topics", "licence": "PSF-2.0"}
    return train(training, target="case", features=Features(FEATURES, min_count=2), learner=learner, info=about), test


if __name__ == "__main__":
    tagger, test = truecaser()
    sys.stdout.write(f"{tagger}\n{tagger.evaluate(test)}\n{tagger.error_analysis(test)}\n")
    tagger.save(Path(str(builtin_file("truecase"))))
