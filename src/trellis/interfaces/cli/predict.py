"""Predict with a model of any task: tag, parse or segment a file, standard input or raw text.

Taggers and rerankers: column files get one more column; in CoNLL-U, JSON lines and tables the target column is
filled in. Columns are identified by position, as in the training file, with or without the target column.
Dependency parsers fill in the columns head and deprel. Constituency parsers write bracketed trees, one per line; they
read columns (word, or word and tag), or the words and tags of trees (.trees, .mrg). Word segmenters read text in UTF-8
and write it with spaces between words. Standard input is processed as it arrives. Raw text (--text) is first split
into sentences and tokens. Several files are written into a folder under their own names; existing outputs are skipped.

examples:
  trellis predict -m chunk.trellis test.txt --output tagged.txt
  trellis predict -m en.parser --tagger upos.trellis text.conllu --output parsed.conllu
  trellis predict -m trees.model sentences.txt --columns word,pos > parsed.trees
  trellis predict -m words.trellis text.txt > words.txt
  echo "The dog didn't run." | trellis predict -m pos.trellis --text
  trellis predict -m ner.trellis --text --json --confidence report.txt
  trellis predict -m pos.trellis --workers 8 'in/*.parquet' --output out/
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from trellis._support.errors import ArgumentError
from trellis.corpus.corpus import BagColumn, Corpus
from trellis.corpus.files import BRACKETS, STANDARD_STREAM, extension, message_name
from trellis.corpus.read import FileShape, format_of
from trellis.interfaces.cli.bulk import is_many, predict_many
from trellis.interfaces.cli.files import file_shape, open_model, reject_file_options, tagger_of, tagging
from trellis.interfaces.cli.options import FILES, Parser, at_least
from trellis.interfaces.cli.outputs import check_outputs, standard_output, writing
from trellis.interfaces.cli.pieces import Files, json_lines, output_shape, send, text_lines
from trellis.interfaces.cli.progress import count_tokens, say
from trellis.interfaces.cli.tag_outputs import check_layout, tag_records, write_labels
from trellis.interfaces.cluster.tagging import mapped
from trellis.tasks.shelf import MODELS, PREFIX

DEFAULT = "builtin:english"
TREE = "tree"  # the column of constituency trees in tables
WITH_WORDS = ("tag", "rerank", "parse", "trees", "pipeline")  # tasks of raw text
_INNER_SPACE = re.compile(r"\S[^\S\n]+\S")
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    source = (
        "input; - is standard input (default: -); of several files or a pattern: one output each in --output FOLDER/"
    )
    add("source", nargs="*", metavar="FILE", help=source)
    parser.take(*FILES, required=False, help=f"model file (default with --text: {DEFAULT})")
    add(
        "--output",
        "-o",
        metavar="FILE",
        help="output file, in the format of its extension; with several input files FOLDER/",
    )
    parser.outputs = ()  # checked by the command, as it may be a folder
    add("--text", action="store_true", tasks=WITH_WORDS, help="raw text, split into sentences and words")
    add("--lines", action="store_true", tasks=WITH_WORDS, help="raw text, one sentence per line")
    add("--words", action="store_true", tasks=WITH_WORDS, help="one sentence per line, tokens separated by spaces")
    parts = "parts to run: some of tokens, tags, lemmas, trees (default: all; of CoNLL-U its own sentences and words)"
    add(
        "--parts",
        type=lambda names: names.split(","),
        tasks=("pipeline",),
        metavar="PART[,PART]",
        help=parts,
    )
    inline = "with --text: write one sentence per line, with inline labels"
    add("--inline", action="store_true", tasks=("tag",), help=inline)
    add(
        "--kbest",
        type=at_least(1),
        metavar="K",
        help="number of best outputs, with scores; with --json, --crf-test or constituency parsers",
    )
    confidence_help = "probability of each predicted label, as an extra column; with --json also of arcs"
    add("--confidence", action="store_true", tasks=("tag", "parse"), help=confidence_help)
    all_labels_help = "probabilities of all labels, one column each: LABEL/0.98"
    add("--all-labels", action="store_true", tasks=("tag",), help=all_labels_help)
    crf_test = "output in the layout of crf_test of CRF++; --confidence is its -v1, --all-labels its -v2"
    add("--crf-test", action="store_true", tasks=("tag",), help=crf_test)
    parser.share("decode", "scheme", "tagger", "no-tags", "threads", "quiet")
    parser.share("lenient", tasks=("trees", "words"))
    parser.share("json", help="one JSON object per line and sentence; with --kbest also scores")
    parser.share_file_options()
    bulk = parser.add_argument_group("several files").add_argument
    bulk("--workers", type=at_least(1), metavar="N", help="number of Ray workers, one core each (default: no Ray)")
    bulk("--ray", metavar="ADDRESS", help="Ray cluster: auto or HOST:PORT (default: Ray on this machine)")
    waiting = "timeout: seconds without a finished task until an error (default: 3600)"
    bulk("--timeout", type=at_least(1), metavar="SECONDS", help=waiting)


def command(options: Namespace) -> None:
    """Predict, and write."""
    check_options(options)
    if is_many(options):
        predict_many(options)
        return
    options.source = options.source[0] if options.source else STANDARD_STREAM
    read = [path for path in (options.source, options.model, options.tagger) if path is not None]
    check_outputs({} if options.output is None else {"output": options.output}, read)
    model = open_model(options)
    if model.task == "pipeline" and options.kbest is not None:
        raise ArgumentError("--kbest has no effect for a pipeline; omit it")
    # No progress if results are shown on the same terminal.
    progress = not options.quiet and (options.output is not None or not standard_output().isatty())
    with count_tokens(progress) as count:
        if model.task == "pipeline":
            from trellis.interfaces.cli.pipelines import annotate

            annotate(model, options, count)
        else:
            predict(model, options, files_of(model, options, count))


def check_options(options: Namespace) -> None:
    """Fill in options implied by others."""
    options.text = any((options.text, options.lines, options.words))
    if options.model is None:
        if not options.text:
            raise ArgumentError("--model is required, except with --text")
        options.model = DEFAULT
        say(f"no --model: using {DEFAULT} ({MODELS[DEFAULT.removeprefix(PREFIX)]})", options.quiet)


def files_of(model: Any, options: Namespace, count: Callable[[int], None] = lambda n: None) -> Files:
    """Input and output; ArgumentError for incompatible options."""
    if options.kbest is not None and model.task != "trees" and not (options.json or options.crf_test):
        raise ArgumentError("--kbest requires --json or --crf-test")
    if model.task == "words":
        reject_file_options(options, "a word segmenter reads text without columns")
        return Files(options, model, FileShape(), FileShape(), count, False)
    if options.text:
        reject_file_options(options, "--text: raw text has no columns")
        columns = () if model.task == "trees" else tagger_of(model).columns
        if len(columns) > 1 and options.tagger is None:
            raise ArgumentError(f"--text: the model reads {', '.join(columns)}; raw text has only words")
    is_file = model.task == "trees" and not options.text and options.format is None
    brackets = is_file and extension(options.source) in BRACKETS
    if model.task == "trees" and not brackets and options.lenient:
        raise ArgumentError("--lenient has an effect only on bracketed trees; omit it")
    shape = FileShape().of("") if options.text or brackets else file_shape(options, options.source, model)
    return Files(options, model, shape, output_shape(options, shape), count, brackets)


def predict(model: Any, options: Namespace, files: Files) -> None:
    """Predict a file."""
    if model.task == "words":
        _segment(model, options)
    else:
        {"parse": _parse, "trees": _parse_trees}.get(model.task, _tag)(model, options, files)


def _tag(model: Any, options: Namespace, files: Files) -> None:
    """Labels of a tagger or a reranker."""
    check_layout(options, files.output_shape.format)
    if options.json and not (options.text and options.kbest is None and model.task == "tag"):
        files.write_texts(partial(_json_lines, model, options))
        return
    if not options.json:
        files.check_place(tagger_of(model).target, "give --json, or select columns, such as --columns word=form")
    write_labels(model, options, files)


def _parse(model: Any, options: Namespace, files: Files) -> None:
    """Dependency trees, as columns or JSON lines."""
    tag = tagging(options, mapped)
    if options.json:
        files.write_texts(lambda corpus: _json_lines(model, options, tag(corpus)))
        return
    if options.confidence:
        raise ArgumentError("--confidence requires --json with a dependency parser")
    if options.text and options.output in (None, STANDARD_STREAM):
        files.output_shape = files.output_shape._replace(format="conllu")
    files.write_corpus(lambda corpus: model.predict_corpus(tag(corpus), n_threads=options.threads), "head")


def _parse_trees(model: Any, options: Namespace, files: Files) -> None:
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
        files.write_texts(lambda corpus: _json_lines(model, options, words(corpus)))
    elif options.output in (None, STANDARD_STREAM) or format_of(options.output) == "conll":
        files.write_texts(brackets)
    elif options.kbest is not None:
        raise ArgumentError(f"{options.output}: a table has one tree per sentence; give --json, or omit --kbest")
    else:
        files.write_corpus(lambda corpus: model.predict_corpus(words(corpus), n_threads=options.threads), TREE)


def _json_lines(model: Any, options: Namespace, corpus: Corpus) -> str:
    """One line per sentence: the input, and the output or the k best outputs with their scores."""
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
    columns = getattr(tagger_of(model), "columns", ())
    names = [name for name in columns if not isinstance(corpus.columns.get(name), (BagColumn, type(None)))]
    rows = zip(*map(corpus.sentences, names), strict=True) if names else [()] * len(corpus)
    inputs = (dict(zip(names, row, strict=True)) for row in rows)
    return json_lines({**fields, **record} for fields, record in zip(inputs, records, strict=True))


def _record(output: Any) -> dict[str, Any]:
    """An output as a dict: labels, heads and labels of arcs, or a tree."""
    if isinstance(output, list):
        return {"labels": output}
    if not hasattr(output, "heads"):
        return {TREE: str(output)}
    record = {"heads": output.heads, "labels": output.labels, "probabilities": output.probabilities}
    return {name: value for name, value in record.items() if value is not None}


def _segment(segmenter: Any, options: Namespace) -> None:
    """Write text with spaces between words; all other bytes are unchanged."""
    n_skipped, line, source, warned = 0, 1, message_name(options.source), False
    with writing(options.output) as out:
        for text in text_lines(options.source, options.lenient):
            content = text.encode("utf-8", "surrogateescape")
            if not warned and (space := _INNER_SPACE.search(text)):
                warned, at = True, line + text.count("\n", 0, space.start())
                reason = "the model always splits words at spaces, so scores on this text are too high"
                say(f"{source}:{at}: the text already has spaces: {reason}", options.quiet)
            line += text.count("\n")
            n_skipped += sum(_NOT_UTF8.search(row) is not None for row in text.split("\n")) if options.lenient else 0
            if options.json:
                out.write(_segmented_lines(segmenter, options, content.decode("utf-8", "replace")).encode())
            else:
                out.write(segmenter.segment_bytes(content, n_threads=options.threads))
            send(out)
    if n_skipped:
        say(f"{n_skipped:,} lines with invalid UTF-8; the invalid bytes are copied unchanged", options.quiet)


def _segmented_lines(segmenter: Any, options: Namespace, text: str) -> str:
    """The words of every line, or its k best segmentations, as JSON lines."""
    lines = [line for line in text.split("\n") if line.strip()]
    if options.kbest is None:
        return json_lines({"words": words} for words in segmenter.segment_batch(lines, n_threads=options.threads))
    lists = (segmenter.kbest(line, options.kbest) for line in lines)
    return json_lines({"kbest": [{"words": words, "score": score} for words, score in outputs]} for outputs in lists)
