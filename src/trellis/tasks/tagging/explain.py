"""Why a sentence got its labels: the features that spoke for and against each, and why the best path beat the next.

A score is a sum of weights, so that an explanation is the list of its terms. Their sums are exact: what a path's terms
give together is its score, and what two paths do not share is the gap between them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from trellis._support.arguments import whole_number
from trellis._support.arrays import Bytes, Lists
from trellis._support.errors import ModelError
from trellis.engine.chain import Tables
from trellis.engine.weights import START, Rows
from trellis.features.templates import FAR, FAR_KINDS, history_name
from trellis.tasks.tagging.chain_model import ChainModel
from trellis.tasks.tagging.decoding import Constraints, Decoder, listed
from trellis.tasks.tagging.segments.weights import segments_of

END = "<end>"  # the label after the sentence
SHOWN = 2  # strings of a token that has attributes only


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of a score: a feature with a label, or labels one after the other."""

    token: int
    feature: str  # "word[0]=the", "label[-1] & word[0]=the"; "label[-1]" of label pairs, "label[-2..-1]" of triples
    label: str  # "B-NP", a run of labels: "O B-NP", a part of a label; of a segment that begins here its type
    weight: float  # times the feature's value, which is 1 but for attributes given with another


@dataclass(frozen=True, slots=True)
class TokenExplanation:
    """One token: its label, and what its own features say of every label."""

    token: str
    label: str  # in the best path
    scores: dict[str, float]  # of each label by the features of the token, best first, without its neighbours
    terms: dict[str, list[Term]]  # for and against each label, the heaviest first
    transitions: list[Term]  # of the best path, from the label before to this one


