"""Wrong arguments: every parameter of every public function with values that make no sense."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trellis
from trellis._support import arguments

SENTENCES = [["a", "b"], ["b", "c", "a"]]
LABELS = [["B-X", "O"], ["O", "B-X", "I-X"]]
CORPUS = trellis.read({"word": SENTENCES, "label": LABELS})
DATA = {"word": SENTENCES, "label": LABELS}


@pytest.mark.parametrize(
    ("texts", "cores"),
    [
        (["150000 100000\n"], 2),
        (["10000 100000\n"], 1),
        (["max 100000\n"], None),
        (["300000\n", "100000\n"], 3),
        (["-1\n", "100000\n"], None),
        (["damaged\n"], None),
        ([], None),
    ],
)
def test_the_quota_of_a_container_limits_threads(
    texts: list[str], cores: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / str(i) for i in range(max(1, len(texts)))]
    for path, text in zip(paths, texts, strict=False):
        path.write_text(text)
    monkeypatch.setattr(arguments, "CPU_QUOTA", (("/nowhere/cpu.max",), tuple(map(str, paths))))
    monkeypatch.setattr(arguments, "container_cores", arguments.container_cores.__wrapped__)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert arguments.container_cores() == cores
    assert arguments.thread_count(None) == (cores or 64)
    assert arguments.thread_count(7) == 7


class Odd:
    """Neither this nor that."""

    def __repr__(self) -> str:
        return "an odd thing"


WRONG: list[Any] = [
    None,
    True,
    -1,
    5,
    0.5,
    float("nan"),
    1e300,
    10**400,
    "nonsense",
    "",
    "\ud800",
    b"bytes",
    [],
    [None],
    [5],
    [["a"]],
    [[5]],
    {},
    {"0": "O"},
    {0: 5},
    {0: [5]},
    {"a": 5},
    {"word": 5},
    {5: [["a"]]},
    Odd(),
    np.array([["a"]]),
    np.array(5.0),
    lambda *some: 5,
]


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every function that ``trellis`` exports, every learner and every method of its classes."""
    for name in trellis.__all__:
        thing = getattr(trellis, name)
        is_made = isinstance(thing, type) and (issubclass(thing, trellis.Learner) or name in RIGHT)
        if inspect.isfunction(thing) or is_made:
            yield name, thing
        if name in OBJECTS:
            for method in dir(OBJECTS[name]):
                function = None if method.startswith("_") else getattr(OBJECTS[name], method)
                if inspect.ismethod(function) and inspect.signature(function).parameters:
                    yield f"{name}.{method}", function


LEARNER = trellis.CRF(epochs=1)
TAGGER = trellis.train(DATA, target="label", features=["word[0]"], learner=LEARNER)
SENTENCE = SENTENCES[1]
# What has methods that take arguments and is no array. Columns, observations and posteriors are indexed as arrays are.
GRAPH = trellis.Hypergraph(heads=[1, 1], tails=[0, 0])
DOCUMENT = trellis.Document("a", [trellis.DocumentSentence([trellis.Word("a")])])
OBJECTS: dict[str, Any] = {
    "Tagger": TAGGER,
    "Corpus": CORPUS,
    "Document": DOCUMENT,
    "Explanation": TAGGER.explain(SENTENCE),
    "Hypergraph": GRAPH,
    "Hypergraphs": trellis.Hypergraphs([GRAPH]),
}
# Calls that work, from which one argument at a time is replaced.
RIGHT: dict[str, dict[str, Any]] = {
    "read": {"source": DATA},
    "stream": {"source": "right.txt"},
    "write": {"corpus": CORPUS, "path": "written.jsonl"},
    "evaluate": {"gold": LABELS, "predicted": LABELS},
    "load": {"path": "right.model"},
    "train": {"corpus": DATA, "target": "label", "features": ["word[0]"], "learner": LEARNER},
    "partial_fit": {"tagger": TAGGER, "corpus": DATA, "learner": LEARNER},
    "Tagger.tag": {"sentence": SENTENCE},
    "Tagger.tag_batch": {"sentences": SENTENCES},
    "Tagger.tag_corpus": {"corpus": CORPUS},
    "Tagger.tag_column": {"corpus": CORPUS},
    "Tagger.predict": {"sentence": SENTENCE},
    "Tagger.predict_batch": {"sentences": SENTENCES},
    "Tagger.predict_corpus": {"corpus": CORPUS},
    "Tagger.train": {"corpus": DATA},
    "read_trees": {"path": "right.mrg"},
    "parse_trees": {"text": "(S (N a))"},
    "write_trees": {"trees": [], "path": "written.mrg"},
    "held_out_lists": {"corpus": CORPUS, "tagger": lambda part: TAGGER, "folds": 2},
    "register_function": {"name": "of_a_test", "function": str.upper, "replace": True},
    "Tagger.tag_text": {"text": "a b. C"},
    "Tagger.error_analysis": {"corpus": DATA},
    "Tagger.draw": {"sentence": SENTENCE},
    "Tagger.log_partition_batch": {"sentences": SENTENCES},
    "tokenize": {"text": "a b"},
    "brown_clusters": {"corpus": CORPUS},
    "Tagger.kbest": {"sentence": SENTENCE, "k": 2},
    "Tagger.kbest_batch": {"sentences": SENTENCES, "k": 2},
    "Tagger.marginals": {"sentence": SENTENCE},
    "Tagger.marginals_batch": {"sentences": SENTENCES},
    "Tagger.span_probability": {"sentence": SENTENCE, "span": ("X", 1, 3)},
    "Tagger.tag_spans": {"sentence": SENTENCE},
    "Tagger.tag_spans_batch": {"sentences": SENTENCES},
    "Tagger.constrained": {"scheme": "iob2"},
    "Tagger.calibrated": {"dev": DATA},
    "Tagger.pruned": {"margin": None},
    "Tagger.reliability": {"corpus": DATA},
    "Tagger.explain": {"sentence": SENTENCE},
    "Tagger.score": {"sentence": SENTENCE, "labels": LABELS[1]},
    "Tagger.evaluate": {"corpus": DATA},
    "Tagger.from_bytes": {"data": TAGGER.to_bytes()},
    "Tagger.save": {"path": "saved.model"},
    "Tagger.load": {"path": "right.model"},
    "Corpus.column": {"name": "word"},
    "Corpus.with_column": {"name": "word", "column": CORPUS.column("word")},
    "Corpus.sentences": {"name": "word"},
    "Corpus.take": {"indices": [0]},
    "Corpus.split": {"fraction": 0.5},
    "Corpus.folds": {"folds": 2},
    "compare_documents": {"gold": DOCUMENT, "predicted": DOCUMENT},
    "Document.from_conllu": {"text_or_path": ""},
    "Document.with_columns": {"columns": {"upos": ["X"]}},
    "Hypergraph": {"heads": [1, 1], "tails": [0, 0]},
    "Hypergraph.tails_of": {"edge": 0},
    **{
        f"Hypergraph.{name}": {"scores": [1, 2]}
        for name in ("best", "log_z", "inside", "outside", "marginals", "entropy")
    },
    "Hypergraph.kbest": {"scores": [1, 2], "k": 2},
    "Hypergraph.expectation": {"scores": [1, 2], "values": [1, 2]},
    "Hypergraphs": {"graphs": [GRAPH]},
    **{f"Hypergraphs.{name}": {"scores": [[1, 2]]} for name in ("best", "log_z", "marginals", "flat")},
    "Hypergraphs.kbest": {"scores": [[1, 2]], "k": 2},
}


