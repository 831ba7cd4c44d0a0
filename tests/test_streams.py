"""Training on streams: tokens and attributes on disk give what the corpus in memory gives, byte for byte."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from command_line import COLUMNS, UPOS
from equal_models import learnt
from samples import random_corpus

import trellis
from trellis._support.errors import ArgumentError, CorpusError, LearnerError, ModelError
from trellis.corpus.corpus import Corpus

FEATURES = ["word[0]", "word[-1]", "pos[0] & word[0]", "suffix(word[0], 1)"]
LEARNERS = {
    "perceptron": trellis.Perceptron(epochs=3),
    "voted": trellis.Perceptron(epochs=2, vote=True),
    "passive-aggressive": trellis.PassiveAggressive(epochs=2),
    "mira": trellis.MIRA(epochs=2, k=3, batch=4),
    "arow": trellis.AROW(epochs=2),
    "crf": trellis.CRF(epochs=6),
    "crf, L1": trellis.CRF(epochs=6, c1=0.2),
    "crf, AdaGrad": trellis.CRF(epochs=3, solver="adagrad"),
    "crf, all transitions": trellis.CRF(epochs=3, transitions="all", start=False),
    "exponential": trellis.ExponentialLoss(epochs=4),
    "maxent": trellis.MaxEnt(epochs=4),
    "maxent, gis": trellis.MaxEnt(epochs=3, solver="gis"),
    "boost": trellis.SequenceBoost(epochs=5),
    "hmsvm": trellis.HMSVM(epochs=2),
}
TREES = {
    "form": [["a", "b", "c"], ["b", "a"], ["c", "a", "b"], ["a"]],
    "head": [["2", "0", "2"], ["0", "1"], ["3", "1", "0"], ["0"]],
    "deprel": [["x", "root", "y"], ["root", "x"], ["y", "x", "root"], ["root"]],
}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that corpora of some sentences have several."""
    monkeypatch.setattr("trellis.corpus.on_disk.CHUNK", 9)
    monkeypatch.setattr("trellis.corpus.corpus.CHUNK", 7)
    monkeypatch.setattr("trellis.learning.parameters.CHUNK", 5)


def blocks_of(corpus: Corpus, *cuts: int) -> Callable[[], Iterable[Corpus]]:
    ends = [0, *cuts, len(corpus)]
    return lambda: (corpus[a:b] for a, b in pairwise(ends))


def both(corpus: Corpus, *cuts: int, **more: Any) -> tuple[bytes, bytes]:
    """The model of the whole corpus, and that of its blocks."""
    given = {"target": "label", "features": FEATURES, "learner": trellis.Perceptron(), **more}
    whole = trellis.train(corpus, **given)
    return learnt(whole), learnt(trellis.train(trellis.stream(blocks_of(corpus, *cuts)), **given))


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("cuts", [(), (10,), (3, 4, 11, 11)])
def test_blocks_give_the_bytes_of_the_whole(name: str, order: int, cuts: tuple[int, ...]) -> None:
    whole, streamed = both(random_corpus(1, 20), *cuts, learner=LEARNERS[name], order=order)
    assert streamed == whole


@pytest.mark.parametrize(
    "more",
    [
        {"features": [*FEATURES, "label[-1] & word[0]", "rare_suffix(word[0], 2)"]},
        {"features": "default"},
        {"features": trellis.Features(min_count=2)},
        {"dev": random_corpus(2, 6)},
        {"dev": random_corpus(2, 6), "patience": 1, "metric": "token"},
        {"learner": trellis.MIRA(epochs=2, shuffle=False), "labels": trellis.Labels(costs={"L0": 3.0})},
        {"learner": trellis.MIRA(epochs=2), "labels": trellis.Labels(weights={"L0": 3.0})},
        {"learner": trellis.CRF(epochs=3), "sample_weight": [1.0 + i % 3 for i in range(20)]},
        {"search": trellis.Search(tag_dictionary=True)},
        {"search": trellis.Search(prune=0.5), "learner": trellis.CRF(epochs=3)},
        {"init": trellis.train(random_corpus(1), target="label", features=FEATURES)},
        {"features": trellis.Features(["word[0]", "label[-1] & word[0]"], min_count=2, pairs="seen")},
        {"features": ["word[0]", "label[-1] & word[0]", "label[-2..-1] & pos[0]"], "learner": trellis.CRF(epochs=3)},
        {"features": ["word[0]", "label[-3] & word[0]", "label[same] & pos[0]"], "search": trellis.Search(beam=4)},
        {"features": trellis.Features(pairs="all"), "n_threads": 1},
        {"order": 0},
        {"order": 3},
    ],
)
def test_what_goes_with_a_stream(more: dict[str, Any]) -> None:
    whole, streamed = both(random_corpus(3, 20), 7, 12, **more)
    assert streamed == whole


