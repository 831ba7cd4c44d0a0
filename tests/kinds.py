"""One entry per kind of model: what the tests of the interface that all kinds share need to know of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from test_parsing import TEMPLATES, treebank
from test_structured import SENTENCES, Listed, Searched
from test_tree_parser import AMBIGUOUS, TREES

import trellis


@dataclass(frozen=True)
class Kind:
    """A kind of model, and what to train and ask it."""

    name: str
    model: type[trellis.Model]
    data: Any  # to train on
    other: Any  # other data of the same size
    inputs: tuple[Any, ...]
    token: Any  # an input of one token
    empty: tuple[Any, ...]  # an input without tokens, in all forms
    nothing: Any  # the output of that
    hostile: Any  # an input with markup in it
    no_data: Any  # gold data without a sentence
    no_gold: Any  # data without the right outputs
    corpus: trellis.Corpus  # to predict columns of
    sentences: list[Any]  # the same as inputs
    columns: Callable[[Any], dict[str, list[str]]]  # the predicted columns of an output
    options: Mapping[str, Any] = field(default_factory=dict)  # of training
    learner: Any = trellis.Perceptron(epochs=3)
    needs: Mapping[str, Any] = field(default_factory=dict)  # to load it with
    no_answer: tuple[str, ...] = ()  # methods that are rejected
    no_effect: tuple[str, ...] = ()  # options of training that are rejected
    distinct: Callable[[Any], Any] = str  # what the outputs of a k-best list differ in
    has_epochs: bool = True
    resumes: bool = True  # whether a warm start is the same as more epochs

    def train(self, data: Any = None, **options: Any) -> Any:
        """A model of the data, with the options of this kind and these."""
        everything = {"learner": self.learner, **self.options, **options}
        return self.model.train(self.data if data is None else data, **everything)

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
HOSTILE = "<script>\"&'x"
WORDS = ("ab", "ca", "bb zz ab")


def sentences(*texts: str) -> tuple[list[str], ...]:
    """Lists of words."""
    return tuple(text.split() for text in texts)


def train_tagger(part: trellis.Corpus) -> trellis.Tagger:
    """The tagger of a reranker."""
    return trellis.Tagger.train(part, target="label", learner=trellis.Perceptron(epochs=2))


def dependencies(tree: trellis.DependencyTree) -> list[int]:
    """What the trees of a k-best list differ in."""
    return list(tree.heads)


def letters_of(length: int) -> str:
    """The labels of the characters of a word."""
    return "S" if length == 1 else f"B{'M' * (length - 2)}E"


TAGGED: dict[str, Any] = {
    "inputs": sentences(*WORDS),
    "token": ["ab"],
    "empty": ([], (), {"word": []}),
    "nothing": [],
    "hostile": [HOSTILE, "ab"],
    "no_data": {"word": [], "label": []},
    "no_gold": {"word": [["ab"]]},
    "corpus": trellis.read({"word": [sentence.split() for sentence in WORDS], "label": [["?"], ["?"], [*"???"]]}),
    "sentences": [sentence.split() for sentence in WORDS],
    "columns": lambda labels: {"label": labels},
}
PARSED: dict[str, Any] = {
    "data": treebank(8, 1),
    "other": treebank(8, 2),
    "inputs": (
        [("N", "dog"), ("V", "sees")],
        [("N", "dog"), ("V", "likes"), ("D", "the"), ("N", "cat")],
        [("?", "now"), ("N", "?"), ("N", "dog")],
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
    "distinct": dependencies,
    "no_answer": ("top_features",),
}
SHORT = trellis.PhraseTree("TOP", (trellis.PhraseTree("S", (trellis.PhraseTree("VB", (), "go"),)),))
PHRASES: dict[str, Any] = {
    "data": [*TREES, SHORT],
    "other": [*TREES[1:], SHORT, SHORT],
    # The second and the third are ambiguous; the grammar cannot derive the last one.
    "inputs": sentences(
        "the dog saw a cat .", " ".join(word for word, _ in AMBIGUOUS), "the man saw the dog with eyes .", "the the"
    ),
    "token": ["go"],
    "empty": ([], (), {"word": []}),
    "nothing": trellis.PhraseTree("TOP"),
    "hostile": [(HOSTILE, HOSTILE), ("sat", "VBD"), (".", ".")],
    "no_data": [],
    "no_gold": [["the", "dog"]],
    "corpus": trellis.read({"word": [["the", "dog", "saw", "a", "cat", "."], ["the"], ["go"]]}),
    "sentences": [["the", "dog", "saw", "a", "cat", "."], ["the"], ["go"]],
    "columns": lambda tree: {"tree": tree.pieces()},
    "no_answer": ("top_features",),
}
SEGMENTED: dict[str, Any] = {
    "data": [["a", "bc"], ["bc", "d"], ["ab", "c"], ["d"]],
    "other": [["d"], ["bc", "a"], ["ab", "d"], ["d", "d"]],
    # White space of several kinds, letters in full width, a word of training across a blank.
    "inputs": ("abcd", "bc d\u3000ab", "\ufeffab c\x1fd", "\uff42\uff43\uff44 b c"),
    "token": "a",
    "empty": ("", " ", "\u3000\n"),
    "nothing": [],
    "hostile": f"a{HOSTILE}",
    "no_data": [],
    "no_gold": [["a", 3]],
    "corpus": trellis.read({"character": [[*"abcd"], [*"bcd"], ["a"]]}),
    "sentences": ["abcd", "bcd", "a"],
    "columns": lambda words: {"label": [letter for word in words for letter in letters_of(len(word))]},
    "no_answer": ("draw",),
}
RERANKED: dict[str, Any] = {"tagger": train_tagger, "k": 3, "folds": 2}
STRUCTURED: dict[str, Any] = {
    "data": SENTENCES,
    "other": [*SENTENCES[1:], SENTENCES[-1]],
    "inputs": (("the", "dog"), ("a", "cat", "sees")),
    "token": ("dogs",),
    "empty": ((),),
    "nothing": (),
    "hostile": (HOSTILE, "dog"),
    "no_data": [],
    "no_gold": [("the", "dog", "sees")],
    "corpus": CORPUS,
    "sentences": [],
    "columns": dict,
    "no_answer": ("predict_corpus", "draw"),
}

KINDS = [
    Kind("tagger", trellis.Tagger, CORPUS, OTHER, **TAGGED, options={"target": "label"}),
    Kind(
        "semi-Markov tagger",
        trellis.Tagger,
        SPANS,
        OTHER_SPANS,
        **{**TAGGED, "inputs": sentences("a b", "c b a", "b zz")},
        options={"target": "label", "segments": True},
        no_effect=("init",),
    ),
    Kind("parser", trellis.Parser, **PARSED, options={"features": TEMPLATES}),
    Kind(
        "non-projective parser",
        trellis.Parser,
        **PARSED,
        options={"features": TEMPLATES[:8], "order": 1, "projective": False},
    ),
    Kind("tree parser", trellis.TreeParser, **PHRASES),
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
    ),
    # Its templates have a dictionary of the words of training, which is learned in folds.
    Kind("segmenter with a dictionary", trellis.Segmenter, **SEGMENTED, resumes=False),
    Kind("reranker", trellis.Reranker, CORPUS, OTHER, **TAGGED, options=RERANKED, no_answer=("draw",)),
    Kind(
        "reranker of spans",
        trellis.Reranker,
        SPANS,
        OTHER_SPANS,
        **{**TAGGED, "inputs": sentences("a b", "c b a")},
        options=RERANKED,
        no_answer=("draw",),
    ),
    Kind(
        "structured model",
        trellis.StructuredModel,
        **STRUCTURED,
        options={"problem": Listed()},
        needs={"problem": Listed()},
    ),
    Kind(
        "structured model by search",
        trellis.StructuredModel,
        **STRUCTURED,
        options={"problem": Searched()},
        needs={"problem": Searched()},
        no_effect=("checkpoint",),
    ),
]
BY_NAME = {kind.name: kind for kind in KINDS}
