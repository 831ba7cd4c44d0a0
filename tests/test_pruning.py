"""Pruned labels: gold labels survive, training and tagging see the same candidates, and no pruning changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from equal_models import learnt

import trellis
from trellis import _core
from trellis._support.arrays import LabelSets, Lists
from trellis._support.errors import LearnerError
from trellis.interfaces.cli.info import facts_of, facts_text
from trellis.tasks.tagging.chain_model import LabelFilter
from trellis.tasks.tagging.training.encoding import has_too_many_labels
from trellis.tasks.tagging.training.pruning import learn_filter

N_LABELS = 70


def corpus(n_sentences: int, seed: int) -> trellis.Corpus:
    """Words w0..w209 of 70 labels, three words each; a word in ten has the label of another word."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(n_sentences):
        words = rng.integers(0, 3 * N_LABELS, rng.integers(3, 9))
        labels = np.where(rng.random(len(words)) < 0.1, rng.integers(0, N_LABELS, len(words)), words // 3)
        sentences.append([(f"w{w}", f"L{z}") for w, z in zip(words, labels, strict=True)])
    return trellis.read(sentences, columns=["word", "tag"])


TRAIN, DEV = corpus(400, 0), corpus(60, 1)
FEATURES = ["word[0]", "word[-1]", "word[1]"]


def candidates(tagger: trellis.Tagger, of: trellis.Corpus) -> LabelSets:
    decoder = tagger._decoder
    return LabelSets.native(decoder.native.candidates(decoder.encode(of), 1))


def gold_of(tagger: trellis.Tagger, of: trellis.Corpus) -> list[int]:
    column = of.column("tag")
    return [tagger.labels.index(list(column.values)[code]) for code in column.codes.tolist()]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_pruned_tagger_keeps_to_candidates(order: int) -> None:
    tagger = trellis.train(TRAIN, target="tag", features=FEATURES, order=order, search=trellis.Search(prune=0.9))
    sets = candidates(tagger, DEV)
    sizes = np.diff(sets.starts)
    assert sizes.min() >= 1
    assert sizes.mean() < N_LABELS / 3
    runs = list(zip(gold_of(tagger, DEV), sets.starts[:-1], sets.starts[1:], strict=True))
    survived = [z in sets.labels[a:b] for z, a, b in runs]
    assert np.mean(survived) > 0.85
    for path in (tagger.tag_column(DEV).codes, tagger.tag_column(DEV, decode="posterior").codes):
        assert all(z in sets.labels[a:b] for z, a, b in zip(path, sets.starts[:-1], sets.starts[1:], strict=True))
    words = DEV[0]["word"]
    (best, _), *_ = tagger.kbest(words, 3)
    assert best == tagger.tag(words)


def test_candidates_are_the_labels_within_the_margin() -> None:
    tagger = trellis.train(TRAIN, target="tag", features=FEATURES, search=trellis.Search(prune=0.95))
    model, decoder = tagger.model, tagger._decoder
    assert model.filter is not None
    starts, ids, _ = decoder.attribute_lists(decoder.encode(DEV))
    rows, sets = model.filter.rows, candidates(tagger, DEV)
    for t in range(DEV.n_tokens):
        scores = np.zeros(N_LABELS)
        for a in ids[starts[t] : starts[t + 1]]:
            slots = slice(rows.starts[a], rows.starts[a + 1])
            scores[rows.labels[slots]] += rows.weights[slots]
        last = np.sort(scores)[-model.filter.most]  # the score of the last of the most candidates
        gap = np.maximum(scores.max() - scores - model.filter.margin, last - scores)
        found = np.zeros(N_LABELS, bool)
        found[sets.labels[sets.starts[t] : sets.starts[t + 1]]] = True
        clear = np.abs(gap) > 1e-4  # sums in another order round otherwise
        assert (found == (gap <= 0))[clear].all()
        assert 1 <= found.sum() <= model.filter.most


@pytest.mark.parametrize("learner", [trellis.Perceptron(epochs=2), trellis.CRF(epochs=3), trellis.MaxEnt(epochs=3)])
def test_same_bits_for_any_number_of_threads(learner: trellis.Learner, tmp_path: Path) -> None:
    files = [tmp_path / f"{n}.model" for n in (1, 3)]
    for n, file in zip((1, 3), files, strict=True):
        trellis.train(
            TRAIN, target="tag", features=FEATURES, learner=learner, search=trellis.Search(prune=0.95), n_threads=n
        ).save(file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_save_and_load(tmp_path: Path) -> None:
    tagger = trellis.train(TRAIN, target="tag", features=FEATURES, order=2, search=trellis.Search(prune=0.95))
    tagger.save(tmp_path / "m")
    again = trellis.load(tmp_path / "m")
    assert isinstance(again.model.filter, LabelFilter)
    assert again.model.filter.header == tagger.model.filter.header  # type: ignore[union-attr]
    assert again.tag_column(DEV).codes.tolist() == tagger.tag_column(DEV).codes.tolist()


def test_without_pruning_nothing_changes() -> None:
    without, automatic = (
        trellis.train(TRAIN, target="tag", features=FEATURES, search=trellis.Search(prune=how))
        for how in (False, "auto")
    )
    assert learnt(without) == learnt(automatic)


def test_pruning_can_be_turned_off_and_changed() -> None:
    tagger = trellis.train(TRAIN, target="tag", features=FEATURES, search=trellis.Search(prune=0.9))
    assert tagger.pruned(None).model.filter is None
    assert (np.diff(candidates(tagger.pruned(1e9), DEV).starts) == tagger.model.filter.most).all()  # type: ignore[union-attr]
    assert np.diff(candidates(tagger.pruned(0), DEV).starts).max() == 1
    assert np.diff(candidates(tagger.pruned(0.1), DEV).starts).max() < 16  # 0.1 is no float of 32 bits
    with pytest.raises(trellis._support.errors.ArgumentError, match="margin"):
        tagger.pruned(-1)
    with pytest.raises(trellis._support.errors.ModelError, match="prune="):
        tagger.pruned(None).pruned(2)


def encoded(sets: LabelSets | None = None) -> tuple[_core.Encoded, np.ndarray]:
    """One attribute per token, 30 of them, that says the label in nine of ten cases; 30 labels."""
    rng = np.random.default_rng(3)
    n = 2000
    gold = rng.integers(0, 30, n).astype(np.int32)
    ids = np.where(rng.random(n) < 0.9, gold, rng.integers(0, 30, n)).astype(np.int32)
    lists = Lists(np.arange(n + 1, dtype=np.int64), ids, np.empty(0, np.float32))
    return _core.Encoded(np.arange(0, n + 1, 5, dtype=np.int64), lists, None, sets, 30, 0, 30), gold


@pytest.mark.parametrize("share", [0.92, 0.97])
def test_gold_labels_survive(share: float) -> None:
    corpus, gold = encoded()
    found, sets = learn_filter(corpus, gold, [share], 1)
    runs = list(zip(gold, sets.starts[sets.set_of], sets.starts[sets.set_of + 1], strict=True))
    assert all(z in sets.labels[a:b] for z, a, b in runs)  # while training none is pruned
    scores = np.zeros((30, 30))
    rows = found.rows
    for a in range(30):
        slots = slice(rows.starts[a], rows.starts[a + 1])
        scores[a, rows.labels[slots]] = rows.weights[slots]
    ids = corpus.lists[1]
    kept = scores[ids, gold] >= scores[ids].max(axis=1) - found.margin
    assert abs(kept.mean() - share) < 0.02
    assert found.n_candidates == np.diff(sets.starts)[sets.set_of].mean()
    assert 0 <= share - found.survival < 0.05  # some gold labels are not among the 16 best


def test_survival_counts_what_the_filters_of_other_folds_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, gold = encoded()
    for most in (2, 30):
        monkeypatch.setattr("trellis.tasks.tagging.training.pruning.MOST", most)
        found, sets = learn_filter(corpus, gold, [0.9], 1)
        sizes = np.diff(sets.starts)[sets.set_of]
        n_beyond = int((sizes > most).sum())
        assert found.survival <= 1 - n_beyond / len(gold)
        if most == 30:
            assert n_beyond == 0
            assert 0.9 <= found.survival < 0.91


@pytest.mark.parametrize(("large", "knows"), [(10**6, True), (100, False)])
def test_a_filter_of_few_tokens_knows_attributes_seen_once(
    large: int, knows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trellis.tasks.tagging.training.pruning.LARGE", large)
    ids = np.arange(40, dtype=np.int32).repeat(5)
    ids[-5:] = [0, 0, 0, 0, 39]  # the last attribute is seen once
    n, gold = len(ids), ids % 7
    lists = Lists(np.arange(n + 1, dtype=np.int64), ids, np.empty(0, np.float32))
    corpus = _core.Encoded(np.arange(0, n + 1, 5, dtype=np.int64), lists, None, None, 40, 0, 7)
    starts = learn_filter(corpus, gold.astype(np.int32), [0.9], 1)[0].rows.starts
    assert (starts[-1] > starts[-2]) == knows
    assert (np.diff(starts)[:-1] > 0).all()


def test_labels_that_are_not_known_are_not_pruned() -> None:
    corpus, gold = encoded()
    gold[::7] = -1
    _, sets = learn_filter(corpus, gold, [0.8], 1)
    sizes = np.diff(sets.starts)[sets.set_of]
    assert (sizes[::7] == 30).all()
    assert sizes.mean() < 15


def test_pruning_keeps_to_the_tag_dictionary() -> None:
    tagger = trellis.train(
        TRAIN,
        target="tag",
        features=FEATURES,
        search=trellis.Search(prune=0.95, tag_dictionary=3),
    )
    words, sets = tagger.model.dictionary, candidates(tagger, DEV)
    assert words is not None
    column = DEV.column("word")
    number = {value: i for i, value in enumerate(tagger.model.vocabulary.columns[0].values)}
    for t, code in enumerate(column.codes.tolist()):
        s = words.set_of[number[list(column.values)[code]]] if list(column.values)[code] in number else 0
        allowed = words.labels[words.starts[s] : words.starts[s + 1]]
        assert set(sets.labels[sets.starts[t] : sets.starts[t + 1]]) <= set(allowed.tolist())


def test_what_a_caller_allows_overrules_the_filter() -> None:
    tagger = trellis.train(TRAIN, target="tag", features=FEATURES, search=trellis.Search(prune=0.9))
    words = DEV[0]["word"]
    assert tagger.tag(words, allowed={0: "L69"})[0] == "L69"


@pytest.mark.parametrize("prune", [-0.5, 1.5, 0, "yes", float("nan"), (), (0.9, 1.5)])
def test_share_is_checked(prune: Any) -> None:
    with pytest.raises(LearnerError, match=r"prune must be 'auto', True, False, a share above 0 and at most 1, or"):
        trellis.train(TRAIN, target="tag", features=FEATURES, search=trellis.Search(prune=prune))


def test_info_says_how_labels_are_pruned() -> None:
    tagger = trellis.train(TRAIN, target="tag", features=FEATURES, search=trellis.Search(prune=0.9))
    facts = facts_of(tagger, 0)
    assert tagger.model.filter is not None
    assert facts["prune"] == tagger.model.filter.header
    shown = " ".join(facts_text(facts, 0).split())
    assert f"at most 16; recall {tagger.model.filter.survival:.2%} on held-out data" in shown
    assert facts_of(tagger.pruned(None), 0)["prune"] is None


def test_an_older_model_has_its_candidates() -> None:
    older = trellis.train(TRAIN, target="tag", features=FEATURES)
    with pytest.raises(LearnerError, match="prune cannot be combined with init"):
        trellis.train(TRAIN, init=older, search=trellis.Search(prune=True))
    with pytest.raises(LearnerError, match="a model with pruning"):
        trellis.train(
            TRAIN, init=trellis.train(TRAIN, target="tag", features=FEATURES, search=trellis.Search(prune=True))
        )


@pytest.mark.parametrize("order", [0, 1])
def test_sums_by_lists_are_those_over_all_labels(order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At orders below 2 a CRF sums over listed labels where they are few; over a table the objective is the same."""
    found = []
    for pair in (1, 10**9):
        monkeypatch.setattr("trellis.learning.chain_problem.LISTED_PAIR", pair)
        events: list[trellis.Event] = []
        learner = trellis.CRF(epochs=6, precision="double")
        given = {"target": "tag", "features": FEATURES, "order": order, "search": trellis.Search(prune=0.95)}
        tagger = trellis.train(TRAIN, learner=learner, observer=events.append, **given)
        assert trellis.Tagger.from_bytes(tagger.to_bytes()).tag_column(DEV).codes.tolist()
        found.append([event.objective for event in events])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


class NotedFilter:
    """The native filter, and which sentences it learns from and is asked about."""

    made: ClassVar[list[NotedFilter]] = []

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.native, self.learnt, self.asked = FILTER(*arguments, **options), set[int](), set[int]()
        self.made.append(self)

    def one_pass(self, sentences: Any, **options: Any) -> None:
        self.learnt |= set(sentences.tolist())
        self.native.one_pass(sentences, **options)

    def __getattr__(self, name: str) -> Any:
        def ask(sentences: Any, *rest: Any) -> Any:
            self.asked |= set(sentences.tolist())
            return getattr(self.native, name)(sentences, *rest)

        return self.native.rows if name == "rows" else ask


FILTER = _core.Filter


def test_a_filter_prunes_sentences_that_it_was_not_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    NotedFilter.made.clear()
    monkeypatch.setattr(_core, "Filter", NotedFilter)
    corpus = {"word": [["a", "b"], ["b"], ["c", "a"], ["b", "c"]] * 3, "label": [[*"AB"], ["B"], [*"CA"], [*"BC"]] * 3}
    assert trellis.train(corpus, target="label", search=trellis.Search(prune=0.9)).model.filter is not None
    whole, *others = sorted(NotedFilter.made, key=lambda one: len(one.asked))
    everything = set(range(12))
    assert (whole.learnt, whole.asked) == (everything, set())  # the one that the model keeps
    assert len(others) == 2
    for one in others:
        assert one.learnt == everything - one.asked
    assert set.union(*(one.asked for one in others)) == everything


@pytest.mark.filterwarnings("ignore::trellis.TrellisWarning")
def test_many_labels_are_pruned_unless_something_else_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is pruned at usual numbers of labels."""
    corpus = {"word": [["a", "b"], ["b"], ["c", "a"], ["b", "c"]] * 3, "label": [[*"AB"], ["B"], [*"CA"], [*"BC"]] * 3}

    def train(**options: Any) -> trellis.Tagger:
        return trellis.train(corpus, target="label", **options)

    assert (has_too_many_labels(2000, 1), has_too_many_labels(2001, 1)) == (False, True)
    assert (has_too_many_labels(200, 2), has_too_many_labels(201, 3)) == (False, True)
    assert not has_too_many_labels(9999, 0)  # without decoding
    assert learnt(train()) == learnt(train(search=trellis.Search(prune=False)))
    monkeypatch.setattr("trellis.tasks.tagging.training.encoding.TOO_MANY", (2, 3))
    automatic, asked = train(), train(search=trellis.Search(prune=True))
    assert automatic.training.pop("prune") == "auto"
    assert learnt(automatic) == learnt(asked)
    assert automatic.model.filter is not None
    others = [
        {"search": trellis.Search(prune=False)},
        {"order": 2},
        {"order": 0},
        {"search": trellis.Search(tag_dictionary=True)},
        {"learner": "hmm"},
    ]
    for options in (*others, {"init": train(search=trellis.Search(prune=False)), "learner": trellis.Perceptron()}):
        tagger = train(**options)
        assert tagger.model.filter is None
        assert "prune" not in tagger.training


def test_pruning_is_said_on_the_command_line(monkeypatch: pytest.MonkeyPatch, here: Path, call: Any) -> None:
    monkeypatch.setattr("trellis.tasks.tagging.training.encoding.TOO_MANY", (2, 2))
    (here / "tags.txt").write_text("a A\nb B\n\nc C\na A\n")
    line = "train tags.txt --columns word,pos --model m --epochs 1"
    lines = call(line).err.splitlines()
    first = next(i for i, text in enumerate(lines) if text.startswith("training: epoch 1"))
    assert "3 labels at order 1: candidates are pruned; prune=False keeps all" in lines[:first]
    assert "3 labels at order 1: training and tagging may take hours" in call(f"{line} --learner boost").err
    assert call(f"{line} --quiet").err == ""
    assert "pruned" not in call(f"{line} --prune off").err
    assert trellis.load("m").model.filter is None
