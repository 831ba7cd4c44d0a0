"""Two-pass tagging: labels of a first pass elsewhere in a document are features of a second model.

Krishnan and Manning 2006. A name is often clear in one sentence and ambiguous in another. The first model labels all
sentences. Then each token gets two columns: the majority label of the other tokens with the same word in the document,
and in the whole corpus (``no other`` if there are none). A second model reads them in addition to the input columns.
For labels that encode spans, the type is used.

Documents begin at ``-DOCSTART-`` lines and at ``# newdoc`` comments; without any, all sentences of a call are one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trellis._support.arrays import Ints, Longs
from trellis._support.errors import LearnerError
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.corpus.schemes import OUTSIDE, guess_scheme, split_label
from trellis.features.presets import ALIASES
from trellis.tasks.tagging.chain_model import FIRST_PASS

if TYPE_CHECKING:
    from trellis.tasks.tagging.chain_model import ChainModel
    from trellis.tasks.tagging.decoding import ChainDecoder

NONE = "no other"
PIECE = 1 << 16  # tokens per chunk, which limits the memory of label counts


def elsewhere(words: Column, labels: Column, groups: Longs) -> Column:
    """Majority label of the other tokens with the same word in the group of each token; the first label if tied.

    ``labels`` are those of the first pass, ``groups`` [n_tokens] the numbers of documents.
    """
    kinds = labels.values.tolist()
    if guess_scheme(kinds) is not None:  # for labels that encode spans the type is used
        kinds = [kind if letter != OUTSIDE else OUTSIDE for letter, kind in map(split_label, kinds)]
    names = sorted(set(kinds))
    kind = np.array([names.index(name) for name in kinds], np.int64)[labels.codes]
    _, place = np.unique(groups * (int(words.codes.max(initial=0)) + 1) + words.codes, return_inverse=True)
    place = place.reshape(-1)
    n = int(place.max(initial=-1)) + 1
    counts = np.bincount(place * len(names) + kind, minlength=n * len(names)).reshape(n, len(names))
    out: Ints = np.empty(len(place), np.int32)
    for begin in range(0, len(place), PIECE):
        piece = slice(begin, begin + PIECE)
        rest = counts[place[piece]]
        rest[np.arange(len(rest)), kind[piece]] -= 1
        out[piece] = np.where(rest.any(axis=1), rest.argmax(axis=1), len(names))
    return Column(out, Strings.of([*names, NONE]))


def with_columns(corpus: Corpus, words: str, labels: Column) -> Corpus:
    """Add the columns computed from labels of a first pass; ``words`` is the column of words."""
    documents = np.repeat(corpus.document_numbers(), np.diff(corpus.starts))
    for name, groups in zip(FIRST_PASS, (documents, np.zeros_like(documents)), strict=True):
        corpus = corpus.with_column(name, elsewhere(corpus.column(words), labels, groups))
    return corpus


def completed(corpus: Corpus, first: ChainDecoder, n_threads: int) -> Corpus:
    """Add the columns of a first pass."""
    codes, _ = first.best_codes(corpus, "viterbi", None, n_threads)
    return with_columns(corpus, word_column(first.model), Column(codes, Strings.of(first.labels)))


def word_column(model: ChainModel) -> str:
    """The column of words: a column with a usual name, else the first one read by templates."""
    names = [column.name for column in model.vocabulary.inputs]
    if not names:
        raise LearnerError("documents=True needs a template that reads a column of words, such as word[0]")
    return next((name for name in ("word", *ALIASES["word"]) if name in names), names[0])
