"""Reranking: lists, features of whole sequences, what the oracle is, one file, the command line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import COLUMNS, Done, refused

import trellis
from trellis._support.tensor_file import read_tensors, write_tensors
from trellis.corpus.schemes import spans
from trellis.tasks.reranking.features import GlobalFeatures
from trellis.tasks.reranking.lists import Candidate, KBestList, cost_named, kbest_lists, report, segments_of
from trellis.tasks.reranking.model import FORMAT

Call = Callable[..., Done]


def one_verb(n: int, seed: int) -> dict[str, list[list[str]]]:
    """Sentences with one verb each: the word with the highest number, which no look at single words tells."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 10, (n, 5))
    labels = [["V" if t == row.argmax() else "N" for t in range(5)] for row in numbers]
    return {"word": [[f"w{i}" for i in row] for row in numbers], "tag": labels}


def by_words(part: trellis.Corpus) -> trellis.Tagger:
    return trellis.train(part, target="tag", features=["word[0]"], learner=trellis.CRF(c2=0.1), order=0)


LEARNERS = [
    trellis.Perceptron(epochs=5),
    trellis.Perceptron(epochs=3, vote=True),
    trellis.PassiveAggressive(epochs=5),
    trellis.MIRA(epochs=5),
    trellis.MIRA(epochs=5, k=3),
    trellis.AROW(epochs=5),
    trellis.CRF(c2=0.1),
    trellis.ExponentialLoss(),
    trellis.HMSVM(solver="frank-wolfe", epochs=5),
]


@pytest.fixture(scope="module")
def lists() -> list[KBestList]:
    return trellis.held_out_lists(one_verb(200, 0), by_words, k=8, folds=4)


@pytest.fixture(scope="module")
def tagger() -> trellis.Tagger:
    return by_words(trellis.read(one_verb(200, 0)))


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_whole_sequences_tell_what_words_do_not(
    lists: list[KBestList], tagger: trellis.Tagger, learner: trellis.Learner
) -> None:
    test = trellis.read(one_verb(200, 1))
    reranker = trellis.Reranker.train(lists, tagger=tagger, learner=learner, k=8, features=["score", "counts"])
    found = reranker.evaluate(test)
    assert found.first.token_accuracy < 0.9
    assert found.token_accuracy > found.first.token_accuracy + 0.05
    assert found.token_accuracy <= found.oracle.token_accuracy


def test_counts_are_what_helps(lists: list[KBestList], tagger: trellis.Tagger) -> None:
    """With the score alone the tagger's choice stays; one verb outweighs none and two."""
    test = trellis.read(one_verb(50, 1))
    alone = trellis.Reranker.train(lists, tagger=tagger, k=8, features=["score"])
    assert alone.tag_batch(test) == tagger.tag_batch(test)
    model = trellis.Reranker.train(lists, tagger=tagger, k=8, features=["score", "counts"]).model
    assert model["counts: V=1"] > max(model["counts: V=2"], 0)
    assert model["score"] > 0


def test_scores_are_in_units_of_the_typical_gap(lists: list[KBestList], tagger: trellis.Tagger) -> None:
    """The mean difference between the first and the second candidate, so that taggers of any scale are alike."""
    gaps = [one.candidates[0].score - one.candidates[1].score for one in lists if len(one.candidates) > 1]
    gap = sum(gaps) / len(gaps)
    assert not 0.9 < gap < 1.1
    reranker = trellis.Reranker.train(lists, tagger=tagger, features=["score"])
    assert reranker.problem.scale == pytest.approx(gap)
    first, second = lists[0].candidates[:2]
    features = features_of(reranker.problem.features, lists[0], reranker.problem.scale, 1)
    assert features["score"] == pytest.approx((second.score - first.score) / gap)
    alone = [replace(one, candidates=one.candidates[:1]) for one in lists]
    assert trellis.Reranker.train(alone, tagger=tagger, features=["score"]).problem.scale == 1.0


