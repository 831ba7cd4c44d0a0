"""The model of a constituency parser (grammar, lexicon, weights of templates), and decoding of sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from trellis import _core
from trellis._support.arguments import real_number
from trellis._support.arrays import Arrays, Doubles, Floats, Ints, Longs, starts_of
from trellis._support.errors import CorpusError
from trellis._support.tensor_file import Tensors
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.engine.elementary import exp
from trellis.engine.weights import Rows
from trellis.features.extraction import Coded
from trellis.features.known import keys_in_order
from trellis.features.phrases import PhraseVocabulary
from trellis.features.templates import parse_template
from trellis.features.vocabulary import NO_TABLES, KeyTables, tables_in
from trellis.features.vocabulary_tensors import checked_columns, columns_content
from trellis.tasks.explanation import Term
from trellis.tasks.trees.grammar import Grammar
from trellis.tasks.trees.lexicon import Lexicon

LONGEST = 400  # maximum number of words of a sentence, as in bind/phrases.hpp
FLAT = "X"  # the tag of words whose sentence has no tree and no tags

Parse = tuple[Grammar, list[list[int]], float]  # rules over spans by the numbers of a grammar, with their score
GREATEST = 1e30  # maximum absolute weight, so that the score of a tree is finite
TABLES = ("tables", "folds", "outlines")
EMPTY_TABLE = KeyTables(np.zeros(2, np.uint64), np.full(2, -1, np.int32), np.array([0, 2], np.int64))
NO_ROWS = Rows(np.zeros(1, np.uint32), np.empty(0, np.uint32), np.empty(0, np.float32))


class TaggedWords(NamedTuple):
    """Words with their possible tags, for native code.

    Attributes
    ----------
    starts
        [n_sentences + 1] first word of each sentence.
    tag_starts
        [n_words + 1] first tag of each word.
    tags
        Possible tags.
    scores
        Their scores.
    """

    starts: Longs
    tag_starts: Longs
    tags: Ints
    scores: Floats


@dataclass(frozen=True, slots=True)
class Words:
    """Encoded sentences.

    Attributes
    ----------
    word
        The words.
    tags
        Tags, given or predicted by a tagger.
    starts
        [n_sentences + 1] first word of each sentence.
    tagged
        Possible tags of each word.
    columns
        Columns for templates.
    """

    word: Column
    tags: Column | None
    starts: Longs
    tagged: TaggedWords
    columns: list[Coded]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def strings(self, i: int) -> list[str]:
        """Get the words of a sentence.

        Parameters
        ----------
        i
            Number of the sentence.

        Returns
        -------
        list[str]
            The words.
        """
        return self.word.slice(*self.starts[i : i + 2]).tolist()

    def given_tags(self, i: int) -> list[str] | None:
        """Get the tags of a sentence that are known before parsing.

        Parameters
        ----------
        i
            Number of the sentence.

        Returns
        -------
        list[str] | None
            The tags; None if there are none.
        """
        return None if self.tags is None else self.tags.slice(*self.starts[i : i + 2]).tolist()


@dataclass(frozen=True, eq=False)
class PhraseModel:
    """Grammar, lexicon and weights of a constituency parser.

    Attributes
    ----------
    grammar
        The grammar.
    coarse
        The grammar of the same trees without Markovization.
    lexicon
        The lexicon.
    vocabulary
        Templates and their attributes.
    base
        [n_rules] scores of rules.
    rows
        Weights of attributes.
    tables
        Keys of attributes.
    folds
        Values folded in keys.
    outlines
        Keys of outlines of words.
    prune
        Minimum probability of a phrase under the coarse grammar.
    family
        Meaning of scores.
    """

    grammar: Grammar
    coarse: Grammar
    lexicon: Lexicon
    vocabulary: PhraseVocabulary
    base: Floats
    rows: Rows = NO_ROWS
    tables: KeyTables = NO_TABLES
    folds: KeyTables = NO_TABLES
    outlines: KeyTables = EMPTY_TABLE
    prune: float = 1e-4
    family: str = "scores"

    def content(self) -> tuple[Arrays, dict[str, Any]]:
        """Convert to arrays and a header, for files.

        Returns
        -------
        tuple[Arrays, dict[str, Any]]
            Arrays by name, and header.
        """
        (grammar, facts), (coarse, about_coarse) = self.grammar.content(), self.coarse.content()
        lookups, columns = columns_content(self.vocabulary.columns, self.vocabulary.lookups)
        header = {
            "grammar": facts,
            "coarse": about_coarse,
            "templates": [str(template) for template in self.vocabulary.templates],
            **columns,
            "prune": self.prune,
            "family": self.family,
        }
        tensors: Arrays = {
            **{f"grammar.{part}": array for part, array in grammar.items()},
            **{f"coarse.{part}": array for part, array in coarse.items()},
            **self.lexicon.tensors(self.grammar.tags),
            **lookups,
            **self.rows.tensors("rows"),
            **{f"{name}.{part}": a for name in TABLES for part, a in getattr(self, name)._asdict().items()},
            "base": self.base,
        }
        return tensors, header

    @classmethod
    def of_content(cls, tensors: Tensors, header: Mapping[str, Any]) -> PhraseModel:
        """Make the model from the result of ``content``.

        Parameters
        ----------
        tensors
            Arrays by name.
        header
            The header.

        Returns
        -------
        PhraseModel
            The model.

        Raises
        ------
        ValueError, LookupError
            If it is damaged.
        """
        grammar, coarse = (
            Grammar.of_content(header[name], tensors[f"{name}.binary"], tensors[f"{name}.counts"])
            for name in ("grammar", "coarse")
        )
        columns, lookups = checked_columns(header, tensors)
        if not {column.name for column in columns} <= {"word", "pos"}:
            raise ValueError("invalid columns of trees")
        templates = tuple(parse_template(text, of_phrases=True) for text in header["templates"])
        base, rows = tensors["base"], Rows.of_tensors("rows", tensors)
        if not all(np.abs(weights).max(initial=0.0) < GREATEST for weights in (base, rows.weights)):
            raise ValueError("weights are too large or not numbers")
        tables: Any = {name: tables_in(tensors, name) for name in TABLES}
        lexicon, vocabulary = Lexicon.of_tensors(tensors, grammar.tags), PhraseVocabulary(templates, columns, lookups)
        parts = grammar, coarse, lexicon, vocabulary
        prune = real_number("prune", header["prune"], 0.0, 1.0)
        model = cls(*parts, base, rows, **tables, prune=prune, family=str(header["family"]))
        _ = model.native  # checks all indices used by native code
        return model

    def attribute_names(self, ids: Longs) -> dict[int, str]:
        """Get the names of attributes, such as ``pos[first]=DT & length=3``.

        Parameters
        ----------
        ids
            Attributes.

        Returns
        -------
        dict[int, str]
            Names by attribute.
        """
        folds = [keys for keys, _ in keys_in_order(self.folds)]
        measures = {"length": self.vocabulary.LENGTHS, "outline": self._outlines()}
        names = dict[int, str]()
        for t, (keys, numbers) in enumerate(keys_in_order(self.tables, ids)):
            names |= zip(numbers.tolist(), self.vocabulary.names(t, keys, folds, measures), strict=True)
        return names

    def _outlines(self) -> list[str]:
        """The text of every outline: that of a shorter outline, and the view of one more word."""
        plan, slot = self.vocabulary.plan()
        if slot < 0:
            return []
        column, view = plan.view_of(slot)
        strings, first, texts = self.vocabulary.columns[column].strings_of(view), 2 * plan.reach, [""]
        for key in keys_in_order(self.outlines)[0][0].tolist():
            texts.append(f"{texts[key >> 32]} {strings[(key & 0xFFFFFFFF) - first]}".lstrip())
        return texts

    @cached_property
    def native(self) -> _core.PhraseDecoder:
        """Checked native model; ValueError or LookupError if it is inconsistent."""
        return _core.PhraseDecoder(
            pruner_of(self.grammar, self.coarse, self.prune),
            {**rule_columns(self.grammar), "base": self.base},
            self.rows,
            self.vocabulary.plan(),
            self.tables,
            self.folds,
            self.outlines,
        )

    @cached_property
    def fallback(self) -> PhraseModel:
        """The coarse grammar as a PCFG: for tagging, and for sentences that the fine grammar cannot derive."""
        return pcfg(self.coarse, self.coarse, self.lexicon, self.prune)

    @cached_property
    def number(self) -> dict[str, int]:
        """The symbol of every tag."""
        return {tag: len(self.grammar.phrases) + i for i, tag in enumerate(self.grammar.tags)}

    def words(self, word: Column, tags: Column | None, starts: Longs, n_threads: int) -> Words:
        """Encode sentences; if templates read tags and there are none, the coarse grammar predicts them.

        Parameters
        ----------
        word
            The words.
        tags
            Tags, if known.
        starts
            [n_sentences + 1] first word of each sentence.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Words
            Encoded sentences.
        """
        lengths = np.diff(starts)
        if len(lengths) and lengths.max() > LONGEST:
            i = int(lengths.argmax())
            raise CorpusError(
                "", None, f"sentence {i + 1} has {lengths[i]:,} words; at most {LONGEST} are supported: split it"
            )
        if tags is None and self.vocabulary.columns:
            tags = self.fallback.best_tags(self.fallback.words(word, None, starts, n_threads), n_threads)
        corpus = Corpus({"word": word, **({} if tags is None else {"pos": tags})}, starts, "")
        columns = self.vocabulary.read(corpus)
        return Words(word, tags, starts, self._tagged(word, tags, starts), columns)

    def _tagged(self, word: Column, tags: Column | None, starts: Longs) -> TaggedWords:
        """Possible tags of words: the given tag, or those of the lexicon if it is unknown or missing."""
        cache = dict[tuple[int, int], tuple[list[int], list[float]]]()
        numbers, scores, sizes = list[int](), list[float](), list[int]()
        codes = np.zeros(len(word.codes), np.int32) if tags is None else tags.codes
        names = [""] if tags is None else list(tags.values)
        for w, t in zip(word.codes.tolist(), codes.tolist(), strict=True):
            if (w, t) not in cache:
                tag_number = self.number.get(names[t]) if tags is not None else None
                candidates = [(tag_number, 0.0)] if tag_number is not None else self.lexicon.scores(word.values[w])
                pairs = [(self.number[tag] if isinstance(tag, str) else tag, score) for tag, score in candidates]
                cache[w, t] = [number for number, _ in pairs], [score for _, score in pairs]
            tags_of, log_probs = cache[w, t]
            numbers += tags_of
            scores += log_probs
            sizes.append(len(tags_of))
        return TaggedWords(starts, starts_of(sizes), np.array(numbers, np.int32), np.array(scores, np.float32))

    def parse(self, words: Words, k: int, n_threads: int) -> list[list[Parse]]:
        """Find up to k best trees of each sentence.

        Parameters
        ----------
        words
            Encoded sentences.
        k
            Number of trees.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[list[Parse]]
            For each sentence trees, best first; none if no grammar derives it.
        """
        out = self._own(words, k, n_threads)
        if self.grammar is not self.coarse:
            for i in [i for i, parses in enumerate(out) if not parses]:
                out[i] = self.fallback._own(self._coarse_words(words, i), k, 1)[0]
        return out

    def _own(self, words: Words, k: int, n_threads: int) -> list[list[Parse]]:
        results = self.native.parse(words.tagged, words.columns, k, n_threads)
        return [[(self.grammar, rules.reshape(-1, 4).tolist(), score) for score, rules in trees] for trees in results]

    def _coarse_words(self, words: Words, i: int) -> Words:
        begin, end = int(words.starts[i]), int(words.starts[i + 1])
        tags = None if words.tags is None else words.tags.slice(begin, end)
        return self.fallback.words(words.word.slice(begin, end), tags, np.array([0, end - begin], np.int64), 1)

    def derived(self, words: Words, k: int) -> list[tuple[Parse, list[Term]]]:
        """Find up to k best trees of one sentence, with the terms of their scores.

        Parameters
        ----------
        words
            Encoded sentences.
        k
            Number of trees.

        Returns
        -------
        list[tuple[Parse, list[Term]]]
            Pairs (tree, terms), best first.
        """
        parses = self._own(words, k, 1)[0]
        if not parses and self.grammar is not self.coarse:
            return self.fallback.derived(self._coarse_words(words, 0), k)
        return [(parse, self._terms(words, parse[1])) for parse in parses]

    def best_tags(self, words: Words, n_threads: int) -> Column:
        """Get the tags of the best trees.

        Parameters
        ----------
        words
            Encoded sentences.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Column
            One tag per word.
        """
        grammar, numbers = self.grammar, dict[str, int]()
        first_tag, codes = grammar.n_rules - len(grammar.tags), np.zeros(len(words.word.codes), np.int32)
        for i, steps in enumerate(self.parse(words, 1, n_threads)):
            begin, end = int(words.starts[i]), int(words.starts[i + 1])
            tags = [self.lexicon.scores(word)[0][0] for word in words.strings(i)] if not steps else [""] * (end - begin)
            for rule, position, _, _ in steps[0][1] if steps else ():
                if rule >= first_tag:
                    tags[position] = grammar.tags[rule - first_tag]
            codes[begin:end] = [numbers.setdefault(tag, len(numbers)) for tag in tags]
        return Column(codes, Strings.of(numbers))

    def marginals(self, words: Words) -> tuple[float, Ints, Doubles, Doubles]:
        """Compute the marginals of one sentence.

        Parameters
        ----------
        words
            Encoded sentences.

        Returns
        -------
        tuple[float, Ints, Doubles, Doubles]
            log Z; rules over spans, their scores and expected numbers.
        """
        log_z, rules, scores, shares = self.native.marginals(words.tagged, words.columns)
        return log_z, rules.reshape(-1, 4), scores, shares

    def _terms(self, words: Words, derivation: Sequence[Sequence[int]]) -> list[Term]:
        """The named terms of the scores of rules over spans and of tags over words."""
        grammar, strings = self.grammar, words.strings(0)
        n_rules = grammar.n_rules - len(grammar.tags)
        steps = [step for step in derivation if step[0] < n_rules]
        columns = rule_columns(grammar)["columns"]
        sites = np.array([site for _, i, k, j in steps for site in ((i, j), (k, 0))], np.int32).reshape(-1, 2)
        starts, _, ids = self.native.attributes(words.tagged, words.columns, sites)
        weights = [
            dict(zip(self.rows.labels[a:b].tolist(), self.rows.weights[a:b].tolist(), strict=True))
            for a, b in zip(self.rows.starts[ids], self.rows.starts[ids + 1], strict=True)
        ]
        names, terms = self.attribute_names(np.unique(ids)), list[Term]()
        for s, (rule, i, k, j) in enumerate(steps):
            span, label = (i, j), grammar.name(rule)
            terms.append(Term("rule", float(self.base[rule]), span, label))
            for site in (2 * s, 2 * s + 1) if k else (2 * s,):
                for at in range(int(starts[site]), int(starts[site + 1])):
                    for c in columns[rule].tolist():
                        if c in weights[at]:
                            phrase = grammar.phrases[c] if c < len(grammar.phrases) else label
                            terms.append(Term(names[ids[at]], weights[at][c], span, phrase))
        _, tag_starts, tags, scores = words.tagged
        for rule, i, _, j in (step for step in derivation if step[0] >= n_rules):
            phrase = slice(int(tag_starts[i]), int(tag_starts[i + 1]))
            score = scores[phrase][tags[phrase] == len(grammar.phrases) + rule - n_rules].item()
            terms.append(Term(f"word={strings[i]}", score, (i, j), grammar.tags[rule - n_rules]))
        return [term for term in terms if term.weight]


def pcfg(grammar: Grammar, coarse: Grammar, lexicon: Lexicon, prune: float) -> PhraseModel:
    """A grammar with probabilities of rules by maximum likelihood."""
    base = grammar.log_probabilities().astype(np.float32)
    return PhraseModel(grammar, coarse, lexicon, PhraseVocabulary((), (), {}), base, prune=prune, family="joint")


def pruner_of(grammar: Grammar, coarse: Grammar, threshold: float) -> _core.PhrasePruner:
    """A coarse grammar for pruning: phrases below that probability are skipped."""
    factors = exp(coarse.log_probabilities())
    return _core.PhrasePruner(grammar.native(), coarse.native(), factors, grammar.coarse_of(coarse), threshold)


def rule_columns(grammar: Grammar) -> dict[str, Any]:
    """[n_rules, 2] columns of each rule in rows, -1 for none, and the number of columns.

    Columns of phrases come first: a rule has the column of its parent, or of the top of its chain. Columns of the rules
    themselves follow. A phrase that is its own top has no columns for that, and tags have none.
    """
    n_phrases, n_binary, n_unary = len(grammar.phrases), len(grammar.binary), len(grammar.unary)
    columns = np.full((grammar.n_rules, 2), -1, np.int32)
    columns[:n_binary] = np.stack([grammar.binary[:, 0], np.arange(n_binary) + n_phrases], 1)
    unary = np.stack([grammar.unary[:, 0], np.arange(n_unary) + n_phrases + n_binary], 1)
    chains = np.array([grammar.is_chain(u) for u in range(n_unary)], bool)
    columns[n_binary : n_binary + n_unary][chains] = unary[chains]
    return {"columns": columns, "n_columns": n_phrases + n_binary + n_unary}
