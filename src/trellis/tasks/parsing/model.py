"""The parser as its user meets it: trees, k best, probabilities, explanations, one file."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trellis import _core
from trellis._support.arguments import items, thread_count, whole_number
from trellis._support.arrays import Doubles, Ints, farthest
from trellis._support.errors import ArgumentError, CorpusError
from trellis._support.tensor_file import Tensors
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.corpus.objects import from_lists
from trellis.corpus.read import TrainingFile, read, read_like
from trellis.evaluation.attachment import AttachmentReport, attachment_of
from trellis.features.arcs import ArcTemplates, ArcVocabulary
from trellis.features.extraction import Coded
from trellis.features.known import keys_in_order
from trellis.features.places import MEASURE
from trellis.features.presets import ALIASES
from trellis.features.templates import parse_template
from trellis.features.vocabulary import KeyTables, tables_in
from trellis.features.vocabulary_tensors import checked_columns, columns_content
from trellis.learning.learner import flag
from trellis.tasks.explanation import Explanation, Term, explanation_of, heaviest_first
from trellis.tasks.model import KBest, Model, notes_and_record
from trellis.tasks.parsing.tree import DependencyTree
from trellis.tasks.parsing.treebank import HEAD, LABEL, gold_corpus, read_dependencies

if TYPE_CHECKING:
    from trellis.display.svg import Picture

WEIGHTS = (*(f"{kind}.{name}" for kind in ("tables", "folds") for name in KeyTables._fields), "values")
KINDS = ("arcs", "labelled", "siblings", "filter")  # of templates


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

    task, format = "parse", "trellis-parser-1"

    vocabulary: ArcVocabulary
    labels: tuple[str, ...]  # of arcs; () where arcs have none
    weights: Mapping[str, Any]  # named arrays, as learners give them
    projective: bool = True
    family: str = "scores"  # "log-linear": probabilities mean something
    info: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    _plan: _core.ArcPlan = field(init=False, repr=False, compare=False)
    _native: _core.TreeModel = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        plan = self.vocabulary.plan(max(1, len(self.labels)))
        object.__setattr__(self, "_plan", plan)
        object.__setattr__(self, "_native", _core.TreeModel(plan, self.projective, dict(self.weights)))

    @property
    def columns(self) -> list[str]:
        """The columns of a sentence that it reads."""
        return self.vocabulary.templates.columns

    @property
    def order(self) -> int:
        """1: scores of arcs; 2: of siblings too."""
        return 2 if self.vocabulary.templates.siblings else 1

    def table(self, kind: str) -> KeyTables:
        """The arrays of the keys of its attributes ("tables"), or of what is folded in them ("folds")."""
        return tables_in(self.weights, kind)

    @property
    def training_file(self) -> TrainingFile:
        """What it knows of the file that it was trained on."""
        return TrainingFile.of(self.training.get("corpus", {}), (HEAD, LABEL), self.columns)

    # ------------------------------------------------------------ trees

    def parse(self, sentence: Any, *, probabilities: bool = False) -> DependencyTree:
        """The best tree of a sentence; on request with the probability of each of its arcs, with its label."""
        corpus = self._one(sentence)
        [tree] = self.parse_batch(corpus, n_threads=1)
        if not flag().check("probabilities", probabilities):
            return tree
        heads = np.array(tree.heads, np.int32)
        arcs, labels = self._marginals(corpus, heads)
        own = arcs[heads, np.arange(1, len(heads) + 1)]
        if tree.labels is not None:
            own = own * labels[np.arange(len(heads)), [self.labels.index(label) for label in tree.labels]]
        return replace(tree, probabilities=own.tolist())

    def parse_batch(self, sentences: Any, *, n_threads: int | None = None) -> list[DependencyTree]:
        """The best trees of sentences, or of all of a corpus."""
        corpus = self._corpus(sentences)
        heads, labels, scores = self._native.best(self._data(corpus), 1, thread_count(n_threads))
        words, starts = self._words(corpus).tolist(), corpus.starts.tolist()
        return [
            self._tree(words[a:b], heads[a:b], labels[a:b], score)
            for a, b, score in zip(starts[:-1], starts[1:], scores.tolist(), strict=True)
        ]

    def parse_corpus(self, corpus: Any, *, n_threads: int | None = None) -> Corpus:
        """The corpus, or what ``trellis.read`` takes, with its columns ``head`` and ``deprel`` filled in."""
        sentences = read_like(corpus, self.training_file)
        heads, labels, _ = self._native.best(self._data(sentences), 1, thread_count(n_threads))
        longest = int(heads.max(initial=0))
        out = sentences.with_column(HEAD, Column(heads, Strings.of(map(str, range(longest + 1)))))
        return out.with_column(LABEL, Column(labels, Strings.of(self.labels))) if self.labels else out

    predict, predict_batch, predict_corpus = parse, parse_batch, parse_corpus

    def kbest(self, sentence: Any, k: int = 5) -> KBest:
        """The ``k`` best trees with their scores, best first; they differ in heads, and have the best labels."""
        corpus, k = self._one(sentence), whole_number("k", k, 1, 10**6)
        if not corpus.n_tokens:
            return KBest((tree, tree.score) for tree in self.parse_batch(corpus, n_threads=1))
        with short_sentences(corpus):
            heads, labels, scores = self._native.best(self._data(corpus), k, 1)
        words, shape = self._words(corpus).tolist(), (-1, corpus.n_tokens)
        found = zip(heads.reshape(shape), labels.reshape(shape), scores.tolist(), strict=True)
        trees = [self._tree(words, *one) for one in found]
        return KBest((tree, tree.score) for tree in trees)

    def probabilities(self, sentence: Any) -> Doubles:
        """[n + 1, n] the probability of every arc: row h, column i is that word i + 1 has head h (0: it is the root).

        Probabilities are those of a log-linear model over trees; those of a parser that was trained by another loss
        than the log loss only say how far apart scores are.
        """
        corpus = self._one(sentence)
        return np.asarray(self._marginals(corpus, np.zeros(corpus.n_tokens, np.int32))[0][:, 1:])

    def explain(self, sentence: Any) -> Explanation:
        """What the score of the best tree is made of, arc by arc, and why it beats the next best tree."""
        corpus, ranked = self._one(sentence), []
        for tree, _ in self.kbest(corpus, 2):
            terms = [term for word in range(1, len(tree) + 1) for term in self._arc_terms(corpus, tree, word)]
            ranked.append((tree, float(sum(term.weight for term in terms)), terms))
        return explanation_of(ranked)

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
                raise ArgumentError(f"the head must differ from word {word}, or be 0 for the root")
            heads = np.array(tree.heads, np.int32)
            heads[word - 1] = head
            labels = None
            if tree.labels is not None:
                best = int(np.argmax(self._marginals(corpus, heads)[1][word - 1]))
                labels = [*tree.labels[: word - 1], self.labels[best], *tree.labels[word:]]
            tree = replace(tree, heads=heads.tolist(), labels=labels)
        return heaviest_first(self._arc_terms(corpus, tree, word))

    def _arc_terms(self, corpus: Corpus, tree: DependencyTree, word: int) -> list[Term]:
        """The terms of the arc to a word, with those of its sibling next to it on the side of its head."""
        n, head, vocabulary = corpus.n_tokens, tree.heads[word - 1], self.vocabulary
        between = range(head + 1, word) if head < word else range(head - 1, word, -1)
        siblings = [i for i in between if tree.heads[i - 1] == head] if head else []
        sibling = siblings[-1] if siblings else head
        said = "" if tree.labels is None else tree.labels[word - 1]
        label = self.labels.index(said) if said else 0
        templates, places, weights = self._native.explain(self._data(corpus), head, sibling, word, label)
        coded, layout = vocabulary.read(corpus), vocabulary.layout()
        at, measures = [head - 1, word - 1, sibling - 1 if siblings else n], arc_measures(word - head)
        terms = list[Term]()
        for t, place, weight in zip(templates.tolist(), places.tolist(), weights.tolist(), strict=True):
            atoms = layout.atoms_of(t)
            parts = [f"label={said}"] if vocabulary.all[t].labelled and said else []
            for look, (slot, where, offset, *_) in zip(vocabulary.all[t].looks, atoms, strict=True):
                if where == MEASURE:
                    number = measures[slot]
                else:
                    token = (place if look.place == "between" else at[where]) + offset
                    number = _id_at(coded, layout.view_of(slot), token, n, vocabulary.reach)
                parts += vocabulary.texts(look, [number], vocabulary.MEASURES)
            terms.append(Term(" & ".join(parts) or "bias", weight, (head, word), said))
        return terms

    def top_features(self, n: int | None = 20) -> list[Term]:
        """The n weights farthest from zero (None: all), of features of arcs, with the label where they have one."""
        counts, values, terms, first = self.vocabulary.templates.counts, self.weights["values"], list[Term](), 0
        most = None if n is None else whole_number("n", n, 0)
        folds, weighted = [keys for keys, _ in keys_in_order(self.table("folds"))], sum(counts[:3])
        for t, (keys, _) in enumerate(keys_in_order(self.table("tables"))[:weighted]):
            labels = self.labels or ("",) if self.vocabulary.all[t].labelled else ("",)
            own = values[first : first + len(keys) * len(labels)]
            first += len(own)
            at = farthest(own, most)
            names = self.vocabulary.names(t, keys[at // len(labels)], folds, self.vocabulary.MEASURES)
            for name, label, weight in zip(names, (at % len(labels)).tolist(), own[at].tolist(), strict=True):
                said = f"label={labels[label]} & " if labels[label] else ""
                terms.append(Term(f"{said}{name}", weight, (), labels[label]))
        return heaviest_first(terms)[:most]

    def draw(self, sentence: Any) -> Picture:
        """The best tree: arcs above the words, as thick as they are probable."""
        return self.parse(sentence, probabilities=True).draw()

    def evaluate(
        self, corpus: Any, y: Any = None, *, n_threads: int | None = None, subtypes: bool = True
    ) -> AttachmentReport:
        """Compare with the trees of a corpus, in its columns ``head`` and ``deprel``, or with ``y``, as ``train``."""
        gold = gold_corpus(corpus, y, self.training_file)
        treebank = read_dependencies(gold, labelled=bool(self.labels))
        heads, labels, _ = self._native.best(self._data(treebank.corpus), 1, thread_count(n_threads))
        predicted = [self.labels[i] for i in labels.tolist()] if self.labels else None
        both = (treebank.heads, None if treebank.labels is None else treebank.labels.tolist()), (heads, predicted)
        return attachment_of(treebank.corpus.starts, self._words(treebank.corpus), *both, subtypes=subtypes)

    # ------------------------------------------------------------ files

    def _content(self) -> tuple[Tensors, dict[str, Any]]:
        templates, vocabulary = self.vocabulary.templates, self.vocabulary
        known, columns = columns_content(vocabulary.columns, vocabulary.lookups)
        header = {
            "templates": {kind: [str(template) for template in getattr(templates, kind)] for kind in KINDS},
            **columns,
            "labels": list(self.labels),
            "projective": self.projective,
            "family": self.family,
        }
        return {**self.weights, **known}, header

    @classmethod
    def _from_content(cls, tensors: Tensors, header: dict[str, Any], **needs: Any) -> Self:
        templates = ArcTemplates(*(tuple(map(parse_template, header["templates"][kind])) for kind in KINDS))
        columns, lookups = checked_columns(header, tensors)
        if [column.name for column in columns] != templates.columns:
            raise ValueError("columns do not match the templates")
        labels, weights = tuple(map(str, header["labels"])), {name: tensors[name] for name in WEIGHTS}
        kind = bool(header["projective"]), str(header["family"])
        return cls(ArcVocabulary(templates, columns, lookups), labels, weights, *kind, *notes_and_record(header))

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
        columns = self.vocabulary.read(corpus)
        with short_sentences(corpus):
            return _core.ArcData(self._plan, columns, corpus.starts)

    def _marginals(self, corpus: Corpus, heads: Ints) -> tuple[Doubles, Doubles]:
        """Of one sentence the probability of every arc, and of every label of the arcs from these heads."""
        data = self._data(corpus)
        with short_sentences(corpus):
            _, arcs, labels = self._native.marginals(data, heads)
        return arcs, labels

    def _tree(self, words: Sequence[str], heads: Ints, labels: Ints, score: float) -> DependencyTree:
        named = [self.labels[i] for i in labels.tolist()] if self.labels else None
        return DependencyTree(words, heads.tolist(), named, score)


def arc_measures(apart: int) -> tuple[int, int]:
    """The ids of the direction and of the distance from a head to its dependent (core/weights/arcs.hpp)."""
    right, distance = apart > 0, abs(apart)
    return int(right), right * 7 + (min(distance - 1, 5) if distance <= 10 else 6)


def _id_at(coded: Sequence[Coded], slot: Sequence[int], at: int, n: int, reach: int) -> int:
    """The id of a view at a place of a sentence of n words, or beyond it (core/text/extract.hpp)."""
    codes, ids = coded[slot[0]]
    return int(ids[codes[at], slot[1]]) if 0 <= at < n else -at - 1 if at < 0 else reach + at - n