def test_partial_labels() -> None:
    labels = [["A", ""], ["", "B|C"], ["C", "A"], ["B", "B"]]
    corpus = trellis.read({"word": [["x", "y"], ["y", "z"], ["z", "x"], ["x", "x"]], "label": labels})
    features = ["word[0]", "label[-1] & word[0]"]
    whole, streamed = both(corpus, 2, features=features, labels=trellis.Labels(partial=True))
    assert streamed == whole


def test_label_parts() -> None:
    labels = [["N|Nom", "V"], ["N|Acc", "A|Nom"], ["V", "A|Acc"]]
    corpus = trellis.read({"word": [["x", "y"], ["y", "z"], ["z", "x"]], "label": labels})
    whole, streamed = both(corpus, 1, 2, features=["word[0]"], labels=trellis.Labels(parts="|"))
    assert streamed == whole


def test_schemes_hold_in_every_block() -> None:
    corpus = trellis.read({"word": [["a", "b"]] * 3, "label": [["B-X", "I-X"], ["O", "B-X"], ["O", "I-X"]]})
    whole, streamed = both(corpus[:2], 1, features=["word[0]"], labels=trellis.Labels(scheme="iob2"))
    assert streamed == whole
    with pytest.raises(CorpusError, match="'I-X' cannot follow 'O' in iob2"):
        trellis.train(
            trellis.stream(blocks_of(corpus, 2)),
            target="label",
            features=["word[0]"],
            labels=trellis.Labels(scheme="iob2"),
        )


def test_attributes_with_values() -> None:
    corpus = random_corpus(5, 20, bag=True)
    for features in (["attributes[0]", "label[-1] & attributes[0]"], ["attributes[0]", "word[0]"]):
        whole, streamed = both(corpus, 3, 12, features=features, learner=trellis.CRF(epochs=4))
        assert streamed == whole


@pytest.mark.parametrize("learner", [trellis.MIRA(epochs=2), trellis.CRF(epochs=4)])
def test_parsers(learner: Any) -> None:
    corpus = trellis.read(TREES)
    given: dict[str, Any] = {
        "learner": learner,
        "order": 1,
        "features": ["form[dep]", "form[head] & form[dep]"],
        "filter": "form[head] & form[dep]",
    }
    whole = trellis.Parser.train(corpus, **given)
    streamed = trellis.Parser.train(trellis.stream(blocks_of(corpus, 1, 2)), **given)
    assert streamed.weights.keys() == whole.weights.keys()
    assert all(np.array_equal(streamed.weights[name], array) for name, array in whole.weights.items())
    assert streamed.training == whole.training


def test_segmenters() -> None:
    lines = [["ab", "c"], ["a", "bc"], ["abc", "a"], ["b", "ca", "b"]]
    whole = trellis.Segmenter.train(lines)
    streamed = trellis.Segmenter.train(trellis.stream(lambda: ({"word": [line]} for line in lines)))
    assert learnt(streamed.tagger) == learnt(whole.tagger)


def test_a_stopped_training_resumes(tmp_path: Path) -> None:
    corpus = random_corpus(5, 20)

    def train(cut: int, stop_after: int | None = None) -> bytes:
        def observe(event: trellis.Event) -> None:
            if event.epoch == stop_after:
                raise trellis.StopTrainingError

        tagger = trellis.train(
            trellis.stream(blocks_of(corpus, cut)),
            target="label",
            features=FEATURES,
            learner=trellis.Perceptron(epochs=4),
            checkpoint=tmp_path / "checkpoint",
            observer=observe,
        )
        return learnt(tagger)

    assert train(8, stop_after=2) != both(corpus, learner=trellis.Perceptron(epochs=4))[0]
    assert train(8) == both(corpus, learner=trellis.Perceptron(epochs=4))[0]
    assert train(9) == train(8)  # wherever blocks are cut
    corpus = random_corpus(6, 20)
    with pytest.raises(ModelError, match="another training"):
        train(8)


# ------------------------------------------------------------ files


def sentences(stream: trellis.CorpusStream) -> list[Any]:
    return [sentence for block in stream for sentence in block]


