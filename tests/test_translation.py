"""The example of phrase-based translation: each part against its definition, and the whole on a generated pair."""

from __future__ import annotations

import gzip
import itertools
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trellis
from examples.translation.__main__ import compare, main, prepare
from examples.translation.alignment import P_NULL, Aligner, Cells, align_one_way, model_1, symmetrise
from examples.translation.corpus import Pair, read_pairs
from examples.translation.decoder import Decoder
from examples.translation.features import UNTUNED, Derivation, Step, words_of
from examples.translation.generated import Dictionary, generated_pairs
from examples.translation.language_model import BEGIN, END, UNKNOWN, LanguageModel
from examples.translation.learning import SETTINGS, Setting, Translation, learn, sentence_bleu, untuned
from examples.translation.phrases import PhraseTable, spans

# ------------------------------------------------------------ alignment

WORDS = [[0, 1], [1, 2, 0], [2]]
GIVEN = [[1, 2], [2, 1], [2]]  # 0 is NULL


def test_model_1_is_em() -> None:
    """Two steps, counted by hand over dictionaries."""
    t = {(f, e): 1.0 for f in range(3) for e in range(3)}
    for _ in range(2):
        counts = Counter[tuple[int, int]]()
        for words, given in zip(WORDS, GIVEN, strict=True):
            for f in words:
                total = sum(t[f, e] for e in (0, *given))
                for e in (0, *given):
                    counts[f, e] += t[f, e] / total  # type: ignore[assignment]
        totals = {e: sum(c for (_, other), c in counts.items() if other == e) for e in range(3)}
        t = {(f, e): counts[f, e] / totals[e] for f in range(3) for e in range(3)}
    cells = Cells.of(WORDS, GIVEN, 3)
    found = model_1(cells, 2)
    # The first step of EM starts from t(f | e) that is equal for all f met with e.
    assert np.bincount(cells.given, found) == pytest.approx(np.ones(3))
    assert sorted(found) == pytest.approx(sorted(value for value in t.values() if value))


def test_hmm_is_em_over_all_alignments() -> None:
    """One step against the enumeration of all sequences of states."""
    cells = Cells.of(WORDS, GIVEN, 3)
    aligner = Aligner(cells, model_1(cells, 1))
    aligner.jump = np.arange(1.0, len(aligner.jump) + 1)
    entries, jumps = np.zeros(len(aligner.t)), np.full(len(aligner.jump), 1e-3)
    cell, best = 0, {}
    for sentence in cells.order.tolist():
        words, size = WORDS[sentence], len(GIVEN[sentence])
        entry = cells.entry[cell : cell + len(words) * (size + 1)].reshape(len(words), size + 1)
        cell += entry.size
        paths = dict[tuple[int, ...], float]()
        for path in itertools.product(range(2 * size), repeat=len(words)):
            p, before = 1.0, -1
            for j, state in enumerate(path):
                at, null = state % size, state >= size
                possible = sum(aligner.jump[i - before + aligner.longest] for i in range(size))
                jump = (1 - P_NULL) * aligner.jump[at - before + aligner.longest] / possible
                stay = P_NULL / size if before < 0 else P_NULL * (at == before)
                p *= (stay if null else jump) * aligner.t[entry[j, 0 if null else at + 1]]
                before = at
            paths[path] = p
        best[sentence] = [s if s < size else -1 for s in max(paths, key=paths.__getitem__)]
        for path, p in paths.items():
            before = -1
            for j, state in enumerate(path):
                at, null = state % size, state >= size
                entries[entry[j, 0 if null else at + 1]] += p / sum(paths.values())
                if not null:
                    jumps[at - before + aligner.longest] += p / sum(paths.values())
                before = at
    assert aligner.best() == [best[s] for s in range(len(WORDS))]
    aligner.iterate()
    assert aligner.jump == pytest.approx(jumps)
    assert aligner.t == pytest.approx(cells.normalised(entries))


