"""The parser as its user meets it: trees, k best, probabilities, explanations, one file."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trellis import _core
from trellis._support.arguments import instance, items, thread_count, whole_number
from trellis._support.arrays import Doubles, Ints
from trellis._support.errors import ArgumentError, CorpusError
from trellis._support.tensor_file import Tensors
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.corpus.objects import from_lists
from trellis.corpus.read import read
from trellis.evaluation.attachment import AttachmentReport, attachment_of
from trellis.features.arcs import ArcVocabulary
from trellis.features.places import ColumnReader
from trellis.features.presets import ALIASES
from trellis.features.templates import ARC_MEASURES, Look
from trellis.learning.learner import flag
from trellis.tasks.explanation import Explanation, Term, heaviest_first
from trellis.tasks.model import KBest, Model
from trellis.tasks.parsing import file as parser_file
from trellis.tasks.parsing.tree import DependencyTree
from trellis.tasks.parsing.treebank import HEAD, LABEL, read_dependencies

if TYPE_CHECKING:
    from trellis.display.svg import Picture


@contextmanager
def short_sentences(corpus: Corpus) -> Iterator[None]:
    """Report a sentence that is too long for the native code as an error of its corpus."""
    try:
        yield
    except ValueError as error:
        raise CorpusError(corpus.source, None, f"{error}; split it") from error


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Parser(Model):
    """Gives sentences dependency trees. Get one from ``Parser.train`` or ``trellis.load``.

    A sentence is a dict from column names to lists of strings, or a list of tuples in the order of ``columns``.
    """

    task, format = "parse", parser_file.FORMAT

    vocabulary: ArcVocabulary
    labels: tuple[str, ...]  # of arcs; () where arcs have none
    weights: Mapping[str, Any]  # named arrays, as learners give them
    projective: bool = True
    family: str = "scores"  # "log-linear": probabilities mean something
    info: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    _plan: _core.ArcPlan = field(init=False, repr=False, compare=False)
    _native: _core.TreeModel = field(init=False, repr=False, compare=False)
    _reader: ColumnReader = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        plan = self.vocabulary.plan(max(1, len(self.labels)))
        object.__setattr__(self, "_plan", plan)
        object.__setattr__(self, "_native", _core.TreeModel(plan, self.projective, dict(self.weights)))
        object.__setattr__(self, "_reader", self.vocabulary.reader)

    @property
    def columns(self) -> list[str]:
        """The columns of a sentence that it reads."""
        return self.vocabulary.templates.columns

    @property
    def order(self) -> int:
        """1: scores of arcs; 2: of siblings too."""
        return 2 if self.vocabulary.templates.siblings else 1

    # ------------------------------------------------------------ trees

    def parse(self, sentence: Any, *, probabilities: bool = False) -> DependencyTree:
        """The best tree of a sentence; on request with the probability of each of its arcs, with its label."""
        corpus = self._one(sentence)
        [tree] = self.parse_batch(corpus, n_threads=1)
        if not flag().check("probabilities", probabilities):
            return tree
        heads = np.array(tree.heads, np.int32)
        data = self._data(corpus)
        with short_sentences(corpus):
            _, arcs, labels = self._native.marginals(data, 0, heads)
        own = arcs[heads, np.arange(1, len(heads) + 1)]
        if tree.labels is not None:
            own = own * labels[np.arange(len(heads)), [self.labels.index(label) for label in tree.labels]]
        return replace(tree, probabilities=own.tolist())

    def parse_batch(self, sentences: Any, *, n_threads: int | None = None) -> list[DependencyTree]:
        """The best trees of sentences, or of all of a corpus."""
        corpus = self._corpus(sentences)
        heads, labels, scores = self._native.best(self._data(corpus), thread_count(n_threads))
        words, starts = self._words(corpus).tolist(), corpus.starts.tolist()
        return [
            self._tree(words[a:b], heads[a:b], labels[a:b], score)
            for a, b, score in zip(starts[:-1], starts[1:], scores.tolist(), strict=True)
        ]

    def parse_corpus(self, corpus: Corpus, *, n_threads: int | None = None) -> Corpus:
        """The corpus with its columns ``head`` and ``deprel`` filled in."""
        corpus = instance("corpus", corpus, Corpus, "a Corpus, such as trellis.read gives")
        heads, labels, _ = self._native.best(self._data(corpus), thread_count(n_threads))
        longest = int(heads.max(initial=0))
        out = corpus.with_column(HEAD, Column(heads, Strings.of(map(str, range(longest + 1)))))
        return out.with_column(LABEL, Column(labels, Strings.of(self.labels))) if self.labels else out

    predict, predict_batch, predict_corpus = parse, parse_batch, parse_corpus

    def kbest(self, sentence: Any, k: int) -> KBest:
        """The ``k`` best trees with their scores, best first; they differ in heads, and have the best labels."""
        corpus, k = self._one(sentence), whole_number("k", k, 1, 10**6)
        if not corpus.n_tokens:
            return KBest((tree, tree.score) for tree in self.parse_batch(corpus, n_threads=1))
        data = self._data(corpus)
        with short_sentences(corpus):
            heads, labels, scores = self._native.kbest(data, 0, k)
        words = self._words(corpus).tolist()
        trees = [self._tree(words, *found) for found in zip(heads, labels, scores.tolist(), strict=True)]
        return KBest((tree, tree.score) for tree in trees)

    def probabilities(self, sentence: Any) -> Doubles:
        """[n + 1, n] the probability of every arc: row h, column i is that word i + 1 has head h (0: it is the root).

        Probabilities are those of a log-linear model over trees; those of a parser that was trained by another loss
        than the log loss only say how far apart scores are.
        """
        corpus = self._one(sentence)
        data = self._data(corpus)
        with short_sentences(corpus):
            _, arcs, _ = self._native.marginals(data, 0, np.zeros(corpus.n_tokens, np.int32))
        return np.asarray(arcs[:, 1:])

    def explain(self, sentence: Any) -> Explanation:
        """What the score of the best tree is made of, arc by arc, and why it beats the next best tree."""
        corpus, explanation = self._one(sentence), None
        for tree, _ in reversed(self.kbest(corpus, 2)):
            terms = [term for word in range(1, len(tree) + 1) for term in self._arc_terms(corpus, tree, word)]
            explanation = Explanation(tree, float(sum(term.weight for term in terms)), terms, explanation)
        assert explanation is not None
        return explanation

    def explain_arc(self, sentence: Any, word: int, head: int | None = None) -> list[Term]:
        """What the arc to a word scores, the heaviest first: in the best tree, or with another ``head``.

        Words count from 1, and head 0 is the root. With another head the arc has the label that is best there.
        """
        corpus = self._one(sentence)
        n = corpus.n_tokens
        word = whole_number("word", word, 1, n)
        [tree] = self.parse_batch(corpus, n_threads=1)
        if head is not None:
            if whole_number("head", head, 0, n) == word:
                raise ArgumentError(f"head must be another word than {word}, or 0 for the root")
            heads = np.array(tree.heads, np.int32)
            heads[word - 1] = head
            labels = None
            if tree.labels is not None:
                with short_sentences(corpus):
                    best = int(np.argmax(self._native.marginals(self._data(corpus), 0, heads)[2][word - 1]))
                labels = [*tree.labels[: word - 1], self.labels[best], *tree.labels[word:]]
            tree = replace(tree, heads=heads.tolist(), labels=labels)
        return heaviest_first(self._arc_terms(corpus, tree, word))

    def _arc_terms(self, corpus: Corpus, tree: DependencyTree, word: int) -> list[Term]:
        """The terms of the arc to a word, with those of its sibling next to it on the side of its head."""
        n, head = corpus.n_tokens, tree.heads[word - 1]
        between = range(head + 1, word) if head < word else range(head - 1, word, -1)
        siblings = [i for i in between if tree.heads[i - 1] == head] if head else []
        sibling = siblings[-1] if siblings else head
        said = "" if tree.labels is None else tree.labels[word - 1]
        label = self.labels.index(said) if said else 0
        templates, places, weights = self._native.explain(self._data(corpus), 0, head, sibling, word, label)
        values = {name: corpus.column(name).tolist() for name in self.columns}
        at = {"head": head - 1, "dep": word - 1, "sibling": sibling - 1 if siblings else n}
        return [
            Term(self._named(t, values, {**at, "between": place}, label), weight, (head, word), said)
            for t, place, weight in zip(templates.tolist(), places.tolist(), weights.tolist(), strict=True)
        ]

    def draw(self, sentence: Any) -> Picture:
        """The best tree: arcs above the words, as thick as they are probable."""
        return self.parse(sentence, probabilities=True).draw()

    def evaluate(self, corpus: Any, *, n_threads: int | None = None, subtypes: bool = True) -> AttachmentReport:
        """Compare with the trees of a corpus, in its columns ``head`` and ``deprel``."""
        treebank = read_dependencies(read(corpus), labelled=bool(self.labels))
        heads, labels, _ = self._native.best(self._data(treebank.corpus), thread_count(n_threads))
        predicted = [self.labels[i] for i in labels.tolist()] if self.labels else None
        gold = None if treebank.labels is None else treebank.labels.tolist()
        both = (treebank.heads, gold), (heads, predicted)
        return attachment_of(treebank.corpus.starts, self._words(treebank.corpus), *both, subtypes=subtypes)

    # ------------------------------------------------------------ files

    def _content(self) -> tuple[Tensors, dict[str, Any]]:
        return parser_file.content_of(self)

    @classmethod
    def _from_content(cls, tensors: Tensors, header: dict[str, Any], **needs: Any) -> Self:
        return cls(*parser_file.parts_of(tensors, header))

    def _facts(self) -> dict[str, Any]:
        kind = "projective" if self.projective else "non-projective"
        facts = {"trees": kind, "reads": " ".join(self.columns), "order": f"{self.order}", "labels": len(self.labels)}
        return {**facts, "weights": len(self.weights["values"])}

    # ------------------------------------------------------------ details

    def _one(self, sentence: Any) -> Corpus:
        """A sentence as a corpus."""
        corpus = sentence if isinstance(sentence, Corpus) else self._corpus([sentence])
        if len(corpus) != 1:
            raise CorpusError(corpus.source, None, f"a corpus of {len(corpus):,} sentences, not one; see predict_batch")
        return corpus

    def _corpus(self, sentences: Any) -> Corpus:
        if isinstance(sentences, Corpus):
            return sentences
        if isinstance(sentences, Mapping):
            return read(sentences, columns=self.columns)
        rows = items(sentences)
        if rows is None:
            raise CorpusError("", None, f"sentences must be a list or a Corpus, not {reprlib.repr(sentences)}")
        if all(isinstance(row, list | tuple) and not row for row in rows):
            return read(dict.fromkeys(self.columns, rows))  # no token says how many columns there are
        records = all(isinstance(row, Mapping) for row in rows)
        return from_lists(rows, None if records else self.columns, tokens=True)

    def _words(self, corpus: Corpus) -> Column:
        """The words of sentences, or what it reads first where none are given."""
        names = (name for name in ("word", *ALIASES["word"]) if name in corpus.columns)
        return corpus.column(next(names, self.columns[0]))

    def _data(self, corpus: Corpus) -> _core.ArcData:
        columns = self._reader.read(corpus)
        with short_sentences(corpus):
            return _core.ArcData(self._plan, columns, corpus.starts)

    def _tree(self, words: Sequence[str], heads: Ints, labels: Ints, score: float) -> DependencyTree:
        named = [self.labels[i] for i in labels.tolist()] if self.labels else None
        return DependencyTree(words, heads.tolist(), named, score)

    def _named(self, t: int, values: Mapping[str, Sequence[str]], at: Mapping[str, int], label: int) -> str:
        """An attribute as a person reads it: ``pos[head]=VB & distance=+1``."""
        template = self.vocabulary.templates.all[t]
        said = [f"label={self.labels[label]}"] if template.labelled and self.labels else []
        for look in template.looks:
            if look.place in ARC_MEASURES:
                apart = at["dep"] - at["head"]
                near = (
                    apart
                    if abs(apart) <= 5
                    else f"{'+' if apart > 0 else '-'}{'6..10' if abs(apart) <= 10 else '11..'}"
                )
                side = "right" if apart > 0 else "left"
                said.append(f"direction={side}" if look.place == "direction" else f"distance={near}")
            else:
                said.append(f"{look}={self._said(look, values, at[look.place] + look.offset)}")
        return " & ".join(said) or "bias"

    def _said(self, look: Look, values: Mapping[str, Sequence[str]], place: int) -> str:
        words = values[look.column]
        if not 0 <= place < len(words):
            return "_ROOT" if place == -1 else "_OUTSIDE"
        return self._reader.said(look, words[place])
