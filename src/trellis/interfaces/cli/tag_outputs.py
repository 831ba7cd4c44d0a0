"""Labels of taggers and rerankers: as columns, as JSON records, in raw text, and in the layout of crf_test."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import numpy as np

from trellis._support.arguments import thread_count
from trellis._support.errors import ArgumentError
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.interfaces.cli.pieces import Files, json_lines, text_pieces


def check_layout(options: Namespace, format: str | None) -> None:
    """ArgumentError for incompatible options."""
    probabilities = options.confidence or options.all_labels
    if options.kbest is not None and (options.decode == "posterior" or (probabilities and not options.crf_test)):
        raise ArgumentError("--kbest cannot be combined with --decode and --confidence")
    if options.crf_test and (options.json or options.inline or options.decode is not None):
        raise ArgumentError("--crf-test cannot be combined with --json, --inline and --decode")
    if options.inline and (not options.text or options.json or probabilities or options.kbest is not None):
        raise ArgumentError("--inline requires --text, and cannot be combined with another output layout")
    if options.text and options.json and options.all_labels:
        raise ArgumentError("--all-labels cannot be combined with --text and --json")
    if options.json:
        return
    for option, value in {"--confidence": probabilities, "--crf-test": options.crf_test}.items():
        if value and format != "conll":
            raise ArgumentError(f"{option} is not supported in the format {format}; give --json, or write columns")


def write_labels(model: Any, options: Namespace, files: Files) -> None:
    """Write the labels of a tagger or a reranker in the requested layout."""

    def columns(corpus: Corpus, n_threads: int | None) -> list[Column]:  # may be called from several threads
        if model.task == "rerank":
            return [model.predict_corpus(corpus, n_threads=n_threads).column(model.tagger.target)]
        if options.confidence or options.all_labels:
            return _sure_columns(model, corpus, options, n_threads)
        return [model.tag_column(corpus, decode=options.decode or "viterbi", n_threads=n_threads)]

    if options.crf_test:
        files.write_texts(lambda corpus: "".join(f"{line}\n" for line in _crf_test_lines(model, corpus, options)))
    elif options.inline or options.json:
        files.write(_labelled_texts(options, model, files.whole))
    else:  # rerankers one piece at a time: only the tagger's part is native and uses the threads
        files.write_labels(columns, 1 if model.task == "rerank" else thread_count(options.threads))


def _labelled_texts(options: Namespace, tagger: Any, at_once: bool) -> Iterator[tuple[bytes, int]]:
    """Raw text with its labels, inline or as JSON lines, and the number of words of each piece."""
    from trellis.tasks.tagging.text import tag_sentences

    settings: dict[str, Any] = {"decode": options.decode or "viterbi", "n_threads": options.threads}
    for base, text, sentences in text_pieces(options, whole=at_once):
        tagged = tag_sentences(tagger, text, sentences, confidence=options.confidence, **settings)
        lines = json_lines(tagged.to_dicts(offset=base)) if options.json else f"{tagged}\n"
        yield lines.encode(), sum(map(len, sentences))


def _sure_columns(tagger: Any, corpus: Corpus, options: Namespace, n_threads: int | None) -> list[Column]:
    """Columns of labels and their probabilities; with --all-labels also those of all other labels."""
    labels = tagger.tag_column(corpus, decode=options.decode or "viterbi", n_threads=n_threads)
    node = np.concatenate([posterior.node for posterior in tagger.marginals_batch(corpus, n_threads=n_threads)])
    columns = [labels, _texts(node[np.arange(len(node)), labels.codes], "")]
    if options.all_labels:
        columns += [_texts(node[:, z], f"{label}/") for z, label in enumerate(tagger.labels)]
    return columns


def _texts(probabilities: Any, prefix: str) -> Column:
    """Probabilities as a column, each with the same text before it."""
    rounded, codes = np.unique(np.round(probabilities, 6), return_inverse=True)
    return Column(codes.astype(np.int32), Strings.of([f"{prefix}{share:.6f}" for share in rounded.tolist()]))


def tag_records(tagger: Any, corpus: Corpus, options: Namespace) -> Iterator[dict[str, Any]]:
    """The labels of every sentence; with confidence that of each, and spans with theirs."""
    decode = options.decode or "viterbi"
    tagged = tagger.tag_batch(corpus, decode=decode, n_threads=options.threads)
    if not (options.confidence or options.all_labels):
        yield from ({"labels": labels} for labels in tagged)
        return
    from trellis.corpus.schemes import guess_scheme
    from trellis.tasks.tagging.text import span_dict

    number = {label: z for z, label in enumerate(tagger.labels)}
    marginals = tagger.marginals_batch(corpus, n_threads=options.threads)
    spans = None
    if guess_scheme(tagger.labels) is not None:
        spans = tagger.tag_spans_batch(corpus, decode=decode, n_threads=options.threads)
    for i, (labels, posterior) in enumerate(zip(tagged, marginals, strict=True)):
        confidence = [float(row[number[label]]) for row, label in zip(posterior.node, labels, strict=True)]
        record: dict[str, Any] = {"labels": labels, "confidence": confidence}
        if options.all_labels:
            record["all_labels"] = list(posterior)
        if spans is not None:
            record["spans"] = [span_dict(span, p) for span, p in spans[i]]
        yield record


def _crf_test_lines(tagger: Any, corpus: Corpus, options: Namespace) -> Iterator[str]:
    """These sentences as crf_test of CRF++ writes them, for programs that read its output.

    Fields are separated by tabs. With confidence (-v1) a line before the sentence has the probability of its labels,
    and each label has its own after a slash; with all labels (-v2) those of all other labels follow. Of several best
    sequences (-n) each stands in a block of its own, with its rank.
    """
    n_threads, number = options.threads, {label: z for z, label in enumerate(tagger.labels)}
    order = sorted(tagger.labels)
    fields = [column.tolist() for column in corpus.columns.values() if isinstance(column, Column)]
    rows = list(zip(*fields, strict=True))
    lists = tagger.kbest_batch(corpus, options.kbest or 1, n_threads=n_threads)
    probabilities = options.confidence or options.all_labels
    posteriors = tagger.marginals_batch(corpus, n_threads=n_threads) if probabilities else None
    log_z = tagger.log_partition_batch(corpus, n_threads=n_threads) if probabilities or options.kbest else None
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
                        row += [f"{label_name}/{node[number[label_name]]:.6f}" for label_name in order]
                yield "\t".join(row)
            yield ""
        begin += len(paths[0][0])
