"""Predict by a model of any task: tag, parse or segment a file, standard input or running text.

Taggers and rerankers: a file of columns gets one more column; in CoNLL-U, JSON lines and tables the target's own
column is filled in. Columns are known by their position, as in the training file, with or without the target.
Dependency parsers fill in the columns head and deprel. Constituency parsers write trees in brackets, one per line; they
read columns (word, or word and tag), or trees (.trees, .mrg), of which only words and tags are read. Word segmenters
read text in UTF-8 and write it with spaces between words. Standard input is answered as it comes. Running text
(--text) is cut into sentences and words first.

examples:
  trellis predict -m chunk.trellis test.txt --output tagged.txt
  trellis predict -m en.parser --tagger upos.trellis text.conllu --output parsed.conllu
  trellis predict -m trees.model sentences.txt --columns word,pos > parsed.trees
  trellis predict -m words.trellis text.txt > words.txt
  echo "The dog didn't run." | trellis predict -m pos.trellis --text
  trellis predict -m ner.trellis --text --json --confidence report.txt
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from trellis._support.arguments import thread_count
from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import NOT_UTF8, STANDARD_STREAM, message_name, reading
from trellis.corpus.read import format_of
from trellis.interfaces.cli.file_shape import FILES, FileShape, open_model, reject_file_options, shape_for, tagger_of
from trellis.interfaces.cli.labelled_files import (
    PIECE,
    PIECE_BYTES,
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
from trellis.interfaces.cli.options import Once, Parser, at_least, reject_other_tasks
from trellis.interfaces.cli.outputs import check_apart, standard_output, writing
from trellis.interfaces.cli.progress import count_tokens, say
from trellis.interfaces.cli.running_text import labelled_texts, text_corpus, text_pieces
from trellis.interfaces.cli.tag_outputs import check_outputs, crf_test_lines, inputs_of, label_columns, tag_records
from trellis.interfaces.cli.task_files import sentences_of_trees, tagging
from trellis.tasks.tagging.builtin import MODELS, PREFIX

if TYPE_CHECKING:
    from trellis.tasks.words.model import Segmenter

DEFAULT = "builtin:truecase"
TREE = "tree"  # the column of constituency trees in tables
# The tasks that options are for; all others are for every task.
TASKS_OF = {
    **dict.fromkeys(("inline", "all_labels", "crf_test", "decode", "scheme"), ("tag",)),
    "confidence": ("tag", "parse"),
    "tagger": ("parse",),
    "no_tags": ("trees",),
    "lenient": ("trees", "words"),
    **dict.fromkeys(("text", "lines", "words"), ("tag", "rerank", "parse", "trees")),
}


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", nargs="?", default=STANDARD_STREAM, metavar="FILE", help="input; - is standard input")
    add("--model", "-m", action=Once, metavar="MODEL", help=f"model file (default of running text: {DEFAULT})")
    add("--output", "-o", metavar="FILE", help="output file, in the format of its extension")
    add("--text", action="store_true", help="running text, split into sentences and words")
    add("--lines", action="store_true", help="running text, one sentence per line")
    add("--words", action="store_true", help="one sentence per line, tokens separated by spaces")
    add("--inline", action="store_true", help="of running text: a sentence per line with its labels in it")
    add("--kbest", type=at_least(1), metavar="K", help="the K best outputs: columns of labels, trees, or with --json")
    add("--confidence", action="store_true", help="probability of each label, as one more column; in JSON also of arcs")
    add("--all-labels", action="store_true", help="probability of every label, a column each: LABEL/0.98")
    add("--crf-test", action="store_true", help="the layout of CRF++: --confidence is its -v1, --all-labels -v2")
    parser.share("decode", "scheme", "tagger", "no-tags", "lenient", "threads", "quiet")
    add("--json", action="store_true", help="one JSON line per sentence; with --kbest also scores")
    parser.share_file_options()


def command(options: Namespace) -> None:
    """Predict, and write."""
    options.text = any((options.text, options.lines, options.words))
    if options.model is None:
        if not options.text:
            raise ArgumentError("give --model, the file of a model; of running text (--text) it may be left out")
        options.model = DEFAULT
        say(f"no --model: {DEFAULT} says {MODELS[DEFAULT.removeprefix(PREFIX)]}", options.quiet)
    model = open_model(options, "predict", *FILES)
    reject_other_tasks(options, model.task, TASKS_OF)
    check_apart(options.output, options.source, options.model if options.model != DEFAULT else None)
    if model.task == "words":
        reject_file_options(options, "a word segmenter reads text without columns")
        _segment(model, options)
        return
    if options.text:
        reject_file_options(options, "--text: running text has no columns")
        columns = () if model.task == "trees" else tagger_of(model).columns
        if len(columns) > 1 and options.tagger is None:
            raise ArgumentError(f"--text: the model reads {', '.join(columns)}; running text has only words")
    brackets = sentences_of_trees(options.source, options) if model.task == "trees" and not options.text else None
    if model.task == "trees" and brackets is None and options.lenient:
        raise ArgumentError("--lenient skips what is not a tree in brackets; omit it")
    shape = FileShape() if options.text or brackets is not None else shape_for(model, options, options.source)
    wanted = _output_shape(options, shape)
    # Progress and results on the same terminal would be in each other's way.
    shown = not options.quiet and (options.output is not None or not standard_output().isatty())
    write = {"parse": _parse, "trees": _parse_trees}.get(model.task, _tag)
    with count_tokens(shown) as count:
        write(model, options, _Files(options, model, shape, wanted, count, brackets))


@dataclass(slots=True)
class _Files:
    """What is read, and what is written."""

    options: Namespace
    model: Any
    shape: FileShape
    wanted: FileShape  # of the output
    count: Callable[[int], None]
    corpus: Corpus | None  # of a file in brackets

    def corpora(self) -> Iterable[Corpus]:
        """The input, piece by piece."""
        options, model = self.options, self.model
        if self.corpus is not None:
            return (self.corpus[first : first + PIECE] for first in range(0, len(self.corpus), PIECE))
        if not options.text:
            return corpora(options.source, options.columns, model, self.shape)
        columns = ["word"] if model.task == "trees" else tagger_of(model).columns
        pieces = text_pieces(options, whole=model.task == "tag" and model.model.first is not None)
        return (text_corpus(sentences, columns[0]) for _, _, sentences in pieces if sentences)

    def write(self, text: Callable[[Corpus], str]) -> None:
        """Every piece of the input as its text."""
        with writing(self.options.output) as out:
            write_texts(text, self.corpora(), out, self.count)

    def write_corpus(self, predicted: Callable[[Corpus], Corpus], column: str) -> None:
        """Every piece with its predicted columns, in the format of the output."""
        output = self.options.output
        check_place(output, column, self.wanted.format, "name another format by the extension of --output")
        if self.wanted.format not in WHOLE:
            self.write(lambda corpus: formatted(predicted(corpus), self.wanted))
            return
        from trellis.corpus.write import write

        first, *others = map(predicted, self.corpora())
        whole = sum(others, first)
        write(whole, output or STANDARD_STREAM, format=self.wanted.format, sentence=self.wanted.sentence)


def _output_shape(options: Namespace, shape: FileShape) -> FileShape:
    """The shape of the output."""
    if not options.json:
        return output_shape(options.output, shape, ", or give --json for one JSON line per sentence")
    if options.output not in (None, STANDARD_STREAM) and format_of(options.output) not in ("conll", "jsonl"):
        raise ArgumentError(f"{options.output}: --json writes JSON lines; name a .jsonl file")
    return shape


# ------------------------------------------------------------ labels


def _tag(model: Any, options: Namespace, files: _Files) -> None:
    """Labels of a tagger or a reranker."""
    check_outputs(options, tagger_of(model), files.wanted.format)
    if model.task == "rerank":
        if options.json:
            files.write(partial(_json_lines, model, options))
            return
        if options.kbest is not None:
            raise ArgumentError("--kbest of a reranker has scores: give --json")

        def labels(corpus: Corpus) -> list[Any]:
            return [model.predict_corpus(corpus, n_threads=options.threads).column(model.tagger.target)]

        if options.text:
            files.write(lambda corpus: formatted(labelled(labels, model.tagger.target, corpus), files.wanted))
        else:  # one piece at a time: only the tagger's part of the work is native, and threads are of use there
            write_labelled(lambda _: labels, model, options, (files.shape, files.wanted), files.count, 1)
    elif options.text and ((options.json and options.kbest is None) or options.inline):
        with writing(options.output) as out:
            for lines, n_tokens in labelled_texts(options, model):
                out.write(lines.encode())
                send(out)
                files.count(n_tokens)
    elif options.json:
        files.write(partial(_json_lines, model, options))
    elif options.crf_test:
        files.write(lambda corpus: crf_test_lines(model, corpus, options))
    elif options.text:
        label: Label = label_columns(model, options, options.threads)
        files.write_corpus(partial(labelled, label, model.target), model.target)
    else:
        labeller = partial(label_columns, model, options)
        write_labelled(
            labeller, model, options, (files.shape, files.wanted), files.count, thread_count(options.threads)
        )


# ------------------------------------------------------------ trees


def _parse(model: Any, options: Namespace, files: _Files) -> None:
    """Dependency trees, as columns or JSON lines."""
    tag = tagging(options)
    check_apart(options.output, options.tagger)
    if options.json:
        files.write(lambda corpus: _json_lines(model, options, tag(corpus)))
        return
    if options.kbest is not None or options.confidence:
        raise ArgumentError("--kbest and --confidence of a dependency parser are written as JSON: give --json")
    if options.text and options.output in (None, STANDARD_STREAM):
        files.wanted = FileShape("conllu")
    files.write_corpus(lambda corpus: model.predict_corpus(tag(corpus), n_threads=options.threads), "head")


def _parse_trees(model: Any, options: Namespace, files: _Files) -> None:
    """Constituency trees in brackets, or as a column of tables."""

    def words(corpus: Corpus) -> Corpus:
        if not options.no_tags:
            return corpus
        name = next((name for name in ("word", "form") if name in corpus.columns), next(iter(corpus.columns)))
        return Corpus({name: corpus.column(name)}, corpus.starts, corpus.source)

    def brackets(corpus: Corpus) -> str:
        if options.kbest is None:
            return "".join(f"{tree}\n" for tree in model.predict_batch(words(corpus), n_threads=options.threads))
        lists = model.kbest_batch(words(corpus), options.kbest, n_threads=options.threads)
        return "".join("".join(f"{score:.6g}\t{tree}\n" for tree, score in trees) + "\n" for trees in lists)

    if options.json:
        files.write(lambda corpus: _json_lines(model, options, words(corpus)))
    elif options.output in (None, STANDARD_STREAM) or format_of(options.output) == "conll":
        files.write(brackets)
    elif options.kbest is not None:
        raise ArgumentError(f"{options.output}: a table has one tree per sentence; give --json, or omit --kbest")
    else:
        files.write_corpus(lambda corpus: model.predict_corpus(words(corpus), n_threads=options.threads), TREE)


# ------------------------------------------------------------ JSON lines


def _json_lines(model: Any, options: Namespace, corpus: Corpus) -> str:
    """One line per sentence: what the model read, and its output or its k best outputs with their scores."""
    records: Iterable[dict[str, Any]]
    if options.kbest is not None:
        batch = getattr(model, "kbest_batch", None)
        lists = (
            [model.kbest(sentence, options.kbest) for sentence in corpus]
            if batch is None
            else batch(corpus, options.kbest, n_threads=options.threads)
        )
        records = ({"kbest": [{**_record(z), "score": score} for z, score in outputs]} for outputs in lists)
    elif model.task == "tag":
        records = tag_records(model, corpus, options)
    elif options.confidence:
        records = (_record(model.parse(sentence, probabilities=True)) for sentence in corpus)
    else:
        records = map(_record, model.predict_batch(corpus, n_threads=options.threads))
    lines = ({**inputs, **record} for inputs, record in zip(inputs_of(model, corpus), records, strict=True))
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def _record(output: Any) -> dict[str, Any]:
    """An output as a dict: labels, heads and labels of arcs, or a tree."""
    if isinstance(output, list):
        return {"labels": output}
    if not hasattr(output, "heads"):
        return {TREE: str(output)}
    record = {"heads": output.heads, "labels": output.labels, "probabilities": output.probabilities}
    return {name: value for name, value in record.items() if value is not None}


# ------------------------------------------------------------ words


def _segment(segmenter: Segmenter, options: Namespace) -> None:
    """Text with spaces between words; everything else comes out byte for byte."""
    if options.kbest is not None and not options.json:
        raise ArgumentError("--kbest of a word segmenter has scores: give --json")
    n_skipped, line, rest = 0, 1, b""
    write = partial(_segmented_records, segmenter, options) if options.json else None
    with writing(options.output) as out, reading(options.source) as file:
        while True:
            block = file.read1(PIECE_BYTES)  # type: ignore[attr-defined]
            text, newline, rest = (rest + block).rpartition(b"\n") if block else (rest, b"", b"")
            n_skipped += _undecodable(text, line, options)
            line += text.count(b"\n") + len(newline)
            segmented = segmenter.segment_bytes(text + newline, n_threads=options.threads)
            out.write(segmented if write is None else write(text))
            send(out)
            if not block:
                break
    if n_skipped:
        say(f"{n_skipped:,} lines with bytes that are not UTF-8; those bytes are as they were", options.quiet)


def _segmented_records(segmenter: Segmenter, options: Namespace, text: bytes) -> bytes:
    """The words of every line, or its k best segmentations, as JSON lines."""
    lines = [line for line in text.decode("utf-8", "replace").split("\n") if line.strip()]
    records: Iterable[dict[str, Any]]
    if options.kbest is None:
        records = ({"words": words} for words in segmenter.segment_batch(lines, n_threads=options.threads))
    else:
        lists = (segmenter.kbest(line, options.kbest) for line in lines)
        records = ({"kbest": [{"words": words, "score": score} for words, score in one]} for one in lists)
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records).encode()


def _undecodable(text: bytes, first_line: int, options: Namespace) -> int:
    """How many lines are not UTF-8; an error unless that is allowed."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        if not options.lenient:
            line = first_line + text.count(b"\n", 0, error.start)
            raise CorpusError(message_name(options.source), line, f"{NOT_UTF8}, or give --lenient") from None
    else:
        return 0
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    return sum(any("\udc80" <= c <= "\udcff" for c in line) for line in lines)
