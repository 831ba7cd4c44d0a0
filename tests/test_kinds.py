"""What models of all kinds have in common: copies, comparison, empty input, notes, checkpoints of one training."""

from __future__ import annotations

import copy
import itertools
import multiprocessing
import pickle
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from test_parsing import TEMPLATES, treebank
from test_structured import SENTENCES, Listed
from test_tree_parser import TREES

import experiments
import trellis
from experiments.data import MissingCorpusError
from trellis._support import errors
from trellis._support.errors import UnknownFunctionError
from trellis.interfaces.compat.pycrfsuite import CRFSuiteError, NotOpenError
from trellis.interfaces.serve.door import TurnedAwayError
from trellis.interfaces.studio.workbook import ConflictError
from trellis.tasks import parsing, reranking, structured, trees

CORPUS = trellis.read(
    {"word": [["a", "b"], ["b", "a"], ["a"], ["c", "a"]], "label": [[*"AB"], [*"BA"], ["A"], [*"CA"]]}
)
SPANS = trellis.read({"word": [["a", "b", "c"], ["c", "b"]] * 3, "label": [["B-X", "I-X", "O"], ["O", "B-X"]] * 3})
BAGS = trellis.read({"attributes": [[{"p": 1.0}, {"q": 2.0}]], "label": [["A", "B"]]})
PROJECTIVE = treebank(8, 1)


def rerankers(corpus: trellis.Corpus) -> reranking.Reranker:
    return reranking.train(corpus, tagger=lambda part: trellis.train(part, target="label"), k=3, folds=2)


KINDS: dict[str, Callable[[], Any]] = {
    "tagger": lambda: trellis.train(CORPUS, target="label"),
    "semi-Markov tagger": lambda: trellis.train(SPANS, target="label", segments=True),
    "parser": lambda: parsing.train(PROJECTIVE, features=TEMPLATES, learner=trellis.CRF(epochs=3)),
    "tree parser": lambda: trees.train(TREES),
    "pcfg": lambda: trees.train(TREES, learner="pcfg", tagger=trellis.train(CORPUS, target="label")),
    "segmenter": lambda: trellis.Segmenter.train([["a", "bc"], ["bc", "d"]]),
    "reranker": lambda: rerankers(CORPUS),
    "reranker of spans": lambda: rerankers(SPANS),
    "structured model": lambda: structured.train(SENTENCES, problem=Listed()),
}


@cache
def model_of(kind: str) -> Any:
    return KINDS[kind]()


def answer(kind: str, model: Any) -> Any:
    """Something that a model says."""
    match kind:
        case "tagger" | "semi-Markov tagger" | "reranker" | "reranker of spans":
            return model.kbest(["a", "b", "c"], 3)
        case "parser":
            return [(tree.heads, tree.labels, score) for tree, score in model.kbest([("N", "dog"), ("V", "sees")], 2)]
        case "tree parser" | "pcfg":
            return [(str(tree), score) for tree, score in model.kbest(["the", "dog"], 2)]
        case "segmenter":
            return model.segment("abcd"), model.known_words
        case _:
            return model.kbest(("the", "dog"), 3)


@pytest.mark.parametrize("kind", KINDS)
def test_models_are_copied_after_their_first_use(kind: str) -> None:
    model = model_of(kind)
    said = answer(kind, model)
    assert answer(kind, pickle.loads(pickle.dumps(model))) == said
    assert answer(kind, copy.deepcopy(model)) == said
    assert answer(kind, model) == said


@pytest.mark.parametrize("kind", KINDS)
def test_models_and_data_are_equal_to_themselves_alone(kind: str) -> None:
    model, other = model_of(kind), KINDS[kind]()
    pairs: list[tuple[Any, Any]] = [(model, other)]
    pairs += [(getattr(model, name), getattr(other, name)) for name in ("model", "tagger") if hasattr(model, name)]
    pairs += [(CORPUS, trellis.read({"word": [["a", "b"]], "label": [["A", "B"]]})), (CORPUS, CORPUS[:])]
    pairs += [(CORPUS.column("word"), CORPUS[:].column("label"))]
    bags = BAGS.columns["attributes"]
    pairs += [(bags, trellis.read({"attributes": [[{"p": 1.0}, {"q": 1.0}]]}).columns["attributes"])]
    if kind == "tagger":
        pairs += [
            (model.model.weights, other.model.weights),
            (model.marginals(["a", "b"]), model.marginals(["b", "b"])),
        ]
    for one, two in pairs:
        assert one == one
        assert one != two or one is two
        assert isinstance(hash(one), int)


