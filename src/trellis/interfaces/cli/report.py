"""Write an HTML report of a tagger's errors: scores, confusion matrix with sentences, calibration, learning curves.

The report is one self-contained HTML file, without scripts.

example:
  trellis report -m ner.trellis test.txt --output report.html
"""

from __future__ import annotations

from argparse import Namespace

from trellis._support.errors import ArgumentError
from trellis.corpus.files import extension
from trellis.interfaces.cli.files import open_model, read_for
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import writing
from trellis.interfaces.cli.progress import say
from trellis.tasks.tagging.errors_found import find_errors


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", metavar="FILE", help="file with gold labels; - is standard input")
    parser.take("tag")
    parser.share("output", required=True, help="HTML file to write")
    parser.share("target")
    add("--title", metavar="TEXT", help="title of the page")
    parser.share("decode", "scheme", "threads", "quiet")
    parser.share_file_options()


def command(options: Namespace) -> None:
    """Tag, gather, write."""
    if extension(options.output) not in (".html", ".htm", ""):
        raise ArgumentError(f"{options.output}: the report is HTML; the name must end in .html")
    tagger = open_model(options)
    corpus = read_for(tagger, options, options.source)
    settings = {"decode": options.decode or "viterbi", "n_threads": options.threads}
    errors = find_errors(tagger, corpus, target=options.target, **settings)
    page = errors.to_html(options.title or f"{errors.target}: {options.model} on {options.source}")
    with writing(options.output) as out:
        out.write(page.encode())
    figures = f"{errors.report.n_tokens:,} tokens, {100 * errors.report.token_accuracy:.2f}% token accuracy"
    say(f"{options.output}: {figures}", options.quiet)
