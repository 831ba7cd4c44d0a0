"""The parser of commands, and options shared by several commands."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from trellis._support.errors import ArgumentError
from trellis.interfaces.cli.outputs import check_outputs

# argparse searches for translations, which takes longer than parsing; there are none.
vars(argparse)["_"] = str

FILES = ("tag", "parse", "trees", "words", "rerank", "pipeline")  # tasks with data in files
INPUTS: tuple[str, ...] = ("source", "corpus", "model", "gold", "predicted", "dev", "features", "init", "tagger")
OUTPUTS: tuple[str, ...] = ("output", "plot", "checkpoint", "errors", "differences")
VERBS = ("must ", "needs ", "has ", "cannot ", "requires ")  # text after an argument in messages of the library
CLOSE = 0.75  # minimum similarity of suggestions for misspelt words
# How usage shows arguments without an option.
_PLACES: dict[Any, str] = {None: "{}", "?": "[{}]", "+": "{} ...", "*": "[{} ...]"}


class Parser(argparse.ArgumentParser):
    """A parser that raises trellis exceptions, and shows defaults in its help."""

    def __init__(self, name: str, summary: str, words: Sequence[str] = ()) -> None:
        super().__init__(name, description=summary.strip(), formatter_class=_Help, allow_abbrev=False)
        self.words = words  # of the command line, for commands whose options depend on one of them
        self.mixed = False  # whether options may stand between the words of one list
        self.more: Callable[[], str] = str  # end of the help text, created on demand
        self.inputs, self.outputs = INPUTS, OUTPUTS  # names of values that are files to read and to write
        self.takes: Sequence[str] = ()  # tasks of the models that the command takes; empty: all
        self.tasks_of: dict[str, Sequence[str]] = {}  # tasks that an option is for, if not for all

    def add_argument(self, *names: str, tasks: Sequence[str] = (), **settings: Any) -> argparse.Action:
        """Add an option; ``tasks`` restricts it to models of these tasks."""
        action = super().add_argument(*names, **settings)
        if tasks:
            self.tasks_of[action.dest] = tasks
        return action

    def share(self, *names: str, **settings: Any) -> None:
        """Add shared options; ``settings`` are keyword arguments of this command."""
        for name in names:
            self.add_argument(f"--{name}", *SHORT.get(name, ()), **{**SHARED[name], **settings})

    def take(self, *tasks: str, **settings: Any) -> None:
        """Add ``--model``, a model of one of these tasks (none: of any)."""
        self.takes = tasks
        self.share("model", **settings)

    def share_file_options(self) -> None:
        """Add the options that say how a file is laid out."""
        group = self.add_argument_group("file options")
        for name, option in FILE_OPTIONS.items():
            group.add_argument(f"--{name}", **option)

    def task(self) -> str:
        """Add ``--task``; returns its value, which decides on further options."""
        from trellis.tasks.model import TASKS

        nouns = ", ".join(f"{task} ({TASKS[task].noun})" for task in FILES)
        self.add_argument("--task", choices=FILES, default="tag", metavar="TASK", help=f"one of {nouns}")
        first = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
        first.add_argument("--task", default="tag")
        try:
            task = first.parse_known_args(self.words)[0].task
        except argparse.ArgumentError:
            return "tag"
        if task == "structured":
            raise ArgumentError(
                "structured models are trained on Python objects, not on files; see StructuredModel.train"
            )
        return task if task in FILES else "tag"

    def error(self, message: str) -> NoReturn:
        """Raise an error of the command line that refers to the help."""
        message = message.replace("unrecognized arguments:", "unexpected:")
        raise ArgumentError(f"{message}; see {self.prog} --help")

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The values of options and other arguments; no file that is written is one that is read."""
        required = [f"{a.option_strings[0]} {a.metavar}" for a in self._actions if a.option_strings and a.required]
        places = [_PLACES[a.nargs].format(a.metavar) for a in self._get_positional_actions()]
        self.usage = self.usage or " ".join((self.prog, *required, "[options]", *places))
        self._check_known(arguments)
        options = self.parse_intermixed_args(arguments) if self.mixed else self.parse_args(arguments)
        values = {name: value for name, value in vars(options).items() if value}
        inputs = [values[name] for name in self.inputs if name in values and name not in self.outputs]
        check_outputs({name: values[name] for name in self.outputs if name in values}, inputs)
        vars(options).update(takes=self.takes, tasks_of=self.tasks_of, command=self.prog)
        return options

    def _check_known(self, arguments: Sequence[str]) -> None:
        """ArgumentError for an unknown option, with a suggestion."""
        actions = self._option_string_actions
        for word in arguments:
            option = word.split("=")[0]
            if word == "--":
                return
            if not option.startswith("--") or option in actions:
                continue
            self.error(f"unknown option {option}{self._owner(option) or meant(option, actions)}")

    def _owner(self, option: str) -> str:
        """The tasks or the learners that have an option."""
        if "--task" not in self._option_string_actions:
            return ""
        from trellis.interfaces.cli.main import parsers_of

        parsers = parsers_of(self.prog.split()[-1])
        tasks = [task for task, parser in parsers.items() if option in parser._option_string_actions]
        if tasks:
            return f" with this task; it is an option of --task {' and --task '.join(tasks)}"
        name = option[2:].replace("-", "_")
        learners = ", ".join(_learners_with(name))
        return f"; --set {name}=VALUE is a parameter of the learners {learners}" if learners else ""

    def in_its_words(self, message: str) -> str:
        """Replace Python arguments by command-line options in a message of the library."""
        actions = {a.dest: option for a in self._actions for option in a.option_strings[::-1] if option[:2] == "--"}
        argument = r"(?<![\w(/.-])(?<!set )(?P<name>[a-z_]+)=(?P<value>'[^']*'|\"[^\"]*\"|[\w.]*)"

        def option(match: re.Match[str]) -> str:
            name, value = match["name"], match["value"].strip("'\"")
            if name in actions:
                return actions[name] + (f" {value}" if value not in ("", "True", "...") else "")
            return f"--set {name}={value}" if "set" in actions and value and _learners_with(name) else match[0]

        def other(match: re.Match[str]) -> str:
            return f"combined with {actions.get(match[1], match[1])}"

        text = re.sub(r"combined with ([a-z_]+)", other, re.sub(argument, option, message))
        first, _, rest = text.partition(" ")
        return f"{actions[first]} {rest}" if first in actions and rest.startswith(VERBS) else text

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help or the version; argparse would ignore a full disk."""
        (file or sys.stderr).write(message)

    def format_help(self) -> str:
        """The help with its end."""
        self.epilog = self.more() or None
        return super().format_help()


def meant(word: str, choices: Iterable[str]) -> str:
    """A "did you mean" question with the most similar known word; empty if none is similar."""
    from difflib import get_close_matches

    return next((f" (did you mean `{close}`?)" for close in get_close_matches(word, choices, 1, CLOSE)), "")


def _learners_with(parameter: str) -> list[str]:
    """The names of the learners that have a parameter."""
    from trellis.learners import LEARNERS, learner_named

    return [name for name in LEARNERS if parameter in learner_named(name).constraints]


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=27, width=100)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, [], argparse.SUPPRESS) or action.nargs == 0:
            return action.help
        return f"{action.help} (default: %(default)s)"


def at_least(least: int) -> Callable[[str], int]:
    """Argument type: integers of at least this value."""

    def number(text: str) -> int:
        if not text.lstrip("+-").isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, not {text!r}")
        return int(text)

    return number


SWITCH = argparse.BooleanOptionalAction  # True, False (--no-...), or None


class Once(argparse.Action):
    """An option with one value; a repeated option is an error."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Store the value."""
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option} is given twice, as {getattr(namespace, self.dest)} and {values}; omit one")
        setattr(namespace, self.dest, values)


