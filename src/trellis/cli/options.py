"""The parser of a command, and options that several commands have, each with one meaning everywhere."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NoReturn

from trellis.errors import ArgumentError


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are errors of trellis, and whose help shows defaults and examples."""

    def __init__(self, name: str, about: str) -> None:
        super().__init__(name, description=about, formatter_class=_Help, allow_abbrev=False)
        self.more: Callable[[], str] = str  # what the help shows at its end; made only when help is asked for

    def error(self, message: str) -> NoReturn:
        """What is wrong with the command line, and where help is."""
        raise ArgumentError(f"{message}; see {self.prog} --help")

    def format_help(self) -> str:
        """The help, with what is shown at its end."""
        self.epilog = self.epilog or self.more() or None
        return super().format_help()


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, False, argparse.SUPPRESS) or "default" in (action.help or ""):
            return action.help
        return f"{action.help} (default: %(default)s)"


def at_least(least: int) -> Callable[[str], int]:
    """A type of argument: whole numbers from there on."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"must be a whole number, at least {least}, not {text!r}")
        return value

    return number


def add_model(parser: Parser, *, read: bool = True, required: bool = True) -> None:
    """The model's file."""
    about = "model file" if read else "model file to write"
    parser.add_argument("--model", "-m", required=required, metavar="FILE", help=about)


def add_file_options(parser: Parser) -> None:
    """How the file is laid out."""
    group = parser.add_argument_group("options of the file")
    group.add_argument("--columns", metavar="NAMES", help="names of the file's columns: word,pos,chunk")
    group.add_argument(
        "--format",
        choices=("conll", "conllu", "jsonl", "parquet", "feather"),
        help="format of the file (default: by its extension)",
    )
    add_switch(group, "--comments", "lines of a column file that begin with # are comments")
    add_switch(group, "--tabs", "only single tabs separate fields, as in .tsv files")


def add_switch(parser: Any, name: str, about: str) -> None:
    """An option that is on, off, or not given."""
    parser.add_argument(name, action=argparse.BooleanOptionalAction, help=about)


def add_decoding(parser: Parser) -> None:
    """How labels are chosen."""
    parser.add_argument(
        "--by",
        choices=("path", "label"),
        default="path",
        help="path: the best label sequence; label: the most probable label of each token",
    )
    add_scheme(parser)


def add_scheme(parser: Parser) -> None:
    """Which label sequences are legal."""
    parser.add_argument(
        "--scheme", help="allow only label sequences that are legal in this scheme: iob2, iobes, ..."
    )


def add_threads(parser: Parser) -> None:
    """How many threads work."""
    parser.add_argument(
        "--threads", type=at_least(1), metavar="N", help="number of threads (default: all cores)"
    )


def add_quiet(parser: Parser) -> None:
    """Whether anything is said on standard error."""
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress on standard error")


def add_json(parser: Parser) -> None:
    """Whether the output is for machines."""
    parser.add_argument("--json", action="store_true", help="JSON on standard output")
