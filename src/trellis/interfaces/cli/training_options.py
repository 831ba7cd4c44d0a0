"""Training options of the command line, generated from the table of the task's options (trellis.learning.options)."""

from __future__ import annotations

import importlib
import re
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from textwrap import fill
from typing import Any

from trellis._support.errors import ArgumentError, LearnerError, TrellisError
from trellis.interfaces.cli.options import SWITCH, Parser
from trellis.learners import LEARNERS, learner_named
from trellis.learning.learner import Learner
from trellis.learning.options import Option, TrainingOptions, flat_options_of, grouped
from trellis.tasks.model import TASKS, load

TABLES = {
    **{"tag": "Tagging", "parse": "Parsing", "trees": "Tree", "words": "Words", "rerank": "Reranking"},
    "pipeline": "Pipeline",
}

OF_LEARNER = ("epochs", "average", "shuffle", "seed")
NOT_OFFERED = {"pipeline": ("init", "metric", "checkpoint", "checkpoint_every")}  # of tasks that reject them
WORDS = {"true": True, "yes": True, "false": False, "no": False, "none": None}
MODELS = ("init", "tagger")  # options whose values are model files
# Names on the command line that differ: of rerankers because of the options of the tagger, and of those of commands.
NAMES = {
    "rerank": {"k": "kbest", "folds": "reranker_folds", "features": "reranker_features"},
    "pipeline": {"folds": "tag_folds"},
}


def table_of(task: str) -> dict[str, Option]:
    """The options of a task's training that are options of the command line, and its learner."""
    return {name: option for name, option in flat_options_of(_kind(task)).items() if option.offered}


def _kind(task: str) -> type:
    """The TypedDict of a task's options."""
    kind: type = getattr(importlib.import_module(f"{TASKS[task].module}.options"), f"{TABLES[task]}Options")
    return kind


def describe_training(parser: Parser, task: str, *, shared: bool = True) -> None:
    """Add the options of a task's training; ``shared``: also those that every task has."""
    table, title = table_of(task), f"{TASKS[task].noun} options"
    add = parser.add_argument_group(title).add_argument
    names = NAMES.get(task, {})
    for name in _own(table):
        _add(add, names.get(name, name), table[name])
    if task == "rerank":
        learners = f"{table['learner'].help} (default: {table['learner'].default})"
        add("--reranker", type=str.lower, choices=tuple(LEARNERS), metavar="NAME", help=learners)
        add(
            "--reranker-set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="parameter of the reranker's learner; repeatable",
        )
        tagger, add = table_of("tag"), parser.add_argument_group("tagger options").add_argument
        for name in _own(tagger):
            _add(add, name, tagger[name])
        _add_learner(parser.add_argument_group("options of the tagger's learner").add_argument, tagger["learner"])
    else:
        extra_choices = ("pcfg",) if task == "trees" else ()
        _add_learner(parser.add_argument_group("learner options").add_argument, table["learner"], *extra_choices)
    if task == "parse":
        parser.share("tagger")
    add = parser.add_argument_group("training options").add_argument if shared else add
    for name in table if shared else ():
        if name in TrainingOptions.__annotations__ and name not in ("n_threads", *NOT_OFFERED.get(task, ())):
            _add(add, name, table[name])


def training_options(options: Namespace, task: str) -> dict[str, Any]:
    """The values of the command line as arguments of the task's ``train``: those that are there."""
    table = table_of(task)
    values = _values(options, table, NAMES.get(task))
    if task != "rerank":
        return grouped(_kind(task), {**values, **_learner(options, table["learner"].default)})
    if options.reranker or options.reranker_set:
        base = options.reranker or table["learner"].default
        values["learner"] = build_learner(base, {}, options.reranker_set, "--reranker-set")
    return values


def tagger_options(options: Namespace) -> dict[str, Any]:
    """The options of a reranker's tagger."""
    table = table_of("tag")
    options_of = {name: table[name] for name in _own(table)}
    return grouped(_kind("tag"), {**_values(options, options_of), **_learner(options, table["learner"].default)})


def _own(table: dict[str, Option]) -> list[str]:
    """The names of a task's own options but for its learner."""
    return [name for name in table if name not in TrainingOptions.__annotations__ and name != "learner"]


def _values(options: Namespace, table: dict[str, Option], names: dict[str, str] | None = None) -> dict[str, Any]:
    """The values of these options, those that are there; ``names``: on the command line, where they differ."""
    values = dict[str, Any]()
    for name, option in table.items():
        place = (names or {}).get(name, name)
        if name in ("dev", "learner", "n_threads") or (value := getattr(options, place, None)) is None:
            continue
        if _is_mapping(option):
            values[name] = dict(value)
        else:
            is_none = option.nullable and value == "none"
            values[name] = None if is_none else load(value) if name in MODELS else value
        if option.check is not None and values[name] is not None:  # before files are read
            option.check.check(name, values[name])
    return {**values, "n_threads": options.threads}


