"""Label a file, standard input or running text.

A file of columns gets one more column; in CoNLL-U, JSON lines and tables the target's own column is filled in.
Columns are known by their position, as in the training file, with or without the target. Standard input is
answered as it comes. Running text (--text) is cut into sentences and words first.

examples:
  trellis tag --model chunk.trellis test.txt --output tagged.txt
  trellis tag --model chunk.trellis test.txt --output tagged.parquet
  echo "The dog didn't run." | trellis tag --model pos.trellis --text
  trellis tag --model ner.trellis --text --json --confidence report.txt
  trellis tag --model chunk.trellis test.txt --confidence --all-labels
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from trellis._support.arguments import thread_count
from trellis._support.errors import ArgumentError
from trellis.corpus.corpus import BagColumn, Column, Corpus, Strings
from trellis.corpus.files import STANDARD_STREAM
from trellis.corpus.read import format_of
from trellis.interfaces.cli.crf_test import crf_test_lines
from trellis.interfaces.cli.file_shape import FileShape, open_model, reject_file_options
from trellis.interfaces.cli.labelled_files import (
    WHOLE,
    Label,
    check_place,
    corpora,
    formatted,
    labelled,
    output_shape,
    send,
    write_labelled,
    write_texts,
)
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import check_apart, standard_output, writing
from trellis.interfaces.cli.progress import count_tokens, say
from trellis.interfaces.cli.running_text import labelled_texts, text_corpus, text_pieces
from trellis.tasks.tagging.builtin import MODELS, PREFIX

if TYPE_CHECKING:
    from trellis.tasks.tagging.model import Tagger

DEFAULT = "builtin:truecase"
NO_PATH = "_"  # in the columns of --kbest, where a sentence has fewer label sequences


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", nargs="?", default=STANDARD_STREAM, metavar="FILE", help="what to tag; - is standard input")
    add("--model", "-m", metavar="FILE", help=f"model file (default of running text: {DEFAULT})")
    add("--output", "-o", metavar="FILE", help="where to write, in the format of its extension")
    add("--text", action="store_true", help="tag running text, cut into sentences and words by plain rules")
    add("--lines", action="store_true", help="running text in which every line is a sentence")
    add("--words", action="store_true", help="the same, and words stand between blanks")
    add("--inline", action="store_true", help="of running text: a sentence per line with its labels in it")
    add("--kbest", type=at_least(1), metavar="K", help="the K best label sequences, one column each")
    add("--confidence", action="store_true", help="how probable each label is, as one more column; in JSON also spans")
    add("--all-labels", action="store_true", help="how probable every label is, a column each: LABEL/0.98")
    add("--crf-test", action="store_true", help="the layout of CRF++: --confidence is its -v1, --all-labels -v2")
    parser.share("by", "scheme", "threads", "quiet")
    add("--json", action="store_true", help="one JSON line per sentence; with --kbest also scores")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Label what is given."""
    given.text = any((given.text, given.lines, given.words))
    if given.model is None:
        if not given.text:
            raise ArgumentError("give --model, the file of a model; of running text (--text) it may be left out")
        given.model = DEFAULT
        say(f"no --model: {DEFAULT} says {MODELS[DEFAULT.removeprefix(PREFIX)]}", given.quiet)
    if given.text:
        reject_file_options(given, "--text: running text has no columns")
    tagger, shape = open_model(given, given.source)
    wanted = _output_shape(given, shape)
    check_apart(given.output, given.source, given.model if given.model != DEFAULT else None)
    _check_asked(given, tagger, wanted.format)
    # Progress and results on the same terminal would be in each other's way.
    shown = not given.quiet and (given.output is not None or not standard_output().isatty())

    with count_tokens(shown) as count:
        if given.text and ((given.json and given.kbest is None) or given.inline):
            with writing(given.output) as out:
                for lines, n_tokens in labelled_texts(given, tagger):
                    out.write(lines.encode())
                    send(out)
                    count(n_tokens)
        elif given.json or given.text or given.crf_test:
            _write_others(given, tagger, shape, wanted, count)
        else:
            labeller = partial(_label, tagger, given)
            write_labelled(labeller, tagger, given, (shape, wanted), count, thread_count(given.threads))


def _write_others(
    given: Namespace, tagger: Tagger, shape: FileShape, wanted: FileShape, count: Callable[[int], None]
) -> None:
    """Labels of running text in columns or tables, as JSON lines, as crf_test has them."""
    label, column = _label(tagger, given, given.threads), tagger.columns[0]
    if wanted.format in WHOLE and not given.json:
        from trellis.corpus.write import write

        sentences = [sentence for _, _, some in text_pieces(given) for sentence in some]
        write(labelled(label, tagger.target, text_corpus(sentences, column)), given.output, format=wanted.format)
        return

    def text(corpus: Corpus) -> str:
        if given.json:
            return _json_lines(tagger, corpus, given)
        if given.crf_test:
            return crf_test_lines(tagger, corpus, given)
        return formatted(labelled(label, tagger.target, corpus), wanted)

    pieces = (
        (
            text_corpus(sentences, column)
            for _, _, sentences in text_pieces(given, whole=tagger.model.first is not None)
            if sentences
        )
        if given.text
        else corpora(given.source, given.columns, tagger, shape)
    )
    with writing(given.output) as out:
        write_texts(text, pieces, out, count)


def _output_shape(given: Namespace, shape: FileShape) -> FileShape:
    """What the output looks like; running text becomes columns."""
    if given.text:
        shape = FileShape()
    if not given.json:
        return output_shape(given.output, shape, ", or give --json for one JSON line per sentence")
    if given.output not in (None, STANDARD_STREAM) and format_of(given.output) not in ("conll", "jsonl"):
        raise ArgumentError(f"{given.output}: --json writes JSON lines; name a .jsonl file")
    return shape


