"""Options of a training on the command line, made from the table of the task's options (trellis.learning.options)."""

from __future__ import annotations

import importlib
import re
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable
from typing import Any

from trellis._support.errors import ArgumentError
from trellis.interfaces.cli.learner_options import build_learner
from trellis.interfaces.cli.options import SWITCH, Parser, at_least
from trellis.learners import LEARNERS
from trellis.learning.learner import Learner, flag
from trellis.learning.options import Option, TrainingOptions, options_of
from trellis.tasks.model import TASKS, load
from trellis.tasks.tagging.options import Pruning, Segments, TaggingOptions

TABLES = {"tag": "Tagging", "parse": "Parsing", "trees": "Tree", "words": "Words", "rerank": "Reranking"}
# Options with a name or a place of their own on the command line, or with none.
OWN = ("learner", "n_threads", "info", "observer", "verbose", "sample_weight", "label_costs")
OF_LEARNER = ("epochs", "average", "shuffle", "seed")
MODELS, PATHS = ("init", "tagger"), ("dev", "checkpoint")  # options whose values are files
# Of a reranker, beside the options of its tagger.
RERANKER_NAMES = {"k": "kbest", "folds": "reranker_folds", "features": "reranker_features"}


def table_of(task: str) -> dict[str, Option]:
    """The options of a task's training."""
    module = importlib.import_module(f"{TASKS[task].module}.options")
    return options_of(getattr(module, f"{TABLES[task]}Options"))


def describe_training(parser: Parser, task: str, *, shared: bool = True) -> None:
    """Add the options of a task's training; ``shared``: also those that every task has."""
    groups: dict[str, Callable[..., Any]] = {}

    def add_to(title: str) -> Callable[..., Any]:
        if title not in groups:
            groups[title] = parser.add_argument_group(title).add_argument
        return groups[title]

    add, own = add_to(f"options of the {TASKS[task].noun}"), table_of(task)
    if task == "rerank":
        tagger = options_of(TaggingOptions)
        for name in (name for name in tagger if _is_offered(name) and name not in TrainingOptions.__annotations__):
            _add(add_to("options of its tagger"), name, tagger[name])
        _add_learner(add_to("options of the tagger's learner"), tagger["learner"])
        names = f"{own['learner'].help} (default: {_call(own['learner'].default)})"
        add("--reranker", type=str.lower, choices=tuple(LEARNERS), metavar="NAME", help=names)
        add("--reranker-set", action="append", default=[], metavar="NAME=VALUE", help="any parameter of that learner")
    for name, option in own.items():
        if not _is_offered(name) or (task == "rerank" and name == "tagger"):
            continue
        if name not in TrainingOptions.__annotations__:
            _add(add, RERANKER_NAMES.get(name, name) if task == "rerank" else name, option)
        elif shared:
            _add(add_to("options of the training"), name, option)
    if task != "rerank":
        _add_learner(add_to("options of the learner"), own["learner"], *(["pcfg"] if task == "trees" else []))
    if task == "parse":
        parser.share("tagger")


def training_options(options: Namespace, task: str) -> dict[str, Any]:
    """The values of the command line as arguments of the task's ``train``: those that are there."""
    values, own = dict[str, Any](), table_of(task)
    for name in own:
        place = RERANKER_NAMES.get(name, name) if task == "rerank" else name
        if _is_offered(name) and name != "dev" and getattr(options, place, None) is not None:
            value = getattr(options, place)
            if own[name].nullable and value == "none":
                value = None
            values[name] = load(value) if name in MODELS else dict(value) if name == "label_weights" else value
    if task == "rerank":
        values.pop("tagger", None)
        if options.reranker or options.reranker_set:
            base = options.reranker or own["learner"].default
            values["learner"] = build_learner(base, {}, options.reranker_set, "--reranker-set")
    else:
        values |= learner_of(options, own["learner"].default)
    return {**values, "n_threads": options.threads}


def tagger_options(options: Namespace) -> dict[str, Any]:
    """The options of a reranker's tagger."""
    table = options_of(TaggingOptions)
    names = [name for name in table if _is_offered(name) and name not in TrainingOptions.__annotations__]
    values = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if "label_weights" in values:
        values["label_weights"] = dict(values["label_weights"])
    return {**values, **learner_of(options, table["learner"].default), "n_threads": options.threads}