@dataclass(frozen=True, slots=True)
class PathExplanation:
    """A path, its score, and every term of it."""

    labels: list[str]
    score: float
    terms: list[Term]


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """A sentence, its best path, the next best, and what made the difference."""

    tokens: list[TokenExplanation]
    best: PathExplanation
    second: PathExplanation | None  # None where there is only one
    difference: list[Term]  # terms that only one path has, those of the second negated; the heaviest first

    @property
    def gap(self) -> float:
        """By how much the best path beats the second, the sum of the difference; infinite if there is only one."""
        return float("inf") if self.second is None else self.best.score - self.second.score

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {**asdict(self), "gap": None if self.second is None else self.gap}

    def text(self, *, n_labels: int = 3, n_terms: int = 6) -> str:
        """To be read by a person: so many labels per token, so many terms per label."""
        n_labels, n_terms = whole_number("n_labels", n_labels, 1), whole_number("n_terms", n_terms, 0)
        lines = [f"1: {' '.join(self.best.labels)}   score {self.best.score:.4f}"]
        if self.second is not None:
            lines.append(f"2: {' '.join(self.second.labels)}   score {self.second.score:.4f}")
        for token in self.tokens:
            lines += ["", f"{token.token}   {token.label}"]
            shown = list(token.scores)[:n_labels]
            width = max(len(label) for label in shown)
            for label in shown:
                terms = _terms(token.terms[label], label, n_terms)
                lines.append(f"  {label:{width}} {token.scores[label]:+9.4f}  {terms}")
            lines += [f"  {term.label}   {term.feature} {term.weight:+.4f}" for term in token.transitions]
        if self.second is not None:
            lines += ["", f"path 1 beats path 2 by {self.gap:.4f}:"]
            lines += [
                f"  {term.weight:+9.4f}  {self.tokens[term.token].token}   {term.feature} with {term.label}"
                for term in self.difference
            ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text(n_labels=1)

    def _repr_html_(self) -> str:
        from trellis.display.models import explanation_html

        return explanation_html(self)


def _terms(terms: Sequence[Term], label: str, n: int) -> str:
    """The heaviest terms of a label; of its parts with the name of the part."""
    shown = [f"{t.feature}{'' if t.label == label else f' ({t.label})'} {t.weight:+.4f}" for t in terms[:n]]
    if len(terms) > n:
        shown.append(f"and {len(terms) - n} more {sum(term.weight for term in terms[n:]):+.4f}")
    return ", ".join(shown)


def shown(t: int, token: Any) -> str:
    """A token as a person knows it: its strings; of attributes alone, its position and the first strings of them."""
    if isinstance(token, str):
        return token
    parts = list(token.values()) if isinstance(token, Mapping) else token
    strings = [part for part in parts if isinstance(part, str)]
    if isinstance(token, tuple) and strings:
        return " ".join(strings)
    return " ".join([f"{t}:", *(strings or map(str, token))][: 1 + SHOWN])


def explain(decoder: Decoder, sentence: Any, allowed: Constraints | None) -> Explanation:
    """Why a sentence gets its labels."""
    if decoder.expansion is not None:
        raise ModelError("a kernel model has no weights of features to explain; see support()")
    [sentence] = listed([sentence])
    model, batch = decoder.model, decoder.encode([sentence])
    edge_attributes = None
    if model.weights.edge_rows is not None:
        edge_attributes = decoder.native.attribute_lists(batch, True)
    attributes, tables = decoder.native.attribute_lists(batch, False), decoder.chains(batch, None, 1).tables
    tokens = [shown(t, token) for t, token in enumerate(decoder.rows_of(sentence))]
    explainer = _Explainer(model, attributes, edge_attributes, tables)
    explainer.about, explainer.same = decoder.about, batch.same_words.tolist()
    if decoder.segments is not None:
        explainer.add_segments(decoder.segments.lists(decoder, [sentence], batch.starts, 1))
    explained = [explainer.path(labels) for labels, _ in decoder.kbest([sentence], 2, allowed, 1)[0]]
    best, second = explained[0], explained[1] if len(explained) > 1 else None
    found, own = list[TokenExplanation](), defaultdict[int, list[Term]](list)
    for term in best.terms:
        own[term.token].append(term)
    for t, token in enumerate(tokens):
        by_label = explainer.emissions[t]
        sums = {label: sum(term.weight for term in terms) for label, terms in by_label.items()}
        ranked = dict(sorted(sums.items(), key=lambda one: -one[1]))
        label = best.labels[t]
        transitions = [term for term in own[t] if term not in by_label[label]]
        found.append(TokenExplanation(token, label, ranked, by_label, transitions))
    return Explanation(found, best, second, [] if second is None else _difference(best, second))


def _difference(best: PathExplanation, second: PathExplanation) -> list[Term]:
    total: dict[tuple[int, str, str], float] = {}
    for sign, path in ((1.0, best), (-1.0, second)):
        for term in path.terms:
            key = (term.token, term.feature, term.label)
            total[key] = total.get(key, 0.0) + sign * term.weight
    terms = [Term(*key, weight) for key, weight in total.items() if weight != 0]
    return sorted(terms, key=lambda term: -abs(term.weight))


class _Explainer:
    """The terms of one sentence."""

    def __init__(self, model: ChainModel, attributes: Lists, edge_attributes: Lists | None, tables: Tables) -> None:
        self.model, self.potentials = model, tables.potentials
        self.names = (*model.labels, START)
        named, columns = _named(model, attributes, on_edge=False), _columns(model)
        self.emissions: list[dict[str, list[Term]]] = []  # of every token and label, the heaviest first
        for t, some in enumerate(named):
            terms: dict[str, list[Term]] = {label: [] for label in model.labels}
            for attribute, (name, value) in some.items():
                for column, weight in _row(model.weights.rows, attribute):
                    said, labels = columns[column]
                    for label in labels:
                        terms[label].append(Term(t, name, said, weight * value))
            for label_terms in terms.values():
                label_terms.sort(key=lambda term: -abs(term.weight))
            self.emissions.append(terms)
        ngrams = model.weights.ngrams
        self.longer: dict[tuple[int, ...], float] = {}  # weights of label n-grams
        if ngrams is not None:
            weighted = np.flatnonzero(ngrams.weights).tolist()
            runs = ngrams.label_runs(weighted, len(model.labels))
            self.longer = dict(zip(runs, ngrams.weights[weighted].tolist(), strict=True))
        self.at_token: list[dict[tuple[int, ...], float]] = []  # what normalising gives n-grams at every token
        if model.family == "local" and ngrams is not None and tables.token_ngrams is not None:
            starts, nodes, scores = tables.token_ngrams
            runs = ngrams.label_runs((nodes.astype(np.int64) - len(model.labels) - 2).tolist(), len(model.labels))
            found = list(zip(runs, scores.tolist(), strict=True))
            self.at_token = [dict(found[a:b]) for a, b in pairwise(starts.tolist())]
        self.about: Bytes | None = None  # of edge attributes, where some are about labels further back; which words are
        self.same: list[int] = []  # the same
        self.edges = [] if edge_attributes is None else _named(model, edge_attributes, on_edge=True)
        self.segments: list[dict[int, tuple[str, float]]] = []  # attributes of segments, by site

    def add_segments(self, lists: Lists) -> None:
        """Attributes of all segments: site token * longest + length - 1."""
        self.segments = _named(self.model, lists, on_edge=False)

    def path(self, labels: list[str]) -> PathExplanation:
        null, terms = len(self.model.labels), list[Term]()
        codes = [null, null, *(self.model.labels.index(label) for label in labels)]
        for t in range(len(labels)):
            terms += self.at(t, codes[: t + 3], last=t + 1 == len(labels))
            terms += self.ngrams_at(t, codes[: t + 3])
        terms += self.of_segments(codes[2:])
        return PathExplanation(labels, float(sum(term.weight for term in terms)), terms)

    def at(self, t: int, labels: list[int], *, last: bool) -> list[Term]:
        """All terms of the last of these labels, at t, after those before it; but for label n-grams alone."""
        weights, names = self.model.weights, self.names
        x, y, z = labels[-3:]
        pair = f"{names[y]} {names[z]}"
        terms = list(self.emissions[t][names[z]])
        for attribute, (name, value) in self.edges[t].items() if self.edges else ():
            assert weights.edge_rows is not None
            for column, weight in _row(weights.edge_rows, attribute):
                run = weights.run_at(column)
                if self.sees(attribute, labels, run):
                    terms.append(Term(t, name, " ".join(names[label] for label in run), weight * value))
        terms.append(Term(t, "label[-1]", pair, float(weights.edge[y, z])))
        if weights.tri is not None:
            terms.append(Term(t, history_name(2), f"{names[x]} {pair}", float(weights.tri[x, y, z])))
        if self.model.family == "local":
            # What makes the probabilities of all labels after y one in sum.
            p = self.potentials
            score = float(p.emit[t, z] + (p.edge[t, y, z] if p.edge.ndim == 3 else p.edge[y, z]))
            score += 0.0 if p.tri is None else float(p.tri[x, y, z])
            own = self.at_token[t] if self.at_token else {}
            score += sum(own.get(tuple(labels[-length:]), 0.0) for length in range(3, self.model.order + 2))
            terms.append(Term(t, "normalisation", pair, score - sum(term.weight for term in terms)))
        if last and weights.end is not None:
            terms.append(Term(t, "label[+1]", f"{names[z]} {END}", float(weights.end[z])))
        return [term for term in terms if term.weight != 0]

    def sees(self, attribute: int, labels: list[int], run: tuple[int, ...]) -> bool:
        """Whether an edge attribute is about that run of labels after START, START and the labels up to a token."""
        about = 0 if self.about is None else int(self.about[attribute])
        if about < FAR:
            return run == tuple(labels[-len(run) :])
        t, seen = len(labels) - 3, labels[2:-1]
        if about == FAR_KINDS["any"]:
            return run[0] in seen and run[1] == labels[-1]
        at = self.same[t] if about == FAR_KINDS["same"] else t - (about - FAR)
        return run == (seen[at] if at >= 0 else len(self.model.labels), labels[-1])

    def of_segments(self, labels: list[int]) -> list[Term]:
        """The terms of whole segments, each at its first token."""
        if self.model.segments is None or not labels:
            return []
        types, terms = self.model.segments.types, list[Term]()
        begins, lengths, columns = segments_of(types, np.array(labels, np.int32), np.array([0, len(labels)], np.int64))
        for begin, length, column in zip(begins.tolist(), lengths.tolist(), columns.tolist(), strict=True):
            for attribute, (name, value) in self.segments[begin * types.most + length - 1].items():
                weight = dict(_row(self.model.weights.rows, attribute)).get(column, 0.0)
                terms.append(Term(begin, name, types.type_of_column(column), weight * value))
        return [term for term in terms if term.weight != 0]

    def ngrams_at(self, t: int, labels: list[int]) -> list[Term]:
        """The terms of the label n-grams of three labels and more that these labels end in."""
        terms = list[Term]()
        for length in range(3, min(self.model.order + 1, len(labels)) + 1) if self.longer else ():
            run = tuple(labels[-length:])
            if run in self.longer:
                said = " ".join(self.names[label] for label in run)
                terms.append(Term(t, history_name(length - 1), said, self.longer[run]))
        return terms


def _columns(model: ChainModel) -> list[tuple[str, list[str]]]:
    """Of every column of rows its name, a label or a part of labels, and the labels that it counts for."""
    columns = [(name, list[str]()) for name in model.row_names]
    for z, label in enumerate(model.labels):
        columns[z][1].append(label)
        for column in () if model.weights.parts is None else model.weights.parts.of_label(z):
            columns[column][1].append(label)
    return columns


def _row(rows: Rows, attribute: int) -> list[tuple[int, float]]:
    here = slice(int(rows.starts[attribute]), int(rows.starts[attribute + 1]))
    return list(zip(rows.labels[here].tolist(), rows.weights[here].tolist(), strict=True))


def _named(model: ChainModel, lists: Lists, *, on_edge: bool) -> list[dict[int, tuple[str, float]]]:
    """For every token its attributes by number, with their names and values; one met twice counts twice."""
    starts, ids, values = lists
    values = values if len(values) else np.ones(len(ids), np.float32)
    names = model.attribute_names(ids.tolist(), on_edge=on_edge)
    out = list[dict[int, tuple[str, float]]]()
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        here: dict[int, tuple[str, float]] = {}
        for attribute, value in zip(ids[begin:end].tolist(), values[begin:end].tolist(), strict=True):
            here[attribute] = (names[attribute], value + (here[attribute][1] if attribute in here else 0.0))
        out.append(here)
    return out