@pytest.mark.parametrize(
    ("name", "function"), list(public()), ids=lambda given: given if isinstance(given, str) else ""
)
def test_wrong_arguments_give_one_clear_line(
    name: str, function: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    TAGGER.save("right.model")
    Path("right.txt").write_text("a O\n")
    Path("right.mrg").write_text("(S (N a))\n")

    def call(**changes: Any) -> None:
        found = function(**{**RIGHT.get(name, {}), **changes})
        _ = list(found) if inspect.isgenerator(found) or isinstance(found, trellis.CorpusStream) else found

    call()
    for parameter in inspect.signature(function).parameters.values():
        for wrong in WRONG if parameter.kind is not parameter.VAR_KEYWORD else ():
            try:
                call(**{parameter.name: wrong})
            except Exception as error:
                if not isinstance(error, trellis.TrellisError) or "\n" in str(error):
                    pytest.fail(f"{name}({parameter.name}={wrong!r}): {type(error).__name__}: {error}")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TAGGER.tag(SENTENCE, allowed={"0": "O"}), "a constraint at position '0'; positions are 0 to 2"),
        (lambda: TAGGER.tag(SENTENCE, allowed={0: 5}), "position 0 of allowed must be a label or a list of labels"),
        (lambda: TAGGER.tag_batch(SENTENCES, allowed="OO"), "allowed must be a list with one entry per sentence"),
        (lambda: TAGGER.tag_batch(None), "sentences must be a list of sentences or a Corpus .*, not None"),
        (lambda: TAGGER.tag_batch({"word": SENTENCES}), "sentences must be a list of sentences or a Corpus"),
        (lambda: TAGGER.tag_column(DATA), "corpus must be a Corpus, as returned by trellis.read, not {'label'"),
        (lambda: TAGGER.save(None), "path must be the path of a file, not None"),
        (lambda: trellis.load(None), "path of a file, not NoneType"),
        (lambda: trellis.partial_fit(None, DATA), "tagger must be a Tagger, as returned by trellis.load, not None"),
        (lambda: trellis.train(DATA, target="label", features=5), "features must be a preset's name, a file or a list"),
        (lambda: trellis.train(DATA, target="label", checkpoint=5), "checkpoint must be the path of a file, not 5"),
        (lambda: trellis.train(DATA, target="label", sample_weight=[0, 0]), "0 for every sentence"),
        (lambda: trellis.read(DATA, columns=5), "columns must be names, 'word,pos,label' or a list, not 5"),
        (lambda: trellis.read({5: SENTENCES}), "the name of a column must be a string, not 5"),
        (lambda: CORPUS.with_column("word", LABELS), "column must be a column of a corpus"),
        (lambda: CORPUS.take([2]), "indices must be sentence indices from 0 to 1, not"),
        (lambda: CORPUS.take([True, False]), "indices must be sentence indices"),
    ],
)
def test_what_is_said_of_wrong_arguments(call: Callable[[], object], message: str) -> None:
    with pytest.raises(trellis.TrellisError, match=message):
        call()