def test_the_best_epoch_on_held_out_sentences_is_kept(tagger: trellis.Tagger, lists: list[KBestList]) -> None:
    dev = trellis.read(one_verb(60, 2))
    held_out = kbest_lists(tagger, dev, 8, dev.sentences("tag"))
    how: dict[str, Any] = {"k": 8, "features": ["score", "types", "counts"]}
    epochs = [
        trellis.Reranker.train(lists, tagger=tagger, learner=trellis.Perceptron(epochs=n, average=False), **how)
        for n in range(1, 6)
    ]
    scores = [report(held_out, one.choose(held_out)) for one in epochs]
    shares = [one.token_accuracy for one in scores if one is not None]
    kept = trellis.Reranker.train(
        lists, tagger=tagger, learner=trellis.Perceptron(epochs=5, average=False), dev=held_out, **how
    )
    assert [event["dev_score"] for event in kept.model.training["history"]] == pytest.approx(shares)
    assert kept.choose(held_out) == epochs[shares.index(max(shares))].choose(held_out)
    again = trellis.Reranker.train(
        one_verb(40, 0), tagger=by_words, learner=trellis.Perceptron(epochs=9), k=4, folds=2, dev=dev, patience=1
    )
    assert len(again.model.training["history"]) < 9
    with pytest.raises(trellis.ArgumentError, match="dev must be candidate lists with gold labels"):
        trellis.Reranker.train(lists, tagger=tagger, dev=[])


# ------------------------------------------------------------ lists

CHUNKS = trellis.read(
    {
        "word": [["the", "dog", "saw", "a", "big", "cat"], ["dogs", "run"], ["cats", "saw", "the", "dog"]] * 4,
        "chunk": [["B-NP", "I-NP", "B-VP", "B-NP", "I-NP", "I-NP"], ["B-NP", "B-VP"], ["B-NP", "B-VP", "B-NP", "I-NP"]]
        * 4,
    }
)


def chunker(part: trellis.Corpus) -> trellis.Tagger:
    return trellis.train(part, target="chunk", features=["word[0]", "word[-1]"], learner=trellis.Perceptron(epochs=2))


def test_no_list_comes_from_a_tagger_that_saw_its_sentence() -> None:
    corpus = trellis.read({"word": [[f"w{i}"] for i in range(7)], "tag": [["A" if i % 2 else "B"] for i in range(7)]})
    seen = list[set[str]]()

    def noted(part: trellis.Corpus) -> trellis.Tagger:
        seen.append({word for sentence in part.sentences("word") for word in sentence})
        return by_words(part)

    found = trellis.held_out_lists(corpus, noted, k=2, folds=3)
    assert [one.candidates[0].sentence["word"] for one in found] == corpus.sentences("word")
    assert [one.gold for one in found] == [tuple(labels) for labels in corpus.sentences("tag")]
    everything = {f"w{i}" for i in range(7)}
    assert [everything - words for words in seen] == [{"w0", "w3", "w6"}, {"w1", "w4"}, {"w2", "w5"}]


def test_segments_are_spans_and_single_tokens() -> None:
    labels = ["O", "O", "B-NP", "I-NP", "B-NP", "I-VP", "O"]
    found = segments_of(labels, {}, spans=True)
    assert found == (("O", 0, 1), ("O", 1, 2), ("NP", 2, 4), ("NP", 4, 5), ("VP", 5, 6), ("O", 6, 7))
    assert [one for one in found if one.type != "O"] == spans(labels)
    assert segments_of(["N", "N"], {}, spans=False) == (("N", 0, 1), ("N", 1, 2))
    assert segments_of([], {}, spans=True) == ()


def test_the_oracle_is_the_cheapest_candidate_of_every_list() -> None:
    found = trellis.held_out_lists(CHUNKS[:3], chunker, k=6, folds=3)
    right = missed = false = 0
    for one in found:
        gold = set(spans(one.gold or ()))
        best = min((set(spans(z.labels)) for z in one.candidates), key=lambda z: len(gold ^ z))
        right, missed, false = right + len(gold & best), missed + len(gold - best), false + len(best - gold)
    told = report(found)
    assert told.oracle.has_spans
    assert told.oracle.f1 == pytest.approx(2 * right / (2 * right + missed + false))
    assert told.oracle.headline > told.first.headline
    assert "oracle" in str(told)
    assert told.to_dict()["tagger"]["f1"] == told.first.f1 == told.f1


def test_costs() -> None:
    z = Candidate({}, ("B-NP", "O", "B-VP"), segments_of(("B-NP", "O", "B-VP"), {}, spans=True), 0.0, 0)
    gold = ("B-NP", "I-NP", "B-VP")
    assert cost_named("tokens", gold)(gold, z) == 1
    assert cost_named("spans", gold)(gold, z) == cost_named("auto", gold)(gold, z) == 2
    for given, right in ((("B-O", "I-O", "O"), ("B-O", "O", "O")), (("I", "I", "O"), ("B", "I", "B"))):
        other = replace(z, labels=given, segments=segments_of(given, {}, spans=True))
        assert cost_named("spans", gold)(right, other) == len(set(spans(given)) ^ set(spans(right)))
    assert cost_named("auto", ("N",))(("N", "N", "O"), replace(z, labels=("N", "V", "N"))) == 2


