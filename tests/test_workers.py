"""Training on workers: the bytes of one machine, whatever the number of workers and of files."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from equal_models import learnt
from samples import random_corpus

import trellis
from trellis.learning.workers import WorkersHere

FEATURES = ["word[0]", "word[-1] & pos[0]", "suffix(word[0], 1)", "rare_suffix(word[0], 2)", "label[-1] & word[0]"]
LEARNERS = {
    "crf": trellis.CRF(epochs=8),
    "crf, L1": trellis.CRF(epochs=8, c1=0.2),
    "crf, double": trellis.CRF(epochs=5, precision="double", warm_up=0),
    "crf, all transitions": trellis.CRF(epochs=4, transitions="all", start=False),
    "exponential": trellis.ExponentialLoss(epochs=4),
    "maxent": trellis.MaxEnt(epochs=4),
    "shards of the perceptron": trellis.Perceptron(epochs=4, shards=5, batch=2),
    "shards of MIRA": trellis.MIRA(epochs=3, k=3, shards=2, mix="uniform"),
    "shards of AROW": trellis.AROW(epochs=3, shards=7, shuffle=False),
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of some sentences, blocks of some more."""
    monkeypatch.setattr("trellis.corpus.on_disk.CHUNK", 100)
    monkeypatch.setattr("trellis.learning.parameters.BLOCK_BYTES", 0)
    monkeypatch.setattr("trellis.learning.parameters.LEAST_BLOCK", 300)


def files_of(corpus: trellis.Corpus, folder: Path, *cuts: int) -> list[Path]:
    """The corpus in several files."""
    paths, ends = list[Path](), [0, *cuts, len(corpus)]
    for i, (begin, end) in enumerate(pairwise(ends)):
        paths.append(folder / f"{i}.txt")
        trellis.write(corpus[begin:end], paths[-1])
    return paths


def both(corpus: trellis.Corpus, paths: list[Path], workers: Any, **more: Any) -> tuple[bytes, bytes]:
    """The model of one process, and that of workers."""
    given: dict[str, Any] = {"target": "label", "features": FEATURES, "learner": trellis.CRF(epochs=6), **more}
    stream = trellis.stream(paths, columns="word,pos,label")
    return learnt(trellis.train(corpus, **given)), learnt(trellis.train(stream, **given, workers=workers))


@pytest.fixture(scope="module")
def large() -> trellis.Corpus:
    """Enough tokens for several blocks."""
    corpus = random_corpus(3, 200, n_words=60, n_labels=9, longest=20)
    return corpus.take(np.flatnonzero(np.diff(corpus.starts)))  # files of columns have no empty sentences


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("block", [300, 1500])  # of which there is one that begins in most files, or in few
def test_workers_give_the_bytes_of_one_process(
    name: str, block: int, large: trellis.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trellis.learning.parameters.LEAST_BLOCK", block)
    paths = files_of(large, tmp_path, 20, 90, 95, 150)
    for n in (1, 2, 3, 9):
        one, several = both(large, paths, WorkersHere(n), learner=LEARNERS[name], features=FEATURES[:2])
        assert several == one


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"features": "default"},
        {"features": trellis.Features("default", min_count=2)},
        {"features": trellis.Features(FEATURES, pairs="all")},
        {"order": 2},
        {"order": 0, "features": FEATURES[:3]},
        {"labels": trellis.Labels(weights={"L0": 3.0})},
        {"dev": random_corpus(4, 20), "patience": 2},
        {"learner": trellis.MIRA(epochs=3, shards=3), "features": FEATURES},
        {
            "learner": trellis.Perceptron(epochs=3, shards=3),
            "order": 2,
            "features": trellis.Features(FEATURES, min_count=2),
        },
        {"learner": trellis.PassiveAggressive(epochs=3, shards=4), "labels": trellis.Labels(weights={"L0": 3.0})},
    ],
)
def test_options(more: dict[str, Any], large: trellis.Corpus, tmp_path: Path) -> None:
    one, several = both(large, files_of(large, tmp_path, 20, 90, 150), WorkersHere(3), **more)
    assert several == one


