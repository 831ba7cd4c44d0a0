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
from trellis._support.errors import TrellisError, file_reason
from trellis.interfaces.cli.options import FILES, Parser, meant
from trellis.interfaces.cli.progress import printable

# Each is a module of this package (its words joined by _), imported when it is called: its docstring is the help's
# text, ``describe`` gives the parser its options, and ``command`` does the work.
COMMANDS = {
    "train": "Train a model of any task and write it to a file.",
    "predict": "Tag, parse or segment a file or standard input.",
    "evaluate": "Evaluate a model, or a file of predictions.",
    "cross-validate": "Train and evaluate by k-fold cross-validation on one file.",
    "compare": "Compare two models with significance tests.",
    "explain": "Explain a prediction by its features and their weights.",
    "draw": "Draw the prediction for a sentence (SVG).",
    "info": "Show labels, templates, weights and training history of a model.",
    "dump": "Write all weights of a model as a table (TSV).",
    "report": "Write an HTML report of a tagger's errors on a file.",
    "calibrate": "Calibrate the probabilities of a tagger on a held-out file.",
    "convert": "Convert models of CRFsuite, CRF++, Wapiti and NLTK, or to CRFsuite.",
    "serve": "Serve models over HTTP.",
    "studio": "Inspect models and annotate sentences in a browser.",
    "clusters": "Cluster the words of unlabelled text (Brown clustering).",
    "models": "List the models that are found by name.",
    "learners": "List the learners with their parameters.",
    "features": "List feature presets, or the templates of one.",
    "completion": "Print a completion script for a shell.",
}
USER_ERROR = 2
INTERRUPTED = 130  # as in shells: 128 + signal number
CLOSED_PIPE = 141


def module_of(name: str) -> str:
    """The module of a command."""
    return f"trellis.interfaces.cli.{name.replace('-', '_')}"


def parser_of(name: str, words: Sequence[str] = ()) -> Parser:
    """The parser of a command; ``words`` of the command line may decide on its options."""
    module = importlib.import_module(module_of(name))
    parser = Parser(f"trellis {name}", module.__doc__ or "", words)
    module.describe(parser)
    return parser


def parsers_of(name: str) -> dict[str, Parser]:
    """The parsers of a command by task; one alone if its options do not depend on the task."""
    tasks = FILES if name in ("train", "cross-validate") else ("tag",)
    return {task: parser_of(name, ["--task", task]) for task in tasks}


def run(arguments: Sequence[str], begin: Callable[[], object] = lambda: None) -> NoReturn:
    """Run one command line and exit with its code; ``begin`` is called when everything has been imported."""
    parser: Parser | None = None
    with reporting_errors(lambda reason: reason if parser is None else parser.in_its_words(reason)):
        name, *words = arguments or [""]
        if name not in COMMANDS:
            _run_without_command(arguments)
        parser = parser_of(name, words)
        options = parser.parse(words)
        begin()
        sys.modules[module_of(name)].command(options)
    sys.exit(0)


def _run_without_command(arguments: Sequence[str]) -> NoReturn:
    """Help, the version, or a mistake."""
    parser = Parser("trellis", "Structured prediction: taggers, parsers, segmenters and rerankers.")
    parser.usage = "trellis COMMAND ..."
    summaries = "\n".join(f"  {name:16}  {summary}" for name, summary in COMMANDS.items())
    parser.more = lambda: f"commands:\n{summaries}\n\nRun trellis COMMAND --help for the options of a command."
    version = f"trellis {trellis.__version__}"
    parser.add_argument("--version", "-V", action="version", version=version, help="show the version and exit")
    if not arguments:
        parser.print_help(sys.stderr)
        sys.exit(USER_ERROR)
    _, (name, *_) = parser.parse_known_args(arguments)
    commands = ", ".join(COMMANDS)
    if name.startswith("-"):
        parser.error(f"unknown option {name}; the commands are {commands}")
    parser.error(f"unknown command {name}{meant(name, COMMANDS) or f'; the commands are {commands}'}")


def buffer_output() -> None:
    """Buffer the output: with PYTHONUNBUFFERED a raw file may silently write only a part of the data."""
    if isinstance(sys.stdout, io.TextIOWrapper) and isinstance(sys.stdout.buffer, io.RawIOBase):
        encoding, raw = sys.stdout.encoding, sys.stdout.detach()
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding, line_buffering=True)


@contextmanager
def reporting_errors(in_words: Callable[[str], str] = str) -> Iterator[None]:
    """Run a command in the block; user errors are reported in one line, with the wording of ``in_words``."""
    if sys.stderr is None:  # standard error is closed: print would use standard output
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as for standard error
    try:
        try:
            yield
        finally:  # also after help, which ends by SystemExit
            if sys.stdout is not None:
                sys.stdout.flush()
    except TrellisError as error:
        _leave(in_words(str(error)), USER_ERROR)
    except BrokenPipeError:
        # The reader closed the pipe. Nothing must be flushed into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(CLOSED_PIPE)
    except OSError as error:
        if sys.stdout is not None:  # unwritten output must not be flushed again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        reason = ": ".join(file_reason(error.filename, error)) if error.filename else error.strerror or str(error)
        _leave(reason, USER_ERROR)
    except MemoryError:
        _leave(
            "not enough memory; train with --min-count or --pairs seen, or predict with a smaller --kbest", USER_ERROR
        )
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C does not wait for running threads
        _leave("interrupted", INTERRUPTED)


def _leave(reason: str, code: int) -> NoReturn:
    print(f"trellis: {printable(' '.join(reason.splitlines()))}", file=sys.stderr)
    sys.exit(code)
