"""CRFsuite's model files, read and written, with CRFsuite itself as the judge."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pycrfsuite
import pytest
from command_line import Done, refused

import trellis
from trellis._support.errors import ModelError

LABELS = ("B-NP", "I-NP", "O", "B-VP")


def sentences(n: int, seed: int) -> tuple[list[list[dict[str, object]]], list[list[str]]]:
    """Feature dicts with strings, numbers and booleans; labels that go by the word and by the label before."""
    rng = random.Random(seed)
    X, y = [], []
    for _ in range(n):
        words = [rng.choice(["dog", "cat", "sees", "the", "a", "große", "犬"]) for _ in range(rng.randrange(1, 8))]
        X.append(
            [
                {"w": w, "long": len(w) > 3, "length": len(w) / 2, "last": i == len(words) - 1}
                for i, w in enumerate(words)
            ]
        )
        labels = list[str]()
        for word in words:
            labels.append("B-NP" if word in ("the", "a") else "B-VP" if word == "sees" else rng.choice(["I-NP", "O"]))
        y.append(labels)
    return X, y


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("old") / "old.crfsuite"
    trainer = pycrfsuite.Trainer(verbose=False, params={"c2": 0.1, "feature.possible_transitions": True})
    for x, labels in zip(*sentences(60, 1), strict=True):
        trainer.append(x, labels)
    trainer.train(str(path))
    return path


def opened(path: Path) -> pycrfsuite.Tagger:
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def test_a_model_of_crfsuite_gives_its_labels_and_probabilities(old: Path) -> None:
    theirs, ours = opened(old), trellis.load(old)
    assert list(ours.labels) == theirs.labels()
    X, _ = sentences(50, 2)
    X.append([{"never": "seen"}, {}])
    for x in X:
        assert ours.tag(x) == theirs.tag(x)
        posterior = ours.marginals(x)
        for i in range(len(x)):
            for label in ours.labels:
                assert posterior[i].get(label, 0.0) == pytest.approx(theirs.marginal(label, i), abs=1e-6)
    assert ours.tag_batch(X) == [theirs.tag(x) for x in X]


def test_it_is_an_ordinary_tagger(old: Path, tmp_path: Path) -> None:
    ours = trellis.load(old)
    ours.save(tmp_path / "new.trellis")
    again = trellis.load(tmp_path / "new.trellis")
    X, y = sentences(20, 3)
    assert again.tag_batch(X) == ours.tag_batch(X)
    assert trellis.Tagger.from_bytes(old.read_bytes()).tag_batch(X) == ours.tag_batch(X)
    assert ours.top_features(3)
    corpus = trellis.read({"attributes": X, "label": y})
    more = trellis.train(corpus, target="label", learner=trellis.Perceptron(epochs=2), init=ours)
    assert set(ours.labels) <= set(more.labels)


def test_what_is_written_crfsuite_opens(old: Path, tmp_path: Path) -> None:
    ours, path = trellis.load(old), tmp_path / "new.crfsuite"
    ours.save(path)
    assert path.stat().st_size == old.stat().st_size
    theirs, before = opened(path), opened(old)
    assert theirs.labels() == before.labels()
    assert theirs.info().attributes.keys() == before.info().attributes.keys()
    for x in sentences(50, 4)[0]:
        assert theirs.tag(x) == before.tag(x)
        for i in range(len(x)):
            for label in LABELS:
                assert theirs.marginal(label, i) == pytest.approx(before.marginal(label, i), abs=1e-6)


def test_our_own_model_in_crfsuite(tmp_path: Path) -> None:
    X, y = sentences(40, 5)
    words = [[str(token["w"]) for token in x] for x in X]
    tagger = trellis.train(
        {"word": words, "label": y}, target="label", features=["word[0]", "word[-1]"], learner=trellis.CRF()
    )
    tagger.save(tmp_path / "own.crfsuite")
    theirs = opened(tmp_path / "own.crfsuite")
    for sentence in words:
        attributes = [[f"word[0]={w}", f"word[-1]={sentence[i - 1] if i else '_B-1'}"] for i, w in enumerate(sentence)]
        attributes[0].append("trellis:first")
        assert theirs.tag(attributes) == tagger.tag(sentence)
        again = [dict.fromkeys(token, 1.0) for token in attributes]
        assert trellis.load(tmp_path / "own.crfsuite").tag(again) == tagger.tag(sentence)


def test_what_crfsuite_cannot_hold_is_said(tmp_path: Path) -> None:
    X, _ = sentences(20, 6)
    y = [["B-NP"] + ["I-NP"] * (len(x) - 1) for x in X]
    corpus = trellis.read({"attributes": X, "label": y})
    for options, why in (
        ({"order": 2}, "three labels"),
        ({"labels": trellis.Labels(scheme="iob2")}, "forbids label pairs"),
        ({"learner": trellis.MaxEnt()}, "locally normalised"),
        ({"learner": trellis.Perceptron(vote=True)}, "votes"),
    ):
        given = {"learner": trellis.Perceptron(epochs=1)} | options
        tagger = trellis.train(corpus, target="label", features="attributes", **given)  # type: ignore[arg-type]
        with pytest.raises(ModelError, match=why):
            tagger.save(tmp_path / "x.crfsuite")
    assert not list(tmp_path.iterdir())


def test_damaged_files_are_errors(old: Path, tmp_path: Path) -> None:
    data, path = old.read_bytes(), tmp_path / "bad.crfsuite"
    rng = random.Random(7)
    for cut in (3, 4, 20, 47, 48, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(ModelError, match=r"bad\.crfsuite"):
            trellis.load(path)
    refusals = 0
    for _ in range(400):
        bad = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        try:
            trellis.Tagger.from_bytes(bytes(bad)).tag([{"w": "dog"}])
        except ModelError:
            refusals += 1
    assert refusals > 50


def packed(data: bytes) -> tuple[bytearray, list[int]]:
    """A file that can be changed, and where features, labels, attributes and their references begin."""
    return bytearray(data), list(struct.unpack_from("<5I", data, 28))


def test_features_may_come_in_any_order(old: Path) -> None:
    data, (features, *_) = packed(old.read_bytes())
    (count,) = struct.unpack_from("<I", data, features + 8)
    records = [data[features + 12 + 20 * i : features + 32 + 20 * i] for i in range(count)]
    random.Random(3).shuffle(records)
    data[features + 12 : features + 12 + 20 * count] = b"".join(records)
    X, _ = sentences(20, 8)
    ours, other = trellis.load(old), trellis.Tagger.from_bytes(bytes(data))
    assert other.to_bytes() == ours.to_bytes()
    assert other.tag_batch(X) == ours.tag_batch(X)


def test_hostile_files_are_errors(old: Path) -> None:
    whole = old.read_bytes()

    def rejects(data: bytearray, why: str) -> None:
        with pytest.raises(ModelError, match=why) as error:
            trellis.Tagger.from_bytes(bytes(data)).to_bytes()  # which reads what opening a model leaves in the file
        assert "\n" not in str(error.value)

    def records(data: bytearray, at: int) -> list[int]:
        """Where the records of a table of strings begin, by their ids."""
        n, links = struct.unpack_from("<II", data, at + 16)
        return [at + place for place in struct.unpack_from(f"<{n}I", data, at + links)]

    def slots(data: bytearray, at: int) -> list[int]:
        """Where the used slots of the hash tables of strings are."""
        tables = struct.iter_unpack("<II", data[at + 24 : at + 24 + 8 * 256])
        places = [at + begin + 8 * slot for begin, n in tables for slot in range(n)]
        return [place for place in places if struct.unpack_from("<I", data, place + 4)[0]]

    def change(data: bytearray, place: int, by: int) -> None:
        struct.pack_into("<I", data, place, struct.unpack_from("<I", data, place)[0] + by)

    for chunk, what in ((1, "label"), (2, "attribute")):
        data, at = packed(whole)
        size, places = struct.unpack_from("<I", data, at[chunk] + 4)[0], records(data, at[chunk])
        for place in places:  # all reach to the end of the table
            struct.pack_into("<I", data, place + 4, at[chunk] + size - place - 8)
        rejects(data, f"{what}.* (damaged|UTF-8)")
        for offset, number, why in ((0, 7, "is damaged"), (4, 0, "is damaged"), (4, 1 << 31, "is damaged")):
            data, at = packed(whole)
            struct.pack_into("<I", data, records(data, at[chunk])[1] + offset, number)
            rejects(data, f"{what} 1 .* {why}")
        for number in (0, size, (1 << 32) - 1):
            data, at = packed(whole)
            (links,) = struct.unpack_from("<I", data, at[chunk] + 20)
            struct.pack_into("<I", data, at[chunk] + links + 4, number)
            rejects(data, f"{what} 1 .* nowhere")
        data, at = packed(whole)
        data[records(data, at[chunk])[1] + 8] = 0xFF
        rejects(data, f"{what} 1 .* UTF-8")
        data, at = packed(whole)
        first, second = (records(data, at[chunk])[i] for i in (0, 1))
        if data[first + 4] == data[second + 4]:
            data[second + 8 : second + 8 + data[first + 4]] = data[first + 8 : first + 8 + data[first + 4]]
            rejects(data, "duplicate label")
        data, at = packed(whole)
        heads = [at[chunk] + 24 + 8 * i for i in range(256)]
        struct.pack_into("<I", data, heads[9] + 4, 1 << 29)  # the number of slots of a hash table
        rejects(data, f"{what}s .* damaged")
        data, at = packed(whole)
        used = slots(data, at[chunk])
        change(data, used[0] + 4, 1)
        rejects(data, f"{what}s .* damaged")
        change(data, used[1] + 4, -1)  # the sum of all offsets is right again
        trellis.Tagger.from_bytes(bytes(data)).tag_batch(sentences(20, 9)[0])  # any labels
        data, at = packed(whole)
        struct.pack_into("<I", data, 16 + 4 * chunk, 1 << 31)  # how many there are
        rejects(data, f"{what}s .* damaged")
    for offset, number, why in (
        (0, 9, "unknown kind"),
        (4, 1 << 30, "unknown attribute or label"),
        (8, 1 << 30, "unknown label"),
        (16, 0x7FF00000, "no number"),
    ):
        data, at = packed(whole)
        struct.pack_into("<I", data, at[0] + 12 + offset, number)
        rejects(data, why)
    for offset in range(28, 40, 4):
        for place in (len(whole) - 2, (1 << 32) - 1):
            data, _ = packed(whole)
            struct.pack_into("<I", data, offset, place)
            rejects(data, "early|damaged")


def test_convert(old: Path, tmp_path: Path, call: Callable[..., Done]) -> None:
    new, back = tmp_path / "new.trellis", tmp_path / "back.crfsuite"
    done = call(f"convert -m {old} --output {new}")
    assert done.code == 0
    assert "4 labels" in done.err
    assert call(f"convert -m {new} --output {back} --quiet").err == ""
    assert opened(back).labels() == opened(old).labels()
    (tmp_path / "text").write_text("no model")
    refused(call(f"convert -m {tmp_path / 'text'} --output {tmp_path / 'x'}"), "text")
    refused(call(f"convert -m {old} --output {old}"), "would overwrite")
    refused(call(f"convert -m {old} --output {tmp_path}/none/x"), "no such folder")
