"""The parser of a command, and options that several commands have, each with one meaning everywhere."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from trellis._support.errors import ArgumentError

# argparse looks for translations of its few words, which takes longer than all of its parsing; ours have none.
vars(argparse)["_"] = str


_PLACES: dict[Any, str] = {
    None: "{}",
    "?": "[{}]",
    "+": "{} ...",
    "*": "[{} ...]",
}  # how usage shows arguments without an option


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are errors of trellis, and whose help shows defaults."""

    def __init__(self, name: str, about: str) -> None:
        super().__init__(name, description=about.strip(), formatter_class=_Help, allow_abbrev=False)
        self.mixed = False  # whether options may stand between the words of one list
        self.more: Callable[[], str] = str  # what the help shows at its end; made only when help is asked for

    def share(self, *names: str) -> None:
        """Add options that other commands have too."""
        for name in names:
            self.add_argument(f"--{name}", *SHORT.get(name, ()), **SHARED[name])

    def share_file_options(self) -> None:
        """Add the options that say how a file is laid out."""
        group = self.add_argument_group("options of the file")
        for name, option in FILE_OPTIONS.items():
            group.add_argument(f"--{name}", **option)

    def error(self, message: str) -> NoReturn:
        """What is wrong with the command line, and where help is."""
        raise ArgumentError(f"{message}; see {self.prog} --help")

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """What is given, by the names of options and other arguments."""
        needed = [f"{a.option_strings[0]} {a.metavar}" for a in self._actions if a.option_strings and a.required]
        places = [_PLACES[a.nargs].format(a.metavar) for a in self._get_positional_actions()]
        self.usage = self.usage or " ".join((self.prog, *needed, "[options]", *places))
        return self.parse_intermixed_args(arguments) if self.mixed else self.parse_args(arguments)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Help or the version; argparse itself would say nothing of a full disk."""
        (file or sys.stderr).write(message)

    def format_help(self) -> str:
        """The help, with what is shown at its end."""
        self.epilog = self.more() or None
        return super().format_help()


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=27, width=100)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, [], argparse.SUPPRESS) or action.nargs == 0:
            return action.help
        return f"{action.help} (default: %(default)s)"


def at_least(least: int) -> Callable[[str], int]:
    """A type of argument: whole numbers from there on."""

    def number(text: str) -> int:
        if not text.lstrip("+-").isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number, at least {least}, not {text!r}")
        return int(text)

    return number


SWITCH = argparse.BooleanOptionalAction  # on, off by --no-..., or not given
SHORT = {"model": ("-m",), "output": ("-o",), "quiet": ("-q",)}
SHARED: dict[str, dict[str, Any]] = {
    "model": {"required": True, "metavar": "MODEL", "help": "model file"},
    "by": {
        "choices": ("path", "label"),
        "default": "path",
        "help": "path: the best label sequence; label: the most probable label of each token",
    },
    "label-parts": {"metavar": "SIGN", "help": "what separates the parts of a label: | in NOUN|Case=Nom"},
    "scheme": {"help": "allow only label sequences that are legal in this scheme: iob2, iobes, ..."},
    "lenient": {"action": "store_true", "help": "pass over lines that cannot be read, and count them"},
    "threads": {"type": at_least(1), "metavar": "N", "help": "number of threads (default: all cores)"},
    "quiet": {"action": "store_true", "help": "no progress on standard error"},
    "json": {"action": "store_true", "help": "JSON on standard output"},
}
FILE_OPTIONS: dict[str, dict[str, Any]] = {
    "columns": {"metavar": "NAMES", "help": "names of the file's columns: word,pos,chunk"},
    "format": {
        "choices": ("conll", "conllu", "jsonl", "csv", "crfsuite", "parquet", "feather"),
        "metavar": "NAME",
        "help": "conll, conllu, jsonl, csv, crfsuite, parquet or feather (default: by the file's extension)",
    },
    "sentence": {"metavar": "NAME", "help": "of tables with a row per token: the column that tells sentences apart"},
    "comments": {"action": SWITCH, "help": "lines of a column file that begin with # are comments"},
    "tabs": {"action": SWITCH, "help": "only single tabs separate fields, as in .tsv files"},
}