def test_alignment_finds_the_words_of_a_dictionary() -> None:
    pairs = generated_pairs(300)
    backward = align_one_way([pair.target for pair in pairs], [pair.source for pair in pairs])
    found = Counter[tuple[str, str]]()
    for pair, links in zip(pairs, backward, strict=True):
        found.update((word, pair.source[j]) for word, j in zip(pair.target, links, strict=True) if j >= 0)
    words = Dictionary().words
    for noun in ("man", "horse", "tree", "sees", "near"):
        assert found[noun, words[noun]] > 0.9 * sum(n for (word, _), n in found.items() if word == noun)


def test_symmetrise() -> None:
    one, other = {(0, 0), (1, 1), (2, 3), (5, 6)}, {(0, 0), (1, 2), (2, 3), (4, 0)}
    # (1, 1) and (1, 2) are near (0, 0) and (2, 3); (4, 0) has a word that is taken; (5, 6) joins at the end.
    assert symmetrise(one, other) == {(0, 0), (1, 1), (1, 2), (2, 3), (5, 6)}
    assert symmetrise(set(), {(3, 4)}) == {(3, 4)}


# ------------------------------------------------------------ phrases and language model


def test_spans_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, m = rng.integers(1, 6, 2)
        links = {(int(j), int(i)) for j, i in zip(rng.integers(0, n, 5), rng.integers(0, m, 5), strict=True)}
        links = set(sorted(links)[: rng.integers(0, 5)])
        pair = Pair(("f",) * int(n), ("e",) * int(m))
        expected = {
            (a, b, c, d)
            for a, b in itertools.combinations(range(n + 1), 2)
            for c, d in itertools.combinations(range(m + 1), 2)
            if b - a <= 3 and d - c <= 3
            if any(a <= j < b and c <= i < d for j, i in links)
            if all((a <= j < b) == (c <= i < d) for j, i in links)
        }
        found = list(spans(pair, links, 3))
        assert set(found) == expected
        assert len(found) == len(expected)


def test_scores_of_phrase_pairs() -> None:
    pairs = [Pair(("das", "haus"), ("the", "house")), Pair(("das",), ("the",)), Pair(("das",), ("that",))]
    table = PhraseTable(pairs, [{(0, 0), (1, 1)}, {(0, 0)}, {(0, 0)}])
    the, that = table[("das",)]
    assert (the.target, the.count, that.target) == (("the",), 2, ("that",))
    assert the.scores == pytest.approx([math.log(2 / 3), 0.0, math.log(2 / 3), 0.0])
    (house,) = table[("das", "haus")]
    assert house.scores == pytest.approx([0.0, 0.0, math.log(2 / 3), 0.0])
    assert house.links == ((0, 0), (1, 1))
    # All five occurrences are monotone or follow nothing: (5 + 1) / (5 + 3), and "the" is met twice.
    assert the.orientations == pytest.approx([math.log((2 + 2 * 3 / 4) / 4), *[math.log(2 / 8 / 4)] * 2])
    assert len(table) == 4
    assert table[("katze",)] == []


@pytest.mark.parametrize("order", [2, 3, 4])
def test_probabilities_sum_to_one(order: int) -> None:
    sentences = [pair.target for pair in generated_pairs(30)]
    model = LanguageModel(sentences, order)
    words = [word for word in model.numbers if word != BEGIN]
    for sentence in (*sentences[:3], ("the", "never", "seen")):
        context = model.start
        for word in (*sentence, END):
            total = sum(model.probability(context, model.number(other)) for other in words)
            assert total == pytest.approx(1.0)
            score, context = model.score(context, model.number(word))
            assert score < 0
    assert model.number("never") == model.numbers[UNKNOWN]
    assert model.sentence_score(sentences[0]) > model.sentence_score(sentences[0][::-1])


def test_kneser_ney_by_hand() -> None:
    model = LanguageModel([("a", "b"), ("a", "b"), ("c", "b")], 2)
    # Bigrams: <s> a twice, <s> c, a b twice, c b, b </s> three times: D = 2 / (2 + 2 · 2) = 1/3.
    # Words before: a 1, c 1, b 2, </s> 1, of 5; D = 3 / (3 + 2 · 1) = 3/5, and 4 D / 5 goes to 5 words alike.
    b = (2 - 0.6) / 5 + 4 * 0.6 / 5 / 5
    expected = (2 - 1 / 3) / 2 + 1 / 3 * 1 / 2 * b
    assert model.probability(model.number("a"), model.number("b")) == pytest.approx(expected)