SHORT = {"model": ("-m",), "output": ("-o",), "quiet": ("-q",)}
SHARED: dict[str, dict[str, Any]] = {
    "model": {"action": Once, "required": True, "metavar": "MODEL", "help": "model file"},
    "decode": {
        "tasks": ("tag",),
        "choices": ("viterbi", "posterior"),
        "help": "viterbi: the best label sequence; posterior: the most probable label of each token (default: viterbi)",
    },
    "label-parts": {
        "tasks": ("tag",),
        "metavar": "CHARACTER",
        "help": "separator of the parts of a label, such as | in NOUN|Case=Nom",
    },
    "target": {"metavar": "NAME", "help": "column of gold labels (default: the model's target)"},
    "output": {"metavar": "FILE", "help": "output file (default: standard output); .gz is compressed"},
    "scheme": {
        "tasks": ("tag",),
        "help": "tagging scheme (iob2, iobes, ...); only valid label sequences are predicted",
    },
    "tagger": {
        "tasks": ("parse",),
        "metavar": "MODEL",
        "help": "tagger that predicts its target column before parsing",
    },
    "no-tags": {
        "tasks": ("trees",),
        "action": "store_true",
        "help": "constituency parsers: ignore the part-of-speech tags of the file",
    },
    "lenient": {
        "tasks": ("parse", "trees", "words"),
        "action": "store_true",
        "help": "skip invalid sentences and report their number",
    },
    "threads": {"type": at_least(1), "metavar": "N", "help": "number of threads (default: all cores)"},
    "quiet": {"action": "store_true", "help": "no progress on standard error"},
    "json": {"action": "store_true", "help": "JSON on standard output"},
}
FILE_OPTIONS: dict[str, dict[str, Any]] = {
    "columns": {
        "metavar": "NAMES",
        "help": "column names, such as word,pos,chunk; word=form reads column form as word",
    },
    "format": {
        "choices": ("conll", "conllu", "jsonl", "csv", "crfsuite", "parquet", "feather"),
        "metavar": "NAME",
        "help": "conll, conllu, jsonl, csv, crfsuite, parquet or feather (default: by file extension)",
    },
    "sentence": {"metavar": "NAME", "help": "tables with one row per token: column with the sentence identifier"},
    "comments": {"action": SWITCH, "help": "treat lines of a column file that begin with # as comments"},
    "tabs": {"action": SWITCH, "help": "fields are separated by single tabs, as in .tsv files"},
}
