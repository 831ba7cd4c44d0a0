"""A tagger's weights under the oracle's names, so that they can be compared one by one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from feature_oracle import Key, feature, parsed

from trellis import _core
from trellis.arrays import Ints, Ragged
from trellis.corpus.corpus import BagColumn, Corpus
from trellis.errors import TemplateError
from trellis.features.extraction import _join, _part
from trellis.features.vocabulary import ColumnVocabulary, Vocabulary, function_of
from trellis.tagger import Tagger


def encode(vocabulary: Vocabulary, corpus: Corpus, n_threads: int) -> tuple[Ragged, Ragged | None]:
    """The attributes of another corpus that the vocabulary knows, of labels and of label pairs."""
    coded = list[tuple[Ints, Ints]]()
    for known in vocabulary.columns:
        column = corpus.column(known.name)
        coded.append((column.codes, known_view_ids(vocabulary, known, column.values)))
    none = np.empty(0, np.float32)
    part = _part(vocabulary.plan, 0, vocabulary.n_emission)
    found = _core.extract_known(part, vocabulary.tables, vocabulary.folds, coded, corpus.starts, n_threads)
    lists = Ragged(*found, none)
    if vocabulary.bag is not None:
        name, strings, attributes = vocabulary.bag
        bag_column = corpus.columns.get(name)
        if not isinstance(bag_column, BagColumn):
            raise TemplateError(f"the model reads attributes from column {name!r}, which the corpus does not have")
        number = {s: int(a) for s, a in zip(strings, attributes, strict=True)}
        bag = bag_column.renumber(np.array([number.get(s, -1) for s in bag_column.names], np.int32))
        lists = _join(lists, bag.starts, bag.ids, bag.values)
    if vocabulary.n_emission == len(vocabulary.templates):
        return lists, None
    part = _part(vocabulary.plan, vocabulary.n_emission, len(vocabulary.templates))
    found = _core.extract_known(part, vocabulary.tables, vocabulary.folds, coded, corpus.starts, n_threads)
    return lists, Ragged(*found, none)


def known_view_ids(vocabulary: Vocabulary, known: ColumnVocabulary, values: Iterable[str]) -> Ints:
    numbers = [{s: i for i, s in enumerate(known.values if strings is None else strings)} for strings in known.strings]
    functions = [function_of(view, vocabulary.lookups, known.name) for view in known.views]
    shift = 2 * vocabulary.plan.reach
    rows = list[list[int]]()
    for value in values:
        said = [function(value) for function in functions]
        rows.append(
            [-1 if s is None or s not in table else table[s] + shift for s, table in zip(said, numbers, strict=True)]
        )
    return np.array(rows, np.int32).reshape(len(rows), len(known.views))


def names_of(vocabulary: Vocabulary, templates: list[str], corpus: Corpus, *, on_edge: bool) -> dict[int, Key]:
    """The oracle's name of every attribute of the vocabulary: each template asked alone, token by token."""
    coded = [
        (corpus.column(c.name).codes, known_view_ids(vocabulary, c, corpus.column(c.name).values))
        for c in vocabulary.columns
    ]
    names: dict[int, Key] = {}
    sentences = list(corpus)
    for k, template in enumerate(parsed(templates)):
        if template.on_edge != on_edge:
            continue
        starts, ids = _core.extract_known(
            _part(vocabulary.plan, k, k + 1), vocabulary.tables, vocabulary.folds, coded, corpus.starts, 1
        )
        token = 0
        for sentence in sentences:
            for t in range(len(sentence["label"])):
                here = ids[starts[token] : starts[token + 1]].tolist()
                key = feature(k, template, sentence, t)
                assert len(here) <= (key is not None)
                for a in here:
                    assert names.setdefault(a, key) == key, "two features under one number"
                token += 1
    if vocabulary.bag is not None and not on_edge:
        _, strings, attributes = vocabulary.bag
        names |= {a: ("bag", s) for s, a in zip(strings, attributes.tolist(), strict=True) if a >= 0}
    assert len(set(names.values())) == len(names), "one feature under two numbers"
    return names


def weights_of(tagger: Tagger, templates: list[str], corpus: Corpus) -> dict[Key, np.float32]:
    """Every weight that is not zero by its name, as Twin.result gives them."""
    vocabulary, weights = tagger.model.vocabulary, tagger.model.weights
    out: dict[Key, np.float32] = {}
    n = len(tagger.labels)
    names = names_of(vocabulary, templates, corpus, on_edge=False)
    rows = weights.rows
    assert sorted(names) == list(range(rows.n_attributes))
    for a, key in names.items():
        for s in range(rows.starts[a], rows.starts[a + 1]):
            out["emit", key, int(rows.labels[s])] = rows.weights[s]
    if weights.edge_rows is not None:
        rows, stride = weights.edge_rows, weights.edge.shape[1]
        names = names_of(vocabulary, templates, corpus, on_edge=True)
        assert sorted(names) == list(range(rows.n_attributes))
        for a, key in names.items():
            for s in range(rows.starts[a], rows.starts[a + 1]):
                y, z = divmod(int(rows.labels[s]), stride)
                out["on edge", key, y, z] = rows.weights[s]
    assert all(w != 0 for w in out.values()), "a zero is kept in a row"
    assert (weights.edge[:, n:] == 0).all()
    out |= {("edge", int(y), int(z)): weights.edge[y, z] for y, z in np.argwhere(weights.edge)}
    if weights.tri is not None:
        out |= {("tri", int(x), int(y), int(z)): weights.tri[x, y, z] for x, y, z in np.argwhere(weights.tri)}
    return out
