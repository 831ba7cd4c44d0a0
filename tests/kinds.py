"""One entry per kind of model: what the tests of the interface that all kinds share need to know of each."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import small_treebank
from test_parsing import TEMPLATES, treebank
from test_structured import SENTENCES, Listed, ListedWithCosts, Searched
from test_tree_parser import AMBIGUOUS, TREES

import trellis
from trellis.learning.options import grouped
from trellis.tasks.parsing.options import ParsingOptions
from trellis.tasks.pipeline.model import document_of_words
from trellis.tasks.pipeline.options import PipelineOptions
from trellis.tasks.reranking.options import RerankingOptions
from trellis.tasks.structured.options import StructuredOptions
from trellis.tasks.tagging.options import TaggingOptions
from trellis.tasks.trees.options import TreeOptions
from trellis.tasks.words.options import WordsOptions

CHAINS = {trellis.Tagger: TaggingOptions, trellis.Segmenter: WordsOptions}
CHECKPOINT = "a checkpoint of another training"
PERCEPTRON = trellis.Perceptron(epochs=3)


@dataclass(frozen=True)
class Change:
    """Two values of an option of training: a checkpoint that was written with the first is rejected with the other."""

    first: Any
    then: Any
    beside: Mapping[str, Any] = field(default_factory=dict)  # options of both trainings
    why: str = CHECKPOINT


@dataclass(frozen=True)
class Kind:
    """A kind of model, with its training and test data."""

    name: str
    model: type[trellis.Model]
    data: Any  # to train on
    other: Any  # other data of the same size
    inputs: tuple[Any, ...]
    forms: tuple[Any, ...]  # the first of the inputs in other forms
    token: Any  # an input of one token
    empty: tuple[Any, ...]  # an input without tokens, in all forms
    nothing: Any  # the output of that
    hostile: Any  # an input with markup in it
    no_data: Any  # gold data without a sentence
    no_gold: Any  # data without the right outputs
    corpus: trellis.Corpus  # to predict columns of
    sentences: list[Any]  # the same as inputs
    apart: Callable[[Any], tuple[Any, Any]]  # data as inputs and outputs
    columns: Callable[[Any], dict[str, list[str]]]  # the predicted columns of an output
    options: Mapping[str, Any] = field(default_factory=dict)  # of training
    learner: Any = PERCEPTRON
    needs: Mapping[str, Any] = field(default_factory=dict)  # to load it with
    wrong: tuple[Any, ...] = (3, None, [3], [None], object())  # inputs that are errors
    no_answer: tuple[str, ...] = ()  # methods that are rejected
    no_effect: tuple[str, ...] = ()  # options of training that are rejected
    distinct: Callable[[Any], Any] = str  # the part in which outputs of a k-best list differ
    file: tuple[str, str] = ("data.txt", "")  # name and content of a file of gold data
    file_options: tuple[str, ...] = ()
    seven_epochs: tuple[str, ...] = ("--epochs", "7")  # as an option of trellis train
    words: tuple[str, ...] = ()  # of a sentence on the command line
    no_verbs: tuple[str, ...] = ()  # commands that reject the model
    lacks: str = ""  # why they do, where it is not the task: what no file can hold
    table: Any = None  # TypedDict of the options of training; at one kind of every task
    changes: Mapping[str, Change] = field(default_factory=dict)  # of the task's own options in that table
    has_epochs: bool = True
    several: bool = False  # whether a training is that of several models, one after the other
    resumes: bool = True  # whether a warm start is the same as more epochs

    def train(self, data: Any = None, y: Any = None, **options: Any) -> Any:
        """A model of the data, with the options of this kind and these."""
        everything = {"learner": self.learner, **self.options, **options}
        if self.model in CHAINS:  # options of groups by the names of the fields
            everything = grouped(CHAINS[self.model], everything)
        return self.model.train(self.data if data is None else data, y, **everything)

    def __str__(self) -> str:
        return self.name


@cache
def model_of(kind: str) -> Any:
    """The model of a kind, trained once."""
    return BY_NAME[kind].train()


def words_with_labels(*sentences: str) -> trellis.Corpus:
    """A corpus of words, each with its first letter as its label."""
    words = [sentence.split() for sentence in sentences]
    return trellis.read({"word": words, "label": [[word[0].upper() for word in one] for one in words]})


CORPUS = words_with_labels("ab bc", "bc ab ca", "ab", "ca ab", "bb ca", "cc bb ab")
OTHER = words_with_labels("ab bc", "bc cc ca", "ab", "ca ab", "bb ca", "cc bb ab")
# The same words with other labels: no tagger gets all of them right.
SPANS, OTHER_SPANS = (
    trellis.read(
        {
            "word": [["a", "b", "c"], ["c", "b"]] * 3,
            "label": [labels, ["O", "B-X"]] * 2 + [["B-X", "O", "B-X"], ["B-X", "I-X"]],
        }
    )
    for labels in (["B-X", "I-X", "O"], ["B-X", "O", "O"])
)
# Commands for models of any task, or of certain tasks.
VERBS = (
    *("predict", "evaluate", "explain", "draw", "info", "dump", "compare", "report", "calibrate", "convert"),
    *("serve", "studio"),
)
HOSTILE = "<script>\"&'x"
WORDS = ("ab", "ca", "bb zz ab")


def sentences(*texts: str) -> tuple[list[str], ...]:
    """Lists of words."""
    return tuple(text.split() for text in texts)


def forms_of(text: str) -> tuple[Any, ...]:
    """A sentence in all forms that taggers take."""
    words = text.split()
    return tuple(words), np.array(words), {"word": words}, [(word,) for word in words], [[word] for word in words]


def train_tagger(part: trellis.Corpus) -> trellis.Tagger:
    """The tagger of a reranker."""
    return trellis.Tagger.train(part, target="label", learner=trellis.Perceptron(epochs=2))


def train_other_tagger(part: trellis.Corpus) -> trellis.Tagger:
    """Another one."""
    return trellis.Tagger.train(part, target="label", learner=trellis.Perceptron(epochs=1), features=["word[0]"])


def repeated_labels(candidate: Any) -> dict[str, float]:
    """A feature of a reranker."""
    return {"repeated": float(sum(a == b for a, b in itertools.pairwise(candidate.labels)))}


def halves(labels: list[str]) -> dict[str, list[str]]:
    """The labels of two columns."""
    pairs = [label.partition("|") for label in labels]
    return {"upos": [first for first, _, _ in pairs], "feats": [second or "_" for _, _, second in pairs]}


def share_right(outputs: list[Any], right: list[Any]) -> float:
    """A metric."""
    return sum(map(operator.eq, outputs, right)) / len(right)


def half_right(outputs: list[Any], right: list[Any]) -> float:
    """Another one."""
    return share_right(outputs, right) / 2


def dependencies(tree: trellis.DependencyTree) -> list[int]:
    """The part in which the trees of a k-best list differ."""
    return list(tree.heads)


def lines_of(corpus: trellis.Corpus, *names: str) -> str:
    """A file of these columns."""
    columns = [corpus.sentences(name) for name in names]
    blocks = (zip(*sentence, strict=True) for sentence in zip(*columns, strict=True))
    return "".join("".join(f"{' '.join(row)}\n" for row in block) + "\n" for block in blocks)


def letters_of(length: int) -> str:
    """The labels of the characters of a word."""
    return "S" if length == 1 else f"B{'M' * (length - 2)}E"


TAGGED: dict[str, Any] = {
    "inputs": sentences(*WORDS),
    "forms": forms_of("ab"),
    "token": ["ab"],
    "empty": ([], (), {"word": []}),
    "nothing": [],
    "hostile": [HOSTILE, "ab"],
    "no_data": {"word": [], "label": []},
    "no_gold": {"word": [["ab"]]},
    "corpus": trellis.read({"word": [sentence.split() for sentence in WORDS], "label": [["?"], ["?"], [*"???"]]}),
    "sentences": [sentence.split() for sentence in WORDS],
    "columns": lambda labels: {"label": labels},
    "apart": lambda data: (data.sentences("word"), data.sentences("label")),
    "file_options": ("--columns", "word,label"),
}
OF_CORPUS: dict[str, Any] = {"file": ("data.txt", 2 * lines_of(CORPUS, "word", "label")), "words": ("ab", "bc")}
TWO = trellis.read(
    {
        "word": CORPUS.sentences("word"),
        "upos": CORPUS.sentences("label"),
        "feats": [[f"X={word[-1]}" for word in words] for words in CORPUS.sentences("word")],
    }
)
OF_TWO = ("--columns", ",".join(TWO.columns))
OF_SPANS: dict[str, Any] = {"file": ("data.txt", lines_of(SPANS, "word", "label")), "words": ("a", "b")}
PARSED: dict[str, Any] = {
    "data": treebank(8, 1),
    "other": treebank(8, 2),
    "inputs": (
        [("N", "dog"), ("V", "sees")],
        [("N", "dog"), ("V", "likes"), ("D", "the"), ("N", "cat")],
        [("?", "now"), ("N", "?"), ("N", "dog")],
    ),
    "forms": (
        {"pos": ["N", "V"], "word": ["dog", "sees"]},
        (("N", "dog"), ("V", "sees")),
        [["N", "dog"], ["V", "sees"]],
    ),
    "token": [("N", "dog")],
    "empty": ([], (), {"pos": [], "word": []}),
    "nothing": trellis.DependencyTree([], [], []),
    "hostile": [("N", HOSTILE), (HOSTILE, "sees")],
    "no_data": {name: [] for name in ("word", "pos", "head", "deprel")},
    "no_gold": {"word": [["dog"]], "pos": [["N"]]},
    "corpus": treebank(3, 5),
    "sentences": [{name: one[name] for name in ("word", "pos")} for one in treebank(3, 5)],
    "columns": lambda tree: {"head": list(map(str, tree.heads)), "deprel": tree.labels},
    "apart": lambda data: (
        [list(zip(one["word"], one["pos"], strict=True)) for one in data],
        [(np.array(one["head"], np.int64), one["deprel"]) for one in data],
    ),
    "distinct": dependencies,
    "file": ("data.txt", lines_of(treebank(8, 1), "word", "pos", "head", "deprel")),
    "file_options": ("--columns", "word,pos,head,deprel"),
    "words": ("N/dog", "V/sees"),
    "no_verbs": ("report", "calibrate"),
}
SHORT = trellis.PhraseTree("TOP", (trellis.PhraseTree("S", (trellis.PhraseTree("VB", (), "go"),)),))
PHRASES: dict[str, Any] = {
    "data": [*TREES, SHORT],
    "other": [*TREES[1:], SHORT, SHORT],
    # The second and the third are ambiguous; the fourth has a tree by the coarse grammar alone, the last one has none.
    "inputs": sentences(
        "the dog saw a cat .",
        " ".join(word for word, _ in AMBIGUOUS),
        "the man saw the dog with eyes .",
        "the dog saw the cat the dog saw the cat .",
        "the the",
    ),
    "forms": ({"word": ["the", "dog", "saw", "a", "cat", "."]}, ("the", "dog", "saw", "a", "cat", ".")),
    "token": ["go"],
    "empty": ([], (), {"word": []}),
    "nothing": trellis.PhraseTree("TOP"),
    "hostile": [(HOSTILE, HOSTILE), ("sat", "VBD"), (".", ".")],
    "no_data": [],
    "no_gold": [["the", "dog"]],
    "corpus": trellis.read({"word": [["the", "dog", "saw", "a", "cat", "."], ["the"], ["go"]]}),
    "sentences": [["the", "dog", "saw", "a", "cat", "."], ["the"], ["go"]],
    "columns": lambda tree: {"tree": tree.pieces()},
    "apart": lambda data: ([tree.words for tree in data], data),
    "file": ("data.trees", "".join(f"{tree}\n" for tree in TREES)),
    "words": ("the", "dog", "saw", "a", "cat", "."),
    "no_verbs": ("report", "calibrate"),
}
SEGMENTED: dict[str, Any] = {
    "data": [["a", "bc"], ["bc", "d"], ["ab", "c"], ["d"]],
    "other": [["d"], ["bc", "a"], ["ab", "d"], ["d", "d"]],
    # White space of several kinds, letters in full width, a word of training across a blank.
    "inputs": ("abcd", "bc d\u3000ab", "\ufeffab c\x1fd", "\uff42\uff43\uff44 b c"),
    "forms": (" abcd", "\ufeffabcd\u3000\n"),
    "token": "a",
    "empty": ("", " ", "\u3000\n"),
    "nothing": [],
    "hostile": f"a{HOSTILE}",
    "no_data": [],
    "no_gold": [["a", 3]],
    "corpus": trellis.read({"character": [[*"abcd"], [*"bcd"], ["a"]]}),
    "sentences": ["abcd", "bcd", "a"],
    "columns": lambda words: {"label": [letter for word in words for letter in letters_of(len(word))]},
    "apart": lambda data: (["".join(words) for words in data], data),
    "no_answer": ("draw",),
    "file": ("data.txt", "a bc\nbc d\nab c\nd\n"),
    "words": ("abcd",),
    "no_verbs": ("draw", "report", "calibrate"),
}
ANNOTATED = ("lemma", "upos", "feats", "head", "deprel")
ANA = ["Ana", "kosat", "la", "mina", "."]
PIPELINE: dict[str, Any] = {
    "data": small_treebank.treebank(12, 1),
    "other": small_treebank.treebank(12, 2),
    "inputs": (ANA, "Ana kosat la mina.", "Beno velan dol rab, e la luna hapat!\n\nCira durat?", "zz <b> dol"),
    "forms": (tuple(ANA), np.array(ANA), document_of_words(ANA)),
    "token": ["rab"],
    "empty": ("", [], (), trellis.Document("")),
    "nothing": trellis.Document(""),
    "hostile": [HOSTILE, "rab"],
    "no_data": trellis.Document(""),
    "no_gold": ["Ana kosat."],
    "corpus": trellis.read({"form": [ANA, ["rab"], ["?", "dol"]]}),
    "sentences": [ANA, ["rab"], ["?", "dol"]],
    "columns": lambda document: {name: document.to_corpus().sentences(name)[0] for name in ANNOTATED},
    "apart": lambda data: ([data.text], [data]),
    "no_answer": ("kbest", "explain"),
    "no_effect": ("init", "sample_weight", "checkpoint", "checkpoint_every", "metric"),
    "file": ("data.conllu", small_treebank.treebank(12, 1).to_conllu()),
    "words": ("Ana", "kosat", "."),
    "no_verbs": ("explain", "draw", "compare", "report", "calibrate"),
    "several": True,
}
OF_CHAINS = {
    "order": Change(1, 2),
    "min_count": Change(0, 1),
    "pairs": Change("all", "seen"),
    "tag_dictionary": Change(False, 1),
    "beam": Change(2, 3, {"order": 3}),
    "prune": Change(False, 0.9),
    "bagging": Change(1, 2, why="bagging cannot be combined with checkpoint"),
}
RERANKED: dict[str, Any] = {"tagger": train_tagger, "k": 3, "folds": 2}
STRUCTURED: dict[str, Any] = {
    "data": SENTENCES,
    "other": [*SENTENCES[1:], SENTENCES[-1]],
    "inputs": (("the", "dog"), ("a", "cat", "sees")),
    "forms": (["the", "dog"],),
    "token": ("dogs",),
    "empty": ((),),
    "nothing": (),
    "hostile": (HOSTILE, "dog"),
    "no_data": [],
    "no_gold": [("the", "dog", "sees")],
    "wrong": (),  # the problem is the user's
    "corpus": CORPUS,
    "sentences": [],
    "columns": dict,
    "apart": lambda data: ([x for x, _ in data], [y for _, y in data]),
    "no_answer": ("predict_corpus", "draw"),
    "words": ("the", "dog"),
    "no_verbs": tuple(verb for verb in VERBS if verb not in ("info", "dump", "convert")),
}

KINDS = [
    Kind("tagger", trellis.Tagger, CORPUS, OTHER, **TAGGED, **OF_CORPUS, options={"target": "label"}),
    Kind(
        "tagger of two columns",
        trellis.Tagger,
        TWO,
        TWO.with_column("upos", OTHER.column("label")),
        **{
            **TAGGED,
            "no_data": {name: [] for name in TWO.columns},
            "columns": halves,
            "apart": lambda data: (data.sentences("word"), data.sentences("upos+feats")),
            "file_options": OF_TWO,
        },
        file=("data.txt", lines_of(TWO, *TWO.columns)),
        words=("ab", "bc"),
        options={"target": "upos+feats", "features": ["word[0]", "word[-1]"]},
    ),
    Kind(
        "tagger of spans",
        trellis.Tagger,
        SPANS.with_column("other", OTHER_SPANS.column("label")),
        OTHER_SPANS,
        **{**TAGGED, "inputs": sentences("a b", "c b a", "b zz"), "forms": forms_of("a b")},
        **OF_SPANS,
        options={"target": "label", "features": ["word[0]", "word[-1]"]},
        table=TaggingOptions,
        changes={
            **OF_CHAINS,
            "target": Change("label", "other"),
            "features": Change(["word[0]"], ["word[0]", "word[-1]"]),
            "label_weights": Change(None, {"O": 2.0}),
            "label_costs": Change(None, {"O": 2.0}, {"learner": trellis.MIRA(epochs=2)}),
            "segments": Change(False, True),
            "partial": Change(False, True),
            "scheme": Change(None, "iob2"),
            "label_parts": Change(None, "-"),
            "documents": Change(False, True, why="documents"),
            "workers": Change(None, 2, why="stream of files; train on one, or omit workers"),
            "metric": Change("token", "sentence", {"dev": OTHER_SPANS}),
        },
    ),
    Kind(
        "semi-Markov tagger",
        trellis.Tagger,
        SPANS,
        OTHER_SPANS,
        **{**TAGGED, "inputs": sentences("a b", "c b a", "b zz"), "forms": forms_of("a b")},
        **OF_SPANS,
        options={"target": "label", "segments": True},
        no_effect=("init",),
    ),
    Kind(
        "parser",
        trellis.Parser,
        **PARSED,
        options={"features": TEMPLATES},
        table=ParsingOptions,
        changes={
            "features": Change(TEMPLATES, TEMPLATES[1:]),
            "order": Change(1, 2),
            "projective": Change(True, False, {"order": 1}),
            "labelled": Change(True, False, {"features": TEMPLATES[:6], "order": 1}),
            "filter": Change(None, "pos[head] & pos[dep]"),
            "prune_weights": Change(0.0, 0.5),
            "lenient": Change(False, True),
            "metric": Change("uas", "las", {"dev": PARSED["other"]}),
        },
    ),
    Kind(
        "non-projective parser",
        trellis.Parser,
        **PARSED,
        options={"features": TEMPLATES[:8], "order": 1, "projective": False},
    ),
    Kind(
        "tree parser",
        trellis.TreeParser,
        **PHRASES,
        table=TreeOptions,
        changes={
            "features": Change("spans", "rules"),
            "vertical": Change(1, 2),
            "horizontal": Change(0, 1),
            "prune": Change(1e-4, 1e-3),
            "tagger": Change(None, train_tagger(CORPUS)),
            "lenient": Change(False, True),
            "metric": Change("auto", "f1", {"dev": TREES}),
        },
    ),
    Kind("markovised tree parser", trellis.TreeParser, **PHRASES, options={"vertical": 2}),
    Kind(
        "pcfg",
        trellis.TreeParser,
        **PHRASES,
        learner="pcfg",
        no_effect=("dev", "checkpoint", "sample_weight", "init"),
        has_epochs=False,
    ),
    Kind(
        "pcfg with a tagger of its own tags",
        trellis.TreeParser,
        **PHRASES,
        options={"tagger": train_tagger(CORPUS)},
        learner="pcfg",
        no_effect=("dev", "checkpoint", "sample_weight", "init"),
        has_epochs=False,
    ),
    Kind(
        "segmenter",
        trellis.Segmenter,
        **SEGMENTED,
        options={"features": ["character[0]", "character[-1] & character[0]", "character[0] & character[+1]"]},
        table=WordsOptions,
        changes={
            **OF_CHAINS,
            "features": Change(["character[0]"], ["character[0]", "character[-1]"]),
            "segments": Change(False, True),
            "lenient": Change(False, True),
            "metric": Change("auto", "f1", {"dev": SEGMENTED["other"]}),
        },
    ),
    # Its templates have a dictionary of the words of training, which is learned in folds.
    Kind("segmenter with a dictionary", trellis.Segmenter, **SEGMENTED, resumes=False),
    Kind(
        "reranker",
        trellis.Reranker,
        CORPUS,
        OTHER,
        **TAGGED,
        **OF_CORPUS,
        options=RERANKED,
        no_answer=("draw",),
        no_verbs=("draw", "report", "calibrate"),
        seven_epochs=("--reranker-set", "epochs=7"),
        table=RerankingOptions,
        changes={
            "tagger": Change(train_tagger, train_other_tagger),
            "k": Change(3, 4),
            "folds": Change(2, 3),
            "features": Change(["score", "counts"], ["score"]),
            # Labels that mark no spans: costs are those of tokens.
            "cost": Change("auto", "tokens", why=""),
            "metric": Change("token", "sentence", {"dev": OTHER}),
        },
    ),
    Kind(
        "reranker with a function",
        trellis.Reranker,
        CORPUS,
        OTHER,
        **TAGGED,
        **OF_CORPUS,
        options={**RERANKED, "features": ["score", repeated_labels]},
        needs={"functions": [repeated_labels]},
        no_answer=("draw",),
        no_verbs=VERBS,
        lacks="functions=",
    ),
    Kind(
        "reranker of spans",
        trellis.Reranker,
        SPANS,
        OTHER_SPANS,
        **{**TAGGED, "inputs": sentences("a b", "c b a"), "forms": forms_of("a b")},
        **OF_SPANS,
        options=RERANKED,
        no_answer=("draw",),
        no_verbs=("draw", "report", "calibrate"),
    ),
    Kind(
        "structured model",
        trellis.StructuredModel,
        **STRUCTURED,
        options={"problem": Listed()},
        needs={"problem": Listed()},
        table=StructuredOptions,
        changes={
            "problem": Change(Listed(), ListedWithCosts()),
            "beam": Change(None, 3, why="beam has an effect only for problems with choices"),
            "metric": Change(share_right, half_right, {"dev": SENTENCES}),
        },
    ),
    Kind(
        "structured model by search",
        trellis.StructuredModel,
        **STRUCTURED,
        options={"problem": Searched()},
        needs={"problem": Searched()},
        no_effect=("checkpoint",),
    ),
    Kind(
        "pipeline",
        trellis.Pipeline,
        **PIPELINE,
        options={"folds": 2},
        table=PipelineOptions,
        changes={
            "parts": Change(None, ["tokens"]),
            "projective": Change(True, False),
            "folds": Change(2, 3),
            "metric": Change("auto", "las", {"dev": PIPELINE["other"]}),
        },
    ),
]
BY_NAME = {kind.name: kind for kind in KINDS}
DECLARED = [kind for kind in KINDS if kind.table is not None]  # one per task
