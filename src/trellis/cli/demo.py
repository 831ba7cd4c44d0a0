"""``trellis demo``: corrects typos, letter by letter, after Grover & Ngo Ho.

A word is a sequence of typed letters, its labels are the letters that were meant. The text is the manual of
Python, which every Python carries; the typos are made by a seeded keyboard.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trellis.cli.options import Json, Quiet

if TYPE_CHECKING:
    from trellis.tagger import Tagger

LINE = "Tge functuon retirns a lisr of strinhs, amd raises an exceptiom ig the argumemt is invalod."
ORDERS = (1, 2)
HELD_OUT = 10  # one paragraph in so many is kept for the test

Pairs = list[tuple[str, str]]  # typed, meant


@dataclass(frozen=True, slots=True)
class Errors:
    """Shares of the held-out letters and words that are wrong."""

    letters: float
    words: float
    new_words: float  # of the words that the training text does not have


def command(
    text: Annotated[str | None, typer.Argument(help="A line to correct; else a built-in one.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the typos.")] = 1,
    words: Annotated[int | None, typer.Option(min=100, help="Use only so many words of the text.")] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training words.")] = 10,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn to correct typos, in seconds: what every Python carries is the text, nothing is fetched."""
    from trellis.cli.outputs import print_json
    from trellis.cli.progress import watch_epochs
    from trellis.learners.perceptron import Perceptron
    from trellis.training import train

    training, test = make_typos(seed, words)
    known = {meant for _, meant in training}
    facts: dict[str, Any] = {
        "seed": seed,
        "training_words": len(training),
        "test_words": len(test),
        "new_test_words": sum(meant not in known for _, meant in test),
        "before": asdict(measure([typed for typed, _ in test], test, known)),
    }
    taggers: dict[int, Tagger] = {}
    seconds: dict[int, float] = {}
    for order in ORDERS:
        begun = time.perf_counter()
        with watch_epochs(quiet, f"order {order}") as observer:
            taggers[order] = train(
                {
                    "letter": [list(typed) for typed, _ in training],
                    "meant": [list(meant) for _, meant in training],
                },
                target="meant",
                features="letters",
                learner=Perceptron(epochs=epochs),
                order=order,
                observer=observer,
            )
        seconds[order] = time.perf_counter() - begun
        guessed = [
            "".join(letters) for letters in taggers[order].tag_batch([list(typed) for typed, _ in test])
        ]
        facts[f"order_{order}"] = asdict(measure(guessed, test, known))
    line = LINE if text is None else text
    facts["line"], facts["corrected"] = line, correct(taggers[max(ORDERS)], line)
    if as_json:
        print_json(facts)
    else:
        _show(facts, seconds)


def make_typos(seed: int, n_words: int | None) -> tuple[Pairs, Pairs]:
    """(typed, meant) words to train on and to test on; no paragraph gives words to both."""
    from pydoc_data.topics import topics

    from trellis.cli.noise import mistype

    # Some topics repeat others; a paragraph counts once, so that none of the test's was seen in training.
    paragraphs = list(dict.fromkeys(part for name in sorted(topics) for part in topics[name].split("\n\n")))
    chance = random.Random(seed)
    chance.shuffle(paragraphs)
    parts: tuple[Pairs, Pairs] = ([], [])
    for i, paragraph in enumerate(paragraphs):
        for word in re.findall(r"[a-z]+", paragraph.lower()):
            parts[i % HELD_OUT == 0].append((mistype(word, 0.1, chance), word))
        if n_words is not None and len(parts[0]) + len(parts[1]) >= n_words:
            break
    return parts


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

    def mend(match: re.Match[str]) -> str:
        letters = tagger.tag(list(match[0].lower()))
        return "".join(
            new.upper() if old.isupper() else new for new, old in zip(letters, match[0], strict=True)
        )

    return re.sub(r"[A-Za-z]+", mend, line)


def _show(facts: dict[str, Any], seconds: dict[int, float]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console.print(
        "Typos in the manual of Python: one letter in ten is a neighbour's on the keyboard "
        f"(seed {facts['seed']}).\n"
        f"{facts['training_words']:,} words to train on, {facts['test_words']:,} held out, "
        f"{facts['new_test_words']:,} of them not in the training text.\n",
        soft_wrap=True,
    )
    table = Table("wrong of the held-out", "letters", "words", "new words", "training")
    for column in table.columns[1:]:
        column.justify = "right"
    rows = [("before", facts["before"], "")] + [
        (f"averaged perceptron, order {order}", facts[f"order_{order}"], f"{seconds[order]:.1f} s")
        for order in ORDERS
    ]
    for name, errors, took in rows:
        shares = (f"{100 * errors[key]:.2f}%" for key in ("letters", "words", "new_words"))
        table.add_row(name, *shares, took)
    console.print(table)
    console.print()
    console.print(Text.assemble(("typed      ", "bold"), facts["line"]), soft_wrap=True)
    console.print(Text.assemble(("corrected  ", "bold"), facts["corrected"]), soft_wrap=True)
