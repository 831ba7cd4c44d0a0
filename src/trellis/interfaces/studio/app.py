"""The studio: the server with the page's own questions: a sentence seen closely, errors on a corpus, two models."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qs

import numpy as np
from pydantic import Field

from trellis._support.errors import ArgumentError, TrellisError
from trellis.corpus.document import Document
from trellis.corpus.schemes import guess_scheme
from trellis.corpus.tokens import tokenize
from trellis.evaluation.significance import mcnemar
from trellis.evaluation.tagging import evaluate_columns, right_tokens
from trellis.interfaces.serve import messages
from trellis.interfaces.serve.app import LOOPBACK, App
from trellis.interfaces.serve.door import Limits, Scope, TurnedAwayError
from trellis.interfaces.serve.models import Models, Served
from trellis.interfaces.serve.questions import Address, Inputs, Reply, Shared
from trellis.interfaces.studio.lessons import lessons
from trellis.tasks.explanation import finite, output_text
from trellis.tasks.model import Model
from trellis.tasks.pipeline.model import Pipeline
from trellis.tasks.tagging.drawing import marginals_of
from trellis.tasks.tagging.errors_found import find_errors
from trellis.tasks.tagging.explain import shown
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.text import span_dict

if TYPE_CHECKING:
    from trellis.corpus.corpus import Corpus
    from trellis.interfaces.studio.workbook import Workbook

SCRIPTS = ("page", "main", "look", "compare", "errors", "label", "learn", "trellis_picture")
FILES = ("index.html", "studio.css", "icon.svg", *(f"{name}.js" for name in SCRIPTS))
LEAST = 0.002  # marginals of label pairs below it are not sent
SHOWN = 200  # sentences in which two models differ
WORD_COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel")
TERMS = 20  # of an explanation
SECONDS = 600.0  # for one answer: whole corpora are evaluated

FORMATS = ("conll", "tsv", "jsonl", "csv", "conllu", "crfsuite", "parquet", "feather")  # of exports
Shape = Callable[[Served], "Corpus"]  # the corpus as a model reads it


class LookRequest(messages.Request):
    """One sentence, looked at closely; text is cut into words, and its sentence number ``which`` is taken."""

    k: int = Field(5, ge=1, le=50)
    which: int = Field(0, ge=0)


class ModelRequest(messages.Body):
    """A model on the corpus."""

    model: str | None = None


class CompareRequest(messages.Body):
    """Two models on the corpus, or on text."""

    models: Annotated[list[str], Field(min_length=2, max_length=2)]
    text: str | None = None


class LearnRequest(messages.Body):
    """Sentences of words with their labels."""

    sentences: Annotated[
        list[Annotated[list[tuple[str, str]], Field(min_length=1, fail_fast=True)]],
        Field(min_length=1, max_length=20, fail_fast=True),
    ]


class UndoRequest(messages.Body):
    """Whose last change to undo."""

    client: str = Field("", max_length=100, description="identifier of the browser tab")


class LabelRequest(UndoRequest):
    """The labels of a sentence; null where there is none yet."""

    number: int = Field(ge=0)
    labels: Annotated[list[str | None], Field(fail_fast=True)]
    revision: str = Field("", description="last known revision of the sentence; empty: never changed")


class NextRequest(messages.Body):
    """Which sentence next."""

    after: int | None = Field(None, ge=0)
    number: int | None = Field(None, ge=0, description="index of the sentence to open")
    uncertain: bool = True


def make_studio(
    models: Models, corpus: Shape | None = None, book: Workbook | None = None, *, n_threads: int | None = None
) -> Any:
    """The server of ``models`` with the studio's page, for this machine alone.

    ``corpus`` gives the file that the studio was opened with as a model reads it, ``book`` its labels.
    """
    extra = {**_pages(corpus, book), **({} if book is None else _labelling(models, book))}
    return App(models, limits=Limits(seconds=SECONDS), hosts=LOOPBACK, n_threads=n_threads, extra=extra)


def _pages(corpus: Shape | None, book: Workbook | None) -> dict[str, Address]:
    """The page, and its questions about models."""

    def state(scope: Scope, work: Shared) -> dict[str, Any]:
        models = [served.facts() for served in work.models]
        return {"models": models, "corpus": corpus is not None, "book": book is not None}

    async def look(request: LookRequest, work: Shared) -> dict[str, Any]:
        served = work.models.get(request.model)
        inputs = await work.inputs(request, served)
        return await work.aside(lambda: _look(served, request, inputs))

    def errors(request: ModelRequest, work: Shared) -> dict[str, Any]:
        served = work.models.get(request.model)
        return find_errors(served.tagger, _needed(corpus)(served)).to_dict()

    def compare(request: CompareRequest, work: Shared) -> dict[str, Any]:
        a, b = (work.models.get(name) for name in request.models)
        return _compare(a, b, request.text, corpus)

    def learn(request: LearnRequest, work: Shared) -> dict[str, Any]:
        return {"steps": lessons([list(sentence) for sentence in request.sentences])}

    def root(scope: Scope, work: Shared) -> Reply:
        return Reply(b"", status=307, headers=((b"location", b"/studio/"),))

    return {
        "/": Address(root),
        "/studio/": Address(partial(_file, "index.html")),
        **{f"/studio/{name}": Address(partial(_file, name)) for name in FILES},
        "/studio/api/state": Address(state),
        "/studio/api/look": Address(look, LookRequest),
        "/studio/api/errors": Address(errors, ModelRequest),
        "/studio/api/compare": Address(compare, CompareRequest),
        "/studio/api/learn": Address(learn, LearnRequest),
    }


def _file(name: str, scope: Scope, work: Shared) -> Reply:
    kind = mimetypes.guess_type(name)[0] or "text/plain"
    kind = f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
    return Reply((files("trellis.interfaces.studio") / "page" / name).read_bytes(), kind.encode())


def _labelling(models: Models, book: Workbook) -> dict[str, Address]:
    """Questions of those who label."""

    def tagger() -> Tagger | None:
        taggers = [served.model for served in models if isinstance(served.model, Tagger)]
        return next((tagger for tagger in reversed(taggers) if tagger.target == book.target), None)

    def state(*request: Any) -> dict[str, Any]:
        model = tagger()
        return {
            "sentences": len(book),
            "labelled": book.n_labelled(),
            "labels": sorted({*book.known_labels, *(() if model is None else model.labels)}),
            "target": book.target,
            "training": asdict(book.training),
            "warnings": book.warnings,
        }

    def page(number: int | None) -> dict[str, Any]:
        if number is None:
            return {"state": state(), "number": None}
        # The revision first: labels that are newer than their revision cannot be overwritten unseen.
        facts = {"revision": book.revision(number), "labels": book.labels[number], "words": book.words[number]}
        labels, model, suggested, note = book.labels[number], tagger(), list[str](), ""
        if None in labels and model is not None:
            fixed = {t: label for t, label in enumerate(labels) if label in model.labels}
            try:
                suggested = model.tag(book.sentence(number), allowed=fixed or None)
            except TrellisError as error:  # such as labels that break the scheme of the model
                note = f"no suggestions: {error}"
        return {"state": state(), "number": number, **facts, "suggested": suggested, "note": note}

    def following(request: NextRequest, work: Shared) -> dict[str, Any]:
        if request.number is None:
            return page(book.next(tagger(), request.after, uncertain=request.uncertain))
        book.check_number(request.number)
        return page(request.number)

    def change(request: LabelRequest, work: Shared) -> dict[str, Any]:
        revision = book.set(request.number, request.labels, revision=request.revision, client=request.client)
        return {**state(), "revision": revision}

    def undo(request: UndoRequest, work: Shared) -> dict[str, Any]:
        return page(book.undo(request.client))

    def train(request: messages.Body, work: Shared) -> dict[str, Any]:
        def done(trained: Tagger) -> None:
            models.put("studio", trained)
            trained.save(f"{book.path}.studio.trellis")

        book.start_training(done)
        return state()

    def export(scope: Scope, work: Shared) -> Reply:
        format = parse_qs(scope["query_string"].decode("latin-1")).get("format", ["conll"])[0]
        if format not in FORMATS:
            raise TurnedAwayError(422, f"no format {format[:80]!r}; the formats are {', '.join(FORMATS)}")
        return Reply(book.export(format), b"application/octet-stream")

    addresses = {
        "next": Address(following, NextRequest),
        "set": Address(change, LabelRequest),
        "undo": Address(undo, UndoRequest),
        "train": Address(train, messages.Body),
        "state": Address(state),
        "export": Address(export),
    }
    return {f"/studio/api/label/{name}": address for name, address in addresses.items()}


def _needed(corpus: Shape | None) -> Shape:
    if corpus is None:
        raise TurnedAwayError(422, "the studio was opened without a corpus: trellis studio CORPUS -m MODEL")
    return corpus


def _look(served: Served, request: LookRequest, inputs: Inputs) -> dict[str, Any]:
    """All that the page shows of one sentence."""
    if not inputs.sentences:
        return {"tokens": [], "others": 0}
    if isinstance(served.model, Pipeline):
        return _annotated(served.model.predict(inputs.sentences[0]), request.which)
    number = min(request.which, len(inputs.sentences) - 1)
    sentence = inputs.sentences[number]
    if inputs.tokens is not None:
        tokens = [token._asdict() for token in inputs.tokens[number]]
    else:
        tokens = [{"text": shown(t, token), "start": None, "end": None} for t, token in enumerate(sentence)]
    facts = {"tokens": tokens, "others": len(inputs.sentences), "number": number}
    if isinstance(served.model, Tagger):
        allowed = None if inputs.allowed is None else inputs.allowed[number]
        return {**facts, **_trellis(served.model, sentence, request.k, allowed)}
    return {**facts, **_overview(served.model, sentence, request.k)}


def _overview(model: Model, sentence: Any, k: int) -> dict[str, Any]:
    """The picture of a sentence, where its task has one, the k best outputs and the explanation."""
    try:
        picture = model.draw(sentence).svg
    except ArgumentError:
        picture = None
    paths = model.kbest(sentence, min(k, getattr(model, "k", k)))
    scored = [{"output": output_text(output), "score": finite(score)} for output, score in paths]
    return {"picture": picture, "kbest": scored, "explanation": model.explain(sentence).to_dict(n_terms=TERMS)}


def _annotated(document: Document, which: int) -> dict[str, Any]:
    """A sentence of a document: its words, and the picture of its tree."""
    if not len(document):
        return {"tokens": [], "others": 0}
    number = min(which, len(document) - 1)
    sentence = document[number]
    tokens = [{"text": word.form, "start": word.start, "end": word.end} for word in sentence]
    words = [[getattr(word, name) for name in WORD_COLUMNS] for word in sentence]
    picture = sentence.draw().svg if sentence.has_tree else None
    facts = {"columns": WORD_COLUMNS, "words": words, "picture": picture, "kbest": [], "explanation": None}
    return {"tokens": tokens, "others": len(document), "number": number, **facts}


def _trellis(tagger: Tagger, sentence: Any, k: int, allowed: Any) -> dict[str, Any]:
    """All that the trellis of a sentence needs."""
    paths = tagger.kbest(sentence, k, allowed=allowed)
    index = {label: z for z, label in enumerate(tagger.labels)}
    posterior = marginals_of(tagger, sentence, allowed)
    pairs = np.zeros((0, 1, 1)) if posterior.edge is None else posterior.edge
    edges = [[*place, float(pairs[tuple(place)])] for place in np.argwhere(pairs >= LEAST).tolist()]
    spans = None  # of labels that mark none
    if guess_scheme(tagger.labels) is not None:
        spans = [span_dict(span, p) for span, p in tagger.tag_spans(sentence, allowed=allowed)]
    return {
        "labels": list(tagger.labels),
        "probability_kind": tagger.probability_kind,
        "best": [index[label] for label in paths[0][0]],
        "node": posterior.node.tolist(),
        "edges": edges,
        "kbest": [{"labels": [index[label] for label in labels], "score": score} for labels, score in paths],
        "spans": spans,
    }


def _compare(a: Served, b: Served, text: str | None, corpus: Shape | None) -> dict[str, Any]:
    """Where two taggers differ, and on a corpus with gold labels whether by chance."""
    taggers, target = [a.tagger, b.tagger], a.tagger.target
    if text is not None:
        words = [[token.text for token in sentence] for sentence in tokenize(text)]
        return _differences(words, *(tagger.tag_batch(words) for tagger in taggers))
    if b.tagger.target != target:
        raise TurnedAwayError(
            422, f"{a.name} predicts {target}, but {b.name} predicts {b.tagger.target}; compare them on text"
        )
    read = _needed(corpus)
    corpora = [read(served) for served in (a, b)]
    if corpora[0].starts.tolist() != corpora[1].starts.tolist():
        raise TurnedAwayError(422, f"{a.name} and {b.name} read the corpus differently; compare them on text")
    tagged = [tagger.tag_corpus(part) for tagger, part in zip(taggers, corpora, strict=True)]
    pairs = [(corpora[0].column(target), part.column(target)) for part in tagged]
    reports = [evaluate_columns(*columns, corpora[0].starts) for columns in pairs]
    test = mcnemar(*(right_tokens(*columns) for columns in pairs))
    labels = [part.sentences(target) for part in (*tagged, corpora[0])]
    return {
        **_differences(corpora[0].sentences(a.tagger.columns[0]), *labels),
        "scores": [report.headline for report in reports],
        "accuracies": [report.token_accuracy for report in reports],
        "only_right": [int(test.a), int(test.b)],
        "p": test.p,
    }


def _differences(words: list[list[str]], *labels: list[list[str]]) -> dict[str, Any]:
    """The sentences in which the labels of two taggers differ; a third list has the gold labels."""
    names = ("words", "one", "other", "gold")
    lists = enumerate(zip(words, *labels, strict=True), 1)
    rows = [{"number": i, **dict(zip(names, row, strict=False))} for i, row in lists if row[1] != row[2]]
    return {"sentences": rows[:SHOWN], "differ": len(rows), "total": len(words)}
