"""Options that say which tagger to train: of train, and of rerank train, which trains several."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable
from typing import Any

from trellis.interfaces.cli.learner_options import build_learner
from trellis.interfaces.cli.options import SHARED, SWITCH, at_least
from trellis.learners import LEARNERS
from trellis.learning.learner import Learner
from trellis.tasks.tagging.options import Pruning, Segments

AS_GIVEN = ("features", "order", "cutoff", "pairs", "label_parts", "beam", "scheme", "bagging", "documents")
OF_LEARNER = ("epochs", "average", "shuffle", "seed", "update")


def describe_tagger(add: Callable[..., Any]) -> None:
    """The options of the model."""
    add("--target", metavar="NAME", help="column to learn (default: the last one; upos in CoNLL-U)")
    add("--features", metavar="NAME", help="a preset or a file of templates (default: default)")
    add("--order", type=int, metavar="N", help="number of previous labels a label depends on")
    add("--cutoff", type=at_least(0), default=0, metavar="N", help="drop features seen fewer times")
    add("--pairs", choices=("all", "seen"), help="labels a feature has weights for (default: by learner)")
    dictionary = "a word seen N times gets only labels seen with it; smoothed: also those of words that end alike"
    add("--tag-dictionary", type=_dictionary, metavar="N|smoothed", help=dictionary)
    prune = "few candidate labels per token, fast with many labels: share of gold labels to survive (alone: 0.997);"
    prune += " after a comma that of pairs of labels, and so on; off: all labels (default: by the number of labels)"
    add("--prune", type=_shares, nargs="?", const=True, metavar="SHARE[,SHARE]", help=prune)
    beam = "keep N states per token, at higher orders and with templates such as label[-3] (default: exact search)"
    add("--beam", type=at_least(1), metavar="N", help=beam)
    updates = "what to update on where a beam search went wrong, with templates such as label[-3]"
    add("--update", choices=("standard", "early", "max-violation"), help=updates)
    weights = "how much a sentence counts, by the mean over its labels (others: 1); may be given several times"
    add("--label-weight", type=_weight, action="append", default=[], metavar="LABEL=NUMBER", help=weights)
    add("--label-parts", **SHARED["label-parts"])
    segments = "score whole segments (semi-Markov); labels must mark spans; at most so many tokens long"
    add("--segments", type=_segments, nargs="?", const=True, metavar="LONGEST", help=segments)
    bagging = "train N times, each without a random tenth of the features; the model is the mean"
    add("--bagging", type=at_least(1), default=1, metavar="N", help=bagging)
    documents = "two passes, for names: a second model learns what the first says of the same word elsewhere"
    add("--documents", action="store_true", help=documents)
    add("--scheme", help="forbid label sequences that are illegal in this scheme: iob2, iobes, ...")


def describe_learner(
    add: Callable[..., Any], where: str = "see trellis learners (default: mira)", learners: Iterable[str] = LEARNERS
) -> None:
    """The options of its learner; ``where`` says which learners there are.

    ``--update`` is among those of the model: only beam search over label sequences has it.
    """
    add("--learner", type=str.lower, choices=tuple(learners), metavar="NAME", help=where)
    add("--epochs", type=int, metavar="N", help="number of passes over the corpus, at most")
    add("--average", action=SWITCH, help="average the weights over training")
    add("--shuffle", action=SWITCH, help="take the sentences in another order in each epoch")
    add("--seed", type=int, metavar="N", help="seed of the shuffling")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="any parameter of the learner")


def tagger_options(given: Namespace) -> dict[str, Any]:
    """What is given of the model, as arguments of trellis.train."""
    options = {name: getattr(given, name) for name in AS_GIVEN}
    options["label_weights"] = dict(given.label_weight) or None
    return {**options, **{name: getattr(given, name) for name in ("prune", "segments", "tag_dictionary")}}


def chosen_learner(given: Namespace, default: str | Learner = "mira") -> Learner:
    """The learner by ``--learner``, or the default, with the parameters that are given."""
    return build_learner(given.learner or default, {name: getattr(given, name, None) for name in OF_LEARNER}, given.set)


def _dictionary(text: str) -> int | str:
    """The argument of a tag dictionary."""
    return text if text == "smoothed" else at_least(1)(text)


def _weight(text: str) -> tuple[str, float]:
    """The argument of a label's weight."""
    label, _, weight = text.rpartition("=")
    try:
        if label:
            return label, float(weight)
    except ValueError:
        pass
    raise ArgumentTypeError(f"must be LABEL=NUMBER, as PER=5, not {text!r}")


def _segments(text: str) -> Segments:
    """The argument of segments."""
    return Segments(longest=at_least(1)(text))


def _shares(text: str) -> Pruning | bool:
    """The argument of pruning."""
    if text == "off":
        return False
    try:
        return Pruning(tuple(float(share) for share in text.split(",")))
    except ValueError:
        raise ArgumentTypeError(f"must be numbers, as 0.997 or 0.997,0.99, or off, not {text!r}") from None
