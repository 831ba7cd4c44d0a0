"""What features mean, as plainly as can be: strings, dicts and loops, no numbers shared with the library."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments import reference
from trellis.corpus.corpus import BagColumn, Corpus
from trellis.features.templates import Call, Template, parse_template

Key = Hashable  # a feature's name: its template (or what templates share) and the values it saw


def apply(call: Call, value: str) -> str | None:
    """Apply a function to a value; None if it gives no feature."""
    yes = {
        "has_digit": bool(re.search(r"[0-9]", value)),
        "has_hyphen": "-" in value,
        "has_dot": "." in value,
        "has_upper": bool(re.search(r"[A-ZÄÖÜ]", value)),
        "is_capitalized": bool(re.match(r"[A-ZÄÖÜ]", value)),
        "is_upper": value.upper() == value and value.lower() != value,
        "is_punctuation": re.search(r"[A-Za-z0-9äöüÄÖÜ]", value) is None,
        "outside": False,
    }
    if call.name in yes:
        return "yes" if yes[call.name] else None
    if call.name == "lower":
        return value.lower()
    if call.name == "shape":
        spelled = re.sub(r"[0-9]", "d", re.sub(r"[a-zäöü]", "x", re.sub(r"[A-ZÄÖÜ]", "X", value.replace("d", "x"))))
        return re.sub(r"(.)\1\1+", r"\1\1", spelled)
    if call.name == "kind":
        rules = {"X": r"[A-ZÄÖÜ]", "x": r"[a-zäöü]", "d": r"[0-9]"}
        return next((kind for kind, rule in rules.items() if re.match(rule, value)), value)
    if call.name == "kinds":
        rules = {"d": r"[0-9]", "a": r"[A-Za-z]", "l": r"[äöüÄÖÜ]"}
        kinds = [next((kind for kind, rule in rules.items() if re.match(rule, c)), "p") for c in value]
        return re.sub(r"(.)\1+", r"\1", "".join(kinds))
    if call.name == "lower_ascii":
        return re.sub("[A-Z]", lambda letter: letter[0].lower(), value)
    if call.name == "normal":
        rules = {"!HYPHEN": r"[^-].*-", "!YEAR": r"[0-9]{4}$", "!DIGITS": r"[0-9]"}
        return next((kind for kind, rule in rules.items() if re.match(rule, value)), value.lower())
    if call.name in ("prefix", "suffix"):
        k = int(call.arguments[0])
        if len(value) < k:
            return None
        return value[:k] if call.name == "prefix" else value[len(value) - k :]
    lines = Path(str(call.arguments[0])).read_text().splitlines()
    if call.name == "listed":
        return "yes" if value in {line.strip() for line in lines if line.strip()} else None
    clusters = {line.split("\t")[1]: line.split("\t")[0] for line in lines if line}
    path = clusters.get(value)
    return path if path is None or len(call.arguments) == 1 else path[: int(call.arguments[1])]


def value_of(calls: Sequence[Call], values: Sequence[str], at: int) -> Hashable:
    if at < 0:
        return ("before", -at)
    if at >= len(values):
        return ("after", at - len(values) + 1)
    value: str | None = values[at]
    for call in calls:
        if value is None:
            return None
        value = apply(call, value)
    return value


def feature(number: int, template: Template, sentence: dict[str, list[str]], t: int) -> Key | None:
    """The feature of one template at one token, or None where it is silent."""
    seen = [value_of(look.calls, sentence[look.column], t + look.offset) for look in template.looks]
    return None if None in seen else (template.name or number, tuple(seen))


def parsed(templates: Sequence[str], first: str = "word") -> list[Template]:
    """Templates in the library's order, those of labels first; is_first looks at the first column."""
    all_of_them = [parse_template(text) for text in templates]
    bound = [
        Template(
            tuple(type(look)(look.column or first, look.offset, look.calls) for look in t.looks),
            t.history,
            t.name,
        )
        for t in all_of_them
        if not any(look.column == "attributes" for look in t.looks)
    ]
    return [t for t in bound if not t.history] + [t for t in bound if t.history]


def features_of(
    templates: Sequence[str], corpus: Corpus, *, on_edge: bool = False
) -> list[list[list[tuple[Key, float]]]]:
    """The features of every sentence's tokens with their values, in the order of templates, the bag last."""
    chosen = [(k, t) for k, t in enumerate(parsed(templates)) if bool(t.history) == on_edge]
    bag = corpus.columns.get("attributes")
    reads_bag = any("attributes" in text for text in templates) and not on_edge
    bags = bag.tolist() if reads_bag and isinstance(bag, BagColumn) else [{}] * corpus.n_tokens
    out = []
    for sentence, begin in zip(corpus, corpus.starts[:-1].tolist(), strict=True):
        tokens = []
        for t in range(len(sentence["label"])):
            found = [feature(k, template, sentence, t) for k, template in chosen]
            here = [(key, 1.0) for key in found if key is not None]
            tokens.append(here + [(("bag", name), value) for name, value in bags[begin + t].items()])
        out.append(tokens)
    return out