def learner_of(options: Namespace, default: Learner) -> dict[str, Any]:
    """The learner of ``--learner``, or the default one, with parameters; nothing where there are none of both."""
    parameters = {name: getattr(options, name, None) for name in OF_LEARNER}
    changed = options.set or any(value is not None for value in parameters.values())
    if options.learner == "pcfg":
        if changed:
            raise ArgumentError("pcfg counts rules and has no parameters; omit --set and options of the learner")
        return {"learner": "pcfg"}
    if options.learner is None and not changed:
        return {}
    return {"learner": build_learner(options.learner or default, parameters, options.set)}


def _is_offered(name: str) -> bool:
    return name not in OWN


def _add_learner(add: Callable[..., Any], option: Option, *others: str) -> None:
    """The options of a learner."""
    help = f"{option.help}; see trellis learners (default: {_call(option.default)})"
    add("--learner", type=str.lower, choices=(*LEARNERS, *others), metavar="NAME", help=help.replace("%", "%%"))
    add("--epochs", type=int, metavar="N", help="number of passes over the data, at most")
    add("--average", action=SWITCH, help="average the weights over training")
    add("--shuffle", action=SWITCH, help="another order of the sentences in each epoch")
    add("--seed", type=int, metavar="N", help="seed of the shuffling")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="any parameter of the learner")


def _call(learner: Any) -> str:
    """A learner with its parameters, as far as they are not those of its class."""
    usual = type(learner)().parameters()
    own = {name: value for name, value in learner.parameters().items() if usual.get(name) != value}
    return f"{type(learner).__name__}({', '.join(f'{name}={value}' for name, value in own.items())})"


def _add(add: Callable[..., Any], name: str, option: Option) -> None:
    """One option of the table; its value is None where it is not given."""
    help, default = option.help, option.default
    if not (default is None or isinstance(default, bool) or default == "auto" or "default" in help):
        help += f" (default: {default})"
    wanted = "" if option.check is None else option.check.wanted
    words = re.findall(r"'([^']+)'", wanted)
    if name in PARSERS and option.parse is not float:
        more: dict[str, Any] = PARSERS[name]
    elif isinstance(default, bool) or wanted == flag().wanted:
        more = {"action": "store_true", "default": None} if default is False else {"action": SWITCH}
    elif words and " or ".join(map(repr, words)) == wanted:
        more = {"choices": tuple(words)}
    else:
        more = {"type": option.parse, "metavar": option.metavar or ("FILE" if name in PATHS else "NAME")}
    add(f"--{name.replace('_', '-')}", **more, help=help.replace("%", "%%"))


def _dictionary(text: str) -> int | str:
    return text if text == "smoothed" else at_least(1)(text)


def _weight(text: str) -> tuple[str, float]:
    label, _, weight = text.rpartition("=")
    try:
        if label:
            return label, float(weight)
    except ValueError:
        pass
    raise ArgumentTypeError(f"must be LABEL=NUMBER, as PER=5, not {text!r}")


def _segments(text: str) -> Segments:
    return Segments(longest=at_least(1)(text))


def _shares(text: str) -> Pruning | bool:
    if text == "off":
        return False
    try:
        return Pruning(tuple(float(share) for share in text.split(",")))
    except ValueError:
        raise ArgumentTypeError(f"must be numbers, as 0.997 or 0.997,0.99, or off, not {text!r}") from None


# Options whose values on the command line are not their values in Python.
PARSERS: dict[str, dict[str, Any]] = {
    "prune": {"type": _shares, "nargs": "?", "const": True, "metavar": "SHARE[,SHARE]"},
    "segments": {"type": _segments, "nargs": "?", "const": True, "metavar": "LONGEST"},
    "tag_dictionary": {"type": _dictionary, "metavar": "N|smoothed"},
    "reranker_features": {"type": lambda text: text.split(","), "metavar": "NAMES"},
    "label_weights": {"type": _weight, "action": "append", "metavar": "LABEL=NUMBER"},
}
