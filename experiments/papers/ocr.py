"""Taskar et al. 2003: handwritten words letter by letter, by CRF, HM-SVM, perceptron and MIRA, orders 0 to 5.

The data are the paper's: 6,877 words in ten folds, each letter 128 pixels, first letters left out. Large protocol:
train on nine folds and test on the tenth, all ten in turn; small protocol: train on one and test on the other nine.
Published for the large one: 18.0% of letters wrong without structure, 14.5% by a greedy structured learner, 13% by a
linear max-margin model of pairs. The data have only 55 different words, and every one is in every training part: a
model of high order learns the words by heart. So a third protocol goes by words: no word of the test part is in
training. Constants were not tuned on any of it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping

import trellis
from experiments.data import N_FOLDS, Letter, corpus_of_letters, letters
from experiments.report import Cell, Curves, Finding, Report, Table
from experiments.steps import Figures, Setting, Step

TITLE = "Taskar et al. 2003: handwritten letters, by learner and order"
DATA = ("ocr-letters",)
ORDERS, QUICK_ORDERS = range(6), range(3)
LARGE, SMALL, BY_WORDS = "large", "small", "by words"
PROTOCOLS = {LARGE: N_FOLDS, SMALL: N_FOLDS, BY_WORDS: 5}  # and how many parts are tested in turn
QUICK_PARTS = 2
EPOCHS, QUICK_EPOCHS = 10, 4  # half as many where one takes longer, twice for the HM-SVM at orders 0 to 2
# Of the number of epochs and the order: passes of the HM-SVM take long at high orders.
LEARNERS: dict[str, Callable[[int, int], trellis.Learner]] = {
    "CRF": lambda epochs, order: trellis.CRF(solver="adagrad", epochs=epochs // 2),
    "HM-SVM": lambda epochs, order: trellis.HMSVM(
        C=1.0, solver="frank-wolfe", cost="hamming", epochs=2 * epochs if order < 3 else epochs // 2
    ),
    "perceptron": lambda epochs, order: trellis.Perceptron(epochs=epochs, shuffle=True),
    "MIRA": lambda epochs, order: trellis.MIRA(C=0.01, epochs=epochs, shuffle=True),
}
# By words, the two online learners are enough to see what orders do.
TESTED = {LARGE: tuple(LEARNERS), SMALL: tuple(LEARNERS), BY_WORDS: ("perceptron", "MIRA")}
PUBLISHED = {0: "18.0 (without structure)", 1: "14.5 (greedy), 13 (max-margin, linear)"}

Words = list[list[Letter]]


def plan(setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
    """Every learner with every order, in each protocol."""
    epochs, orders = (QUICK_EPOCHS, QUICK_ORDERS) if setting.quick else (EPOCHS, ORDERS)
    return [
        Step(
            f"{protocol}, {learner}, order {order}",
            read,
            {"protocol": protocol, "learner": learner, "order": order, "epochs": epochs, "parts": parts},
        )
        for protocol, n in PROTOCOLS.items()
        for learner in TESTED[protocol]
        for order in orders
        for parts in [min(n, QUICK_PARTS) if setting.quick else n]
    ]


def read(setting: Setting, protocol: str, learner: str, order: int, epochs: int, parts: int) -> Figures:
    """Letters wrong in each part that is tested, in per cent."""
    errors = list[float]()
    for train, test in _splits(letters(setting), protocol, parts):
        tagger = trellis.train(
            corpus_of_letters(train),
            target="label",
            features="attributes",
            learner=LEARNERS[learner](epochs, order),
            order=order,
            n_threads=setting.n_threads,
        )
        errors.append(100 * (1 - tagger.evaluate(corpus_of_letters(test), n_threads=setting.n_threads).token_accuracy))
    return {"errors": errors}


def _splits(folds: list[Words], protocol: str, parts: int) -> Iterator[tuple[Words, Words]]:
    """Training and test words, as many times as parts are tested."""
    if protocol == BY_WORDS:
        everything = [word for fold in folds for word in fold]
        spelled = ["".join(letter.label for letter in word) for word in everything]
        part_of = {word: i % PROTOCOLS[BY_WORDS] for i, word in enumerate(sorted(set(spelled)))}
        folds = [
            [word for word, name in zip(everything, spelled, strict=True) if part_of[name] == part]
            for part in range(PROTOCOLS[BY_WORDS])
        ]
    for part in range(parts):
        others = [word for i, fold in enumerate(folds) if i != part for word in fold]
        yield (folds[part], others) if protocol == SMALL else (others, folds[part])


def report(done: Mapping[str, Figures]) -> Report:
    """Letters wrong by learner and order, one table per protocol."""
    orders = sorted({int(name.rpartition(" ")[2]) for name in done})
    mean = {name: statistics.mean(one["errors"]) for name, one in done.items()}
    tables = list[Table]()
    for protocol in PROTOCOLS:
        rows: list[list[Cell]] = []
        for order in orders:
            published = PUBLISHED.get(order) if protocol == LARGE else None
            learners = TESTED[protocol]
            rows.append([order, *(mean[f"{protocol}, {learner}, order {order}"] for learner in learners), published])
        n = len(done[f"{protocol}, perceptron, order 0"]["errors"])
        title = f"Letters wrong, %, {protocol}; mean over {n} parts"
        tables.append(Table(title, ["order", *TESTED[protocol], "published"], rows))
    best = {
        protocol: min((mean[f"{protocol}, {lr}, order {o}"], o, lr) for o in orders for lr in learners)
        for protocol, learners in TESTED.items()
    }
    first = [mean[f"{LARGE}, {learner}, order 1"] for learner in LEARNERS]
    alone = [mean[f"{LARGE}, {learner}, order 0"] for learner in LEARNERS]
    by_words = [mean[f"{BY_WORDS}, perceptron, order {order}"] for order in orders]
    by_folds = [mean[f"{LARGE}, perceptron, order {order}"] for order in orders]
    findings = [
        Finding(
            "structure helps: pairs of letters are better than letters alone",
            max(first) < min(alone),
            f"{max(first):.1f}, {min(alone):.1f}",
        ),
        Finding(
            "a linear max-margin model of pairs has 13%",
            abs(mean[f"{LARGE}, HM-SVM, order 1"] - 13) < 1,
            f"{mean[f'{LARGE}, HM-SVM, order 1']:.2f}",
        ),
        Finding(
            "high orders are a list of words: they gain far less where no test word is in training",
            by_words[-1] * by_folds[1] > 2 * by_folds[-1] * by_words[1],
            f"perceptron, order 1 to {orders[-1]}: {by_folds[1]:.1f} to {by_folds[-1]:.1f} by folds, "
            f"{by_words[1]:.1f} to {by_words[-1]:.1f} by words",
        ),
    ]
    lines = {
        f"{learner}, {protocol}": [(float(order), mean[f"{protocol}, {learner}, order {order}"]) for order in orders]
        for protocol in (LARGE, BY_WORDS)
        for learner in TESTED[protocol]
    }
    curves = [Curves("ocr", "Handwritten letters wrong by order", "order", "letters wrong, %", lines, log_y=True)]
    remarks = [f"Least, {protocol}: {e:.2f}% ({lr}, order {o})." for protocol, (e, o, lr) in best.items()]
    return Report(tables, findings, curves, [" ".join(remarks)])