# ------------------------------------------------------------ features


def naive(z: Candidate, scale: float, best: float) -> Counter[str]:
    """Some of the default features, read off their definition."""
    n = len(z.labels)
    words = list(z.sentence["word"])
    line = [trellis.Segment("<s>", 0, 0)] * 2 + list(z.segments) + [trellis.Segment("</s>", n, n)] * 2
    out: Counter[str] = Counter()
    for i in range(2, len(line) - 2):
        types = [one.type for one in line]
        here = " ".join(words[line[i].begin : line[i].end])
        out[f"type[-2..2]={'|'.join(types[i - 2 : i + 3])}"] += 1
        out[f"type[0] & word[0]={types[i]}|{here}"] += 1
        out[f"type[-1..0] & length[-1..0]={types[i - 1]}|{types[i]}"] += 0
        after = words[line[i + 1].begin : line[i + 1].end]
        before = words[line[i - 1].begin : line[i - 1].end]
        whole = [types[i], before[-1] if before else "", here, after[0] if after else ""]
        out[f"type[0] & last(word[-1]) & word[0] & first(word[1])={'|'.join(whole)}"] += 1
        out[f"type[2]={types[i + 2]}"] += 1
    out["score"] = (z.score - best) / scale  # type: ignore[assignment]
    return out


def features_of(features: GlobalFeatures, found: KBestList, scale: float, rank: int) -> Counter[str]:
    """All features of a candidate: its own, and those on the edges that it shares with others."""
    parts = features.parts(found.candidates, scale)
    edge = parts.graph.n_edges - len(found.candidates) + rank
    out: Counter[str] = Counter()
    for e in (edge, *parts.graph.tails_of(edge)):
        out.update(parts.features[e])  # type: ignore[arg-type]
    return out


def test_features_differ_between_candidates_as_their_definition_says() -> None:
    chosen = ["score", "type[-2..2]", "type[0] & word[0]", "type[2]"]
    chosen.append("type[0] & last(column[-1]) & column[0] & first(column[1])")
    features = GlobalFeatures(chosen, ("word",))
    for one in kbest_lists(chunker(CHUNKS), CHUNKS[:3], 12):
        found = [features_of(features, one, 2.0, rank) for rank in range(len(one.candidates))]
        full = [naive(z, 2.0, one.candidates[0].score) for z in one.candidates]
        for rank in range(1, len(one.candidates)):
            for name in {*found[0], *found[rank], *full[0], *full[rank]}:
                ours = found[0][name] - found[rank][name]
                assert ours == pytest.approx(full[0][name] - full[rank][name]), name


class Unpacked:
    """Lists as candidates, each with all its features: the reference for packed lists."""

    def __init__(self, features: GlobalFeatures, scale: float) -> None:
        self.given, self.scale, self.of = features, scale, cost_named("auto", ("N", "V"))

    def candidates(self, x: KBestList) -> list[int]:
        return list(range(len(x.candidates)))

    def features(self, x: KBestList, y: int) -> dict[str, float]:
        return dict(features_of(self.given, x, self.scale, y))

    def cost(self, x: KBestList, y: Any, z: int) -> float:
        return self.of(y, x.candidates[z])


@pytest.mark.parametrize("learner", [trellis.CRF(c2=0.1, tolerance=1e-9), trellis.MIRA(epochs=2)], ids=repr)
def test_a_packed_list_teaches_what_its_candidates_teach(
    lists: list[KBestList], tagger: trellis.Tagger, learner: trellis.Learner
) -> None:
    packed = trellis.Reranker.train(
        lists[:40], tagger=tagger, learner=learner, k=8, features=["score", "types", "counts"]
    )
    problem = Unpacked(packed.problem.features, packed.problem.scale)
    plain = trellis.StructuredModel.train([(one, one.gold) for one in lists[:40]], problem=problem, learner=learner)
    assert set(plain.names) == set(packed.model.names)
    for one in lists[40:60]:
        ours = dict(packed.model.kbest(one, 8))
        theirs = dict(plain.kbest(one, 8))
        assert ours == pytest.approx(theirs, rel=1e-3, abs=1e-3)


