"""Explain the labels of a sentence: features for and against each label, best path against the second.

A score is a sum of weights, and an explanation is the list of its terms. The terms of a path add up to its score, and
the terms that two paths do not share add up to the difference of their scores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from trellis._support.arguments import whole_number
from trellis._support.arrays import Lists, same_words
from trellis._support.errors import ModelError
from trellis.engine.weights import START, Rows
from trellis.features.templates import FAR, FAR_KINDS, history_name
from trellis.tasks.explanation import Explanation, Term, output_text, plain_terms
from trellis.tasks.tagging.chain_model import ChainModel
from trellis.tasks.tagging.decoding import ChainDecoder, listed
from trellis.tasks.tagging.segments.weights import segments_of

if TYPE_CHECKING:
    from trellis.tasks.tagging.constraints import AllowedLabels
    from trellis.tasks.tagging.model import Tagger

END = "<end>"  # the label after the sentence
SHOWN = 2  # strings shown for a token with attributes only

Named = dict[int, tuple[str, float]]  # attributes by number, with their names and values


@dataclass(frozen=True, slots=True)
class TokenExplanation:
    """Explanation of one token: its label, and the scores of all labels by its own features.

    Attributes
    ----------
    token
        The word.
    label
        Its label in the best path.
    scores
        Score of each label by the features of the token, without its neighbours' labels, best first.
    terms
        Terms for and against each label, largest first.
    transitions
        Terms of the transition from the preceding label, in the best path.
    """

    token: str
    label: str
    scores: dict[str, float]
    terms: dict[str, list[Term]]
    transitions: list[Term]

    def to_dict(self, n_terms: int | None = None, n_labels: int | None = None) -> dict[str, Any]:
        """Convert to plain data, ready for JSON.

        Parameters
        ----------
        n_terms
            Number of terms per list (None: all).
        n_labels
            Number of labels (None: all).

        Returns
        -------
        dict[str, Any]
            A nested dict.
        """
        limit = None if n_labels is None else whole_number("n_labels", n_labels, 0)
        scores = dict(list(self.scores.items())[:limit])
        terms = {label: plain_terms(self.terms[label], n_terms) for label in scores}
        result = {"token": self.token, "label": self.label, "scores": scores, "terms": terms}
        return {**result, "transitions": plain_terms(self.transitions)}


@dataclass(frozen=True, slots=True, repr=False)
class TaggingExplanation(Explanation):
    """Explanation of the labels of a sentence: the best path, the second, their difference, and every token.

    Attributes
    ----------
    tokens
        Explanation of each token.
    output
        The best label sequence.
    score
        Its score.
    terms
        The terms that sum to the score.
    second
        The second-best label sequence; None if there is only one.
    """

    tokens: list[TokenExplanation] = field(default_factory=list)

    def to_dict(self, *, n_terms: int | None = None, n_labels: int | None = None) -> dict[str, Any]:
        """Convert to plain data, ready for JSON.

        Parameters
        ----------
        n_terms
            Number of terms per list (None: all).
        n_labels
            Number of labels per token (None: all).

        Returns
        -------
        dict[str, Any]
            A nested dict.
        """
        tokens = [token.to_dict(n_terms, n_labels) for token in self.tokens]
        return {**Explanation.to_dict(self, n_terms=n_terms), "tokens": tokens}

    def text(self, *, n_labels: int = 3, n_terms: int = 6) -> str:
        """Format as text.

        Parameters
        ----------
        n_labels
            Number of labels per token.
        n_terms
            Number of terms per label.

        Returns
        -------
        str
            Several lines.
        """
        n_labels, n_terms = whole_number("n_labels", n_labels, 1), whole_number("n_terms", n_terms, 0)
        lines = [f"1: {output_text(self.output)}   score {self.score:.4f}"]
        if self.second is not None:
            lines.append(f"2: {output_text(self.second.output)}   score {self.second.score:.4f}")
        for token in self.tokens:
            lines += ["", f"{token.token}   {token.label}"]
            labels = list(token.scores)[:n_labels]
            width = max(len(label) for label in labels)
            for label in labels:
                terms = _terms(token.terms[label], label, n_terms)
                lines.append(f"  {label:{width}} {token.scores[label]:+9.4f}  {terms}")
            lines += [f"  {term.label}   {term.feature} {term.weight:+.4f}" for term in token.transitions]
        if self.second is not None:
            lines += ["", f"score difference to path 2: {self.gap:.4f}"]
            lines += [
                f"  {term.weight:+9.4f}  {self.tokens[term.where[0]].token}   {term.feature} with {term.label}"
                for term in self.difference
            ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text(n_labels=1)


def _terms(terms: Sequence[Term], label: str, n: int) -> str:
    """The largest terms of a label; terms of parts have the name of the part."""
    texts = [f"{t.feature}{'' if t.label == label else f' ({t.label})'} {t.weight:+.4f}" for t in terms[:n]]
    if len(terms) > n:
        texts.append(f"and {len(terms) - n} more {sum(term.weight for term in terms[n:]):+.4f}")
    return ", ".join(texts)


def shown(t: int, token: Any) -> str:
    """Readable token: its strings; with attributes only, its position and its first attributes."""
    if isinstance(token, str):
        return token
    parts = list(token.values()) if isinstance(token, Mapping) else token
    strings = [part for part in parts if isinstance(part, str)]
    if isinstance(token, tuple) and strings:
        return " ".join(strings)
    return " ".join([f"{t}:", *(strings or map(str, token))][: 1 + SHOWN])


def explain(tagger: Tagger, sentence: Any, allowed: AllowedLabels | None) -> TaggingExplanation:
    """Why a sentence gets its labels."""
    decoder = tagger._decoder
    if decoder.expansion is not None:
        raise ModelError("a kernel model has no feature weights to explain; see support()")
    [sentence] = listed([sentence])
    tokens, explainer = decoder.rows_of(sentence), _Explainer(decoder, sentence)
    explained = [explainer.path(labels) for labels, _ in tagger.kbest(sentence, 2, allowed=allowed)]
    best, second = explained[0], explained[1] if len(explained) > 1 else None
    explanations, terms_of = list[TokenExplanation](), defaultdict[int, list[Term]](list)
    for term in best.terms:
        terms_of[term.where[0]].append(term)
    for t, (token, label, by_label) in enumerate(zip(tokens, best.output, explainer.emissions, strict=True)):
        sums = {label: sum(term.weight for term in terms) for label, terms in by_label.items()}
        ranked = dict(sorted(sums.items(), key=lambda pair: -pair[1]))
        transitions = [term for term in terms_of[t] if term not in by_label[label]]
        explanations.append(TokenExplanation(shown(t, token), label, ranked, by_label, transitions))
    return TaggingExplanation(best.output, best.score, best.terms, second, explanations)


class _Explainer:
    """The terms of one sentence."""

    def __init__(self, decoder: ChainDecoder, sentence: Any) -> None:
        self.model, self.histories = decoder.model, decoder.histories
        model = self.model
        batch = decoder.encode([sentence])
        tables = decoder.chains(batch, None, 1).tables
        self.potentials, self.names, columns = tables.potentials, (*model.labels, START), _columns(model)
        self.emissions: list[dict[str, list[Term]]] = []  # of every token and label, the largest first
        for t, names in enumerate(_named(model, decoder.attribute_lists(batch), on_edge=False)):
            terms: dict[str, list[Term]] = {label: [] for label in model.labels}
            for attribute, (name, value) in names.items():
                for column, weight in _row(model.weights.rows, attribute):
                    values, labels = columns[column]
                    for label in labels:
                        terms[label].append(Term(name, weight * value, (t,), values))
            for label_terms in terms.values():
                label_terms.sort(key=lambda term: -abs(term.weight))
            self.emissions.append(terms)
        ngrams = model.weights.ngrams
        self.longer: dict[tuple[int, ...], float] = {}  # weights of label n-grams
        if ngrams is not None:
            weighted = np.flatnonzero(ngrams.weights).tolist()
            runs = ngrams.label_runs(weighted, len(model.labels))
            self.longer = dict(zip(runs, ngrams.weights[weighted].tolist(), strict=True))
        self.at_token: list[dict[tuple[int, ...], float]] = []  # normalisation terms of n-grams by token
        if model.family == "local" and ngrams is not None and tables.token_ngrams is not None:
            starts, nodes, scores = tables.token_ngrams
            runs = ngrams.label_runs((nodes.astype(np.int64) - len(model.labels) - 2).tolist(), len(model.labels))
            pairs = list(zip(runs, scores.tolist(), strict=True))
            self.at_token = [dict(pairs[a:b]) for a, b in pairwise(starts.tolist())]
        self.same: list[int] = same_words(batch.words, batch.starts).tolist()  # the previous token with the same word
        self.edges: list[Named] = []
        if model.weights.edge_rows is not None:
            self.edges = _named(model, decoder.attribute_lists(batch, on_edge=True), on_edge=True)
        self.segments: list[Named] = []  # attributes of all segments: site token * longest + length - 1
        if decoder.segments is not None:
            lists = decoder.segments.lists(decoder, [sentence], batch.starts, 1)
            self.segments = _named(model, lists, on_edge=False)

    def path(self, labels: list[str]) -> Explanation:
        """The terms of a label sequence."""
        null, terms = len(self.model.labels), list[Term]()
        codes = [null, null, *(self.model.labels.index(label) for label in labels)]
        for t in range(len(labels)):
            terms += self.at(t, codes[: t + 3], last=t + 1 == len(labels))
            terms += self.ngrams_at(t, codes[: t + 3])
        terms += self.of_segments(codes[2:])
        terms = [term for term in terms if term.weight != 0]
        return Explanation(labels, float(sum(term.weight for term in terms)), terms)

    def at(self, t: int, labels: list[int], *, last: bool) -> list[Term]:
        """All terms of the last of these labels, at t, given the preceding ones; without terms of label n-grams."""
        weights, names = self.model.weights, self.names
        x, y, z = labels[-3:]
        pair = f"{names[y]} {names[z]}"
        terms = list(self.emissions[t][names[z]])
        for attribute, (name, value) in self.edges[t].items() if self.edges else ():
            assert weights.edge_rows is not None
            for column, weight in _row(weights.edge_rows, attribute):
                run = weights.run_at(column)
                if self.sees(attribute, labels, run):
                    terms.append(Term(name, weight * value, (t,), " ".join(names[label] for label in run)))
        terms.append(Term("label[-1]", float(weights.edge[y, z]), (t,), pair))
        if weights.tri is not None:
            terms.append(Term(history_name(2), float(weights.tri[x, y, z]), (t,), f"{names[x]} {pair}"))
        if self.model.family == "local":
            # Normalises the probabilities of all labels after y.
            p = self.potentials
            score = float(p.emit[t, z] + (p.edge[t, y, z] if p.edge.ndim == 3 else p.edge[y, z]))
            score += 0.0 if p.tri is None else float(p.tri[x, y, z])
            token_names = self.at_token[t] if self.at_token else {}
            score += sum(token_names.get(tuple(labels[-length:]), 0.0) for length in range(3, self.model.order + 2))
            terms.append(Term("normalisation", score - sum(term.weight for term in terms), (t,), pair))
        if last and weights.end is not None:
            terms.append(Term("label[+1]", float(weights.end[z]), (t,), f"{names[z]} {END}"))
        return terms

    def sees(self, attribute: int, labels: list[int], run: tuple[int, ...]) -> bool:
        """Whether an edge attribute applies to that label n-gram; START is before the labels up to a token."""
        history = 0 if self.histories is None else int(self.histories[attribute])
        if history < FAR:
            return run == tuple(labels[-len(run) :])
        t, labels_before = len(labels) - 3, labels[2:-1]
        if history == FAR_KINDS["any"]:
            return run[0] in labels_before and run[1] == labels[-1]
        at = self.same[t] if history == FAR_KINDS["same"] else t - (history - FAR)
        return run == (labels_before[at] if at >= 0 else len(self.model.labels), labels[-1])

    def of_segments(self, labels: list[int]) -> list[Term]:
        """The terms of whole segments, each at its first token."""
        if self.model.segments is None or not labels:
            return []
        types, terms = self.model.segments.types, list[Term]()
        begins, lengths, columns = segments_of(types, np.array(labels, np.int32), np.array([0, len(labels)], np.int64))
        for begin, length, column in zip(begins.tolist(), lengths.tolist(), columns.tolist(), strict=True):
            for attribute, (name, value) in self.segments[begin * types.most + length - 1].items():
                weight = dict(_row(self.model.weights.rows, attribute)).get(column, 0.0)
                terms.append(Term(name, weight * value, (begin,), types.type_of_column(column)))
        return terms

    def ngrams_at(self, t: int, labels: list[int]) -> list[Term]:
        """The terms of label n-grams of three labels and more at the end of these labels."""
        runs = [tuple(labels[-length:]) for length in range(3, min(self.model.order + 1, len(labels)) + 1)]
        return [
            Term(history_name(len(run) - 1), self.longer[run], (t,), " ".join(self.names[label] for label in run))
            for run in runs
            if run in self.longer
        ]


def _columns(model: ChainModel) -> list[tuple[str, list[str]]]:
    """For every column of rows its name (a label or a part of labels) and its labels."""
    columns = [(name, list[str]()) for name in model.row_names]
    for z, label in enumerate(model.labels):
        columns[z][1].append(label)
        for column in () if model.weights.parts is None else model.weights.parts.of_label(z):
            columns[column][1].append(label)
    return columns


def _row(rows: Rows, attribute: int) -> list[tuple[int, float]]:
    part = slice(int(rows.starts[attribute]), int(rows.starts[attribute + 1]))
    return list(zip(rows.labels[part].tolist(), rows.weights[part].tolist(), strict=True))


def _named(model: ChainModel, lists: Lists, *, on_edge: bool) -> list[Named]:
    """The attributes of every token; repeated ones count repeatedly."""
    starts, ids, values = lists
    values = values if len(values) else np.ones(len(ids), np.float32)
    names = model.attribute_names(ids.tolist(), on_edge=on_edge)
    out = list[Named]()
    for begin, end in pairwise(starts.tolist()):
        total = defaultdict[int, float](float)
        for attribute, value in zip(ids[begin:end].tolist(), values[begin:end].tolist(), strict=True):
            total[attribute] += value
        out.append({attribute: (names[attribute], value) for attribute, value in total.items()})
    return out