# ------------------------------------------------------------ search


class Plain(dict[str, float]):
    def score(self, features: dict[str, float]) -> float:
        return sum(self.get(name, 0.0) * value for name, value in features.items())


def derivations(decoder: Decoder, source: tuple[str, ...], done: Derivation = ()) -> list[Derivation]:
    """All there are."""
    covered = {j for step in done for j in range(step.start, step.end)}
    if len(covered) == len(source):
        return [done]
    found = []
    for start, end in itertools.combinations(range(len(source) + 1), 2):
        if covered.isdisjoint(range(start, end)) and end - start <= decoder.table.longest:
            for known in decoder.known(source[start:end]):
                found += derivations(decoder, source, (*done, Step(start, end, known.pair)))
    return found


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    return prepare(generated_pairs(200), beam=10, distortion=5)


def test_a_wide_beam_is_exact(decoder: Decoder) -> None:
    """Against all derivations of short sentences, with a word that no phrase has."""
    rng = np.random.default_rng(1)
    table = PhraseTable([], [])
    table.longest = 2
    wide = Decoder(table, decoder.features, 10_000, 9)
    for pair in generated_pairs(3, seed=7):
        source = (*pair.source[:3], "unheard")
        for a, b in itertools.combinations(range(len(source) + 1), 2):
            table.entries[source[a:b]] = decoder.table[source[a:b]][: 3 if b - a <= 2 else 0]
        every = derivations(wide, source)
        features = [decoder.features.of_derivation(one) for one in every]
        names = sorted({name for one in features for name in one})
        weights: Any = Plain(zip(names, rng.normal(size=len(names)), strict=True))
        scores = [weights.score(one) for one in features]
        found = wide.kbest(source, weights, 20)
        assert [weights.score(decoder.features.of_derivation(one)) for one in found] == pytest.approx(
            sorted(scores, reverse=True)[:20]
        )
        assert wide.kbest(source, weights, 1) == found[:1]
        best = max(zip(scores, range(len(every)), strict=True))[1]
        assert found[0] == every[best]
        for reference in (words_of(every[3]), (*words_of(every[3]), "the")):
            right = [score for score, one in zip(scores, every, strict=True) if words_of(one) == reference]
            reached = wide.kbest(source, weights, 1, reference)
            assert len(reached) == bool(right)
            if reached:
                assert words_of(reached[0]) == reference
                assert weights.score(decoder.features.of_derivation(reached[0])) == pytest.approx(max(right))


def test_distortion_is_a_limit(decoder: Decoder) -> None:
    source = generated_pairs(1, seed=9)[0].source
    weights: Any = Plain(UNTUNED)
    monotone = Decoder(decoder.table, decoder.features, 10, 0)
    for derivation in monotone.kbest(source, weights, 10):
        assert [step.start for step in derivation] == [0, *(step.end for step in derivation[:-1])]
    free = decoder.kbest(source, weights, 10)
    assert any([step.start for step in one] != sorted(step.start for step in one) for one in free)


# ------------------------------------------------------------ learning


def test_sentence_bleu_is_that_of_sacrebleu() -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    score = sacrebleu.BLEU(smooth_method="add-k", smooth_value=1, tokenize="none")
    pairs = generated_pairs(20)
    for one, other in itertools.product(pairs[:10], pairs[10:]):
        words, reference = (*one.target[:5], *other.target[3:]), other.target
        expected = score.sentence_score(" ".join(words), [" ".join(reference)]).score / 100
        assert sentence_bleu(words, reference) == pytest.approx(expected)
    assert sentence_bleu((), ("a",)) == 0.0
    assert sentence_bleu(("b",), ("a",)) == 0.0


def test_targets_of_the_updates(decoder: Decoder) -> None:
    weights: Any = Plain(UNTUNED)
    seen = Counter[bool]()
    for x, y in generated_pairs(20, seed=3):
        bold, local, hybrid = (
            Translation(decoder, update).target(x, y, weights) for update in ("bold", "local", "hybrid")
        )
        assert bold is None or words_of(bold) == y
        assert hybrid == (local if bold is None else bold)
        assert local is not None
        costs = [1 - sentence_bleu(words_of(z), y) for z in decoder.kbest(x, weights, 50)]
        assert 1 - sentence_bleu(words_of(local), y) == min(costs)
        seen[bold is None] += 1
    assert len(seen) == 2