def test_a_function_of_ones_own(lists: list[KBestList], tagger: trellis.Tagger, tmp_path: Path) -> None:
    def verbs(candidate: Candidate) -> dict[str, float]:
        return {"how many": candidate.labels.count("V"), "one": candidate.labels.count("V") == 1}

    reranker = trellis.Reranker.train(lists, tagger=tagger, k=8, features=["score", verbs])
    assert reranker.model["verbs: one"] > 0
    test = trellis.read(one_verb(50, 1))
    reranker.save(tmp_path / "m")
    again = trellis.Reranker.load(tmp_path / "m", functions=[verbs])
    assert again.tag_batch(test) == reranker.tag_batch(test) != tagger.tag_batch(test)
    with pytest.raises(trellis.ModelError, match=r"the feature verbs\(\) is a function, .*functions="):
        trellis.Reranker.load(tmp_path / "m")


class Has:
    """Whether a label is there."""

    def __init__(self, label: str) -> None:
        self.label = label

    def __call__(self, candidate: Candidate) -> list[str]:
        return [self.label] * (self.label in candidate.labels)


def counts(candidate: Candidate) -> list[str]:
    return ["1"]


@pytest.mark.parametrize(
    ("features", "name"),
    [
        ([lambda z: ["a"], lambda z: ["b"]], "<lambda>"),
        ([Has("N"), "score", Has("V")], "Has"),
        (["counts", counts], "counts"),
    ],
)
def test_functions_of_one_name_are_an_error(
    lists: list[KBestList], tagger: trellis.Tagger, features: Any, name: str
) -> None:
    with pytest.raises(trellis.ArgumentError, match=f"two feature functions have the name {name}; give one of them"):
        trellis.Reranker.train(lists[:9], tagger=tagger, features=features)


def test_functions_with_names_of_their_own(lists: list[KBestList], tagger: trellis.Tagger, tmp_path: Path) -> None:
    noun, verb = Has("N"), Has("V")
    noun.__name__, verb.__name__ = "noun", "verb"  # type: ignore[attr-defined]
    found = trellis.Reranker.train(lists, tagger=tagger, k=8, features=[noun, verb, noun])
    assert {"noun: N", "verb: V"} == set(found.model.names)
    found.save(tmp_path / "m")
    assert trellis.Reranker.load(tmp_path / "m", functions=[verb, noun]).model["verb: V"] == found.model["verb: V"]
    with pytest.raises(trellis.ModelError, match=r"functions must be a list of functions, such as .*, not <"):
        trellis.Reranker.load(tmp_path / "m", functions=noun)  # type: ignore[arg-type]
    with pytest.raises(trellis.ModelError, match="two functions have the name Has"):
        trellis.Reranker.load(tmp_path / "m", functions=[Has("N"), Has("V")])


@pytest.mark.parametrize(
    ("gives", "why"),
    [
        (3, "feature function broken must return a list of names or a dict from names to numbers"),
        (None, "not None"),
        ("V", "not 'V'"),
        ([1, 2], r"not \[1, 2\]"),
        ({1: 2.0}, "the name of a feature must be a string, not 1"),
        ({"a": [1]}, "must have a number"),
        ({"a": "1"}, "must have a number"),
        (["\ud800"], r"feature 'broken: \\ud800': a lone surrogate cannot be saved"),
    ],
)
def test_a_function_gives_names_or_a_dict(lists: list[KBestList], tagger: trellis.Tagger, gives: Any, why: str) -> None:
    def broken(candidate: Candidate) -> Any:
        return gives if candidate.rank == 1 else []

    with pytest.raises(trellis.TrellisError, match=why) as told:
        trellis.Reranker.train(lists[:9], tagger=tagger, features=["score", broken])
    assert "broken" in str(told.value)
    assert "\n" not in str(told.value)


def test_lists_have_the_columns_of_the_tagger(lists: list[KBestList], tagger: trellis.Tagger) -> None:
    data = one_verb(9, 0)
    other = trellis.train({"w": data["word"], "tag": data["tag"]}, target="tag", features=["w[0]"])
    with pytest.raises(trellis.ArgumentError, match="lists must have the columns of the tagger; 0 has word, not w"):
        trellis.Reranker.train(lists, tagger=other)
    corpus = trellis.read({"w": data["word"], "tag": data["tag"]})
    dev = kbest_lists(other, corpus, 2, corpus.sentences("tag"))
    with pytest.raises(trellis.ArgumentError, match="dev must have the columns of the tagger; 0 has w, not word"):
        trellis.Reranker.train(lists, tagger=tagger, dev=dev)


