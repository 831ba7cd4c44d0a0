"""From a treebank to a parser: check what is asked for, encode, fit, assemble."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

import trellis
from trellis import _core
from trellis._support.arguments import thread_count, whole_number
from trellis._support.arrays import Arrays, Bools, Doubles, Ints, Longs
from trellis._support.errors import LearnerError, TemplateError
from trellis.corpus.corpus import Column, Corpus
from trellis.corpus.read import read
from trellis.features.arc_presets import default_templates
from trellis.features.arcs import arc_templates, arc_vocabulary
from trellis.features.vocabulary import TemplateSource
from trellis.learners.mira import MIRA
from trellis.learning.checkpoint import Checkpoint, fingerprint
from trellis.learning.learner import Learner, choice, flag
from trellis.learning.options import Schedule, check_dev_labels, check_not_empty, plain, user_notes
from trellis.learning.run import Observer, State, check_observer, run
from trellis.learning.site_problem import SiteProblem, SiteWeights
from trellis.tasks.parsing.file import named
from trellis.tasks.parsing.model import Parser, short_sentences
from trellis.tasks.parsing.treebank import HEAD, LABEL, DependencyTreebank, read_dependencies
from trellis.tasks.tagging.training.encoding import sentence_weights
from trellis.tasks.tagging.training.parsers import parser_learner, refuse_l1

FILTER = "pos[head] & pos[dep] & direction"
DEFAULT = MIRA(C=0.01, epochs=10, shuffle=False)
KEYS = ("keys", "starts", "folds.keys", "folds.starts")
TABLE = ("values", "sums", "variances")


@dataclass(frozen=True, slots=True)
class _Examples:
    """Sentences with their trees, for native code."""

    data: _core.ArcData
    heads: Ints
    labels: Ints
    plan: _core.ArcPlan
    projective: bool

    def online(self, rule: str, k: int, c: float) -> _Online:
        return _Online(self, rule, k, c)

    def vector(self) -> _Vector:
        return _Vector(self)


class _Online:
    """Weights that change sentence by sentence (core/learn/trees.hpp)."""

    def __init__(self, examples: _Examples, rule: str, k: int, c: float) -> None:
        self.examples = examples
        self.native = _core.TreeOnline(examples.plan, examples.projective, rule, k, c)

    def epoch(self, order: Longs, weights: Doubles | None, batch: int, n_threads: int) -> tuple[int, int]:
        one = self.examples
        return self.native.epoch(one.data, one.heads, one.labels, order, weights, batch, n_threads)

    def weights(self, average: bool) -> Arrays:
        return named(self.native.weights(average))

    def state(self) -> Arrays:
        clock, keys, table = self.native.state()
        arrays: Arrays = dict(zip((*KEYS, *TABLE), (*keys, *table), strict=True))
        return {"clock": np.array([clock], np.int64), **arrays}

    def restore(self, state: State) -> None:
        keys: Any = tuple(state[name] for name in KEYS)
        table: Any = tuple(state[name] for name in TABLE)
        self.native.restore(int(state["clock"][0]), keys, table)


class _Vector:
    """Weights of the attributes of right trees, as one vector (core/learn/tree_sums.hpp)."""

    def __init__(self, examples: _Examples) -> None:
        one = examples
        self.native = _core.TreeVector(one.data, one.heads, one.labels, one.projective)

    @property
    def size(self) -> int:
        return self.native.n_weights

    def objective(self, kept: Bools | None) -> _core.Objective:
        refuse_l1(kept)
        return _core.TreeObjective(self.native)

    def weights(self, vector: Doubles) -> SiteWeights:
        return SiteWeights(named(self.native.weights(vector)))


def train(
    corpus: Any,
    *,
    features: TemplateSource | None = None,
    learner: Learner | str | None = None,
    order: int = 2,
    projective: bool = True,
    labelled: bool | None = None,
    filter: str | None = FILTER,
    lenient: bool = False,
    sample_weight: npt.ArrayLike | None = None,
    dev: Any = None,
    metric: str | None = None,
    patience: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    observer: Observer | None = None,
    n_threads: int | None = None,
    info: Mapping[str, Any] | None = None,
) -> Parser:
    """Train a parser on the trees in the columns ``head`` and ``deprel`` of a corpus.

    ``corpus`` is a Corpus or anything ``trellis.read`` takes. ``features`` is a preset's name ("mst", "ud"), a file or
    a list of templates of arcs (docs/parsing.md); by default the templates of "ud" of columns that are there.
    ``learner`` is an online learner (default: ``MIRA(C=0.01, epochs=10, shuffle=False)``) or a CRF, which trains by
    the log loss, or the name of one. ``order`` 1 has scores of arcs, 2 of siblings too. ``projective=False`` lets arcs
    cross (order 1 only). ``labelled`` None: arcs have labels if the corpus has a column ``deprel``. An arc is
    considered only if one with the same attribute of the template ``filter`` was seen in training (None: all arcs).

    A sentence that has no tree is an error, or with ``lenient`` is left out. ``sample_weight`` is one number per
    sentence. With ``dev`` the best epoch on that corpus is kept, by ``metric`` ("uas", "las"; "auto": "las" if there
    are labels), with ``patience`` training stops after so many epochs without a better one. ``checkpoint``,
    ``observer``, ``n_threads`` and ``info`` are as in ``trellis.train``.
    """
    learner = parsing_learner(learner)
    order = whole_number("order", order, 1, 2)
    projective, lenient = flag().check("projective", projective), flag().check("lenient", lenient)
    labelled = None if labelled is None else flag().check("labelled", labelled)
    if order > 1 and not projective:
        raise LearnerError("trees with crossing arcs have scores of arcs only; train at order 1, or projective trees")
    check_observer(observer)
    schedule, notes = Schedule.of(dev, metric, patience, checkpoint, checkpoint_every), user_notes(info)
    metric = "auto" if metric is None else choice("auto", "uas", "las").check("metric", metric)
    corpus, dev = read(corpus), None if dev is None else read(dev)
    check_not_empty(corpus, "train on")
    treebank = read_dependencies(corpus, labelled=labelled, lenient=lenient)
    held_out = None
    if dev is not None:
        check_not_empty(dev, "compare epochs on")
        held_out = read_dependencies(dev, labelled=treebank.labels is not None, lenient=lenient)
    threads = thread_count(n_threads)
    columns = [name for name in treebank.corpus.columns if name not in (HEAD, LABEL)]
    if features is None:
        features = default_templates([name for name in columns if _is_informative(treebank.corpus, name)])
        try:
            arc_templates(features, None, columns, order)
        except TemplateError as error:
            why = f"default features need words and their tags: {error}; give features of your own"
            raise TemplateError(why) from None
    templates = arc_templates(features, filter, columns, order)
    if treebank.labels is None:
        templates = replace(templates, labelled=())
    vocabulary, coded = arc_vocabulary(templates, treebank.corpus)
    names = () if treebank.labels is None else tuple(treebank.labels.values)
    plan = vocabulary.plan(max(1, len(names)))
    heads = treebank.heads
    if projective:
        heads = _core.projective_heads(heads, treebank.corpus.starts)
    labels = np.zeros(len(heads), np.int32) if treebank.labels is None else treebank.labels.codes
    with short_sentences(treebank.corpus):
        data = _core.ArcData(plan, coded, treebank.corpus.starts)
    examples = _Examples(data, heads, labels, plan, projective)

    def assemble(weights: SiteWeights, **record: Any) -> Parser:
        return Parser(vocabulary, names, weights.arrays, projective, learner.family, notes, record)

    problem = SiteProblem(
        heads,
        len(treebank.corpus),
        threads,
        examples.online,
        examples.vector,
        sentence_weights=sentence_weights(sample_weight, treebank.corpus),
        patience=schedule.patience,
    )
    if held_out is not None:
        score = _scorer(held_out, metric, names, threads)
        problem = replace(problem, score_dev=lambda weights: score(assemble(weights)))
    if schedule.checkpoint is not None:
        print_of = fingerprint(
            trellis.__version__,
            type(learner).__name__,
            json.dumps(learner.epoch_parameters(), default=plain),
            [str(template) for template in templates.all],
            [(codes, views) for codes, views in coded],
            (heads, labels, treebank.corpus.starts, problem.sentence_weights),
            (list(names), int(projective)),
            None if held_out is None else (metric, held_out.heads, _read_by(held_out, templates.columns)),
        )
        problem = replace(problem, checkpoint=Checkpoint(schedule.checkpoint, schedule.every, print_of))
    learnt, history = run(problem, learner.begin(problem), observer)  # type: ignore[arg-type]
    return assemble(
        learnt,
        learner={"name": type(learner).__name__, **learner.parameters()},
        sentences=len(treebank.corpus),
        skipped=treebank.n_skipped,
        history=[event.to_dict() for event in history],
    )


def parsing_learner(given: Learner | str | None) -> Learner:
    """The learner, or the one of that name; LearnerError if it does not train parsers."""
    return parser_learner(DEFAULT if given is None else given)


def _is_informative(corpus: Corpus, name: str) -> bool:
    """Whether a column tells tokens apart: many treebanks have nothing but ``_`` in some columns of CoNLL-U."""
    column = corpus.columns[name]
    return isinstance(column, Column) and bool((column.codes != column.codes[:1]).any())


def _read_by(treebank: DependencyTreebank, columns: Sequence[str]) -> list[Any]:
    """What a parser and its scores depend on of a held-out corpus."""
    found = [treebank.corpus.starts, *(treebank.corpus.column(name) for name in columns)]
    return found if treebank.labels is None else [*found, treebank.labels]


def _scorer(treebank: DependencyTreebank, metric: str, labels: Sequence[str], n_threads: int) -> Any:
    by_labels = metric == "las" or (metric == "auto" and bool(labels))
    if metric == "las" and not labels:
        raise LearnerError("metric 'las' counts labels, and arcs have none here; choose 'uas'")
    if by_labels and treebank.labels is not None:
        check_dev_labels(treebank.corpus, treebank.labels, labels)

    def score(parser: Parser) -> float:
        report = parser.evaluate(treebank.corpus, n_threads=n_threads)
        return report.las if by_labels else report.uas

    return score
