"""Learn to correct typos, letter by letter, in seconds, after Grover & Ngo Ho.

A word is a sequence of typed letters, its labels are the letters that were meant. The text is the manual of
Python, which comes with every Python, so nothing is downloaded; the typos are made by a seeded keyboard.

example:
  trellis demo "tge qyick brpwn fox"
"""

from __future__ import annotations

import random
import re
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from pydoc_data.topics import topics
from typing import TYPE_CHECKING, Any

from trellis._support.errors import ModelError
from trellis.features.presets import LETTER_RUNS
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import align, check_writable, show, show_json
from trellis.interfaces.cli.progress import watch_epochs
from trellis.learners.perceptron import Perceptron
from trellis.learning.run import interrupts_raise
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.train import train

if TYPE_CHECKING:
    from trellis.tasks.tagging.model import Tagger

LINE = "Tge functuon retirns a lisr of strinhs, amd raises an exceptiom ig the argumemt is invalod."
ORDERS = (1, 2)
KEPT = "demo.trellis"
HELD_OUT = 10  # one paragraph in so many is kept for the test
TYPOS = 0.1  # of the letters

_ROWS = (("qwertyuiop", 0.0), ("asdfghjkl", 0.25), ("zxcvbnm", 0.75))  # letters and how far the row is set in
_PLACES = {letter: (row, shift + i) for row, (letters, shift) in enumerate(_ROWS) for i, letter in enumerate(letters)}

# Keys that touch: in the same row or the next, at most one key's width to either side.
NEIGHBOURS = {
    letter: "".join(
        other
        for other, (row, x) in sorted(_PLACES.items())
        if other != letter and abs(row - here[0]) <= 1 and abs(x - here[1]) <= 1
    )
    for letter, here in _PLACES.items()
}

Pairs = list[tuple[str, str]]  # typed, meant


@dataclass(frozen=True, slots=True)
class Errors:
    """Shares of the held-out letters and words that are wrong."""

    letters: float
    words: float
    new_words: float  # of the words that the training text does not have


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("text", nargs="?", metavar="LINE", help="a line to correct (default: a line of the demo's)")
    add("--seed", type=at_least(0), default=1, metavar="N", help="seed of the typos")
    add("--words", type=at_least(100), metavar="N", help="use only so many words of the text")
    add("--model", "-m", default=KEPT, metavar="FILE", help="where to leave the model of order 2")
    add("--epochs", type=at_least(1), default=10, metavar="N", help="number of passes over the training words")
    parser.share("quiet", "json")


def command(options: Namespace) -> None:
    """Train with two orders, and show how many errors are left."""
    check_writable(options.model)
    _check_own(options.model)
    training, test = make_typos(options.seed, options.words)
    known = {meant for _, meant in training}
    facts: dict[str, Any] = {
        "seed": options.seed,
        "training_words": len(training),
        "test_words": len(test),
        "new_test_words": sum(meant not in known for _, meant in test),
        "before": asdict(measure([typed for typed, _ in test], test, known)),
    }
    taggers: dict[int, Tagger] = {}
    seconds: dict[int, float] = {}
    for order in ORDERS:
        begun = time.perf_counter()
        with watch_epochs(options.quiet, f"order {order}") as observer, interrupts_raise():
            taggers[order] = train(
                {
                    "letter": [list(typed) for typed, _ in training],
                    "meant": [list(meant) for _, meant in training],
                },
                target="meant",
                features=LETTER_RUNS,
                learner=Perceptron(epochs=options.epochs),
                order=order,
                observer=observer,
                info={"demo": "typos"},
            )
        seconds[order] = time.perf_counter() - begun
        guessed = ["".join(letters) for letters in taggers[order].tag_batch([list(typed) for typed, _ in test])]
        facts[f"order_{order}"] = asdict(measure(guessed, test, known))
    taggers[max(ORDERS)].save(options.model)
    facts["model"] = options.model
    line = LINE if options.text is None else options.text
    facts["line"], facts["corrected"] = line, correct(taggers[max(ORDERS)], line)
    if options.json:
        show_json(facts)
    else:
        show(_text(facts, seconds))


def _check_own(path: str) -> None:
    """ModelError if the file is there and no model of this demo."""
    if Path(path).exists() and "demo" not in Tagger.load(path).info:
        raise ModelError(f"{path}: a model that is not of this demo; name another file with --model")


def make_typos(seed: int, n_words: int | None) -> tuple[Pairs, Pairs]:
    """(typed, meant) words to train on and to test on; no paragraph gives words to both."""
    # Some topics repeat others; a paragraph counts once, so that none of the test's was seen in training.
    paragraphs = list(dict.fromkeys(part for name in sorted(topics) for part in topics[name].split("\n\n")))
    chance = random.Random(seed)
    chance.shuffle(paragraphs)
    parts: tuple[Pairs, Pairs] = ([], [])
    for i, paragraph in enumerate(paragraphs):
        for word in re.findall(r"[a-z]+", paragraph.lower()):
            parts[i % HELD_OUT == 0].append((mistype(word, TYPOS, chance), word))
        if n_words is not None and all(parts) and len(parts[0]) + len(parts[1]) >= n_words:
            break
    return parts


def mistype(word: str, rate: float, chance: random.Random) -> str:
    """The word (letters a to z) as typed: each letter is with probability ``rate`` one of its neighbours."""
    return "".join(chance.choice(NEIGHBOURS[c]) if chance.random() < rate else c for c in word)


def measure(guessed: Sequence[str], test: Pairs, known: set[str]) -> Errors:
    """How many letters and words are not what was meant."""
    n_letters = wrong_letters = wrong = n_new = wrong_new = 0
    for guess, (_, meant) in zip(guessed, test, strict=True):
        n_letters += len(meant)
        wrong_letters += sum(a != b for a, b in zip(guess, meant, strict=True))
        wrong += guess != meant
        n_new += meant not in known
        wrong_new += guess != meant and meant not in known
    return Errors(wrong_letters / max(1, n_letters), wrong / max(1, len(test)), wrong_new / max(1, n_new))


def correct(tagger: Tagger, line: str) -> str:
    """The line with its words corrected; capitals stay capitals, and what is no letter stays as it is."""

    def replace(match: re.Match[str]) -> str:
        letters = tagger.tag(list(match[0].lower()))
        return "".join(new.upper() if old.isupper() else new for new, old in zip(letters, match[0], strict=True))

    return re.sub(r"[A-Za-z]+", replace, line)


def _text(facts: dict[str, Any], seconds: dict[int, float]) -> str:
    """The facts for readers."""
    found = [("before", facts["before"], "")] + [
        (f"averaged perceptron, order {order}", facts[f"order_{order}"], f"{seconds[order]:.1f} s") for order in ORDERS
    ]
    rows = [
        (name, *(f"{100 * errors[key]:.2f}%" for key in ("letters", "words", "new_words")), took)
        for name, errors, took in found
    ]
    table = align([("wrong of the held-out", "letters", "words", "new words", "training"), *rows], right=range(1, 5))
    return f"""\
Typos in the manual of Python: one letter in ten is replaced by a neighbour on the keyboard (seed {facts["seed"]}).
{facts["training_words"]:,} words to train on, {facts["test_words"]:,} held out, \
{facts["new_test_words"]:,} of them not in the training text.

{table}

typed      {facts["line"]}
corrected  {facts["corrected"]}

The model is kept in {facts["model"]}; it reads the letters of a word:
  echo "t g e" | trellis predict -m {facts["model"]} --words
A pre-trained truecaser is included:
  echo "i saw the python manual in may" | trellis predict --text --inline"""