@pytest.mark.parametrize(
    ("features", "why"),
    [
        (["scores"], "unknown feature 'scores'; use one of score, rank, types"),
        (["type[0] & pos[0]"], "no column 'pos'; the columns are type, length, word"),
        (["first(type[0])"], "no column 'type'"),
        (["first(word[0]"], "unknown feature"),
        (["type[1..0]"], "the lower one first"),
        (["type[99]"], "offsets must be from -20 to 20"),
        ([], "not empty"),
        ([3], "names, templates or functions, not 3"),
    ],
)
def test_features_that_make_no_sense(lists: list[KBestList], tagger: trellis.Tagger, features: Any, why: str) -> None:
    with pytest.raises(trellis.TrellisError, match=r".") as told:
        trellis.Reranker.train(lists[:2], tagger=tagger, features=features)
    assert why in str(told.value)
    assert "\n" not in str(told.value)


# ------------------------------------------------------------ the reranker


def test_k_best_and_explanations_agree(lists: list[KBestList], tagger: trellis.Tagger) -> None:
    reranker = trellis.Reranker.train(lists, tagger=tagger, k=8)
    sentence = ["w9", "w8", "w1", "w2", "w3"]
    best = reranker.kbest(sentence, 8)
    assert best[0][0] == reranker.tag(sentence) == ["V", "N", "N", "N", "N"]
    assert [score for _, score in best] == sorted((score for _, score in best), reverse=True)
    assert sorted(labels for labels, _ in best) == sorted(labels for labels, _ in tagger.kbest(sentence, 8))
    assert reranker.kbest(sentence, 2) == best[:2]
    why = reranker.explain(sentence)
    assert why.second is not None
    assert [(one.output, one.score) for one in (why, why.second)] == best[:2]
    for one in (why, why.second):
        assert sum(term.weight for term in one.terms) == pytest.approx(one.score)
    assert reranker.tag([]) == []
    assert "k 8, tagger Tagger(" in repr(reranker)


def test_sentences_are_given_as_to_the_tagger() -> None:
    data = {"word": [["a", "b"], ["b", "a"]] * 3, "pos": [["x", "y"], ["y", "x"]] * 3, "tag": [["A", "B"]] * 6}

    def two_columns(part: trellis.Corpus) -> trellis.Tagger:
        return trellis.train(part, target="tag", features=["word[0]", "pos[0]"])

    reranker = trellis.Reranker.train(data, tagger=two_columns, k=3, folds=2)
    assert any("pos[0]" in name for name in reranker.model.names)
    wanted = reranker.tag([("a", "x"), ("b", "y")])
    assert reranker.tag({"word": ["a", "b"], "pos": ["x", "y"]}) == wanted
    assert reranker.tag_batch(trellis.read(data))[0] == wanted
    assert reranker.tag_batch(sentence for sentence in [[("a", "x"), ("b", "y")]]) == [wanted]
    assert reranker.tag_corpus(trellis.read(data)).column("tag").tolist()[:2] == wanted
    with pytest.raises(trellis.CorpusError, match="has no 'pos'"):
        reranker.tag({"word": ["a"]})


def test_the_same_bits_on_any_number_of_threads(tmp_path: Path) -> None:
    files = []
    for n in (1, 2, 3):
        reranker = trellis.Reranker.train(
            CHUNKS,
            tagger=chunker,
            learner=trellis.Perceptron(epochs=3, shuffle=True, seed=7),
            k=6,
            folds=3,
            n_threads=n,
        )
        reranker.save(tmp_path / "m")
        files.append((tmp_path / "m").read_bytes())
    assert files[0] == files[1] == files[2]
    reranker = trellis.Reranker.train(
        CHUNKS, tagger=chunker, learner=trellis.Perceptron(epochs=3, shuffle=True, seed=8), k=6, folds=3
    )
    reranker.save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() != files[0]


def test_a_file_has_all_of_it(tmp_path: Path) -> None:
    reranker = trellis.Reranker.train(CHUNKS, tagger=chunker, k=6, folds=3)
    reranker.save(tmp_path / "m")
    again = trellis.Reranker.load(tmp_path / "m")
    assert again.tag_batch(CHUNKS) == reranker.tag_batch(CHUNKS)
    assert again.kbest(["the", "cat"]) == reranker.kbest(["the", "cat"])
    assert (again.k, again.cost, again.info, again.tagger.labels) == (6, "auto", reranker.info, reranker.tagger.labels)
    assert again.training["lists"]["oracle"] >= again.training["lists"]["first"]
    with pytest.raises(trellis.ModelError, match=r"a reranker, not a tagger; open it with trellis\.load"):
        trellis.Tagger.load(tmp_path / "m")
    assert trellis.load(tmp_path / "m") == reranker
    reranker.tagger.save(tmp_path / "t")
    with pytest.raises(trellis.ModelError, match="a tagger, not a reranker"):
        trellis.Reranker.load(tmp_path / "t")