def test_keys_too_long_for_63_bits(large: trellis.Corpus, tmp_path: Path) -> None:
    """Whose first parts are numbered apart, by each worker in its own way."""
    looks = " & ".join(f"word[{i}]" for i in range(-6, 7))
    features = [looks, f"{looks} & rare_suffix(word[0], 1)"]
    one, several = both(large, files_of(large, tmp_path, 20, 90, 150), WorkersHere(3), features=features)
    assert several == one


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"learner": trellis.MIRA()}, "MIRA with these parameters does not support workers"),
        ({"learner": trellis.CRF(solver="adagrad")}, "CRF with these parameters does not support workers"),
        ({"order": 3}, "an order above 2 cannot be combined with workers"),
        ({"search": trellis.Search(tag_dictionary=True)}, "tag_dictionary cannot be combined with workers"),
        ({"segments": True, "features": FEATURES[:3]}, "segments cannot be combined with workers"),
        (
            {"features": ["word[0]", "label[-2..-1] & pos[0]"]},
            "a template of several labels cannot be combined with workers",
        ),
        ({"workers": 0}, "workers must be a number of processes"),
    ],
)
def test_what_workers_cannot_do(more: dict[str, Any], said: str, tmp_path: Path) -> None:
    corpus = random_corpus(3, 20)
    corpus = corpus.take(np.flatnonzero(np.diff(corpus.starts)))
    stream = trellis.stream(files_of(corpus, tmp_path, 5), columns="word,pos,label")
    given = {"target": "label", "features": FEATURES, "learner": trellis.CRF(), "workers": WorkersHere(2)}
    with pytest.raises(trellis.LearnerError, match=said):
        trellis.train(stream, **{**given, **more})


def test_workers_read_files(tmp_path: Path) -> None:
    corpus = random_corpus(3, 20)
    for source in (corpus, trellis.stream(lambda: [corpus])):
        with pytest.raises(trellis.LearnerError, match="stream of files; train on one, or omit workers"):
            trellis.train(source, target="label", learner=trellis.CRF(), workers=WorkersHere(2))


def test_errors_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x X A\n\n" * 5)
    (tmp_path / "b.txt").write_text("x X A\n\nx X\n")
    stream = trellis.stream([tmp_path / "a.txt", tmp_path / "b.txt"], columns="word,pos,label")
    with pytest.raises(trellis.CorpusError, match=r"b.txt:3: 2 fields"):
        trellis.train(stream, learner=trellis.CRF(), workers=WorkersHere(2), features=["word[0]"])


@pytest.mark.parametrize("name", ["crf", "maxent", "shards of the perceptron"])
def test_targets_of_two_columns(name: str, tmp_path: Path) -> None:
    """Every worker meets pairs of values in an order of its own, and one has no sentences."""
    random = np.random.default_rng(2)
    sentences = [random.integers(0, 5, n).tolist() for n in random.integers(1, 9, 60)]
    columns = {
        "word": [[f"w{i}" for i in sentence] for sentence in sentences],
        "upos": [["NVDAP"[i] for i in sentence] for sentence in sentences],
        "feats": [["_" if i == 3 else f"F={random.integers(0, 3)}" for i in sentence] for sentence in sentences],
    }
    corpus, paths = trellis.read(columns), list[Path]()
    for i, (begin, end) in enumerate([(0, 20), (20, 22), (22, 60)]):
        paths.append(tmp_path / f"{i}.txt")
        trellis.write(corpus[begin:end], paths[-1])
    stream = trellis.stream(paths, columns="word,upos,feats")
    options: dict[str, Any] = {"target": "upos+feats", "features": ["word[0]", "word[-1]"], "learner": LEARNERS[name]}
    for n in (1, 2, 3):
        several = trellis.train(stream, workers=WorkersHere(n), **options)
        assert learnt(several) == learnt(trellis.train(corpus, **options))


