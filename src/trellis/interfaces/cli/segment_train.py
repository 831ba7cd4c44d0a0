"""Learn to find the words of text that is written without blanks, and write the model to a file.

The training file has one sentence per line, with blanks between words. Empty lines are passed over. Ctrl-C ends
training after the epoch and keeps the best model so far; a second Ctrl-C gives up.

examples:
  trellis segment train words.txt --model words.trellis
  trellis segment train words.txt --dev more.txt --learner crf --set solver=adagrad --model words.trellis
  trellis segment train words.txt --segments 10 --model words.trellis
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from trellis.corpus.unspaced import SegmentedText, read_segmented
from trellis.interfaces.cli.interrupts import keeping_the_best
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import check_apart, check_writable, show_json
from trellis.interfaces.cli.progress import say, watch_epochs
from trellis.interfaces.cli.tagger_options import chosen_learner, describe_learner
from trellis.tasks.words.model import Segmenter
from trellis.tasks.words.options import DEFAULT, FEATURES

AS_GIVEN = ("features", "order", "cutoff", "patience")


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("text", metavar="FILE", help="text with blanks between words; - is standard input")
    parser.share("model")
    add("--features", metavar="NAME", default=FEATURES, help="a preset or a file of templates")
    add("--order", type=int, metavar="N", help="number of previous labels a label depends on")
    add("--cutoff", type=at_least(0), default=0, metavar="N", help="drop features seen fewer times")
    segments = "score whole words (semi-Markov), of at most so many characters"
    add("--segments", type=at_least(1), nargs="?", const=True, metavar="LONGEST", help=segments)
    parser.share("lenient", "threads", "quiet", "json")
    add = parser.add_argument_group("options of the learner").add_argument
    describe_learner(add, "see trellis train --help (default: mira with epochs=10)")
    add = parser.add_argument_group("options of the dev file").add_argument
    add("--dev", metavar="FILE", help="held-out file; the epoch that is best on it is kept")
    add("--patience", type=at_least(1), metavar="N", help="stop after N epochs without a better score")


def command(given: Namespace) -> None:
    """Train and write."""
    learner = chosen_learner(given, DEFAULT)
    check_writable(given.model)
    check_apart(given.model, given.text, given.dev, given.features)
    text = read_lines(given.text, given)
    dev = None if given.dev is None else read_lines(given.dev, given)
    with watch_epochs(given.quiet) as shown, keeping_the_best(shown, given.quiet) as observer:
        segmenter = Segmenter.train(
            text,
            dev=dev,
            learner=learner,
            segments=given.segments or False,
            observer=observer,
            n_threads=given.threads,
            **{name: getattr(given, name) for name in AS_GIVEN},
        )
    segmenter.save(given.model)
    tagger, n_bytes = segmenter.tagger, Path(given.model).stat().st_size
    n_weights, n_words = tagger.model.weights.n_nonzero, len(segmenter.known_words)
    say(f"{given.model}: {n_words:,} words, {n_weights:,} weights, {n_bytes / 1e6:.1f} MB", given.quiet)
    if given.json:
        sizes = {"words": n_words, "weights": n_weights, "bytes": n_bytes, "lines_skipped": text.n_skipped}
        show_json({"model": given.model, **sizes, "history": tagger.training["history"]})


def read_lines(path: str, given: Namespace) -> SegmentedText:
    """Lines of words, with a line of progress that says how many there are."""
    text = read_segmented(path, lenient=given.lenient)
    skipped = f"; {text.n_skipped:,} skipped" if text.n_skipped else ""
    say(f"{len(text.lines):,} lines, {sum(map(len, text.lines)):,} words from {text.source}{skipped}", given.quiet)
    return text
