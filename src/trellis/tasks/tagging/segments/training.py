"""Semi-Markov training: segments from a corpus's labels, and the attributes of segments beside those of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trellis._support.arrays import Doubles, Ints, Longs, Ragged, runs_of
from trellis._support.errors import CorpusError, LearnerError
from trellis.corpus.corpus import BagColumn, Corpus
from trellis.engine.weights import Rows, padded
from trellis.features.extraction import compact
from trellis.features.vocabulary import FeatureSet
from trellis.learning.learner import Learner
from trellis.tasks.tagging.constraints import fitting_scheme, scheme_rules
from trellis.tasks.tagging.options import LONGEST
from trellis.tasks.tagging.segments.features import (
    Nodes,
    SegmentExtraction,
    SegmentVocabulary,
    extract_segments,
    segment_templates,
)
from trellis.tasks.tagging.segments.weights import SHAPE, SegmentModel, SegmentTypes, segments_of

if TYPE_CHECKING:
    from trellis.tasks.tagging.training.encoding import Labelling, Setup

# Options that cannot be combined with segments.
REFUSED = ("init", "partial", "beam", "tag_dictionary", "prune", "label_parts")


def segment_features(features: FeatureSet, corpus: Corpus, learner: Learner, settings: Mapping[str, Any]) -> FeatureSet:
    """Add the default templates of segments if there are none; LearnerError for incompatible options."""
    if "segments" not in learner.abilities:
        raise LearnerError(
            f"{type(learner).__name__} with these parameters does not support segments; use an online learner without "
            "vote, CRF, ExponentialLoss or HMSVM(solver='frank-wolfe')"
        )
    refused = next((name for name in REFUSED if settings[name] and settings[name] != "auto"), None)
    if refused is not None:
        raise LearnerError(f"{refused} cannot be combined with segments; omit one of them")
    if features.of_segments:
        return features
    columns = [name for name in features.columns if not isinstance(corpus.columns.get(name), BagColumn)]
    return replace(features, of_segments=tuple(segment_templates(columns)))


@dataclass(frozen=True, slots=True)
class Segmenting:
    """The segments of a training corpus, and the sentences used for training: those without longer segments."""

    types: SegmentTypes
    begins: Longs  # [n] first tokens, in the used sentences
    lengths: Longs
    columns: Ints  # [n] of their types
    sentences: Longs  # sentences
    n_left_out: int

    def facts(self, copies: int) -> dict[str, Any]:
        """Entries of the training record; ``copies`` is the number of copies of every sentence."""
        of_segments = {"longest": self.types.longest, "sentences_left_out": self.n_left_out // copies}
        return {"scheme": self.types.scheme, "segments": of_segments}

    def bytes_needed(self, starts: Longs) -> int:
        """Minimum memory of training: attributes of all segments, and the lattice of the longest sentence."""
        longest_sentence, stride = int(np.diff(starts).max()), padded(len(self.types.labels))
        in_lists = 16 * int(starts[-1]) * self.types.most
        per_token = 4 * stride * self.types.most + 28 * int(self.types.shapes()[:, SHAPE.index("longest")].sum())
        return in_lists + longest_sentence * per_token

    def weights(self, sentence_weights: Doubles | None) -> Doubles | None:
        """Weights of the used sentences."""
        selected = None if sentence_weights is None else sentence_weights[self.sentences]
        if selected is not None and not selected.any():
            raise LearnerError(
                "sample_weight is 0 for every sentence whose segments are short enough; increase longest"
            )
        return selected


def segmented(
    corpus: Corpus, target: str, labelling: Labelling, scheme: str | None, longest: int | None
) -> tuple[Corpus, Labelling, Segmenting]:
    """The training sentences, their labels and segments.

    CorpusError if labels encode no spans, or are illegal in the scheme.
    """
    labels, gold, guessed = labelling.labels, labelling.gold, scheme is None
    scheme = scheme or fitting_scheme(labels, gold, corpus.starts)
    if scheme is None:
        examples = ", ".join(labels[:3])
        text = f"column {target!r} marks no spans ({examples}...); segments need labels such as O, B-NP, I-NP"
        raise CorpusError(corpus.source, None, text)
    scheme_rules(corpus, target, labels, gold, scheme, guessed=guessed)
    if twice := next((label for label in labels if f"{label}-" in labels), None):
        raise CorpusError(
            corpus.source, None, f"column {target!r}: {twice!r} and '{twice}-' mark the same type; use one of them"
        )
    kinds = dict.fromkeys(label.partition("-")[2] for label in labels if label != "O")
    types = SegmentTypes(labels, scheme, dict.fromkeys(kinds, 1))
    begins, lengths, columns = segments_of(types, gold, corpus.starts)
    longest_of = {kind: int(lengths[columns == types.column_of(kind)].max(initial=1)) for kind in kinds}
    types = replace(types, longest={kind: n if longest is None else min(n, longest) for kind, n in longest_of.items()})
    if types.most > LONGEST:
        text = f"column {target!r} has a segment of {types.most} tokens (limit {LONGEST:,}); set Segments(longest=100)"
        raise CorpusError(corpus.source, None, text)
    fits = lengths <= np.array([types.longest.get(types.type_of_column(z), 1) for z in range(len(labels))])[columns]
    too_long = np.unique(np.searchsorted(corpus.starts, begins[~fits], side="right") - 1)
    sentences = np.delete(np.arange(len(corpus)), too_long)
    if len(too_long):
        labelling = replace(labelling, gold=gold[runs_of(corpus.starts, sentences)[1]])
        corpus = corpus.take(sentences)
        begins, lengths, columns = segments_of(types, labelling.gold, corpus.starts)
    if corpus.n_tokens == 0:
        raise LearnerError(f"every sentence has a segment of more than {types.most} tokens; increase longest")
    return corpus, labelling, Segmenting(types, begins, lengths, columns, sentences, len(too_long))


@dataclass(frozen=True, slots=True)
class EncodedSegments:
    """The attributes of segments in a training problem."""

    types: SegmentTypes
    extraction: SegmentExtraction
    rank: Ints  # [n attributes of the extraction] numbers after those of tokens, -1 if dropped
    n_attributes: int  # number of remaining attributes

    def native(self, first: int) -> dict[str, Any]:
        """Arguments of `Encoded`, numbered from ``first`` on."""
        lists = self.extraction.lists.renumber(np.where(self.rank < 0, -1, self.rank + first).astype(np.int32))
        return {"rules": self.types.native(), "lists": lists.arrays, "first": first}

    def frozen(self, first: int, attributes: Ints | None = None) -> SegmentModel:
        """Vocabulary for a model; ``attributes`` renumbers attributes, -1 drops one."""
        rank = self.rank if attributes is None else np.append(attributes, np.int32(-1))[self.rank]
        x = self.extraction
        return SegmentModel(self.types, SegmentVocabulary(x.plan, x.strings, Nodes(**x.growing.nodes(rank))), first)


def encode_segments(setup: Setup) -> tuple[EncodedSegments, Rows | None]:
    """Number the attributes of segments; with pairs "seen" also the types seen with each."""
    from trellis.tasks.tagging.training.edges import Seen
    from trellis.tasks.tagging.training.encoding import Counted, select

    spans, corpus = setup.segmenting, setup.corpus
    assert spans is not None
    templates = setup.features.of_segments
    names = dict.fromkeys(look.column for t in templates for look in t.looks if look.place != "length")
    columns = {name: compact(corpus.column(name)) for name in names}
    extraction = extract_segments(
        templates, columns, corpus.starts, (spans.begins, spans.lengths), spans.types.most, setup.settings.n_threads
    )
    counts = Counted(extraction.growing.n_attributes, len(spans.types.labels))
    counts.add(extraction.seen, [Seen(extraction.seen, np.arange(len(spans.begins)), spans.columns)])
    rank, rows = select(counts, setup.settings.min_count, setup.settings.pairs, np.empty(0, np.int32))
    extraction = replace(extraction, seen=Ragged.none())
    return EncodedSegments(spans.types, extraction, rank, int(rank.max(initial=-1)) + 1), rows


def joined_rows(first: Rows, second: Rows) -> Rows:
    """Concatenate rows of tokens and rows of segments."""
    starts = np.concatenate([first.starts, first.starts[-1] + second.starts[1:]]).astype(np.uint32)
    labels = np.concatenate([first.labels.astype(np.uint32), second.labels.astype(np.uint32)])
    return Rows(starts, labels, np.concatenate([first.weights, second.weights]))