@pytest.mark.parametrize("name", ["crf", "shards of MIRA"])
def test_a_checkpoint_resumes_with_any_number_of_workers(name: str, large: trellis.Corpus, tmp_path: Path) -> None:
    stream = trellis.stream(files_of(large, tmp_path, 20, 90, 150), columns="word,pos,label")
    learner, path = LEARNERS[name], tmp_path / "some.checkpoint"
    options: dict[str, Any] = {"target": "label", "features": FEATURES}
    expected = learnt(trellis.train(large, learner=learner, **options))
    all_workers, epochs = [None, WorkersHere(1), WorkersHere(3), None], list[int]()
    for before, after in pairwise(all_workers):
        trellis.train(stream, learner=replace(learner, epochs=2), workers=before, checkpoint=path, **options)
        epochs.clear()
        tagger = trellis.train(
            stream,
            learner=learner,
            workers=after,
            checkpoint=path,
            observer=lambda event: epochs.append(event.epoch),
            **options,
        )
        assert epochs[0] == 3
        assert learnt(tagger) == expected
        path.unlink()
    trellis.train(stream, learner=replace(learner, epochs=2), workers=WorkersHere(2), checkpoint=path, **options)
    with pytest.raises(trellis.TrellisError, match="a checkpoint of another training"):
        trellis.train(large[1:], learner=learner, checkpoint=path, **options)


@pytest.mark.parametrize("name", ["crf", "exponential", "shards of MIRA", "shards of AROW"])
def test_sentences_without_tokens(name: str, tmp_path: Path) -> None:
    """At ends of files, as a whole file, and where blocks and shards begin."""
    words = [["a", "b", "c", "b"]] * 25  # the first file has 100 of 200 tokens
    empty: list[list[str]] = [[], []]
    parts = [words + empty, empty, empty + words[:10] + empty + words[:15], empty]  # MIRA's second shard begins there
    all_words = [sentence for part in parts for sentence in part]
    labels = [["Y" if word == "b" else "X" for word in sentence] for sentence in all_words]
    corpus = trellis.read({"word": all_words, "label": labels})
    paths, ends = list[Path](), np.cumsum([0, *map(len, parts)]).tolist()
    for i, (begin, end) in enumerate(pairwise(ends)):
        paths.append(tmp_path / f"{i}.parquet")
        trellis.write(corpus[begin:end], paths[-1])
    options: dict[str, Any] = {"target": "label", "features": ["word[0]", "word[-1]"], "learner": LEARNERS[name]}
    stream = trellis.stream(paths)
    whole = trellis.train(corpus, **options)
    assert whole.training["sentences"] == sum(map(len, parts))
    for n in (None, 1, 2, 3, 4):
        workers = None if n is None else WorkersHere(n)
        assert learnt(trellis.train(stream, workers=workers, **options)) == learnt(whole)


def test_dev_data_are_checked_as_without_workers(large: trellis.Corpus, tmp_path: Path) -> None:
    stream = trellis.stream(files_of(large, tmp_path, 20, 90), columns="word,pos,label")
    options: dict[str, Any] = {"target": "label", "features": FEATURES, "learner": trellis.CRF(epochs=2)}
    of_stream = trellis.train(stream, dev=stream, workers=WorkersHere(2), **options)
    assert of_stream.training["dev_score"] == trellis.train(stream, dev=stream, **options).training["dev_score"]
    other = trellis.read({"word": [["a"]], "pos": [["b"]], "label": [["QQ"]]})
    with pytest.raises(trellis.CorpusError, match=r"no label of the dev corpus \(QQ\) occurs in training"):
        trellis.train(stream, dev=other, workers=WorkersHere(2), **options)


def test_files_without_sentences(tmp_path: Path, call: Any) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("")
    stream = trellis.stream(str(tmp_path / "*.txt"), columns="word,label")
    with pytest.raises(trellis.LearnerError, match="no sentences to train on; give at least one"):
        trellis.train(stream, learner=trellis.CRF(), workers=WorkersHere(2))
    files = f"{tmp_path}/a.txt {tmp_path}/b.txt"
    done = call(f"train {files} --workers 2 --columns word,label --learner crf --model {tmp_path}/m")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "no sentences to train on; give at least one" in done.err
