"""The border to native code: what is checked there, once, and what cannot be changed afterwards."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from trellis import _core
from trellis._support.arrays import LabelSets, Lattice, Lists
from trellis.engine.chain import BeamChains, Chains, Potentials, TokenNgrams
from trellis.engine.weights import ChainWeights, Ngrams, Rows, padded


def lists(n_tokens: int) -> Any:
    ids = np.arange(n_tokens, dtype=np.int32) % 3
    return Lists(np.arange(n_tokens + 1, dtype=np.int64), ids, np.empty(0, np.float32))


def encoded(**changes: Any) -> _core.Encoded:
    given = {
        "starts": np.array([0, 2, 3]),
        "lists": lists(3),
        "edge_lists": None,
        "sets": None,
        "n_attributes": 3,
        "n_edge_attributes": 0,
        "n_labels": 2,
    }
    return _core.Encoded(**{**given, **changes})


def shape(n_labels: int) -> dict[str, Any]:
    sizes = {"n_attributes": 3, "n_edge_attributes": 0, "n_labels": n_labels}
    return {**sizes, "order": 1, "sparse": False, "parts": None, "end": None, "seen": None}


def test_arrays_are_never_converted() -> None:
    x, half = np.ones(3), np.zeros(3, np.uint16)
    with pytest.raises(TypeError):
        _core.remember(x, x, x, x, half, np.zeros(3, np.int32))  # type: ignore[arg-type]  # a copy would have been changed
    starts, ids, values = lists(3)
    wanted = "ids: a contiguous array of int32 of rank 1 is needed, not ndarray of "
    with pytest.raises(TypeError, match=f"{wanted}int64"):
        encoded(lists=Lists(starts, ids.astype(np.int64) + 2**32, values))  # type: ignore[arg-type]  # as int32 it is 0
    with pytest.raises(TypeError, match=f"{wanted}int32"):
        encoded(lists=Lists(starts, np.repeat(ids, 2)[::2], values))


def test_fields_have_names() -> None:
    for wrong, message in (
        ((1, 2, 3), "tuple has no field starts"),
        (lists(3)._replace(ids=[1, 2]), "ids: .* is needed, not list"),
    ):
        with pytest.raises(TypeError, match=message):
            encoded(lists=wrong)
    with pytest.raises(KeyError, match="ids"):
        encoded(lists={"starts": np.zeros(1, np.int64)})


def test_arrays_that_were_checked_cannot_be_changed() -> None:
    given = lists(3)
    sets = LabelSets(np.zeros(3, np.int32), np.array([0, 2]), np.array([0, 1], np.int32))
    lattice = Lattice(np.array([0, 1]), np.zeros(1, np.int32), np.array([0, 1]), np.zeros(1, np.int32))
    starts = np.array([0, 2, 3])
    encoded(starts=starts, lists=given, sets=sets._replace(lattice=lattice))
    for array in (starts, *given[:2], *sets[:3], *lattice):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 10**6


def test_arrays_that_views_look_at_cannot_be_changed_either() -> None:
    base = np.zeros((2, 3), np.int32)
    starts, _, values = lists(3)
    encoded(lists=Lists(starts, base[1], values))
    with pytest.raises(ValueError, match="read-only"):
        base[:] = 10**6
    memory = bytearray(12)
    with pytest.raises(ValueError, match="the memory of an array may change"):
        encoded(lists=Lists(starts, np.frombuffer(memory, np.int32), values))
    encoded(lists=Lists(starts, np.frombuffer(bytes(memory), np.int32), values))


def test_a_model_has_at_least_one_label() -> None:
    for n_labels in (0, 2**16):
        with pytest.raises(ValueError, match="from 1 to 65535 labels are supported"):
            encoded(n_labels=n_labels)
        with pytest.raises(ValueError, match="from 1 to 65535 labels are supported"):
            _core.Online(shape(n_labels), "perceptron", 1, 1.0, False, 0, "standard")


@pytest.mark.parametrize("starts", [[], [1, 3], [-2, 3], [0, 4, 3], [0, 2], [0, 4]])
def test_starts(starts: list[int]) -> None:
    with pytest.raises(ValueError, match=r"starts|list per token"):
        encoded(starts=np.array(starts, np.int64))


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (([0, 0], [0, 1], [0]), "one set of labels per token"),
        (([0, 0, 1], [0, 1], [0]), "label set out of range"),
        (([0, 0, -1], [0, 1], [0]), "label set out of range"),
        (([0, 0, 0], [0, 1], [2]), "label out of range"),
        (([0, 0, 0], [0, 1], [-1]), "label out of range"),
        (([0, 0, 0], [0, 1, 1], [0]), "at least one label"),
        (([0, 0, 0], [0, 2], [1, 0]), "ascending order"),
        (([0, 0, 0], [0, 2], [1, 1]), "ascending order"),
        (([0, 0, 0], [0, 3], [0, 1]), "starts"),
    ],
)
def test_label_sets(sets: tuple[list[int], list[int], list[int]], message: str) -> None:
    set_of, starts, labels = sets
    with pytest.raises(ValueError, match=message):
        encoded(sets=LabelSets(np.array(set_of, np.int32), np.array(starts), np.array(labels, np.int32)))


@pytest.mark.parametrize(
    ("lattice", "message"),
    [
        (([0, 1], [0], [0, 1], [0]), "does not match its sets"),
        (([0, 1, 2, 3], [0, 0, 0], [0, 1, 2], [0, 0]), "does not match its sets"),
        (([0, 1, 2, 2], [0, 0, 0], [0, 1, 2, 3], [0, 0, 0]), "starts"),
        (([0, 1, 2, 3], [0, 0, 0], [0, 1, 2, 4], [0, 0, 0]), "starts"),
        (([0, 1, 2, 3], [0, 2, 0], [0, 1, 2, 3], [0, 0, 0]), "label out of range"),
        (([0, 1, 2, 3], [0, 0, 0], [0, 1, 2, 3], [0, 1, 0]), "has no source"),
        (([0, 1, 2, 3], [0, 0, 0], [0, 1, 2, 3], [0, -1, 0]), "has no source"),
        (([0, 1, 2, 3], [0, 0, 0], [0, 1, 2, 3], [1, 0, 0]), "has no source"),
        (([0, 1, 2, 3], [0, 0, 0], [0, 1, 2, 3], [0, 0, 1]), "has no source"),
    ],
)
def test_lattices(lattice: tuple[list[int], ...], message: str) -> None:
    starts, labels, in_starts, before = lattice
    arrays = Lattice(np.array(starts), np.array(labels, np.int32), np.array(in_starts), np.array(before, np.int32))
    sets = LabelSets(np.arange(3, dtype=np.int32), np.array([0, 2, 4, 6]), np.array([0, 1] * 3, np.int32), arrays)
    with pytest.raises(ValueError, match=message):
        encoded(sets=sets)
    with pytest.raises(ValueError, match=r"does not match its sets|starts|out of range|no source"):
        Chains.of(Potentials(np.zeros((3, 2)), np.zeros((3, 2))), [0, 2, 3], sets).best()


def test_attribute_lists() -> None:
    starts, ids, none = lists(3)
    for wrong, message in (
        ((starts, ids + np.int32(1), none), "attribute out of range"),
        ((starts, ids - np.int32(1), none), "attribute out of range"),
        ((starts, ids, np.ones(2, np.float32)), "one value per attribute"),
        ((starts, ids, np.full(3, np.nan, np.float32)), "finite"),
        ((starts[:-1].copy(), ids[:2].copy(), none), "one attribute list per token"),
    ):
        with pytest.raises(ValueError, match=message):
            encoded(lists=Lists(*wrong))


def test_gold_order_weights_and_costs() -> None:
    online = _core.Online(shape(2), "perceptron", 1, 1.0, False, 0, "standard")
    labelled: dict[str, Any] = {"corpus": encoded(), "gold": np.array([0, 1, 1], np.int32)}
    right: dict[str, Any] = {"order": np.array([0, 1]), "weights": None}

    def epoch(**changes: Any) -> None:
        own = {name: changes.pop(name) for name in ("gold", "costs") if name in changes}
        online.epoch(_core.ChainExamples(**{**labelled, **own}), **{**right, **changes})

    epoch()
    for wrong, message in (
        ({"gold": np.array([0, 1], np.int32)}, "one label per token"),
        ({"gold": np.array([0, 1, 2], np.int32)}, "label out of range"),
        ({"gold": np.array([0, 1, -1], np.int32)}, "label out of range"),
        ({"order": np.array([2])}, "sentence out of range"),
        ({"order": np.array([-1])}, "sentence out of range"),
        ({"weights": np.ones(3)}, "one weight per sentence"),
        ({"costs": np.ones((2, 3), np.float32)}, "n_labels, n_labels"),
    ):
        with pytest.raises(ValueError, match=message):
            epoch(**wrong)


def test_n_grams_of_single_tokens_stand_once() -> None:
    # 0 1 is n-gram 4, 1 0 is 5, 0 1 0 is 6
    given = Ngrams(np.array([1, 2, 4], np.uint32), np.array([1, 0, 0], np.uint16), np.zeros(3, np.float32))
    ngrams = _core.Ngrams(2, 2, given, given.weights)
    tables = Potentials(np.zeros((3, 2), np.float32), np.zeros((3, 2))).tables._replace(ngrams=ngrams)
    chains = Chains(tables, np.array([0, 3]))
    at, score = np.array([0, 0, 0, 2]), np.ones(2, np.float32)
    for nodes, message in (([6, 6], "duplicate n-gram"), ([6, 7], "out of range")):
        of_tokens = TokenNgrams(at, np.array(nodes, np.uint32), score)
        with pytest.raises(ValueError, match=message):
            chains._replace(tables=tables._replace(token_ngrams=of_tokens)).best()
    of_tokens = TokenNgrams(np.array([0, 0, 1, 2]), np.array([6, 6], np.uint32), score)
    path, best = chains._replace(tables=tables._replace(token_ngrams=of_tokens)).best()
    assert (path.tolist(), best.tolist()) == ([0, 1, 0], [1.0])


def test_labels_of_n_grams_are_bounded_before_memory_is_taken() -> None:
    with pytest.raises(ValueError, match="from 1 to 65535 labels are supported"):
        _core.Ngrams(2**40, 3, Ngrams.none(), np.empty(0, np.float32))


def beam_paths(weights: Any, k: int) -> Any:
    tables = Potentials(np.zeros((3, 2), np.float32), np.zeros((3, 2))).tables
    return BeamChains(tables, np.array([0, 3]), None, 2, lists(3), weights, np.full(3, -1, np.int32)).kbest(k, 1)


def test_beams_need_rows_and_a_number_of_paths() -> None:
    rows = Rows(np.zeros(4, np.uint32), np.empty(0, np.uint32), np.empty(0, np.float32))
    edge = np.zeros((3, padded(2)), np.float32)
    far = ChainWeights(2, rows.of_type(np.uint16), rows, edge, None).native(about=np.full(3, 129, np.uint8))
    assert beam_paths(far, 1)[0].tolist() == [0, 0, 0]
    with pytest.raises(TypeError, match="weights: Weights is needed, not NoneType"):
        beam_paths(None, 1)
    for k in (0, 10**6 + 1, 2**62):
        with pytest.raises(ValueError, match="k must be from 1 to 1000000"):
            beam_paths(far, k)


def objects() -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """Objects that are changed without the GIL: a call that takes long, and one that must not come between."""
    n = 3000
    corpus = encoded(starts=np.arange(n + 1), lists=lists(n))
    gold, order = (np.arange(n) % 2).astype(np.int32), np.tile(np.arange(n), 20)
    online = _core.Online(shape(2), "perceptron", 1, 1.0, False, 0, "standard")
    examples = _core.ChainExamples(corpus, gold)
    yield "online", lambda: online.epoch(examples, order, None), online.state
    rows = Rows(np.array([0, 2, 4, 6], np.uint32), np.array([0, 1] * 3, np.uint16), np.zeros(6, np.float32))
    layout = _core.Layout(
        corpus,
        order=1,
        rows=rows,
        edge_rows=Rows(np.zeros(1, np.uint32), np.empty(0, np.uint32), np.empty(0, np.float32)),
        edge_places=np.empty(0, np.int32),
        tri_places=np.empty(0, np.int32),
        edge_base=np.zeros((3, 8), np.float32),
        end_base=np.empty(0, np.float32),
    )
    objective = _core.ChainObjective(layout, examples, local=False, single=False, first_token=0, block=1024)
    x, squares = np.zeros(6), np.zeros(6)
    yield (
        "objective",
        lambda: objective.one_pass(x, squares, order, None, 0.1, 0.0, 0.0),
        lambda: objective.losses(x, 1),
    )
    frank_wolfe = _core.FrankWolfe(shape(2), n, 1.0, False)
    yield "frank-wolfe", lambda: frank_wolfe.epoch(examples, order, None), lambda: frank_wolfe.weights(True)
    native = _core.Filter(corpus, gold, n_used=3)
    yield "filter", lambda: native.one_pass(order, rate=0.1, least=0.01), lambda: native.rows


@pytest.mark.parametrize("name", ["online", "objective", "frank-wolfe", "filter"])
def test_a_second_thread_gets_an_error_instead_of_a_race(name: str) -> None:
    run, ask = next((run, ask) for kind, run, ask in objects() if kind == name)
    ask()
    stop, errors = threading.Event(), list[BaseException]()

    def work() -> None:
        while not stop.is_set():
            try:
                run()
            except RuntimeError as error:  # the other call was first
                errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(10_000):
            try:
                ask()
            except RuntimeError as error:
                errors.append(error)
            if errors:
                break
            time.sleep(0.001)
    finally:
        stop.set()
        thread.join()
    assert "in use by another thread" in str(errors[0])
    ask()