HOSTILE: list[tuple[str, Callable[[dict[str, Any], dict[str, Any]], object]]] = [
    ("k", lambda tensors, text: text.update(k=0)),
    ("k", lambda tensors, text: text.update(k="many")),
    ("k", lambda tensors, text: text.update(k=10**30)),
    ("scale", lambda tensors, text: text.update(scale=0.0)),
    ("scale", lambda tensors, text: text.update(scale=1e-320)),
    ("scale", lambda tensors, text: text.update(scale=float("nan"))),
    ("cost", lambda tensors, text: text.update(cost="what")),
    ("unknown feature", lambda tensors, text: text.update(features=["nothing"])),
    ("features", lambda tensors, text: text.update(features=[["type[0]"]])),
    ("features", lambda tensors, text: text.update(features=7)),
    ("notes", lambda tensors, text: text.update(info=[])),
    ("training record", lambda tensors, text: text.update(training=[])),
    ("weights", lambda tensors, text: tensors.update(weights=tensors["weights"] * np.float32(np.nan))),
    ("weights", lambda tensors, text: tensors.update(weights=tensors["weights"][:-1])),
    ("tagger", lambda tensors, text: tensors.pop("tagger")),
    ("not a trellis model", lambda tensors, text: tensors.update(tagger=tensors["tagger"][:100])),
    ("not a trellis model", lambda tensors, text: tensors.update(tagger=np.roll(tensors["tagger"], 1))),
    ("", lambda tensors, text: tensors.update({"names.starts": tensors["names.starts"][::-1].copy()})),
]


@pytest.mark.parametrize(("why", "change"), HOSTILE)
def test_hostile_files_are_errors(tmp_path: Path, why: str, change: Callable[..., object]) -> None:
    reranker = trellis.Reranker.train(CHUNKS, tagger=chunker, k=3, folds=2, features=["score", "types"])
    reranker.save(tmp_path / "m")
    opened = read_tensors(tmp_path / "m", "a reranker")
    tensors, text = dict(opened.tensors), json.loads(opened.text)
    change(tensors, text)
    write_tensors(tmp_path / "m", FORMAT, tensors, json.dumps(text))
    with pytest.raises(trellis.ModelError) as told:
        trellis.Reranker.load(tmp_path / "m")
    assert why in str(told.value)
    assert str(told.value).count(str(tmp_path / "m")) == 1
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"k": 0}, "k must be a whole number from 1"),
        ({"folds": 1}, "folds must be a whole number of at least 2, not 1"),
        ({"folds": 13}, "folds must be a whole number from 2 to 12"),
        ({"cost": "f1"}, "cost must be 'auto' or 'tokens' or 'spans', not 'f1'"),
        ({"learner": trellis.MaxEnt()}, "MaxEnt supports chains only"),
        ({"learner": "hmm"}, "HMM supports chains only"),
        ({"learner": "svm"}, "unknown learner 'svm'"),
        ({"learner": 3}, "learner must be a learner"),
        ({"learner": trellis.Perceptron(update="early")}, "update has an effect only with a beam"),
        ({"patience": 1}, "patience needs a dev corpus"),
        ({"dev": CHUNKS, "patience": 0}, "patience must be a whole number of at least 1"),
        ({"dev": {"word": [], "chunk": []}}, "no sentences to compare epochs on"),
        ({"n_threads": 0}, "n_threads must be"),
        ({"observer": 3}, "observer must be a function"),
        ({"features": ["nope"]}, "unknown feature 'nope'"),
        ({"features": ["pos[0]"]}, "no column 'pos'"),
        ({"tagger": {"target": "chunk"}}, "tagger must be a function that trains one"),
    ],
)
def test_settings_that_make_no_sense_are_told_before_any_training(settings: dict[str, Any], why: str) -> None:
    def untrained(part: trellis.Corpus) -> trellis.Tagger:
        raise AssertionError

    with pytest.raises(trellis.TrellisError) as told:
        trellis.Reranker.train(CHUNKS, **{"tagger": untrained, "folds": 2, **settings})
    assert why in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"features": ["chunk[0]"]}, "no column 'chunk'; the columns are type, length, word"),
        ({"dev": {"word": [["a"]]}}, "no column 'chunk'"),
        ({"dev": {"chunk": [["O"]]}}, "no column 'word'"),
    ],
)
def test_what_a_tagger_tells_is_checked_with_the_first(settings: dict[str, Any], why: str) -> None:
    calls = list[int]()

    def counted(part: trellis.Corpus) -> trellis.Tagger:
        calls.append(len(part))
        return chunker(part)

    with pytest.raises(trellis.TrellisError, match=why):
        trellis.Reranker.train(CHUNKS, tagger=counted, folds=2, **settings)
    assert calls == [6]
    with pytest.raises(trellis.ArgumentError, match="needs span labels such as B-NP; omit cost, or use"):
        trellis.Reranker.train(one_verb(9, 0), tagger=lambda part: calls.append(0) or by_words(part), cost="spans")  # type: ignore[func-returns-value]
    assert calls == [6, 0]
    with pytest.raises(trellis.ArgumentError, match=r"the value of tagger\(corpus\) must be a Tagger"):
        trellis.Reranker.train(CHUNKS, tagger=lambda part: None)  # type: ignore[arg-type, return-value]