@pytest.mark.parametrize("block_bytes", [1, 100, 1 << 20])
@pytest.mark.parametrize("ending", ["txt", "tsv", "parquet", "jsonl", "feather", "txt.gz"])
def test_files_are_read_in_blocks(ending: str, block_bytes: int, tmp_path: Path) -> None:
    if ending in ("parquet", "feather"):
        pytest.importorskip("pyarrow")
    (tmp_path / "all.txt").write_text(COLUMNS)
    corpus = trellis.read(tmp_path / "all.txt")
    trellis.write(corpus[:5], tmp_path / f"part0.{ending}")
    trellis.write(corpus[5:], tmp_path / f"part1.{ending}")
    for source in (str(tmp_path / f"part*.{ending}"), [tmp_path / f"part{i}.{ending}" for i in (0, 1)]):
        stream = trellis.stream(source, block_bytes=block_bytes)
        assert sentences(stream) == list(corpus)
        read = list[Any]()
        mapped = stream.corpus(lambda *bytes: read.append(bytes))  # noqa: B023
        assert list(mapped) == list(corpus)
        size = sum((tmp_path / f"part{i}.{ending}").stat().st_size for i in (0, 1))
        assert read == sorted(read)
        assert {total for _, total in read} == {size}
    if ending == "txt" and block_bytes != 100:
        assert len(list(stream)) == (12 if block_bytes == 1 else 2)


