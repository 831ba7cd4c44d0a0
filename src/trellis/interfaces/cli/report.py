"""Write one page about a model's mistakes on a file: figures, confusions with their sentences, reliability, training.

The page is one HTML file that needs nothing else, no scripts and no network.

example:
  trellis report --model ner.trellis test.txt --output report.html
"""

from __future__ import annotations

from argparse import Namespace

from trellis._support.errors import ArgumentError
from trellis.corpus.files import extension
from trellis.interfaces.cli.file_shape import open_model
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import check_apart, check_writable, writing
from trellis.interfaces.cli.progress import say
from trellis.tasks.tagging.errors_found import find_errors


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", metavar="FILE", help="file with the true labels; - is standard input")
    parser.share("model")
    add("--output", "-o", required=True, metavar="FILE", help="the page, .html")
    add("--gold", metavar="NAME", help="column of true labels (default: the model's target)")
    add("--title", metavar="TEXT", help="title of the page")
    parser.share("by", "scheme", "threads", "quiet")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Tag, gather, write."""
    check_writable(given.output)
    check_apart(given.output, given.source, given.model)
    if extension(given.output) not in (".html", ".htm", ""):
        raise ArgumentError(f"{given.output}: the page is HTML; name a file that ends in .html")
    tagger, shape = open_model(given, given.source)
    corpus = shape.read_for(given.source, tagger, given.columns)
    found = find_errors(tagger, corpus, target=given.gold, by=given.by, n_threads=given.threads)
    page = found.to_html(given.title or f"{found.target}: {given.model} on {given.source}")
    with writing(given.output) as out:
        out.write(page.encode())
    say(
        f"{given.output}: {found.report.n_tokens:,} tokens, {100 * found.report.token_accuracy:.2f}% token accuracy",
        given.quiet,
    )