def test_empty_input_gives_empty_output() -> None:
    tagger, reranker, parser = (model_of(kind) for kind in ("tagger", "reranker", "parser"))
    for model in (tagger, reranker):
        assert model.tag([]) == []
        assert model.tag_batch([]) == []
        assert model.tag_batch([[]]) == [[]]
    crossing = parsing.train(PROJECTIVE, features=TEMPLATES[:8], order=1, projective=False)
    for model in (parser, crossing):
        for empty in ([], (), {"word": [], "pos": []}):
            tree = model.parse(empty, probabilities=True)
            assert (tree.words, tree.heads, tree.labels, tree.probabilities) == ([], [], [], [])
            assert [tree.heads for tree, _ in model.kbest(empty, 2)] == [[]]
            assert model.probabilities(empty).shape == (1, 0)
        assert model.parse_batch([]) == model.parse_batch(iter(())) == []
        assert [tree.heads for tree in model.parse_batch([[], [], []])] == [[], [], []]
        assert [tree.heads for tree in model.parse_batch([[], [("N", "dog")]])] == [[], [0]]
    for model in (model_of("tree parser"), model_of("pcfg")):
        tree = model.parse([])
        assert str(tree) == "(TOP)"
        assert trees.parse_trees(str(tree)).trees == [tree]
        assert model.parse_batch([[], ["a"]])[0] == tree
        assert model.parse_batch([]) == []
    assert model_of("pcfg").probability([]) == 0
    segmenter = model_of("segmenter")
    assert (segmenter.segment(""), segmenter.segment_batch([]), segmenter.separate("")) == ([], [], "")


def test_a_report_of_nothing_has_no_percentages() -> None:
    empty = {"word": [], "label": []}
    nothing = trellis.read({name: [] for name in ("word", "pos", "head", "deprel")})
    reports = [model_of("tagger").evaluate(empty), model_of("reranker").evaluate(empty)]
    reports += [model_of("parser").evaluate(nothing), model_of("segmenter").evaluate([])]
    reports += [model_of("pcfg").evaluate(TREES, longest=1)]
    for report in reports:
        assert str(report).startswith("no ")
        assert "%" not in str(report)


# ------------------------------------------------------------ training


TRAINED: dict[str, Callable[..., Any]] = {
    "tagger": lambda **options: trellis.train(CORPUS, target="label", **options),
    "parser": lambda **options: parsing.train(PROJECTIVE, features=TEMPLATES, **options),
    "tree parser": lambda **options: trees.train(TREES, **options),
    "segmenter": lambda **options: trellis.Segmenter.train([["a", "bc"], ["bc", "d"]], **options),
}
EMPTY: dict[str, Any] = {
    "tagger": {"word": [], "label": []},
    "parser": {name: [] for name in ("word", "pos", "head", "deprel")},
    "tree parser": [],
    "segmenter": [],
}
OF_CORPUS: dict[str, Callable[..., Any]] = {
    "tagger": lambda corpus: trellis.train(corpus, target="label"),
    "parser": parsing.train,
    "tree parser": trees.train,
    "segmenter": trellis.Segmenter.train,
}


@pytest.mark.parametrize("kind", EMPTY)
def test_empty_corpora_are_errors(kind: str) -> None:
    with pytest.raises(errors.CorpusError, match=r"no sentences to train on|no trees in it"):
        OF_CORPUS[kind](EMPTY[kind])
    with pytest.raises(errors.CorpusError, match=r"no sentences to compare epochs on|no trees in it"):
        TRAINED[kind](dev=EMPTY[kind])


def test_dev_trees_without_a_label_of_training() -> None:
    dev = {"word": [["dog"]], "pos": [["N"]], "head": [["0"]], "deprel": [["other"]]}
    with pytest.raises(errors.CorpusError, match=r"no label of the dev corpus \(other\) occurs in training"):
        parsing.train(PROJECTIVE, dev=dev)
    assert parsing.train(PROJECTIVE, dev=dev, metric="uas", learner=trellis.MIRA(epochs=1)).labels


def test_files_that_have_no_name_are_errors() -> None:
    for kind in KINDS:
        for path in (None, 3):
            with pytest.raises(errors.ArgumentError, match="path must be the path of a file"):
                model_of(kind).save(path)


# ------------------------------------------------------------ exceptions


EXCEPTIONS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
OTHERS = [trellis.StopTrainingError, TurnedAwayError, ConflictError, UnknownFunctionError]
OTHERS += [MissingCorpusError, CRFSuiteError, NotOpenError]


def test_all_exceptions_are_copied() -> None:
    """No exception of the package or of the experiments is missing below."""
    found = set[str]()
    folders = (Path(package.__file__).parent for package in (trellis, experiments))
    for path in itertools.chain.from_iterable(folder.rglob("*.py") for folder in folders):
        found |= set(re.findall(r"^class ([A-Za-z]\w*)\(.*(?:Error|Exception)\):", path.read_text(), re.MULTILINE))
    assert found == {kind.__name__ for kind in (*EXCEPTIONS, *OTHERS)}


@pytest.mark.parametrize("kind", [*EXCEPTIONS, *OTHERS])
def test_exceptions_are_copied(kind: type[Exception]) -> None:
    values = ("a.txt", 3) if issubclass(kind, errors.CorpusError) else (404,) if kind is TurnedAwayError else ()
    error = kind(*values, "no label")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert (str(again), vars(again)) == (str(error), vars(error))


def test_an_error_in_a_worker_reaches_its_pool() -> None:
    with (
        multiprocessing.get_context("spawn").Pool(1) as pool,
        pytest.raises(errors.CorpusError, match=r"nowhere\.txt"),
    ):
        pool.map_async(trellis.read, ["nowhere.txt"]).get(timeout=60)