def test_conllu_and_chosen_columns(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(UPOS)
    stream = trellis.stream(tmp_path / "a.conllu", columns="form,upos", block_bytes=64)
    assert sentences(stream) == list(trellis.read(tmp_path / "a.conllu", columns="form,upos"))
    assert len(list(stream)) > 3


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_parquet_with_one_row_per_token(block_bytes: int, tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    n = 3000  # more than one batch
    table = pa.table({"id": [i // 7 for i in range(n)], "word": [f"w{i % 5}" for i in range(n)], "tag": ["T"] * n})
    parquet.write_table(table, tmp_path / "a.parquet")
    stream = trellis.stream(tmp_path / "a.parquet", sentence="id", block_bytes=block_bytes)
    assert sentences(stream) == list(trellis.read(tmp_path / "a.parquet", sentence="id"))
    assert len(list(stream)) == (4 if block_bytes == 1 else 1)


def test_command_line(here: Path, call: Any) -> None:
    (here / "both.txt").write_text(COLUMNS + "\n" + COLUMNS)
    options = "--columns word,pos,chunk --features chunking --epochs 2 --quiet"
    assert call(f"train both.txt {options} --model whole.trellis").code == 0
    assert call(f"train --stream train.txt test.txt {options} --model blocks.trellis --block 1").code == 0
    blocks, whole = (trellis.Tagger.load(here / f"{name}.trellis") for name in ("blocks", "whole"))
    assert learnt(blocks) == learnt(whole)
    for model, files in (("whole", "both.txt"), ("blocks", "--stream train.txt test.txt")):
        assert call(f"train {files} {options} --model {model}.crf --learner crf").code == 0
    assert learnt(trellis.Tagger.load(here / "blocks.crf")) == learnt(trellis.Tagger.load(here / "whole.crf"))
    said = call(f"train train.txt test.txt {options} --model blocks.trellis")
    assert (said.code, said.err) == (0, "")
    assert (here / "blocks.trellis").read_bytes() == (here / "whole.trellis").read_bytes()
    assert "--block requires --stream" in call(f"train train.txt --block 4 {options} --model x.trellis").err


# ------------------------------------------------------------ errors


def test_what_a_stream_cannot_do() -> None:
    stream = trellis.stream(blocks_of(random_corpus(6), 5))
    with pytest.raises(LearnerError, match="removes all features; use a smaller value"):
        trellis.train(stream, target="label", features=trellis.Features(min_count=1000))
    with pytest.raises(LearnerError, match="documents=True cannot be combined with a stream"):
        trellis.train(stream, target="label", documents=True)
    with pytest.raises(ArgumentError, match="is not a folder for temporary files; choose another one"):
        trellis.train(trellis.stream(blocks_of(random_corpus(6)), folder="/nowhere"), target="label")


def test_errors_name_the_file_and_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x B-X\ny I-X\n\n" * 10)
    (tmp_path / "b.txt").write_text("x B-X\ny I-X\n\n" * 10 + "z O\nx I-X\n\n")
    stream = trellis.stream([tmp_path / "a.txt", tmp_path / "b.txt"], block_bytes=30)
    with pytest.raises(CorpusError, match=r"b.txt:32: 'I-X' cannot follow 'O'"):
        trellis.train(stream, features=["word[0]"], labels=trellis.Labels(scheme="iob2"))


def test_errors_name_the_row_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"

    def said(table: pa.Table, **options: Any) -> str:
        pyarrow.parquet.write_table(table, path, row_group_size=1500)
        stream = trellis.stream(path, block_bytes=4000, **options)
        with pytest.raises(CorpusError) as raised:
            trellis.train(stream, target="label")
        with pytest.raises(CorpusError) as of_whole:
            trellis.read(path, **options)
        assert str(raised.value) == str(of_whole.value)
        return str(raised.value)

    lists = [["a", "b"]] * 3000
    missing = [*lists[:2500], None, *lists[2501:]]
    assert "misses value 2500" in said(pa.table({"word": missing, "label": lists}))
    longer = [*lists[:2600], ["a"], *lists[2601:]]
    assert "row 2600 (counted from 0)" in said(pa.table({"word": longer, "label": lists}))
    ids, words = np.repeat(np.arange(1500), 2), ["a"] * 2700 + [None] + ["b"] * 299
    of_tokens = pa.table({"s": ids, "word": words, "label": ["X"] * 3000})
    assert "misses value 2700" in said(of_tokens, sentence="s", columns="word,label")


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    corpus = random_corpus(3, 300, longest=20)
    code = (
        "import resource, sys, trellis; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "trellis.train(trellis.stream(sys.argv[1], columns='word,pos,label', folder=sys.argv[2]), target='label')"
    )
    trellis.write(corpus.take(np.flatnonzero(np.diff(corpus.starts))), tmp_path / "a.txt")
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "a.txt", tmp_path], capture_output=True, text=True, check=False
    )
    expected = f"CorpusError: {tmp_path}: no temporary file could be written there (File too large); name another"
    assert expected in done.stderr.splitlines()[-1]


def test_temporary_files_leave_nothing(tmp_path: Path) -> None:
    stream = trellis.stream(blocks_of(random_corpus(6), 5), folder=tmp_path)
    trellis.train(stream, target="label", learner=trellis.CRF(epochs=2))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("learner", [trellis.CRF(epochs=4), trellis.MIRA(epochs=2)])
def test_pages_may_be_given_back_at_any_time(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trellis._support.disk.SMALL", 1)
    monkeypatch.setattr("trellis._support.disk.PERIOD", 0.001)
    whole, streamed = both(random_corpus(1, 60), 7, 20, learner=learner)
    assert streamed == whole


def test_streams_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no file matches this pattern"):
        trellis.stream(str(tmp_path / "*.txt"))
    with pytest.raises(CorpusError, match="can be read only once"):
        trellis.stream("-")
    with pytest.raises(CorpusError, match="a stream needs file names or a function that returns blocks, not"):
        trellis.stream(3)
    with pytest.raises(CorpusError, match="no sentences to train on"):
        trellis.train(trellis.stream(lambda: []), target="label")
    one, other = random_corpus(1), trellis.read({"word": [["a"]], "label": [["L0"]]})
    with pytest.raises(CorpusError, match="the columns are word, label, but word, pos, label in other files"):
        trellis.train(trellis.stream(lambda: [one, other]), target="label")


@pytest.mark.parametrize("bag", [False, True])
def test_a_stream_has_the_digest_of_the_corpus_in_memory(bag: bool) -> None:
    corpus, digests = random_corpus(5, bag=bag), set[str]()
    for cuts in ((), (4,), (1, 7)):
        stream = trellis.stream(blocks_of(corpus, *cuts))
        digests.add(trellis.train(stream, features=FEATURES, learner="perceptron").training["digest"])
    for same in (corpus, trellis.read(list(corpus)), corpus.take(range(len(corpus)))):
        digests.add(trellis.train(same, features=FEATURES, learner="perceptron").training["digest"])
    assert len(digests) == 1
    others = [corpus[1:], random_corpus(6, bag=bag), corpus.with_column("more", corpus.column("pos"))]
    assert {trellis.train(one, features=FEATURES).training["digest"] for one in others}.isdisjoint(digests)


def test_a_stream_is_cut_after_its_last_blank_line() -> None:
    from trellis.corpus.stream import UP_TO_BLANK_LINE

    ends = {b"a\n\nb\n": 3, b"a\n\r\nb\n \t\nc\n": 9, b"\n": 1, b"\na\n": 1, b"": 0, b"a\nb\n": 0, b"a\n ": 0}
    for text, end in ends.items():  # of "a\n " perhaps not a blank line yet
        found = UP_TO_BLANK_LINE.match(text)
        assert (found.end() if found else 0) == end


@pytest.mark.parametrize(
    ("sizes", "n", "begins"),
    [
        ([60, 30, 110, 100], 3, [0, 2, 3, 4]),
        ([1, 1, 1, 1000], 3, [0, 2, 3, 4]),
        ([1000, 1, 1, 1], 3, [0, 1, 2, 4]),
        ([5, 5, 5, 5], 4, [0, 1, 2, 3, 4]),
        ([5, 5], 1, [0, 2]),
    ],
)
def test_runs_of_files_have_about_as_many_bytes(sizes: list[int], n: int, begins: list[int], tmp_path: Path) -> None:
    paths = list[Path]()
    for i, size in enumerate(sizes):
        paths.append(tmp_path / f"{i}.txt")
        paths[-1].write_text("a" * size)
    files = trellis.stream(paths).files
    assert files is not None
    assert files.runs(n) == begins