class Twin:
    """The perceptron over features that are strings: weights in a dict, paths from reference.viterbi."""

    def __init__(
        self,
        templates: Sequence[str],
        corpus: Corpus,
        *,
        order: int = 1,
        min_count: int = 0,
        pairs: str = "all",
        tag_dictionary: int = 0,
    ) -> None:
        self.order = order
        self.labels = list(dict.fromkeys(corpus.column("label").tolist()))
        self.golds = [[self.labels.index(z) for z in s] for s in corpus.sentences("label")]
        self.words = corpus.sentences("word")
        self.sentences = features_of(templates, corpus)
        self.edges = features_of(templates, corpus, on_edge=True)
        self.on_edges = any("label[-1]" in text for text in templates)
        occurrences = Counter[Any]()
        self.occurrences = occurrences
        for tokens, gold in zip(self.sentences, self.golds, strict=True):
            for features, z in zip(tokens, gold, strict=True):
                for key, _ in features:
                    occurrences[(key, z) if pairs == "seen" else key] += 1
        edge_occurrences = Counter[Any]()  # of a feature with a pair of labels: the most frequent pair counts
        for tokens, gold in zip(self.edges, self.golds, strict=True):
            for features, y, z in zip(tokens, [len(self.labels), *gold], gold, strict=False):
                edge_occurrences.update((key, y, z) for key, _ in features)
        most = dict[Any, int]()
        for (key, _, _), count in edge_occurrences.items():
            most[key] = max(count, most.get(key, 0))
        self.has = (
            (lambda key, z: occurrences[(key, z)] >= max(1, min_count))
            if pairs == "seen"
            else (lambda key, z: occurrences[key] >= max(1, min_count))
        )
        self.has_edge = lambda key: most[key] >= max(1, min_count)
        self.tags = self.dictionary(tag_dictionary)
        self.weights: dict[Key, float] = {}
        self.total: dict[Key, float] = {}
        self.examples = self.mistakes = self.updates = 0

    def dictionary(self, min_count: int) -> Any:
        if not min_count:
            return None
        counts = Counter(word for words in self.words for word in words)
        seen: dict[str, set[int]] = {}
        rare = set[int]()
        for words, gold in zip(self.words, self.golds, strict=True):
            for word, z in zip(words, gold, strict=True):
                (seen.setdefault(word, set()) if counts[word] >= min_count else rare).add(z)
        return seen, rare or set(range(len(self.labels)))

    def allowed(self, words: Sequence[str]) -> list[list[int]] | None:
        if self.tags is None:
            return None
        seen, rare = self.tags
        return [sorted(seen.get(word, rare)) for word in words]

    def potentials(self, tokens: Any, edges: Any, words: Sequence[str], weights: Any = None) -> reference.Potentials:
        w = self.weights if weights is None else weights
        L = len(self.labels)
        emit = np.zeros((len(tokens), L))
        for t, z in itertools.product(range(len(tokens)), range(L)):
            emit[t, z] = sum(w.get(("emit", key, z), 0.0) * value for key, value in tokens[t])
        edge = np.array([[w.get(("edge", y, z), 0.0) for z in range(L)] for y in range(L + 1)])
        if self.on_edges:
            edge = np.repeat(edge[None], len(tokens), axis=0)
            for t, y, z in itertools.product(range(len(tokens)), range(L + 1), range(L)):
                edge[t, y, z] += sum(w.get(("on edge", key, y, z), 0.0) for key, _ in edges[t])
        tri = None
        if self.order == 2:
            tri = np.array(
                [[[w.get(("tri", x, y, z), 0.0) for z in range(L)] for y in range(L + 1)] for x in range(L + 1)]
            )
        allowed = self.allowed(words)
        return reference.Potentials(emit if allowed is None else reference.restrict(emit, allowed), edge, tri)

    def phi(self, tokens: Any, edges: Any, path: Sequence[int]) -> dict[Key, float]:
        """Equation 1: how often each feature occurs."""
        counts: dict[Key, float] = {}
        x = y = len(self.labels)
        for features, on_edge, z in zip(tokens, edges, path, strict=True):
            names = [(("emit", key, z), value) for key, value in features if self.has(key, z)]
            if self.order >= 1:
                names += [(("edge", y, z), 1.0)]
                names += [(("on edge", key, y, z), 1.0) for key, _ in on_edge if self.has_edge(key)]
            if self.order == 2:
                names += [(("tri", x, y, z), 1.0)]
            for name, value in names:
                counts[name] = counts.get(name, 0.0) + value
            x, y = y, z
        return counts

    def epoch(self, order: Sequence[int]) -> tuple[int, int]:
        mistakes = updates = 0
        for i in order:
            tokens, edges, gold = self.sentences[i], self.edges[i], self.golds[i]
            best, _ = reference.viterbi(self.potentials(tokens, edges, self.words[i]))
            wrong = sum(y != z for y, z in zip(best, gold, strict=True))
            mistakes, updates = mistakes + wrong, updates + (wrong > 0)
            if wrong:
                for path, sign in ((gold, 1.0), (best, -1.0)):
                    for name, count in self.phi(tokens, edges, path).items():
                        self.weights[name] = self.weights.get(name, 0.0) + sign * count
            for name, weight in self.weights.items():
                self.total[name] = self.total.get(name, 0.0) + weight
            self.examples += 1
        return mistakes, updates

    def result(self, average: bool) -> dict[Key, np.float32]:
        """The nonzero weights, as floats of a model."""
        out = {k: w / self.examples for k, w in self.total.items()} if average else self.weights
        return {name: np.float32(w) for name, w in out.items() if np.float32(w) != 0}
