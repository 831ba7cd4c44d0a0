"""From a treebank to a parser: check options, encode, fit, assemble."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Unpack

import numpy as np

from trellis import _core
from trellis._support.errors import LearnerError, TemplateError
from trellis.corpus.corpus import Column, Corpus
from trellis.evaluation.attachment import AttachmentReport
from trellis.features.arc_presets import default_templates
from trellis.features.arcs import ArcTemplates, arc_templates, arc_vocabulary
from trellis.learning.fit import Fit, check_dev_labels, corpus_of, no_targets
from trellis.learning.site_problem import SiteProblem, SiteWeights
from trellis.tasks.parsing.model import Parser, short_sentences
from trellis.tasks.parsing.options import ParsingOptions
from trellis.tasks.parsing.treebank import HEAD, LABEL, DependencyTreebank, read_dependencies
from trellis.tasks.parsing.warm_start import ArcStart, check_start


def train(corpus: Any, y: None = None, **options: Unpack[ParsingOptions]) -> Parser:
    """Train a parser on the trees in the columns ``head`` and ``deprel`` of a corpus.

    Parameters
    ----------
    corpus
        Corpus, or anything ``trellis.read`` takes.
    y
        None: heads and labels are columns of the corpus.
    **options
        See `ParsingOptions` (docs/parsing.md).
    """
    fit = Fit(ParsingOptions, options, metrics=AttachmentReport.metrics)
    settings, learner = fit.settings, fit.learner
    no_targets(y, "heads and labels are columns of the corpus")
    if settings.order > 1 and not settings.projective:
        raise LearnerError("trees with crossing arcs have scores of arcs only; train at order 1, or projective trees")
    treebank = read_dependencies(corpus_of(corpus, "train on"), labelled=settings.labelled, lenient=settings.lenient)
    names = () if treebank.labels is None else tuple(treebank.labels.values)
    if settings.dev is not None:
        dev = corpus_of(settings.dev, "compare epochs on")
        held_out = read_dependencies(dev, labelled=treebank.labels is not None, lenient=settings.lenient)
        if settings.metric == "las" and not names:
            raise LearnerError("metric 'las' counts labels, and arcs have none here; choose 'uas'")
        if settings.metric != "uas" and held_out.labels is not None:
            check_dev_labels(held_out.corpus, held_out.labels, names)
        settings.dev = held_out.corpus
    templates = _templates(treebank, settings)
    settings.features = [str(template) for template in templates.all]
    older = None if settings.init is None else check_start(settings.init, templates, treebank.labels is not None)
    vocabulary, coded = arc_vocabulary(templates, treebank.corpus, () if older is None else older.vocabulary.columns)
    if older is not None:
        names = tuple(dict.fromkeys((*names, *older.labels)))
    plan = vocabulary.plan(max(1, len(names)))
    heads = treebank.heads
    if settings.projective:
        heads = _core.projective_heads(heads, treebank.corpus.starts)
    labels = np.zeros(len(heads), np.int32) if treebank.labels is None else treebank.labels.codes
    with short_sentences(treebank.corpus):
        data = _core.ArcData(plan, coded, treebank.corpus.starts)
    examples = _core.TreeExamples(data, heads, labels, settings.projective)

    def objective() -> Any:
        vector = _core.TreeVector(examples)
        return _core.TreeObjective(vector), vector.weights

    def assemble(weights: SiteWeights, record: dict[str, Any]) -> Parser:
        return Parser(vocabulary, names, weights.arrays, settings.projective, learner.family, fit.notes, record)

    n = len(treebank.corpus)
    problem = SiteProblem(
        heads,
        n,
        examples,
        partial(_core.TreeOnline, plan, settings.projective),
        objective,
        unit="words",
        n_threads=settings.n_threads,
        sentence_weights=fit.weights(n),
        initial=None if older is None else ArcStart(older, vocabulary, names),
    )
    return fit.run(
        problem,
        assemble,
        treebank.corpus,
        fit.scorer(settings.dev),
        sentences=n,
        tokens=treebank.corpus.n_tokens,
        skipped=treebank.n_skipped,
    )


def _templates(treebank: DependencyTreebank, settings: SimpleNamespace) -> ArcTemplates:
    """The templates of the options, or the default ones of columns that tell tokens apart."""
    columns = [name for name in treebank.corpus.columns if name not in (HEAD, LABEL)]
    features = settings.features
    if features is None:
        features = default_templates([name for name in columns if _is_informative(treebank.corpus, name)])
        try:
            arc_templates(features, None, columns, settings.order)
        except TemplateError as error:
            why = f"default features need words and their tags: {error}; give features of your own"
            raise TemplateError(why) from None
    templates = arc_templates(features, settings.filter, columns, settings.order)
    return templates if treebank.labels is not None else replace(templates, labelled=())


def _is_informative(corpus: Corpus, name: str) -> bool:
    """Whether a column tells tokens apart: many treebanks have nothing but ``_`` in some columns of CoNLL-U."""
    column = corpus.columns[name]
    return isinstance(column, Column) and bool((column.codes != column.codes[:1]).any())
