"""A tagger's weights under the oracle's names, so that they can be compared one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from feature_oracle import Key, feature, parsed

from trellis._support.arrays import Ragged
from trellis.corpus.corpus import Corpus
from trellis.engine.weights import ChainWeights, Rows, padded
from trellis.features.known import entries
from trellis.features.vocabulary import Vocabulary
from trellis.tasks.tagging.chain_model import ChainModel
from trellis.tasks.tagging.decoding import ChainDecoder
from trellis.tasks.tagging.model import Tagger


def decoder_of(vocabulary: Vocabulary) -> ChainDecoder:
    """A tagger's decoder over a vocabulary; it has one label and no weights."""
    n_emission, n_edges = (
        1 + max((int(numbers.max(initial=-1)) for _, numbers, _ in entries(vocabulary, on_edge=on_edge)), default=-1)
        for on_edge in (False, True)
    )
    if vocabulary.bag is not None:
        n_emission = max(n_emission, 1 + int(vocabulary.bag.attributes.max(initial=-1)))
    rows, edge_rows = (
        Rows(np.zeros(n + 1, np.uint32), np.empty(0, kind), np.empty(0, np.float32))
        for n, kind in ((n_emission, np.uint16), (n_edges, np.uint32))
    )
    has_edges = vocabulary.n_emission < len(vocabulary.templates)
    weights = ChainWeights(1, rows, edge_rows if has_edges else None, np.zeros((2, padded(1)), np.float32), None)
    return ChainDecoder(ChainModel(("X",), "label", 1, vocabulary, weights))


def encode(vocabulary: Vocabulary, corpus: Corpus, n_threads: int) -> tuple[Ragged, Ragged | None]:
    """The attributes of another corpus that the vocabulary knows, of labels and of label pairs."""
    decoder = decoder_of(vocabulary)
    batch = decoder.encode(corpus, n_threads)
    lists = Ragged(*decoder.attribute_lists(batch))
    has_edges = vocabulary.n_emission < len(vocabulary.templates)
    return lists, Ragged(*decoder.attribute_lists(batch, on_edge=True)) if has_edges else None


def names_of(vocabulary: Vocabulary, templates: list[str], corpus: Corpus, *, on_edge: bool) -> dict[int, Key]:
    """The oracle's name of every attribute of the vocabulary: each template asked alone, token by token."""
    names: dict[int, Key] = {}
    sentences = list(corpus)
    for k, template in enumerate(parsed(templates)):
        if bool(template.history) != on_edge:
            continue
        alone = replace(
            vocabulary,
            templates=vocabulary.templates[k : k + 1],
            n_emission=0 if on_edge else 1,
            plan=replace(vocabulary.plan, templates=np.ascontiguousarray(vocabulary.plan.templates[k : k + 1])),
            bag=None,
        )
        lists = encode(alone, corpus, 1)[on_edge]
        assert lists is not None
        token = 0
        for sentence in sentences:
            for t in range(len(sentence["label"])):
                here = lists.ids[lists.starts[token] : lists.starts[token + 1]].tolist()
                key = feature(k, template, sentence, t)
                assert len(here) <= (key is not None)
                for a in here:
                    assert names.setdefault(a, key) == key, "two features under one number"
                token += 1
    if vocabulary.bag is not None and not on_edge:
        strings, attributes = vocabulary.bag.strings, vocabulary.bag.attributes
        names |= {a: ("bag", s) for s, a in zip(strings, attributes.tolist(), strict=True) if a >= 0}
    assert len(set(names.values())) == len(names), "one feature under two numbers"
    return names


def weights_of(tagger: Tagger, templates: list[str], corpus: Corpus) -> dict[Key, np.float32]:
    """Every nonzero weight by name, as in Twin.result."""
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