def test_lists_have_their_folds(lists: list[KBestList], tagger: trellis.Tagger) -> None:
    with pytest.raises(trellis.LearnerError, match="folds has no effect on candidate lists"):
        trellis.Reranker.train(lists, tagger=tagger, folds=3)


def test_a_learner_by_its_name(lists: list[KBestList], tagger: trellis.Tagger) -> None:
    named, given = (
        trellis.Reranker.train(lists[:20], tagger=tagger, learner=one, k=8).model for one in ("mira", trellis.MIRA())
    )
    assert named.names == given.names
    assert [named[name] for name in named.names] == [given[name] for name in given.names]
    assert (
        trellis.Reranker.train(CHUNKS, tagger=chunker, learner="arow", k=2, folds=2).model.training["learner"]["name"]
        == "AROW"
    )


def test_spans_are_not_counted_where_there_are_none(lists: list[KBestList], tagger: trellis.Tagger) -> None:
    with pytest.raises(trellis.ArgumentError, match="needs span labels such as B-NP; omit cost, or use"):
        trellis.Reranker.train(lists, tagger=tagger, cost="spans")
    with pytest.raises(trellis.ArgumentError, match="gold labels"):
        report(kbest_lists(tagger, [["w1"]], 2))
    with pytest.raises(trellis.ArgumentError, match="gold labels"):
        trellis.Reranker.train([], tagger=tagger)


# ------------------------------------------------------------ the command line