def _learner(options: Namespace, default: Learner) -> dict[str, Any]:
    """The learner of ``--learner``, or the default one, with parameters; empty if neither is given."""
    parameters = {name: getattr(options, name) for name in OF_LEARNER}
    changed = options.set or any(value is not None for value in parameters.values())
    if options.learner == "pcfg":
        if changed:
            raise ArgumentError("pcfg has no parameters; omit --set and the learner options")
        return {"learner": "pcfg"}
    if options.learner is None and not changed:
        return {}
    return {"learner": build_learner(options.learner or default, parameters, options.set)}


def _add_learner(add: Callable[..., Any], option: Option, *choices: str) -> None:
    """The options of a learner."""
    help = f"{option.help}; see trellis learners (default: {option.default})"
    add("--learner", type=str.lower, choices=(*LEARNERS, *choices), metavar="NAME", help=help)
    add("--epochs", type=int, metavar="N", help="maximum number of epochs (passes over the training data)")
    add("--average", action=SWITCH, help="average the weights over training")
    add("--shuffle", action=SWITCH, help="shuffle the sentences in each epoch")
    add("--seed", type=int, metavar="N", help="random seed")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="parameter of the learner; repeatable")


def _is_mapping(option: Option) -> bool:
    """Whether its values are key=value pairs."""
    return "=" in (option.metavar or "")


def _add(add: Callable[..., Any], name: str, option: Option) -> None:
    """Add one option of the table; its value is None if it is not used."""
    help, default = option.help, option.default
    if not (default is None or isinstance(default, bool) or default == "auto" or "default" in help):
        help += f" (default: {default})"
    expected = "" if option.check is None else option.check.expected
    words = re.findall(r"'([^']+)'", expected)
    settings: dict[str, Any] = {"type": _parser(option), "metavar": option.metavar}
    if option.metavar is None:
        settings = {"action": "store_true", "default": None} if default is False else {"action": SWITCH}
    elif words and " or ".join(map(repr, words)) == expected:
        settings = {"choices": tuple(words)}
    elif name == "reranker_features":
        settings = {"type": lambda text: text.split(","), "metavar": "NAMES"}
    elif _is_mapping(option):
        settings["action"] = "append"
    elif default in (False, "auto") and option.parse is not str and type(default) is not int:
        settings |= {"nargs": "?", "const": True}  # a switch with a value
    add(f"--{name.replace('_', '-')}", **settings, help=help.replace("%", "%%"))


def _parser(option: Option) -> Callable[[str], Any]:
    """The parser of an option's text, its errors as argparse reports them."""

    def parse(text: str) -> Any:
        try:
            return option.parse(text)
        except (ValueError, TrellisError):
            raise ArgumentTypeError(f"must be {option.metavar}, not {text!r}") from None

    return parse


def build_learner(
    base: str | Learner, values: Mapping[str, Any], settings: Iterable[str], option: str = "--set"
) -> Learner:
    """A learner, or the one of that name, with parameters: ``values`` (None: not set) and ``settings`` key=value."""
    learner: Any = learner_named(base)() if isinstance(base, str) else base
    parameters = {key: value for key, value in values.items() if value is not None}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise LearnerError(f"{option} {setting}: write key=value, for example {option} epochs=5")
        if key in parameters:
            raise LearnerError(f"{key} is given twice; omit one")
        parameters[key] = _value(text)
    if (unknown := next((key for key in parameters if key not in learner.constraints), None)) is not None:
        names = ", ".join(learner.constraints)
        raise LearnerError(f"{type(learner).__name__} has no parameter {unknown!r}; its parameters are {names}")
    changed: Learner = replace(learner, **parameters)
    return changed


def _value(text: str) -> Any:
    """Parse the text of a value; the learner checks it."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return WORDS.get(text.lower(), text)


def list_parameters() -> str:
    """For the help: every learner with its parameters; a value is missing where it depends on others or on the data."""
    lines = list[str]()
    for name in LEARNERS:
        kind: Any = learner_named(name)
        defaults = {field.name: field.default for field in fields(kind)} | kind().parameters()
        texts = (key if defaults[key] is None else f"{key}={defaults[key]}" for key in kind.constraints)
        text = f"  {name:18} {', '.join(texts)}"
        lines.append(fill(text, 100, subsequent_indent=" " * 21, break_on_hyphens=False))
    return "\n".join(lines)