def test_the_k_best_say_different_things(decoder: Decoder) -> None:
    weights: Any = Plain(UNTUNED)
    problem, source = Translation(decoder), generated_pairs(1, seed=5)[0].source
    found = problem.kbest(source, weights, 10)
    assert len({words_of(one) for one in found}) == len(found) > 1
    assert found[0] == problem.argmax(source, weights)


def test_every_learner_learns_the_generated_pair(decoder: Decoder, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sacrebleu")
    pairs = generated_pairs(40, seed=1)
    settings: dict[str, Setting | None] = {name: replace(one, scale=10.0) for name, one in SETTINGS.items()}
    settings["MIRA, local"] = Setting("local", trellis.MIRA(k=10, C=0.1, epochs=3))
    first, *learnt = rows = compare(decoder, pairs, pairs, {"untuned": None} | settings)
    assert len(learnt) == 4
    assert all(row.test > first.test + 1 for row in learnt)
    assert capsys.readouterr().out.count("\n") == len(rows)


def test_a_model_is_a_file_as_any_other(decoder: Decoder, tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu")
    pairs = generated_pairs(10, seed=1)
    model = learn(decoder, pairs[:8], SETTINGS["perceptron, local"], dev=pairs[8:])
    model.save(tmp_path / "model")
    again = trellis.StructuredModel.load(tmp_path / "model", problem=Translation(decoder))
    assert [again.predict(x) for x, _ in pairs] == [model.predict(x) for x, _ in pairs]
    assert untuned(decoder)["words"] == np.float32(UNTUNED["words"])


# ------------------------------------------------------------ files


def test_options(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sacrebleu")
    asked = list[Any]()
    monkeypatch.setattr("examples.translation.__main__.generated_pairs", lambda n, seed: generated_pairs(20, seed))
    monkeypatch.setattr("examples.translation.__main__.compare", lambda *given: asked.append(given))
    assert main(["--scale", "7", "--beam", "3", "--distortion", "2", "--learn", "perceptron, bold", "MIRA, local"]) == 0
    decoder, _, _, settings = asked.pop()
    assert (decoder.beam, decoder.distortion) == (3, 2)
    bold = replace(SETTINGS["perceptron, bold"], scale=7.0)
    assert settings == {"perceptron, bold": bold, "MIRA, local": SETTINGS["MIRA, local"]}
    assert main(["--learn", "untuned", "perceptron, bold"]) == 0
    assert asked[0][3] == {"untuned": None, "perceptron, bold": SETTINGS["perceptron, bold"]}


def test_without_sacrebleu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="2"):
        main([])
    assert "pip install -r examples/translation/requirements.txt" in capsys.readouterr().err


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sacrebleu")
    one, other = tmp_path / "one", tmp_path / "other.gz"
    one.write_text("das haus\nein hund\n")
    other.write_bytes(gzip.compress(b"the house\na dog"))
    assert read_pairs(one, other) == [(("das", "haus"), ("the", "house")), (("ein", "hund"), ("a", "dog"))]
    wrong = {
        b"the house\n": f"{tmp_path / 'wrong'}: 1 lines, and {one} has 2; line i must be the translation of line i",
        b"a\n\xff b\n": f"{tmp_path / 'wrong'}:2: not UTF-8 at byte 0",
        b"a\n \n": f"{tmp_path / 'wrong'}:2: a line without words; drop it here and in the other language",
        b"": f"{tmp_path / 'wrong'}: no sentences",
    }
    bad = tmp_path / "wrong"
    for data, message in wrong.items():
        bad.write_bytes(data)
        files = [str(one), str(bad)]
        assert main(["--train", *files, "--tune", *files, "--test", *files]) == 2
        assert capsys.readouterr().err == message + "\n"
    with pytest.raises(trellis.CorpusError, match="absent: no such file"):
        read_pairs(one, tmp_path / "absent")
    for arguments in (
        ["--train", "a", "b"],
        ["--scale", "0"],
        ["--scale", "nan"],
        ["--beam", "0"],
        ["--distortion", "-1"],
    ):
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
