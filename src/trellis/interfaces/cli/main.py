"""The commands, and what becomes of their errors: one line on standard error and an exit code."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import trellis
from trellis._support.errors import TrellisError
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.progress import printable

# Each is a module of this package (its words joined by _), imported when it is called: its docstring is the help's
# text, ``describe`` gives the parser its options, and ``command`` does the work.
COMMANDS = {
    "train": "Train a model and write it to a file.",
    "tag": "Label a file or standard input.",
    "evaluate": "Measure a model, or a file that has been tagged.",
    "cross-validate": "Train and test on parts of one file in turn.",
    "compare": "Compare two models, and test whether they differ by luck.",
    "calibrate": "Fit the probabilities of a model to a held-out file.",
    "explain": "Show why a sentence gets its labels.",
    "draw": "Draw the trellis of a sentence.",
    "report": "Write a page about a model's mistakes on a file.",
    "info": "Show what is in a model.",
    "dump": "Write all weights of a model as a table.",
    "convert": "Read a model of another tool, or write one.",
    "rerank train": "Train a tagger and a reranker of its k best label sequences.",
    "rerank apply": "Label a file by a reranker.",
    "rerank evaluate": "Measure a reranker, and the best choice that its lists allow.",
    "parse train": "Train a dependency parser and write it to a file.",
    "parse run": "Give every sentence of a file its dependency tree.",
    "parse evaluate": "Measure a parser, or a file that has been parsed.",
    "trees train": "Train a parser of constituency trees.",
    "trees run": "Parse sentences into trees in brackets.",
    "trees evaluate": "Measure a parser of trees, or a file that has been parsed.",
    "clusters": "Cluster the words of a text without labels.",
    "segment train": "Learn to find the words of text without blanks.",
    "segment run": "Put blanks between the words of a text.",
    "segment evaluate": "Measure a model of words.",
    "serve": "Serve models over HTTP.",
    "studio": "See in a browser what models do.",
    "learners": "List the learners with their parameters.",
    "presets": "List the presets of features, or the templates of one.",
    "completion": "Write what a shell needs to complete command lines.",
    "demo": "Learn to correct typos, in seconds.",
}
FAMILIES = {
    "": "Label sequences: train taggers, run them, measure them.",
    "parse": "Dependency trees: train parsers, run them, measure them.",
    "trees": "Constituency trees: train parsers, run them, measure them.",
    "rerank": "Choose again among the k best label sequences of a tagger, by features of whole sequences.",
    "segment": "Find the words of text that is written without blanks.",
}
_TO_MODULE = str.maketrans(" -", "__")
CLOSE = 0.75  # similarity at which a word counts as a misspelt command
USER_ERROR = 2
INTERRUPTED = 130  # as shells count: 128 and the number of the signal
CLOSED_PIPE = 141


def module_of(name: str) -> str:
    """The module of a command."""
    return f"trellis.interfaces.cli.{name.translate(_TO_MODULE)}"


def run(arguments: Sequence[str], begin: Callable[[], object] = lambda: None) -> NoReturn:
    """Run one command line and exit with its code; ``begin`` is called when everything has been imported."""
    with reporting_errors():
        words = next((n for n in (2, 1) if " ".join(arguments[:n]) in COMMANDS), 0)
        if words:
            name, rest = " ".join(arguments[:words]), arguments[words:]
            module = importlib.import_module(module_of(name))
            parser = Parser(f"trellis {name}", module.__doc__ or "")
            module.describe(parser)
            given = parser.parse(rest)
            begin()
            module.command(given)
        elif arguments and any(name.startswith(f"{arguments[0]} ") for name in COMMANDS):
            _run_without_command(arguments[1:], arguments[0])
        else:
            _run_without_command(arguments)
    sys.exit(0)


def _run_without_command(arguments: Sequence[str], family: str = "") -> None:
    """Help, the version, or a mistake: of all commands, or of those that begin with one word."""
    parser = Parser(f"trellis {family}".rstrip(), FAMILIES[family])
    parser.usage = f"{parser.prog} COMMAND ..."
    commands = {name: what for name, what in COMMANDS.items() if name.startswith(family)}
    listed = "\n".join(f"  {name:16}  {what}" for name, what in commands.items())
    parser.more = lambda: f"commands:\n{listed}\n\nEvery command has --help."
    if not family:
        version = f"trellis {trellis.__version__}"
        parser.add_argument("--version", "-V", action="version", version=version, help="show the version and exit")
    if not arguments:
        parser.print_help(sys.stderr)
        sys.exit(USER_ERROR)
    _, rest = parser.parse_known_args(arguments)
    name = f"{family} {rest[0]}".strip()
    if rest[0].startswith("-"):
        parser.error(f"no option {name}; the commands are {', '.join(commands)}")
    from difflib import get_close_matches

    known = [*commands, *(FAMILIES if not family else ())]
    close = get_close_matches(name, known, 1, CLOSE) or get_close_matches(" ".join((name, *rest[1:2])), known, 1, CLOSE)
    hint = f" (did you mean {close[0]}?)" if close else f"; the commands are {', '.join(commands)}"
    parser.error(f"no command {name}{hint}")


def buffer_output() -> None:
    """Under PYTHONUNBUFFERED a raw file may take less than it is given, and nobody would say so: a buffer before it."""
    if isinstance(sys.stdout, io.TextIOWrapper) and isinstance(sys.stdout.buffer, io.RawIOBase):
        encoding, raw = sys.stdout.encoding, sys.stdout.detach()
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding, line_buffering=True)


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Run a command within; an error that the user can correct is reported in one line."""
    if sys.stderr is None:  # closed: print would write to standard output instead
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as standard error does
    try:
        try:
            yield
        finally:  # also after help, which ends by SystemExit
            if sys.stdout is not None:
                sys.stdout.flush()
    except TrellisError as error:
        _leave(str(error), USER_ERROR)
    except BrokenPipeError:
        # Whoever read the output has seen enough. Nothing may be flushed into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(CLOSED_PIPE)
    except OSError as error:
        if sys.stdout is not None:  # what it could not take must not be tried again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        place = f"{error.filename}: " if error.filename else ""
        _leave(f"{place}{error.strerror or error}", USER_ERROR)
    except MemoryError:
        _leave("not enough memory; train with --cutoff or --pairs seen, tag with a smaller --kbest", USER_ERROR)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # once more, and threads at work are not waited for
        _leave("interrupted", INTERRUPTED)


def _leave(why: str, code: int) -> NoReturn:
    print(f"trellis: {printable(' '.join(why.splitlines()))}", file=sys.stderr)
    sys.exit(code)
