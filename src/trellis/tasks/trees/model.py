"""`TreeParser`: constituency parsing, k best trees, probabilities, explanations, model files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trellis._support.arguments import items, thread_count, whole_number
from trellis._support.arrays import farthest
from trellis._support.errors import ArgumentError, CorpusError
from trellis._support.tensor_file import Tensors
from trellis.corpus.brackets import Treebank, read_trees
from trellis.corpus.corpus import Corpus, column_of
from trellis.corpus.files import BRACKETS, extension
from trellis.corpus.objects import from_lists, from_mapping
from trellis.corpus.read import read
from trellis.corpus.tree import ROOT, PhraseTree
from trellis.evaluation.brackets import BracketReport, evaluate_trees
from trellis.features.presets import ALIASES
from trellis.tasks.explanation import Explanation, Term, explanation_of, heaviest_first
from trellis.tasks.model import KBest, Model, notes_and_record
from trellis.tasks.tagging.chain_model import FAMILIES
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.trees.decoding import FLAT, Parse, PhraseModel, Words
from trellis.tasks.trees.grammar import Grammar, build_tree, derive

if TYPE_CHECKING:
    from trellis.display.svg import Picture

WORD, POS, TREE = "word", "pos", "tree"
PROBABLE = ("joint", "log-linear")  # families whose scores are log-probabilities


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TreeParser(Model):
    """A constituency parser, made by ``TreeParser.train`` or ``trellis.load``.

    A sentence is a list of words, a list of pairs (word, tag), a dict with the columns ``word`` and perhaps ``pos``, or
    a tree, of which only words and tags are read. Without tags, the parser's tagger predicts them, or its lexicon.

    Parameters
    ----------
    model
        Grammar, lexicon and weights.
    tagger
        Tagger for sentences without tags.
    info
        The user's notes.
    training
        The record of training.

    Examples
    --------
    >>> import trellis
    >>> text = "(TOP (S (NP (D the) (N dog)) (VP (V barks)))) (TOP (S (NP (D a) (N cat)) (VP (V sleeps))))"
    >>> parser = trellis.TreeParser.train(trellis.parse_trees(text))
    >>> print(parser.predict([("a", "D"), ("dog", "N"), ("barks", "V")]))
    (TOP (S (NP (D a) (N dog)) (VP (V barks))))
    """

    task, format = "trees", "trellis-tree-parser-1"

    model: PhraseModel
    tagger: Tagger | None = None
    info: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)

    @property
    def grammar(self) -> Grammar:
        """Symbols and rules."""
        return self.model.grammar

    # ------------------------------------------------------------ parsing

    def predict_batch(self, sentences: Any, *, n_threads: int | None = None) -> list[PhraseTree]:
        """Parse many sentences; ``parse_batch`` is the same method.

        Parameters
        ----------
        sentences
            List of sentences; see `TreeParser` for their forms.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[PhraseTree]
            One tree per sentence; a tree without phrases if the grammar derives none.
        """
        threads = thread_count(n_threads)
        return [trees[0][0] for trees in self._trees(self._words(sentences, threads), 1, threads)]

    def predict_corpus(self, corpus: Any, *, n_threads: int | None = None) -> Corpus:
        """Parse a corpus; ``parse_corpus`` is the same method.

        Parameters
        ----------
        corpus
            Corpus, anything that ``trellis.read`` accepts, trees, or a file of trees; words and tags are read.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Corpus
            The corpus with the column ``tree``: the brackets at each token, such as ``(S(NP*``.
        """
        sentences = sentence_corpus(corpus)
        trees = self.predict_batch(sentences, n_threads=n_threads)
        return sentences.with_column(TREE, column_of([tree.pieces() for tree in trees]))

    parse, parse_batch, parse_corpus = Model.predict, predict_batch, predict_corpus

    def kbest(self, sentence: Any, k: int = 5) -> KBest:
        """Find up to k best trees and their scores.

        Parameters
        ----------
        sentence
            Words, pairs (word, tag), a dict with ``word`` and perhaps ``pos``, or a tree; see `TreeParser`.
        k
            Number of trees.

        Returns
        -------
        KBest
            Pairs (tree, score), best first.
        """
        return KBest(self.kbest_batch([sentence], k, n_threads=1)[0])

    def kbest_batch(
        self, sentences: Any, k: int, *, n_threads: int | None = None
    ) -> list[list[tuple[PhraseTree, float]]]:
        """Find up to k best trees of many sentences.

        Parameters
        ----------
        sentences
            List of sentences; see `TreeParser` for their forms.
        k
            Number of trees.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[list[tuple[PhraseTree, float]]]
            For each sentence pairs (tree, score), best first.
        """
        threads, k = thread_count(n_threads), whole_number("k", k, 1, 2**16)
        return self._trees(self._words(sentences, threads), k, threads)

    def probability(self, sentence: Any, tree: PhraseTree | None = None) -> float:
        """Compute the probability of a tree among all trees of the grammar; pruned phrases are impossible.

        Parameters
        ----------
        sentence
            Words, pairs (word, tag), a dict with ``word`` and perhaps ``pos``, or a tree; see `TreeParser`.
        tree
            A tree of the sentence (default: the best one).

        Returns
        -------
        float
            The probability.

        Raises
        ------
        ArgumentError
            If scores are not log-probabilities: only a PCFG or a parser trained with the log loss has them.
        """
        self._check_probable()
        words = self._words([sentence], 1)
        log_z, steps, scores, _ = self.model.marginals(words)
        scores_of = {tuple(step): score for step, score in zip(steps.tolist(), scores.tolist(), strict=True)}
        gold_steps = self._steps(words, tree)
        if not gold_steps or not math.isfinite(log_z) or any(step not in scores_of for step in gold_steps):
            return 0.0
        return math.exp(min(0.0, sum(scores_of[step] for step in gold_steps) - log_z))

    def span_probabilities(self, sentence: Any) -> dict[tuple[str, int, int], float]:
        """Compute the expected number of each phrase in the tree.

        Parameters
        ----------
        sentence
            Words, pairs (word, tag), a dict with ``word`` and perhaps ``pos``, or a tree; see `TreeParser`.

        Returns
        -------
        dict[tuple[str, int, int], float]
            By label, first word, and the word after the last one.

        Raises
        ------
        ArgumentError
            If scores are not log-probabilities.
        """
        self._check_probable()
        _, steps, _, shares = self.model.marginals(self._words([sentence], 1))
        sums, n_binary, labels = dict[tuple[str, int, int], float](), len(self.grammar.binary), self.grammar.labels
        for (rule, begin, _, end), share in zip(steps.tolist(), shares.tolist(), strict=True):
            for label in labels[rule - n_binary] if n_binary <= rule < n_binary + len(labels) else ():
                sums[label, begin, end] = sums.get((label, begin, end), 0.0) + share
        return sums

    def explain(self, sentence: Any) -> Explanation:
        """Explain a prediction: the terms of the best tree's score by rule, and the difference to the second.

        Parameters
        ----------
        sentence
            Words, pairs (word, tag), a dict with ``word`` and perhaps ``pos``, or a tree; see `TreeParser`.

        Returns
        -------
        Explanation
            The explanation.
        """
        words = self._words([sentence], 1)
        derived = self.model.derived(words, 2)
        trees = self._built(words, 0, [derivation for derivation, _ in derived])
        underived = [Term("no derivation", -math.inf)] if len(words.word.codes) else []
        terms = [terms_of for _, terms_of in derived] or [underived]
        return explanation_of((*ranked, terms_of) for ranked, terms_of in zip(trees, terms, strict=True))

    def top_features(self, n: int | None = 20) -> list[Term]:
        """List the features and rules with the largest absolute weights.

        Parameters
        ----------
        n
            Number of terms (None: all).

        Returns
        -------
        list[Term]
            The terms, largest first, with a phrase or a rule.
        """
        model, limit = self.model, None if n is None else whole_number("n", n, 0)
        numbers, rules = farthest(model.rows.weights, limit), farthest(model.base, limit).tolist()
        attributes = np.searchsorted(model.rows.starts, numbers, side="right") - 1
        names, phrases = model.attribute_names(attributes), self.grammar.phrases
        terms = [Term("rule", float(model.base[rule]), (), self.grammar.name(rule)) for rule in rules]
        for i, attribute in zip(numbers.tolist(), attributes.tolist(), strict=True):
            column = int(model.rows.labels[i])
            label = phrases[column] if column < len(phrases) else self.grammar.name(column - len(phrases))
            terms.append(Term(names[attribute], float(model.rows.weights[i]), (), label))
        return heaviest_first(terms)[:limit]

    def draw(self, sentence: Any) -> Picture:
        """Draw the best tree.

        Parameters
        ----------
        sentence
            Words, pairs (word, tag), a dict with ``word`` and perhaps ``pos``, or a tree; see `TreeParser`.

        Returns
        -------
        Picture
            SVG; printed, it is drawn in characters.
        """
        tree: PhraseTree = self.predict(sentence)
        return tree.draw()

    def evaluate(
        self, trees: Any, y: Any = None, *, tags: bool = True, longest: int | None = None, n_threads: int | None = None
    ) -> BracketReport:
        """Parse the words of gold trees and compare; brackets are counted as by evalb with the parameters of Collins.

        Parameters
        ----------
        trees
            Gold trees, or name of a file of them; sentences if ``y`` has the trees.
        y
            Gold trees.
        tags
            Whether the parser gets the gold tags.
        longest
            Maximum number of words of a sentence; longer ones are not counted.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        BracketReport
            Labelled precision, recall and F1.
        """
        gold = gold_trees(trees, y)
        inputs: Any = gold if tags else [tree.words for tree in gold]
        return evaluate_trees(gold, self.parse_batch(inputs, n_threads=n_threads), longest=longest)

    # ------------------------------------------------------------ files

    def _content(self) -> tuple[Tensors, dict[str, Any]]:
        tensors, header = self.model.content()
        if self.tagger is not None:
            tensors["tagger"] = np.frombuffer(self.tagger.to_bytes(), np.uint8)
        return tensors, header

    @classmethod
    def _from_content(cls, tensors: Tensors, header: dict[str, Any], **needs: Any) -> Self:
        if header["family"] not in FAMILIES:
            raise ValueError(f"no family {header['family']!r} of models")
        tagger = Tagger.from_bytes(tensors["tagger"].tobytes()) if "tagger" in tensors else None
        return cls(PhraseModel.of_content(tensors, header), tagger, *notes_and_record(header))

    def _facts(self) -> dict[str, Any]:
        rules = len(self.grammar.binary) + len(self.grammar.unary)
        return {"rules": rules, "tags": len(self.grammar.tags), "weights": len(self.model.rows.weights)}

    # ------------------------------------------------------------ details

    def _check_probable(self) -> None:
        if self.model.family not in PROBABLE:
            raise ArgumentError(
                "the scores of this parser are not log-probabilities; train it with CRF or learner='pcfg'"
            )

    def _words(self, sentences: Any, n_threads: int) -> Words:
        corpus = sentence_corpus(sentences)
        tags = next((corpus.column(name) for name in (POS, *ALIASES[POS]) if name in corpus.columns), None)
        word = word_column(corpus)
        if tags is None and self.tagger is not None:
            inputs = Corpus({self.tagger.columns[0]: corpus.column(word)}, corpus.starts, corpus.source)
            tags = self.tagger.tag_column(inputs, n_threads=n_threads)
        return self.model.words(corpus.column(word), tags, corpus.starts, n_threads)

    def _trees(self, words: Words, k: int, n_threads: int) -> list[list[tuple[PhraseTree, float]]]:
        return [self._built(words, i, parses) for i, parses in enumerate(self.model.parse(words, k, n_threads))]

    def _built(self, words: Words, i: int, parses: Sequence[Parse]) -> list[tuple[PhraseTree, float]]:
        """The trees of a sentence; a tree without phrases if no grammar derives it."""
        strings, pos = words.strings(i), words.given_tags(i)
        trees = [(build_tree(grammar, steps, strings, pos), score) for grammar, steps, score in parses]
        flat = [PhraseTree(tag, (), word) for word, tag in zip(strings, pos or [FLAT] * len(strings), strict=True)]
        return trees or [(PhraseTree(ROOT, tuple(flat)), -math.inf if strings else 0.0)]

    def _steps(self, words: Words, tree: PhraseTree | None) -> list[tuple[int, int, int, int]]:
        if not words.strings(0) and (tree is None or not tree.words):
            return []
        if tree is None:
            parses = self.model.parse(words, 1, 1)[0]
            is_own = parses and parses[0][0] is self.grammar
            return [(rule, begin, split, end) for rule, begin, split, end in parses[0][1]] if is_own else []
        cleaned = tree.clean()
        if cleaned is None or cleaned.words != words.strings(0):
            raise ArgumentError("the words of the tree differ from those of the sentence")
        try:
            return self.grammar.steps(derive(cleaned, self.grammar.markov))
        except KeyError as error:
            rule = " -> ".join(error.args[0][1]) if isinstance(error.args[0], tuple) else str(error.args[0])
            raise ArgumentError(f"the grammar has no rule {rule}, which the tree uses") from None


def gold_trees(trees: Any, y: Any = None, *, lenient: bool = False) -> list[PhraseTree]:
    """Cleaned trees (``PhraseTree.clean``) of a list or a file, for training; with ``y``, the trees of sentences."""
    results: Iterable[PhraseTree]
    if y is not None:
        gold, corpus = gold_trees(y), sentence_corpus(trees)
        if corpus.sentences(word_column(corpus)) != [tree.words for tree in gold]:
            raise ArgumentError("y must have a tree with the words of every sentence")
        return gold
    if isinstance(trees, str | os.PathLike):
        results = read_trees(trees, lenient=lenient)
    else:
        elements = trees.trees if isinstance(trees, Treebank) else items(trees)
        if elements is None or not all(isinstance(tree, PhraseTree) for tree in elements):
            raise ArgumentError(f"trees must be the path of a file or a list of trees, not {type(trees).__name__}")
        results = elements
    cleaned = [tree for tree_read in results if (tree := tree_read.clean()) is not None]
    if isinstance(trees, str | os.PathLike) and not cleaned:
        raise CorpusError(str(trees), None, "no trees; the file must have at least one")
    return cleaned


def word_column(corpus: Corpus) -> str:
    """The name of the column of words."""
    return next((name for name in (WORD, *ALIASES[WORD]) if name in corpus.columns), next(iter(corpus.columns)))


def sentence_corpus(sentences: Any) -> Corpus:
    """Convert sentences to a corpus of words, with tags if present."""
    if isinstance(sentences, Corpus):
        return sentences
    if isinstance(sentences, str | os.PathLike) and extension(os.fspath(sentences)) in BRACKETS:
        sentences = read_trees(sentences)
    rows = sentences.trees if isinstance(sentences, Treebank) else items(sentences)
    if rows == []:
        return from_mapping({WORD: []}, None)
    if rows and all(isinstance(row, PhraseTree) for row in rows):
        cleaned = [row.clean() or row for row in rows]
        return from_mapping({WORD: [t.words for t in cleaned], POS: [t.pos for t in cleaned]}, None)
    pairs = rows is not None and any(isinstance(token, tuple) for s in rows if isinstance(s, Sequence) for token in s)
    return read(sentences) if rows is None else from_lists(rows, [WORD, POS] if pairs else None, tokens=True)
