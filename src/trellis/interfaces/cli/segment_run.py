"""Put blanks between the words of a text.

Everything else comes out byte for byte: white space ends a word and is kept as it is. Lines are segmented one by one,
and so is what stands between blanks. Standard input is answered as it comes.

examples:
  trellis segment run --model words.trellis text.txt --output words.txt
  trellis segment run --model words.trellis < text.txt
"""

from __future__ import annotations

from argparse import Namespace

from trellis._support.errors import CorpusError
from trellis.corpus.files import NOT_UTF8, STANDARD_STREAM, message_name, reading
from trellis.interfaces.cli.labelled_files import PIECE_BYTES, send
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import check_apart, writing
from trellis.interfaces.cli.progress import say
from trellis.tasks.words.model import Segmenter


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", nargs="?", default=STANDARD_STREAM, metavar="FILE", help="text in UTF-8; - is standard input")
    parser.share("model")
    add("--output", "-o", metavar="FILE", help="where to write")
    parser.share("lenient", "threads", "quiet")


def command(given: Namespace) -> None:
    """Segment what is given."""
    check_apart(given.output, given.source, given.model)
    segmenter = Segmenter.load(given.model)
    n_skipped, line = 0, 1
    with writing(given.output) as out, reading(given.source) as file:
        rest = b""
        while block := file.read1(PIECE_BYTES):  # type: ignore[attr-defined]
            text, newline, rest = (rest + block).rpartition(b"\n")
            n_skipped += _undecodable(text, line, given)
            line += text.count(b"\n") + len(newline)
            out.write(segmenter.separate_bytes(text + newline, n_threads=given.threads))
            send(out)
        n_skipped += _undecodable(rest, line, given)
        out.write(segmenter.separate_bytes(rest, n_threads=given.threads))
    if n_skipped:
        say(f"{n_skipped:,} lines with bytes that are not UTF-8; those bytes are as they were", given.quiet)


def _undecodable(text: bytes, first_line: int, given: Namespace) -> int:
    """How many lines are not UTF-8; an error unless that is allowed."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        if not given.lenient:
            line = first_line + text.count(b"\n", 0, error.start)
            raise CorpusError(message_name(given.source), line, f"{NOT_UTF8}, or give --lenient") from None
    else:
        return 0
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    return sum(any("\udc80" <= c <= "\udcff" for c in line) for line in lines)
