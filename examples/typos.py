"""Learn to correct typos, letter by letter, in seconds, after Grover & Ngo Ho.

A word is a sequence of typed letters, its labels are the letters that were meant. The text is the manual of
Python, which comes with every Python, so nothing is downloaded; the typos are made by a seeded keyboard.

example:
  python -m examples.typos "tge qyick brpwn fox"
"""

from __future__ import annotations

import random
import re
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any, NoReturn

from trellis._support.errors import ModelError
from trellis.corpus.corpus import Corpus
from trellis.corpus.read import read
from trellis.evaluation.tagging import TaggingReport, evaluate_columns
from trellis.features.presets import LETTER_RUNS
from trellis.interfaces.cli.main import reporting_errors
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import align, show, show_json
from trellis.interfaces.cli.progress import watch_epochs
from trellis.learners.online import Perceptron
from trellis.learning.run import interrupts_raise
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.train import train

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

TEXT = """\
Typos in the manual of Python: one letter in ten is replaced by a neighbour on the keyboard (seed {seed}).
{training_words:,} words to train on, {test_words:,} held out.

{table}

typed      {line}
corrected  {corrected}

The model is kept in {model}; it reads the letters of a word:
  echo "t g e" | trellis predict -m {model} --words
A pre-trained pipeline of English is included:
  echo "Ann's dogs didn't bark." | trellis predict --text"""

Pairs = list[tuple[str, str]]  # typed, meant


def main(arguments: Sequence[str]) -> NoReturn:
    """Run the command line of this example, and exit."""
    parser = Parser("python -m examples.typos", __doc__)
    add = parser.add_argument
    add("text", nargs="?", default=LINE, metavar="LINE", help="a line to correct")
    add("--seed", type=at_least(0), default=1, metavar="N", help="seed of the typos")
    add("--words", type=at_least(100), metavar="N", help="use only so many words of the text")
    add("--model", "-m", default=KEPT, metavar="FILE", help="where to leave the model of order 2")
    add("--epochs", type=at_least(1), default=10, metavar="N", help="number of passes over the training words")
    parser.share("quiet", "json")
    parser.outputs += ("model",)
    with reporting_errors():
        run(parser.parse(arguments))
    sys.exit(0)


def run(options: Namespace) -> None:
    """Train with two orders, and show how many errors are left."""
    _check_own(options.model)
    training, test = map(_corpus, make_typos(options.seed, options.words))
    facts: dict[str, Any] = {"seed": options.seed, "training_words": len(training), "test_words": len(test)}
    facts["before"] = _errors(evaluate_columns(test.column("meant"), test.column("letter"), test.starts))
    rows = [_row("before", facts["before"], "")]
    for order in ORDERS:
        begun, learner = time.perf_counter(), Perceptron(epochs=options.epochs)
        with watch_epochs(options.quiet, f"order {order}") as observer, interrupts_raise():
            more: dict[str, Any] = {"order": order, "observer": observer, "info": {"demo": "typos"}}
            tagger = train(training, target="meant", features=LETTER_RUNS, learner=learner, **more)
        seconds = time.perf_counter() - begun
        facts[f"order_{order}"] = _errors(tagger.evaluate(test))
        rows.append(_row(f"averaged perceptron, order {order}", facts[f"order_{order}"], f"{seconds:.1f} s"))
    tagger.save(options.model)
    facts |= {"model": options.model, "line": options.text, "corrected": correct(tagger, options.text)}
    if options.json:
        show_json(facts)
    else:
        table = align([("wrong of the held-out", "letters", "words", "training"), *rows], right=range(1, 4))
        show(TEXT.format(**facts, table=table))


def _corpus(pairs: Pairs) -> Corpus:
    return read({"letter": [list(typed) for typed, _ in pairs], "meant": [list(meant) for _, meant in pairs]})


def _errors(report: TaggingReport) -> dict[str, float]:
    """Shares of letters and words that are wrong."""
    return {"letters": 1 - report.token_accuracy, "words": 1 - report.sentence_accuracy}


def _row(name: str, errors: dict[str, float], seconds: str) -> tuple[str, ...]:
    return name, *(f"{100 * share:.2f}%" for share in errors.values()), seconds


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


def correct(tagger: Tagger, line: str) -> str:
    """The line with its words corrected; capitals stay capitals, and what is no letter stays as it is."""

    def replace(match: re.Match[str]) -> str:
        letters = tagger.tag(list(match[0].lower()))
        return "".join(new.upper() if old.isupper() else new for new, old in zip(letters, match[0], strict=True))

    return re.sub(r"[A-Za-z]+", replace, line)


if __name__ == "__main__":
    main(sys.argv[1:])
