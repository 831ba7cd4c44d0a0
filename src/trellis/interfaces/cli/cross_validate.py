"""Train and evaluate by k-fold cross-validation: each sentence is tested once, by a model not trained on it.

Options are those of trellis train with the same --task.

examples:
  trellis cross-validate train.txt --columns word,pos,chunk --features chunking --learner crf --folds 5
  trellis cross-validate --task parse en-train.conllu --folds 3
"""

from __future__ import annotations

import statistics
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from trellis.corpus.corpus import Corpus, fold_numbers
from trellis.corpus.document import Document
from trellis.interfaces.cli.files import training_data
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import align, show, show_json
from trellis.interfaces.cli.progress import say, watch_epochs
from trellis.interfaces.cli.train import COLUMNS, trained
from trellis.interfaces.cli.training_options import describe_training, training_options
from trellis.learning.run import interrupts_raise


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("corpus", metavar="FILE", help="file with gold outputs; - is standard input")
    task = parser.task()
    add("--folds", type=at_least(2), default=5, metavar="N", help="number of folds")
    add(
        "--mix",
        type=at_least(0),
        metavar="SEED",
        help="random seed for random folds (default: sentence i is in fold i modulo N)",
    )
    parser.share("threads", "quiet", "json")
    describe_training(parser, task, shared=False)
    if task in COLUMNS:
        parser.share_file_options()


def command(options: Namespace) -> None:
    """Show the figures of each part, and their mean."""
    task, values = options.task, training_options(options, options.task)
    data, _, layout = training_data(options, task, [options.corpus], None)
    figures = dict[str, list[float]]()
    for number, (training, test) in enumerate(_parts(data, options.folds, options.mix), 1):
        title = f"fold {number} of {options.folds}"
        with watch_epochs(options.quiet, title) as observer, interrupts_raise():
            model = trained(options, task, training, layout, {**values, "observer": observer})
        report = model.evaluate(test, n_threads=options.threads)
        say(f"{title}: {report.name} {100 * report.headline:.2f}", options.quiet)
        for name, value in {report.name: report.headline, **report.to_dict()}.items():
            if isinstance(value, float) and name != "headline":
                figures.setdefault(name.replace("_", " "), []).append(value)
    summaries: dict[str, Any] = {
        name: {"mean": statistics.mean(values), "deviation": statistics.stdev(values), "parts": values}
        for name, values in figures.items()
        if len(values) == options.folds
    }
    if options.json:
        show_json(summaries)
        return
    rows = [["", "mean", "std dev", *(f"fold {i + 1}" for i in range(options.folds))]]
    for name, summary in summaries.items():
        shares = summary["mean"], summary["deviation"], *summary["parts"]
        rows.append([name, *(f"{100 * share:.2f}" for share in shares)])
    show(align(rows, right=range(1, options.folds + 3)))


def _parts(data: Any, n: int, seed: int | None) -> Iterator[tuple[Any, Any]]:
    """Pairs of training and test data, whose tests cover every sentence once."""
    if isinstance(data, Corpus):
        return ((data.take(train), data.take(test)) for train, test in fold_numbers(len(data), n, seed))
    examples: Any = data
    joined: Callable[[Iterable[Any]], Any] = list
    if data and isinstance(data[0], Document):
        examples = [f"{block}\n\n" for block in data[0].to_conllu().rstrip("\n").split("\n\n")]  # one per sentence
        joined = _document
    folds = fold_numbers(len(examples), n, seed)
    return ((joined(examples[i] for i in train), joined(examples[i] for i in test)) for train, test in folds)


def _document(blocks: Iterable[str]) -> Document:
    """The document of sentences in CoNLL-U."""
    return Document.from_conllu("".join(blocks))
