"""The trained model as its user meets it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trellis import _core
from trellis.corpus.corpus import Column, Corpus
from trellis.corpus.strings import Strings
from trellis.errors import ModelError
from trellis.features.functions import Function
from trellis.features.plan import function_of, native_calls
from trellis.model import model_file
from trellis.model.model import Model
from trellis.tagger.decoding import (
    By,
    all_posteriors,
    best_codes,
    chains_of,
    encode,
    explain_sentence,
    k_best_paths,
    one,
    rows_of,
    span_probability,
    spans_with_probabilities,
)
from trellis.threads import thread_count

if TYPE_CHECKING:
    from trellis.corpus.schemes import Span
    from trellis.engine.temperature import Criterion
    from trellis.evaluation.reliability import Calibration
    from trellis.evaluation.report import Report
    from trellis.model.constraints import AllowedLabels
    from trellis.model.dual import SupportSequence
    from trellis.model.kernels import KernelFunction
    from trellis.tagger.explanation import Explanation
    from trellis.tagger.heaviest import NamedWeight
    from trellis.tagger.posterior import Measure, Posterior

# What tagging remembers of words it met: views and summed weights, for this many bytes at most.
CACHE_BYTES = 256 << 20
Sentence = Sequence[str] | Sequence[Sequence[str]] | Sequence[Mapping[str, Any]] | Mapping[str, Sequence[str]]


class Tagger:
    """Labels sequences. Get one from ``trellis.train`` or ``trellis.load``.

    A sentence is a list of strings; where the model reads several columns, a list of tuples or a dict of column name
    to list of strings; where it reads free-form attributes, a list of dicts or of lists of strings (beside other
    columns, they are the last of the tuple).
    """

    __slots__ = ("_decoder", "_expansion", "_forbids", "_functions", "_model", "_votes", "columns", "labels")

    def __init__(self, model: Model) -> None:
        self._model = model
        self.labels: tuple[str, ...] = model.labels
        vocabulary = model.vocabulary
        self.columns: tuple[str, ...] = tuple(c.name for c in vocabulary.columns)  # what it reads
        if vocabulary.bag is not None:
            self.columns += (vocabulary.bag[0],)
        weights, tags = model.weights, model.dictionary
        tables = (weights.edge, weights.tri, weights.end)
        self._forbids = any(table is not None and bool((table == -np.inf).any()) for table in tables)
        try:
            self._functions: list[list[Function | None]] = [
                [
                    function_of(view, vocabulary.lookups, column.name) if view else None
                    for view in column.views
                ]
                for column in vocabulary.columns
            ]
            self._decoder = _core.Decoder(
                vocabulary.plan_arrays,
                vocabulary.n_emission,
                vocabulary.tables,
                vocabulary.folds,
                [
                    (
                        column.values.arrays,
                        column.view_ids,
                        [None if strings is None else strings.arrays for strings in column.strings],
                        tags.set_of if tags is not None and c == 0 else None,
                        [native_calls(view) for view in column.views],
                    )
                    for c, column in enumerate(vocabulary.columns)
                ],
                None if vocabulary.bag is None else (vocabulary.bag[1].arrays, vocabulary.bag[2]),
                weights.rows.arrays,
                None if weights.edge_rows is None else weights.edge_rows.arrays,
                weights.edge,
                weights.tri,
                weights.end_rows,
                None if tags is None else (tags.starts, tags.labels, 0),
                list(self.labels),
                self._wanted(),
                CACHE_BYTES,
                local=model.family == "local",
            )
            self._votes: _core.Votes | None = None
            if weights.votes is not None:
                n_edges = 0 if weights.edge_rows is None else weights.edge_rows.n_attributes
                self._votes = weights.votes.native(
                    weights.rows.n_attributes, n_edges, len(self.labels), 2 if model.order == 2 else 1
                )
            self._expansion: _core.Expansion | None = None
            if weights.dual is not None:
                weights.dual.support.check(len(self.labels))
            if weights.expansion is not None:
                self._expansion = weights.expansion.native(weights.rows.n_attributes, len(self.labels))
        except (ValueError, TypeError, LookupError, MemoryError) as error:
            raise ModelError(f"the parts of the model do not fit together: {error}") from error

    @property
    def _plain(self) -> bool:
        """Whether the native decoder alone knows the best path."""
        return not self._forbids and self._votes is None and self._expansion is None

    def _wanted(self) -> str:
        """What a token must be, for messages."""
        if self._model.vocabulary.bag is not None and len(self.columns) == 1:
            return "a list of strings or a dict a token"
        return "one string a token" if len(self.columns) == 1 else f"({', '.join(self.columns)}) a token"

    @property
    def target(self) -> str:
        """The column it predicts."""
        return self._model.target

    @property
    def order(self) -> int:
        """How many labels back a label looks."""
        return self._model.order

    @property
    def info(self) -> dict[str, Any]:
        """How it was trained: learner, history, version, sizes."""
        return self._model.info

    @property
    def model(self) -> Model:
        """The model as data."""
        return self._model

    @property
    def measure(self) -> Measure:
        """What its marginals are: probabilities, or of a learner without them confidences, a softmax of scores."""
        return "confidence" if self._model.family == "scores" else "probability"

    @property
    def temperature(self) -> float:
        """By which scores are divided before they become probabilities or confidences; see ``calibrated``."""
        return self._model.temperature

    def tag(self, sentence: Sentence, *, by: By = "path", allowed: AllowedLabels | None = None) -> list[str]:
        """The best labels of one sentence: the best path, or by="label" the most probable label at each position.

        ``allowed`` restricts labels: {position: label or labels}, or a list with None where any label will do. It
        overrules the tag dictionary. ConstraintError if no label sequence is left.
        """
        if by != "path" or allowed is not None or not self._plain:
            return self.tag_batch([sentence], by=by, allowed=one(allowed), n_threads=1)[0]
        labels = self._decoder.tag_one(rows_of(self, sentence))
        # None if a word was met for the first time.
        return self._decoder.labels(encode(self, [sentence]), 1)[0] if labels is None else labels

    def tag_batch(
        self,
        sentences: Sequence[Sentence] | Corpus,
        *,
        by: By = "path",
        allowed: Sequence[AllowedLabels | None] | None = None,
        n_threads: int | None = None,
    ) -> list[list[str]]:
        """The best labels of many sentences, by all cores unless ``n_threads`` says otherwise."""
        n_threads = thread_count(n_threads)
        if by == "path" and allowed is None and self._plain:
            return self._decoder.labels(encode(self, sentences, n_threads), n_threads)
        codes, starts = best_codes(self, sentences, by, allowed, n_threads)
        labels = [self.labels[z] for z in codes.tolist()]
        return [labels[a:b] for a, b in itertools.pairwise(starts.tolist())]

    def tag_corpus(self, corpus: Corpus, *, by: By = "path", n_threads: int | None = None) -> Column:
        """The best labels of a corpus as a column, without a Python string a token."""
        codes, _ = best_codes(self, corpus, by, None, thread_count(n_threads))
        return Column(codes, Strings.of(self.labels))

    def kbest(
        self, sentence: Sentence, k: int, *, allowed: AllowedLabels | None = None
    ) -> list[tuple[list[str], float]]:
        """The k best label sequences with their scores, best first; fewer if there are not as many.

        Of a voted perceptron, by its averaged weights: the first need not be what ``tag`` gives.
        """
        found = k_best_paths(self, sentence, k, allowed)
        return [([self.labels[z] for z in path.tolist()], score) for path, score in found]

    def marginals(
        self, sentence: Sentence, *, edges: bool = False, allowed: AllowedLabels | None = None
    ) -> Posterior:
        """How much each label is believed at each position: ``marginals(sentence)[t]["B-NP"]``; ``node`` is an array.

        With ``edges`` also of label pairs. They are probabilities, or of a learner that has none (perceptron)
        confidences, the softmax of path scores at the model's temperature: ``measure`` says which.
        """
        return self.marginals_batch([sentence], edges=edges, allowed=one(allowed), n_threads=1)[0]

    def marginals_batch(
        self,
        sentences: Sequence[Sentence] | Corpus,
        *,
        edges: bool = False,
        allowed: Sequence[AllowedLabels | None] | None = None,
        n_threads: int | None = None,
    ) -> list[Posterior]:
        """The marginals of many sentences."""
        return all_posteriors(self, sentences, allowed, edges=edges, n_threads=thread_count(n_threads))

    def span_probability(
        self, sentence: Sentence, span: Span | tuple[str, int, int], *, allowed: AllowedLabels | None = None
    ) -> float:
        """The probability that exactly this span (type, begin, end) is in the output: begins there and ends there.

        The exact sum over all label sequences that have it. Of a learner without probabilities it is a confidence.
        """
        return span_probability(self, sentence, span, allowed)

    def tag_spans(
        self, sentence: Sentence, *, by: By = "path", allowed: AllowedLabels | None = None
    ) -> list[tuple[Span, float]]:
        """The spans of the best labels, each with its probability (of a learner without, its confidence)."""
        return self.tag_spans_batch([sentence], by=by, allowed=one(allowed), n_threads=1)[0]

    def tag_spans_batch(
        self,
        sentences: Sequence[Sentence] | Corpus,
        *,
        by: By = "path",
        allowed: Sequence[AllowedLabels | None] | None = None,
        n_threads: int | None = None,
    ) -> list[list[tuple[Span, float]]]:
        """The spans of many sentences with their probabilities."""
        return spans_with_probabilities(self, sentences, by, allowed, thread_count(n_threads))

    def constrained(self, scheme: str) -> Tagger:
        """A tagger that never emits a label sequence that the scheme (iob1, iob2, ioe1, ioe2, iobes...) forbids."""
        from trellis.corpus.schemes import scheme_named
        from trellis.model.constraints import forbid, scheme_base

        weights = forbid(self._model.weights, *scheme_base(self.labels, scheme))
        info = {**self._model.info, "scheme": scheme_named(scheme)}
        return Tagger(replace(self._model, weights=weights, info=info))

    def calibrated(
        self, dev: Any, *, target: str | None = None, by: Criterion = "labels", n_threads: int | None = None
    ) -> Tagger:
        """A tagger whose temperature is fitted to held-out sentences (a Corpus or what ``trellis.read`` takes).

        It minimises the negative log-likelihood of the gold labels under their marginals, or by="paths" that of whole
        gold paths. Best paths stay the same; marginals and confidences change, and the model keeps them so.
        """
        from trellis.tagger.calibration import calibrate

        return calibrate(self, dev, target=target, by=by, n_threads=thread_count(n_threads))

    def reliability(
        self, corpus: Any, *, target: str | None = None, n_bins: int = 10, n_threads: int | None = None
    ) -> Calibration:
        """Whether its confidences keep their word: reliability tables of labels, and of spans where there are any."""
        from trellis.tagger.calibration import measure_reliability

        return measure_reliability(
            self, corpus, target=target, n_bins=n_bins, n_threads=thread_count(n_threads)
        )

    def explain(self, sentence: Sentence, *, allowed: AllowedLabels | None = None) -> Explanation:
        """Why it gives these labels: each token's features with their weights, and why path 1 beats path 2."""
        return explain_sentence(self, sentence, allowed)

    def score(self, sentence: Sentence, labels: Sequence[str]) -> float:
        """The score of a label sequence: the sum of the weights (if voted, of the averaged ones) of its features."""
        from trellis.engine.chain import path_score

        potentials = chains_of(self, encode(self, [sentence]), None, 1, single=True).potentials
        if len(labels) != len(potentials.emit):
            raise ValueError(f"{len(labels)} labels for {len(potentials.emit)} tokens")
        unknown = next((label for label in labels if label not in self.labels), None)
        if unknown is not None:
            raise ValueError(f"no label {unknown!r} in this model; its labels are {', '.join(self.labels)}")
        return path_score(potentials, np.array([self.labels.index(label) for label in labels], np.int32))

    def evaluate(
        self, corpus: Any, *, target: str | None = None, by: By = "path", n_threads: int | None = None
    ) -> Report:
        """Compare its labels with those in a column of a corpus, or of what ``trellis.read`` takes."""
        from trellis.corpus.read import read
        from trellis.evaluation.report import evaluate_columns

        corpus = read(corpus)
        return evaluate_columns(
            corpus.column(target or self.target),
            self.tag_corpus(corpus, by=by, n_threads=n_threads),
            corpus.starts,
        )

    def heaviest(self, n: int = 20) -> list[NamedWeight]:
        """The n weights farthest from zero, each with the name of its feature and its label or labels."""
        from trellis.tagger.heaviest import heaviest

        return heaviest(self._model, n)

    def support(self) -> list[SupportSequence]:
        """The label sequences that a model learnt in the dual (HMSVM, KernelPerceptron) is made of.

        Each has the number of its training sentence, how much it counts, and where it differs from the gold labels.
        """
        dual = self._model.weights.dual
        if dual is None:
            raise ModelError("this model was not learnt in the dual: it has no support sequences")
        return dual.support.named(self.labels)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy (pickle, joblib, deepcopy) goes by way of a model's bytes; for files use ``save``."""
        expansion = self._model.weights.expansion
        kernel = None if expansion is None else expansion.kernel.function
        return _from_bytes, (model_file.to_bytes(self._model), kernel)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as one file."""
        model_file.save(self._model, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, kernel: KernelFunction | None = None) -> Tagger:
        """Read a model that ``save`` wrote; ``kernel`` is the function of a model whose kernel is one."""

        def made(model: Model) -> Tagger:
            try:
                return cls(_with_kernel(model, kernel))
            except ModelError as error:
                raise ModelError(f"{path}: {error}") from error

        return model_file.load_as(path, made)

    def __repr__(self) -> str:
        return (
            f"Tagger({self.target!r} from {', '.join(self.columns)}; {len(self.labels)} labels, order {self.order}, "
            f"{self._model.weights.n_nonzero:,} weights)"
        )


def load(path: str | os.PathLike[str], *, kernel: KernelFunction | None = None) -> Tagger:
    """Read a model that ``Tagger.save`` wrote; ``kernel`` is the function of a model whose kernel is one."""
    return Tagger.load(path, kernel=kernel)


def _from_bytes(data: bytes, kernel: KernelFunction | None = None) -> Tagger:
    return Tagger(_with_kernel(model_file.from_bytes(data), kernel))


def _with_kernel(model: Model, kernel: KernelFunction | None) -> Model:
    """The model with the function that its file could not hold; ModelError if it wants one or has no place for one."""
    expansion, dual = model.weights.expansion, model.weights.dual
    wanted = expansion is not None and expansion.kernel.name == "callable"
    if wanted and kernel is None:
        raise ModelError(
            "its kernel is a function, which no file can hold: trellis.load(path, kernel=function)"
        )
    if kernel is not None and not wanted:
        raise ModelError("it has no kernel that is a function; leave kernel out")
    if dual is None or not wanted:
        return model
    return replace(model, weights=replace(model.weights, dual=dual.with_function(kernel)))
