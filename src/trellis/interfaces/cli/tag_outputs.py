"""Labels of taggers as columns, as JSON records, and as crf_test of CRF++ lays them out."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from trellis._support.errors import ArgumentError
from trellis.corpus.corpus import BagColumn, Column, Corpus, Strings
from trellis.interfaces.cli.labelled_files import Label, check_place

if TYPE_CHECKING:
    from trellis.tasks.tagging.decoding import Decode
    from trellis.tasks.tagging.model import Tagger

NO_PATH = "_"  # in the columns of --kbest, where a sentence has fewer label sequences


def check_outputs(options: Namespace, tagger: Tagger, format: str) -> None:
    """ArgumentError for options that do not go together."""
    sure = options.confidence or options.all_labels
    if options.kbest is not None and (options.decode == "posterior" or (sure and not options.crf_test)):
        raise ArgumentError("--kbest gives the best paths with their scores; omit --decode and --confidence")
    if options.crf_test and (options.json or options.inline or options.decode is not None):
        raise ArgumentError("--crf-test is a layout of its own; omit --json, --inline and --decode")
    if options.inline and (not options.text or options.json or sure or options.kbest is not None):
        raise ArgumentError("--inline writes running text with its labels: give --text, and no other layout with it")
    if options.text and options.json and options.all_labels:
        raise ArgumentError("--text with --json has words with their offsets; omit --all-labels")
    if options.json:
        return
    layouts = {"--kbest": options.kbest is not None, "--confidence": sure, "--crf-test": options.crf_test}
    for option, chosen in layouts.items():
        if chosen and format != "conll":
            raise ArgumentError(f"{option}: {format} has one place for a label; give --json, or write columns")
    check_place(options.output, tagger.target, format, "give --json")


def label_columns(tagger: Tagger, options: Namespace, n_threads: int | None) -> Label:
    """A function from sentences to the columns of their labels, best first. It may be called from several threads."""
    if options.confidence or options.all_labels:
        return lambda corpus: _sure_columns(tagger, corpus, options, n_threads)
    if options.kbest is None:
        return lambda corpus: [tagger.tag_column(corpus, decode=options.decode or "viterbi", n_threads=n_threads)]
    k, values = options.kbest, Strings.of((*tagger.labels, NO_PATH))
    number = {label: i for i, label in enumerate(tagger.labels)}

    def columns(corpus: Corpus) -> list[Column]:
        codes = np.full((k, corpus.n_tokens), len(number), np.int32)
        begin = 0
        for paths in tagger.kbest_batch(corpus, k, n_threads=n_threads):
            end = begin + len(paths[0][0])
            for rank, (labels, _) in enumerate(paths):
                codes[rank, begin:end] = [number[label] for label in labels]
            begin = end
        return [Column(row, values) for row in codes]

    return columns


def _sure_columns(tagger: Tagger, corpus: Corpus, options: Namespace, n_threads: int | None) -> list[Column]:
    """The labels, the probability of each, and with --all-labels that of all others."""
    labels = tagger.tag_column(corpus, decode=options.decode or "viterbi", n_threads=n_threads)
    if not corpus.n_tokens:
        return [labels]
    node = np.concatenate([posterior.node for posterior in tagger.marginals_batch(corpus, n_threads=n_threads)])
    columns = [labels, _texts(node[np.arange(len(node)), labels.codes], "")]
    if options.all_labels:
        columns += [_texts(node[:, z], f"{label}/") for z, label in enumerate(tagger.labels)]
    return columns


def _texts(probabilities: Any, before: str) -> Column:
    """Probabilities as a column, each with the same text before it."""
    rounded, codes = np.unique(np.round(probabilities, 6), return_inverse=True)
    return Column(codes.astype(np.int32), Strings.of([f"{before}{share:.6f}" for share in rounded.tolist()]))


def inputs_of(model: Any, corpus: Corpus) -> Iterable[dict[str, Any]]:
    """The columns of every sentence that a model reads, as far as they are strings."""
    columns = getattr(getattr(model, "tagger", None) or model, "columns", ())
    names = [name for name in columns if not isinstance(corpus.columns.get(name), (BagColumn, type(None)))]
    if not names:
        return ({} for _ in range(len(corpus)))
    return (dict(zip(names, row, strict=True)) for row in zip(*map(corpus.sentences, names), strict=True))


def tag_records(tagger: Tagger, corpus: Corpus, options: Namespace) -> Iterator[dict[str, Any]]:
    """The labels of every sentence; with confidence that of each, and spans with theirs."""
    decode: Decode = options.decode or "viterbi"
    tagged = tagger.tag_batch(corpus, decode=decode, n_threads=options.threads)
    if not (options.confidence or options.all_labels):
        yield from ({"labels": labels} for labels in tagged)
        return
    from trellis.corpus.schemes import guess_scheme
    from trellis.tasks.tagging.text import span_dict

    number = {label: z for z, label in enumerate(tagger.labels)}
    marginals = tagger.marginals_batch(corpus, n_threads=options.threads)
    has_spans = guess_scheme(tagger.labels) is not None
    spans = (
        tagger.tag_spans_batch(corpus, decode=decode, n_threads=options.threads) if has_spans else [[]] * len(tagged)
    )
    for labels, posterior, own in zip(tagged, marginals, spans, strict=True):
        confidence = [float(row[number[label]]) for row, label in zip(posterior.node, labels, strict=True)]
        record: dict[str, Any] = {"labels": labels, "confidence": confidence}
        if options.all_labels:
            record["all_labels"] = list(posterior)
        if has_spans:
            record["spans"] = [span_dict(span, p) for span, p in own]
        yield record


def crf_test_lines(tagger: Tagger, corpus: Corpus, options: Namespace) -> str:
    """These sentences as crf_test of CRF++ writes them, for programs that read its output.

    Fields are separated by tabs. With confidence (-v1) a line before the sentence has the probability of its labels,
    and each label has its own after a slash; with all labels (-v2) those of all other labels follow. Of several best
    sequences (-n) each stands in a block of its own, with its rank.
    """
    return "".join(f"{line}\n" for line in _crf_test_lines(tagger, corpus, options))


def _crf_test_lines(tagger: Tagger, corpus: Corpus, options: Namespace) -> Iterator[str]:
    n_threads, number = options.threads, {label: z for z, label in enumerate(tagger.labels)}
    order = sorted(tagger.labels)
    fields = [column.tolist() for column in corpus.columns.values() if isinstance(column, Column)]
    rows = list(zip(*fields, strict=True))
    lists = tagger.kbest_batch(corpus, options.kbest or 1, n_threads=n_threads)
    sure = options.confidence or options.all_labels
    posteriors = tagger.marginals_batch(corpus, n_threads=n_threads) if sure else None
    log_z = tagger.log_partition_batch(corpus, n_threads=n_threads) if sure or options.kbest else None
    begin = 0
    for i, paths in enumerate(lists):
        for rank, (labels, score) in enumerate(paths):
            if log_z is not None:
                share = math.exp(min(0.0, score / tagger.temperature - log_z[i]))
                yield f"# {f'{rank} ' if options.kbest else ''}{share:.6f}"
            for t, label in enumerate(labels):
                row = [*map(str, rows[begin + t]), label]
                if posteriors is not None:
                    node = posteriors[i].node[t]
                    row[-1] = f"{label}/{node[number[label]]:.6f}"
                    if options.all_labels:
                        row += [f"{other}/{node[number[other]]:.6f}" for other in order]
                yield "\t".join(row)
            yield ""
        begin += len(paths[0][0])
