"""`Parser`: dependency trees, k best, probabilities, explanations, model files."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trellis import _core
from trellis._support.arguments import items, real_number, thread_count, whole_number
from trellis._support.arrays import Doubles, Ints, farthest
from trellis._support.errors import ArgumentError, CorpusError
from trellis._support.tensor_file import Tensors
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.corpus.objects import from_lists
from trellis.corpus.read import TrainingFile, read, read_like
from trellis.evaluation.attachment import AttachmentReport, attachment_of
from trellis.features.arcs import ArcTemplates, ArcVocabulary
from trellis.features.extraction import Coded
from trellis.features.presets import ALIASES
from trellis.features.templates import ARC_MEASURES, parse_template
from trellis.features.vocabulary_tensors import checked_columns, columns_content
from trellis.learning.learner import flag
from trellis.tasks.explanation import Explanation, Term, explanation_of, heaviest_first
from trellis.tasks.model import KBest, Model, notes_and_record
from trellis.tasks.parsing.tree import DependencyTree
from trellis.tasks.parsing.treebank import HEAD, LABEL, gold_corpus, read_dependencies
from trellis.tasks.parsing.weights import NAMES, folds_of, rows_of

if TYPE_CHECKING:
    from trellis.display.svg import Picture

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
    """A dependency parser, made by ``Parser.train`` or ``trellis.load``.

    A sentence is a dict of column names to lists of strings, or a list of tuples in the order of ``columns``.

    Parameters
    ----------
    vocabulary
        Templates and their attributes.
    labels
        Labels of arcs; empty if arcs have none.
    weights
        Named arrays of weights.
    projective
        Whether trees have no crossing arcs.
    family
        Meaning of scores; ``"log-linear"``: probabilities are meaningful.
    info
        The user's notes.
    training
        The record of training.

    Examples
    --------
    >>> import trellis
    >>> words = [["the", "dog", "sees", "a", "cat"], ["a", "cat", "sleeps"]]
    >>> tags = [["D", "N", "V", "D", "N"], ["D", "N", "V"]]
    >>> heads = [["2", "3", "0", "5", "3"], ["2", "3", "0"]]
    >>> parser = trellis.Parser.train({"word": words, "pos": tags, "head": heads})
    >>> parser.predict({"word": ["the", "cat", "sleeps"], "pos": ["D", "N", "V"]}).heads
    [2, 3, 0]
    """

    task, format = "parse", "trellis-parser-1"

    vocabulary: ArcVocabulary
    labels: tuple[str, ...]
    weights: Mapping[str, Any]
    projective: bool = True
    family: str = "scores"
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
        """Columns that the model reads."""
        return self.vocabulary.templates.columns

    @property
    def order(self) -> int:
        """1: scores of arcs; 2: also of pairs of siblings."""
        return 2 if self.vocabulary.templates.siblings else 1

    @property
    def training_file(self) -> TrainingFile:
        """Description of the file that the model was trained on."""
        return TrainingFile.of(self.training.get("corpus", {}), (HEAD, LABEL), self.columns)

    def without_small_weights(self, share: float) -> Parser:
        """Copy of the parser without some of its weights.

        Parameters
        ----------
        share
            Share of the weights to drop, the smallest ones.

        Returns
        -------
        Parser
            A smaller parser.
        """
        share = real_number("share", share, 0, 0.999)
        return replace(self, weights={**self.weights, **self._plan.pruned(dict(self.weights), share)})

    # ------------------------------------------------------------ trees

    def parse(self, sentence: Any, *, probabilities: bool = False) -> DependencyTree:
        """Parse one sentence; ``predict`` is the same method.

        Parameters
        ----------
        sentence
            A dict of column names to lists of strings, or a list of tuples in the order of ``columns``.
        probabilities
            Whether to compute the probability of each labelled arc.

        Returns
        -------
        DependencyTree
            The best tree.
        """
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
        """Parse many sentences; ``predict_batch`` is the same method.

        Parameters
        ----------
        sentences
            List of sentences, or a Corpus.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[DependencyTree]
            One tree per sentence.
        """
        corpus = self._corpus(sentences)
        heads, labels, scores = self._native.best(self._data(corpus), 1, thread_count(n_threads))
        words, starts = self._words(corpus).tolist(), corpus.starts.tolist()
        return [
            self._tree(words[a:b], heads[a:b], labels[a:b], score)
            for a, b, score in zip(starts[:-1], starts[1:], scores.tolist(), strict=True)
        ]

    def parse_corpus(self, corpus: Any, *, n_threads: int | None = None) -> Corpus:
        """Parse a corpus; ``predict_corpus`` is the same method.

        Parameters
        ----------
        corpus
            Corpus, file, or anything that ``trellis.read`` accepts.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Corpus
            The corpus with predicted columns ``head`` and ``deprel``.
        """
        sentences = read_like(corpus, self.training_file)
        heads, labels, _ = self._native.best(self._data(sentences), 1, thread_count(n_threads))
        longest = int(heads.max(initial=0))
        out = sentences.with_column(HEAD, Column(heads, Strings.of(map(str, range(longest + 1)))))
        return out.with_column(LABEL, Column(labels, Strings.of(self.labels))) if self.labels else out

    predict, predict_batch, predict_corpus = parse, parse_batch, parse_corpus

    def kbest(self, sentence: Any, k: int = 5) -> KBest:
        """Find the k best trees and their scores; they differ in heads, and have the best labels.

        Parameters
        ----------
        sentence
            A dict of column names to lists of strings, or a list of tuples in the order of ``columns``.
        k
            Number of trees.

        Returns
        -------
        KBest
            Pairs (tree, score), best first.
        """
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
        """Compute the marginal probability of every arc.

        Probabilities are those of a log-linear model over trees. For parsers that were not trained with the log loss
        they only express how far apart scores are.

        Parameters
        ----------
        sentence
            A dict of column names to lists of strings, or a list of tuples in the order of ``columns``.

        Returns
        -------
        Doubles
            [n + 1, n]; row h, column i is the probability that word i + 1 has head h (0: the root).
        """
        corpus = self._one(sentence)
        return np.asarray(self._marginals(corpus, np.zeros(corpus.n_tokens, np.int32))[0][:, 1:])

    def explain(self, sentence: Any) -> Explanation:
        """Explain a prediction: the terms of the best tree's score by arc, and the difference to the second.

        Parameters
        ----------
        sentence
            A dict of column names to lists of strings, or a list of tuples in the order of ``columns``.

        Returns
        -------
        Explanation
            The explanation.
        """
        corpus, ranked = self._one(sentence), []
        for tree, _ in self.kbest(corpus, 2):
            terms = [term for word in range(1, len(tree) + 1) for term in self._arc_terms(corpus, tree, word)]
            ranked.append((tree, float(sum(term.weight for term in terms)), terms))
        return explanation_of(ranked)

    def explain_arc(self, sentence: Any, word: int, head: int | None = None) -> list[Term]:
        """Explain the score of one arc; words are counted from 1.

        Parameters
        ----------
        sentence
            A dict of column names to lists of strings, or a list of tuples in the order of ``columns``.
        word
            The dependent.
        head
            The head, 0 for the root (default: that of the best tree); with another head the arc has its best label.

        Returns
        -------
        list[Term]
            The terms, largest first.
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
        blocks = vocabulary.templates.blocks(len(self.labels))
        at, measures = [head - 1, word - 1, sibling - 1 if siblings else n], arc_measures(word - head)
        terms = list[Term]()
        for t, place, weight in zip(templates.tolist(), places.tolist(), weights.tolist(), strict=True):
            atoms = iter(layout.atoms_of(blocks[t].group))
            parts = [f"label={said}"] if vocabulary.all[t].labelled and said else []
            for look in vocabulary.all[t].looks:
                if look.place in ARC_MEASURES:
                    parts += vocabulary.measured(look.place, 1 + ARC_MEASURES.index(look.place), [measures[look.place]])
                    continue
                slot, where, offset, *_ = next(atoms)
                token = (place if look.place == "between" else at[where]) + offset
                number = _id_at(coded, layout.view_of(slot), token, n, vocabulary.reach)
                parts += vocabulary.texts(look, [number], vocabulary.MEASURES)
            terms.append(Term(" & ".join(parts) or "bias", weight, (head, word), said))
        return terms

    def top_features(self, n: int | None = 20) -> list[Term]:
        """List the features with the largest absolute weights.

        Parameters
        ----------
        n
            Number of terms (None: all).

        Returns
        -------
        list[Term]
            The terms, largest first, with the label if they have one.
        """
        vocabulary, terms = self.vocabulary, list[Term]()
        most = None if n is None else whole_number("n", n, 0)
        folds, rows = folds_of(self.weights), list(rows_of(self.weights))
        for t, block in enumerate(vocabulary.templates.blocks(len(self.labels))):
            if vocabulary.all[t] in vocabulary.templates.filter and t == len(vocabulary.all) - 1:
                break  # the filter's weights only say which arcs there are
            numbers, values, labels, weights = rows[block.group].of(block)
            at = farthest(weights, most)
            keys = rows[block.group].keys[numbers[at]]
            names = vocabulary.names_of(t, block, keys, values[at].tolist(), folds)
            for name, label, weight in zip(names, labels[at].tolist(), weights[at].tolist(), strict=True):
                own = self.labels[label] if vocabulary.all[t].labelled and self.labels else ""
                said = f"label={own} & " if own else ""
                terms.append(Term(f"{said}{name}", weight, (), own))
        return heaviest_first(terms)[:most]

    def draw(self, sentence: Any) -> Picture:
        """Draw the best tree: arcs above the words, thicker arcs are more probable.

        Parameters
        ----------
        sentence
            A dict of column names to lists of strings, or a list of tuples in the order of ``columns``.

        Returns
        -------
        Picture
            SVG, with a description as text.
        """
        return self.parse(sentence, probabilities=True).draw()

    def evaluate(
        self, corpus: Any, y: Any = None, *, n_threads: int | None = None, subtypes: bool = True
    ) -> AttachmentReport:
        """Compare predicted trees with gold trees.

        Parameters
        ----------
        corpus
            Corpus, file, or anything that ``trellis.read`` accepts, with columns ``head`` and ``deprel``; sentences
            alone if ``y`` has the trees.
        y
            Gold trees, as for ``train``.
        n_threads
            Number of threads (default: all cores).
        subtypes
            Whether labels are compared with subtypes; False: ``nsubj:pass`` counts as ``nsubj``.

        Returns
        -------
        AttachmentReport
            Unlabelled and labelled attachment scores.
        """
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
        labels, weights = tuple(map(str, header["labels"])), {name: tensors[name] for name in NAMES}
        kind = bool(header["projective"]), str(header["family"])
        return cls(ArcVocabulary(templates, columns, lookups), labels, weights, *kind, *notes_and_record(header))

    def _facts(self) -> dict[str, Any]:
        kind = "projective" if self.projective else "non-projective"
        facts = {"trees": kind, "reads": " ".join(self.columns), "order": f"{self.order}", "labels": len(self.labels)}
        return {**facts, "weights": len(self.weights["attributes.weights"])}

    # ------------------------------------------------------------ details

    def _one(self, sentence: Any) -> Corpus:
        """Convert a sentence to a corpus."""
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
            return read(dict.fromkeys(self.columns, rows))  # empty sentence: the number of columns is unknown
        records = all(isinstance(row, Mapping) for row in rows)
        return from_lists(rows, None if records else self.columns, tokens=True)

    def _words(self, corpus: Corpus) -> Column:
        """The words of sentences, or the parser's first column if there are no words."""
        names = (name for name in ("word", *ALIASES["word"]) if name in corpus.columns)
        return corpus.column(next(names, self.columns[0]))

    def _data(self, corpus: Corpus) -> _core.ArcData:
        columns = self.vocabulary.read(corpus)
        with short_sentences(corpus):
            return _core.ArcData(self._plan, columns, corpus.starts)

    def _marginals(self, corpus: Corpus, heads: Ints) -> tuple[Doubles, Doubles]:
        """Probabilities of one sentence: of every arc, and of every label of the arcs from these heads."""
        data = self._data(corpus)
        with short_sentences(corpus):
            _, arcs, labels = self._native.marginals(data, heads)
        return arcs, labels

    def _tree(self, words: Sequence[str], heads: Ints, labels: Ints, score: float) -> DependencyTree:
        named = [self.labels[i] for i in labels.tolist()] if self.labels else None
        return DependencyTree(words, heads.tolist(), named, score)


def arc_measures(apart: int) -> dict[str, int]:
    """The values of the direction and of the distance from a head to its dependent (core/weights/arcs.hpp)."""
    right, distance = apart > 0, abs(apart)
    return {"direction": int(right), "distance": right * 7 + (min(distance - 1, 5) if distance <= 10 else 6)}


def _id_at(coded: Sequence[Coded], slot: Sequence[int], at: int, n: int, reach: int) -> int:
    """The id of a view at a place of a sentence of n words, or beyond it (core/text/extract.hpp)."""
    codes, ids = coded[slot[0]]
    return int(ids[codes[at], slot[1]]) if 0 <= at < n else -at - 1 if at < 0 else reach + at - n
