"""From sentences to labels and what is believed of them: the ways of decoding, over a tagger's native decoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from trellis.arrays import Ints, Longs
from trellis.corpus.corpus import BagColumn, Corpus
from trellis.errors import CorpusError, ModelError

if TYPE_CHECKING:
    from trellis import _core
    from trellis.corpus.schemes import Span
    from trellis.engine.chain import Chains, ScoredPath
    from trellis.model.constraints import AllowedLabels
    from trellis.tagger.explanation import Explanation
    from trellis.tagger.posterior import Posterior
    from trellis.tagger.tagger import Tagger

By = Literal["path", "label"]
Constraints = Sequence["AllowedLabels | None"]  # one a sentence

# What asks for marginals goes over a corpus in pieces whose tables take about so many bytes.
PIECE_BYTES = 256 << 20


# ------------------------------------------------------------ sentences in


def rows_of(tagger: Tagger, sentence: Any) -> Any:
    """A sentence as native code walks it: a list of strings, of tuples or of attributes."""
    if not isinstance(sentence, Mapping):
        return sentence
    missing = [name for name in tagger.columns if name not in sentence]
    if missing:
        raise CorpusError(
            "", None, f"the sentence has no {missing[0]!r}; the model reads {', '.join(tagger.columns)}"
        )
    lists = [sentence[name] for name in tagger.columns]
    if len(lists) == 1:
        return list(lists[0])
    if len({len(values) for values in lists}) > 1:
        raise CorpusError("", None, "the columns of the sentence have different lengths")
    return list(zip(*lists, strict=True))


def encode(tagger: Tagger, sentences: Any, n_threads: int = 1) -> _core.Batch:
    """Sentences as codes of word types; what native code cannot say of words never met before is asked of Python."""
    if isinstance(sentences, Corpus):
        batch = _encode_corpus(tagger, sentences, n_threads)
    else:
        batch = tagger._decoder.encode([rows_of(tagger, sentence) for sentence in sentences], n_threads)
    for column, kind, word in batch.undefined:
        said = [None if function is None else function(word) for function in tagger._functions[column]]
        tagger._decoder.define(batch, column, kind, said)
    return batch


def _encode_corpus(tagger: Tagger, corpus: Corpus, n_threads: int) -> _core.Batch:
    bag = None
    if tagger.model.vocabulary.bag is not None:
        given = corpus.columns.get(tagger.columns[-1])
        if not isinstance(given, BagColumn):
            raise CorpusError(
                corpus.source, None, f"the model reads attributes from column {tagger.columns[-1]!r}"
            )
        bag = (*given.arrays, given.names.data, given.names.starts)
    columns = [corpus.column(column.name) for column in tagger.model.vocabulary.columns]
    return tagger._decoder.encode_corpus(
        [(column.codes, column.values.data, column.values.starts) for column in columns],
        bag,
        corpus.starts,
        n_threads,
    )


def _split(sentences: Any, n_tokens: int) -> Iterator[Any]:
    """Some sentences at a time, of n_tokens or so; a corpus is sliced, which costs nothing."""
    if isinstance(sentences, Corpus):
        sizes = np.diff(sentences.starts).tolist()
    else:
        sizes = [len(next(iter(s.values()), ())) if isinstance(s, Mapping) else len(s) for s in sentences]
    begin = total = 0
    for i, size in enumerate(sizes):
        if total and total + size > n_tokens:
            yield sentences[begin:i]
            begin, total = i, 0
        total += size
    if begin < len(sizes):
        yield sentences[begin:]


# ------------------------------------------------------------ potentials


def one(allowed: AllowedLabels | None) -> list[AllowedLabels | None] | None:
    """What is allowed in a batch of one sentence."""
    return None if allowed is None else [allowed]


def chains_of(
    tagger: Tagger, batch: _core.Batch, allowed: Constraints | None, n_threads: int, *, single: bool = False
) -> Chains:
    """The batch as potentials, in double precision unless ``single``.

    What a caller allows beats the tag dictionary. Where the dictionary and forbidden transitions together leave a
    sentence no path, the dictionary gives way.
    """
    from trellis.engine.chain import Chains, Potentials, best_path_batch
    from trellis.model.constraints import label_sets

    emit: Any
    emit, edges = tagger._decoder.potentials(batch, n_threads)
    expansion = tagger.model.weights.expansion
    if expansion is not None and tagger._expansion is not None:
        lists = tagger._decoder.attribute_lists(batch, False)
        emit = expansion.emit(tagger._expansion, lists, n_threads)
    weights, n, tags = tagger.model.weights, len(tagger.labels), tagger.model.dictionary
    kind: Any = np.float32 if single else np.float64
    end = None if weights.end_rows is None else weights.end_rows[:, :n]
    potentials = Potentials(
        emit.astype(kind, copy=False),
        weights.edge[:, :n] if edges is None else edges,
        None if weights.tri is None else weights.tri[:, :, :n],
        end[0] if end is not None and weights.tri is None else end,
    )
    starts = batch.starts
    known = None if tags is None else tags._replace(set_of=tagger._decoder.set_of(batch))
    sets = known if allowed is None else label_sets(allowed, tagger.labels, starts, known)
    if sets is not None and known is not None and tagger._forbids:
        _, scores = best_path_batch(potentials, starts, sets, n_threads)
        if np.isneginf(scores).any():
            opened = label_sets(allowed or [None] * (len(starts) - 1), tagger.labels, starts)
            closed = np.repeat(np.isneginf(scores), np.diff(starts))
            sets = sets.replaced(closed, opened.at(closed))
    return Chains(potentials, starts, sets)


def pieces(
    tagger: Tagger,
    sentences: Any,
    allowed: Constraints | None,
    n_threads: int,
    *,
    temperature: float | None = None,
) -> Iterator[Chains]:
    """Sentences as potentials, some at a time, at the model's temperature unless another is given."""
    from trellis.engine.chain import scaled
    from trellis.model.constraints import check_number

    sentences = sentences if isinstance(sentences, Corpus) else list(sentences)
    if allowed is not None:
        check_number(len(allowed), len(sentences))
    n, begin = len(tagger.labels), 0
    weights = tagger.model.weights
    by_token = weights.edge_rows is not None or (tagger.model.family == "local" and weights.tri is not None)
    edge_bytes = 20 * (n + 1) * n if by_token else 0
    for some in _split(sentences, max(1, PIECE_BYTES // (40 * n + edge_bytes))):
        here = None if allowed is None else allowed[begin : begin + len(some)]
        chains = chains_of(tagger, encode(tagger, some, n_threads), here, n_threads)
        by = tagger.temperature if temperature is None else temperature
        yield chains._replace(potentials=scaled(chains.potentials, by))
        begin += len(some)


# ------------------------------------------------------------ labels out


def best_codes(
    tagger: Tagger, sentences: Any, by: By, allowed: Constraints | None, n_threads: int
) -> tuple[Ints, Longs]:
    """The numbers of the best labels, one a token, and where sentences begin."""
    if by not in get_args(By):
        raise ValueError(f"by must be 'path' or 'label', not {by!r}")
    sentences = sentences if isinstance(sentences, Corpus) else list(sentences)
    if by == "label":
        from trellis.tagger.posterior import best_labels

        lengths, found = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
        for chains in pieces(tagger, sentences, allowed, n_threads):
            found.append(best_labels(chains, n_threads))
            lengths.append(np.diff(chains.starts))
        return np.concatenate(found), np.cumsum(np.concatenate(lengths))
    batch = encode(tagger, sentences, n_threads)
    if allowed is not None or tagger._expansion is not None:
        from trellis.engine.chain import best_path_batch
        from trellis.model.constraints import require_possible

        chains = chains_of(tagger, batch, allowed, n_threads, single=True)
        paths, scores = best_path_batch(*chains, n_threads=n_threads)
        require_possible(scores)
        return paths, batch.starts
    votes = tagger._votes is not None
    codes = _vote(tagger, batch, n_threads) if votes else tagger._decoder.decode(batch, n_threads)
    starts = batch.starts
    if tagger._forbids:
        from trellis.engine.chain import best_path_batch
        from trellis.model.constraints import illegal_sentences, require_possible

        for i in illegal_sentences(codes, starts, tagger.model.weights).tolist():
            chains = chains_of(tagger, encode(tagger, sentences[i : i + 1]), None, 1, single=True)
            path, scores = best_path_batch(*chains)
            require_possible(scores)
            codes[starts[i] : starts[i + 1]] = path
    return codes, starts


def _vote(tagger: Tagger, batch: _core.Batch, n_threads: int) -> Ints:
    """The paths with the most votes: training's updates are replayed once for all sentences."""
    from trellis import _core
    from trellis.model.predict import vote

    assert tagger._votes is not None
    weights, tags = tagger.model.weights, tagger.model.dictionary
    encoded = _core.Encoded(
        batch.starts,
        tagger._decoder.attribute_lists(batch, False),
        None if weights.edge_rows is None else tagger._decoder.attribute_lists(batch, True),
        None if tags is None else tags._replace(set_of=tagger._decoder.set_of(batch)),
        weights.rows.n_attributes,
        0 if weights.edge_rows is None else weights.edge_rows.n_attributes,
        len(tagger.labels),
    )
    return vote(encoded, tagger._votes, weights, n_threads)


def k_best_paths(tagger: Tagger, sentence: Any, k: int, allowed: AllowedLabels | None) -> list[ScoredPath]:
    """The k best paths of one sentence with their scores, best first."""
    from trellis.engine.chain import k_best_batch
    from trellis.model.constraints import require_possible

    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    # In single precision as tagging has them, so that the best of the k best is what tagging gives.
    chains = chains_of(tagger, encode(tagger, [sentence]), one(allowed), 1, single=True)
    found = k_best_batch(chains.potentials, chains.starts, k, chains.allowed)[0]
    require_possible(np.array([found[0].score]))
    return found


def all_posteriors(
    tagger: Tagger, sentences: Any, allowed: Constraints | None, *, edges: bool, n_threads: int
) -> list[Posterior]:
    """What is believed of every label of every sentence."""
    from trellis.tagger.posterior import posteriors

    found = list[Any]()
    for chains in pieces(tagger, sentences, allowed, n_threads):
        found += posteriors(chains, tagger.labels, tagger.measure, edges=edges, n_threads=n_threads)
    return found


def span_probability(
    tagger: Tagger, sentence: Any, span: Span | tuple[str, int, int], allowed: AllowedLabels | None
) -> float:
    """How probable it is that exactly this span is in the output."""
    from trellis.corpus.schemes import Span
    from trellis.tagger.posterior import SpanReading

    reading, span = SpanReading.of(tagger.labels), Span(*span)
    n = len(rows_of(tagger, sentence))
    if not 0 <= span.begin < span.end <= n:
        raise ValueError(f"span {span.begin}..{span.end} leaves the sentence of {n} tokens")
    [chains] = pieces(tagger, [sentence], one(allowed), 1)
    return reading.probabilities(chains, [[span]])[0][0]


def spans_with_probabilities(
    tagger: Tagger, sentences: Any, by: By, allowed: Constraints | None, n_threads: int
) -> list[list[tuple[Span, float]]]:
    """The spans of the best labels of every sentence, with their probabilities."""
    from trellis.corpus.schemes import spans
    from trellis.tagger.posterior import SpanReading

    reading = SpanReading.of(tagger.labels)
    sentences = sentences if isinstance(sentences, Corpus) else list(sentences)
    tagged = tagger.tag_batch(sentences, by=by, allowed=allowed, n_threads=n_threads)
    found, out = [spans(labels) for labels in tagged], list[list[tuple[Any, float]]]()
    for chains in pieces(tagger, sentences, allowed, n_threads):
        some = found[len(out) : len(out) + len(chains.starts) - 1]
        believed = reading.probabilities(chains, some, n_threads)
        out += [list(zip(*pair, strict=True)) for pair in zip(some, believed, strict=True)]
    return out


def explain_sentence(tagger: Tagger, sentence: Any, allowed: AllowedLabels | None) -> Explanation:
    """Why a sentence gets its labels."""
    from trellis.tagger.explanation import explain

    if tagger._expansion is not None:
        raise ModelError(
            "a kernel model has no weights of features to explain; support() tells what it is made of"
        )
    rows = rows_of(tagger, sentence)
    batch = encode(tagger, [sentence])
    has_edges = tagger.model.weights.edge_rows is not None
    return explain(
        tagger.model,
        [_shown(token) for token in rows],
        tagger._decoder.attribute_lists(batch, False),
        tagger._decoder.attribute_lists(batch, True) if has_edges else None,
        chains_of(tagger, batch, None, 1).potentials,
        [path for path, _ in k_best_paths(tagger, sentence, 2, allowed)],
    )


def _shown(token: Any) -> str:
    """A token as a person knows it: its strings; of attributes alone, their names."""
    if isinstance(token, str):
        return token
    strings = [part for part in token if isinstance(part, str)]
    return " ".join(strings)