def test_command_line_round_trip(here: Path, call: Call) -> None:
    train = "train --task rerank train.txt --columns word,pos,chunk --features chunking --epochs 2 --kbest 4"
    train += " --reranker-folds 3"
    done = call(f"{train} --reranker mira --reranker-set epochs=2 --dev test.txt --model r --json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["lists"]["sentences"] == 12
    assert told["lists"]["first"] <= told["lists"]["oracle"] <= 1
    assert "oracle" in done.err
    assert all(0 <= event["dev_score"] <= 1 for event in told["history"])
    assert call("predict --model r test.txt --output tagged.txt").code == 0
    reranker = trellis.Reranker.load("r")
    wanted = [
        label for labels in reranker.tag_batch(trellis.read("test.txt", columns="word,pos,chunk")) for label in labels
    ]
    tagged = [line.split()[-1] for line in (here / "tagged.txt").read_text().splitlines() if line]
    assert tagged == wanted
    piped = call("predict --model r", COLUMNS)
    assert piped.out == (here / "tagged.txt").read_text()
    told = json.loads(call("evaluate --model r test.txt --json").out)
    assert told["tagger"]["f1"] <= told["headline"] == told["micro_avg"]["f1"] <= told["oracle"]["f1"]
    assert "oracle" in call("evaluate --model r test.txt").out
    (here / "train.jsonl").write_text('{"word": ["the", "dog"], "tag": ["D", "N"]}\n' * 4)
    train = (
        "train --task rerank train.jsonl --target tag --features default --kbest 2 --reranker-folds 2 --model j --quiet"
    )
    assert call(f"{train} --reranker-features score,counts").code == 0
    assert call("predict --model j train.jsonl --output out.jsonl").code == 0
    assert json.loads((here / "out.jsonl").read_text().splitlines()[0])["tag"] == ["D", "N"]
    assert call("predict --model j train.jsonl").out == (here / "out.jsonl").read_text()


def test_the_extension_of_an_output_tells_its_format_as_in_tag(here: Path, call: Call, chunk: Path) -> None:
    train = "train --task rerank train.txt --columns word,pos,chunk --features chunking --kbest 3"
    train += " --reranker-folds 2 --model r --quiet"
    assert call(train).code == 0
    wanted = trellis.Reranker.load("r").tag_batch(trellis.read("test.txt", columns="word,pos,chunk"))
    for name in ("o.jsonl", "o.parquet", "o.feather", "o.tsv", "o.jsonl.gz"):
        assert call(f"predict --model r test.txt --output {name} --quiet").code == 0
        named = {"columns": "word,pos,chunk"} if ".tsv" in name else {}
        assert trellis.read(name, **named).sentences("chunk") == wanted
        assert call(f"predict --model chunk.trellis test.txt --output t.{name} --quiet").code == 0
        ours, theirs = (trellis.read(file, **named) for file in (name, f"t.{name}"))
        assert list(ours.columns) == list(theirs.columns)
    refused(call("predict --model r test.txt --output o.conllu"), "CoNLL-U has no column 'chunk'")
    refused(
        call("predict --model r test.txt --output o.json"),
        "o.json: give --json to write JSON lines",
    )
    assert not list(here.glob("o.json")) + list(here.glob("o.conllu"))
    refused(call("predict --model r o.parquet"), "parquet cannot be written to standard output; give --output FILE")
    assert call("predict --model r o.parquet --output back.tsv --quiet").code == 0
    assert trellis.read("back.tsv", columns="word,pos,chunk").sentences("chunk") == wanted


@pytest.mark.parametrize(
    ("options", "name", "value"),
    [
        ("--order 3 --beam 3", "search", trellis.Search(beam=3)),
        ("--segments 4 --learner crf", "segments", trellis.Segments(4)),
        ("--prune 0.9", "search", trellis.Search(prune=(0.9,))),
        ("--tag-dictionary 2", "search", trellis.Search(tag_dictionary=2)),
        ("--pairs seen", "features", trellis.Features(pairs="seen")),
        ("--label-parts -", "labels", trellis.Labels(parts="-")),
        ("--shuffle --seed 4 --set batch=2", "learner", trellis.MIRA(epochs=2, shuffle=True, seed=4, batch=2)),
    ],
)
def test_options_of_the_tagger_are_those_of_train(
    here: Path, call: Call, monkeypatch: pytest.MonkeyPatch, options: str, name: str, value: Any
) -> None:
    seen = list[Any]()
    train = trellis.Tagger.train.__func__  # type: ignore[attr-defined]

    def noted(kind: type, part: trellis.Corpus, **given: Any) -> trellis.Tagger:
        seen.append(given[name])
        return train(kind, part, **given)  # type: ignore[no-any-return]

    monkeypatch.setattr(trellis.Tagger, "train", classmethod(noted))
    epochs = "" if "crf" in options else "--epochs 2"
    done = call(
        "train --task rerank train.txt --columns word,pos,chunk --kbest 2 --reranker-folds 2 --model r -q "
        f"{epochs} {options}"
    )
    assert done.code == 0, done.err
    assert seen == [value] * 3
    assert call("predict --model r test.txt -q").code == 0


def test_command_line_mistakes_are_one_line(here: Path, call: Call, chunk: Path) -> None:
    train = "train --task rerank train.txt --columns word,pos,chunk --quiet"
    refused(call(train), "--model")
    refused(call(f"{train} --model r --reranker-folds 1"), "folds must be a whole number of at least 2")
    refused(call(f"{train} --model r --reranker-folds 99"), "folds must be")
    refused(call(f"{train} --model r --reranker-features scores"), "unknown feature 'scores'")
    refused(call(f"{train} --model r --reranker maxent"), "MaxEnt")
    refused(call(f"{train} --model r --reranker-set C"), "--reranker-set C: write key=value", "--reranker-set epochs=5")
    refused(call(f"{train} --model r --reranker-set d=3"), "no parameter 'd'")
    refused(call(f"{train} --model no/where"), "no such folder")
    refused(call(f"{train} --model r --patience 2"), "patience")
    refused(call("predict --model absent test.txt"), "absent: no such file")