def _check_asked(given: Namespace, tagger: Tagger, format: str) -> None:
    """ArgumentError for options that do not go together."""
    sure = given.confidence or given.all_labels
    if given.kbest is not None and (given.by != "path" or (sure and not given.crf_test)):
        raise ArgumentError("--kbest gives the best paths with their scores; omit --by and --confidence")
    if given.crf_test and (given.json or given.inline or given.by != "path"):
        raise ArgumentError("--crf-test is a layout of its own; omit --json, --inline and --by")
    if given.text and len(tagger.columns) > 1:
        raise ArgumentError(f"--text: the model reads {', '.join(tagger.columns)}; running text has only words")
    if given.inline and (not given.text or given.json or sure or given.kbest is not None):
        raise ArgumentError("--inline writes running text with its labels: give --text, and no other layout with it")
    if given.text and given.json and given.all_labels:
        raise ArgumentError("--text with --json has words with their places; omit --all-labels")
    if given.json:
        return
    for option, asked in (("--kbest", given.kbest is not None), ("--confidence", sure), ("--crf-test", given.crf_test)):
        if asked and format != "conll":
            raise ArgumentError(f"{option}: {format} has one place for a label; give --json, or write columns")
    check_place(given.output, tagger.target, format, "give --json")


def _label(tagger: Tagger, given: Namespace, n_threads: int | None) -> Label:
    """A function from sentences to the columns of their labels, best first. It may be called from several threads."""
    if given.confidence or given.all_labels:
        return lambda corpus: _sure_columns(tagger, corpus, given, n_threads)
    if given.kbest is None:
        return lambda corpus: [tagger.tag_column(corpus, by=given.by, n_threads=n_threads)]
    k, values = given.kbest, Strings.of((*tagger.labels, NO_PATH))
    number = {label: i for i, label in enumerate(tagger.labels)}

    def label(corpus: Corpus) -> list[Column]:
        codes = np.full((k, corpus.n_tokens), len(number), np.int32)
        begin = 0
        for paths in tagger.kbest_batch(corpus, k, n_threads=n_threads):
            end = begin + len(paths[0][0])
            for rank, (labels, _) in enumerate(paths):
                codes[rank, begin:end] = [number[one] for one in labels]
            begin = end
        return [Column(row, values) for row in codes]

    return label


def _sure_columns(tagger: Tagger, corpus: Corpus, given: Namespace, n_threads: int | None) -> list[Column]:
    """The labels, how probable each is, and if asked for how probable all others are."""
    labels = tagger.tag_column(corpus, by=given.by, n_threads=n_threads)
    if not corpus.n_tokens:
        return [labels]
    node = np.concatenate([posterior.node for posterior in tagger.marginals_batch(corpus, n_threads=n_threads)])
    columns = [labels, _texts(node[np.arange(len(node)), labels.codes], "")]
    if given.all_labels:
        columns += [_texts(node[:, z], f"{label}/") for z, label in enumerate(tagger.labels)]
    return columns


def _texts(shares: Any, before: str) -> Column:
    """Probabilities as a column, each with the same text before it."""
    rounded, codes = np.unique(np.round(shares, 6), return_inverse=True)
    return Column(codes.astype(np.int32), Strings.of([f"{before}{share:.6f}" for share in rounded.tolist()]))


def _json_lines(tagger: Tagger, corpus: Corpus, given: Namespace) -> str:
    """One line per sentence: what was read, its labels (with confidence: how sure they are), or its k best paths."""
    records: Iterable[dict[str, Any]]
    if given.kbest is not None:
        found = tagger.kbest_batch(corpus, given.kbest, n_threads=given.threads)
        records = ({"kbest": [{"labels": z, "score": score} for z, score in paths]} for paths in found)
    else:
        tagged = tagger.tag_batch(corpus, by=given.by, n_threads=given.threads)
        records = ({"labels": labels} for labels in tagged)
        if given.confidence or given.all_labels:
            records = _with_confidence(tagger, corpus, tagged, given)
    read = [name for name in tagger.columns if not isinstance(corpus.columns.get(name), (BagColumn, type(None)))]
    rows = zip(*(corpus.sentences(name) for name in read), strict=True) if read else ((),) * len(corpus)
    both = zip(rows, records, strict=True)
    lines = ({**dict(zip(read, row, strict=True)), **record} for row, record in both)
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def _with_confidence(
    tagger: Tagger, corpus: Corpus, tagged: list[list[str]], given: Namespace
) -> Iterator[dict[str, Any]]:
    """Labels with the confidence of each, and spans with theirs."""
    from trellis.corpus.schemes import guess_scheme
    from trellis.tasks.tagging.text import span_dict

    number = {label: z for z, label in enumerate(tagger.labels)}
    marginals = tagger.marginals_batch(corpus, n_threads=given.threads)
    has_spans = guess_scheme(tagger.labels) is not None
    spans = tagger.tag_spans_batch(corpus, by=given.by, n_threads=given.threads) if has_spans else [[]] * len(tagged)
    for labels, posterior, found in zip(tagged, marginals, spans, strict=True):
        sure = [float(row[number[label]]) for row, label in zip(posterior.node, labels, strict=True)]
        record: dict[str, Any] = {"labels": labels, "confidence": sure}
        if given.all_labels:
            record["all_labels"] = list(posterior)
        if has_spans:
            record["spans"] = [span_dict(span, p) for span, p in found]
        yield record
