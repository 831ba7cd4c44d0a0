"""Training on streams: blocks that are read again in every epoch give what the whole corpus gives, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from command_line import COLUMNS, UPOS
from equal_models import learnt
from samples import random_corpus

import trellis
from trellis._support.errors import CorpusError, LearnerError, ModelError
from trellis.corpus.corpus import Corpus

FEATURES = ["word[0]", "word[-1]", "pos[0] & word[0]", "suffix(word[0], 1)"]
LEARNERS = {
    "perceptron": trellis.Perceptron(epochs=3, shuffle=False),
    "voted": trellis.Perceptron(epochs=2, vote=True, shuffle=False),
    "passive-aggressive": trellis.PassiveAggressive(epochs=2, shuffle=False),
    "mira": trellis.MIRA(epochs=2, k=3, shuffle=False),
    "arow": trellis.AROW(epochs=2, shuffle=False),
}


def blocks_of(corpus: Corpus, *cuts: int) -> Callable[[], Iterable[Corpus]]:
    ends = [0, *cuts, len(corpus)]
    return lambda: (corpus[a:b] for a, b in pairwise(ends))


def both(corpus: Corpus, *cuts: int, **more: Any) -> tuple[bytes, bytes]:
    """The model of the whole corpus, and that of its blocks."""
    given = {"target": "label", "features": FEATURES, "learner": trellis.Perceptron(shuffle=False), **more}
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


def test_shuffling_is_within_blocks() -> None:
    learner = trellis.Perceptron(epochs=3)
    corpus = random_corpus(4, 20)
    whole, one_block = both(corpus, learner=learner)
    assert one_block == whole
    whole, two_blocks = both(corpus, 10, learner=learner)
    assert two_blocks != whole
    assert two_blocks == both(corpus, 10, learner=learner)[1]


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
            learner=trellis.Perceptron(epochs=4, shuffle=False),
            checkpoint=tmp_path / "checkpoint",
            observer=observe,
        )
        return learnt(tagger)

    assert train(8, stop_after=2) != both(corpus, learner=trellis.Perceptron(epochs=4, shuffle=False))[0]
    assert train(8) == both(corpus, learner=trellis.Perceptron(epochs=4, shuffle=False))[0]
    with pytest.raises(ModelError, match="another training"):
        train(9)


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
        assert sentences(stream) == list(corpus)
        assert stream.columns == tuple(corpus.columns)
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
    options = "--columns word,pos,chunk --features chunking --epochs 2 --no-shuffle --quiet"
    assert call(f"train both.txt {options} --model whole.trellis").code == 0
    assert call(f"train --stream train.txt test.txt {options} --model blocks.trellis --block 1").code == 0
    blocks, whole = (trellis.Tagger.load(here / f"{name}.trellis") for name in ("blocks", "whole"))
    assert learnt(blocks) == learnt(whole)
    assert call(f"train --stream t*.txt {options} --model blocks.trellis --learner crf").code == 2
    said = call(f"train train.txt test.txt {options} --model blocks.trellis")
    assert (said.code, said.err) == (0, "")
    assert (here / "blocks.trellis").read_bytes() == (here / "whole.trellis").read_bytes()
    assert "--stream; give both" in call(f"train train.txt --block 4 {options} --model x.trellis").err


# ------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"learner": trellis.CRF()}, "CRF needs the whole corpus in memory"),
        ({"learner": trellis.KernelPerceptron()}, "KernelPerceptron needs the whole corpus in memory"),
        ({"sample_weight": [1.0] * 12}, "sample_weight needs the whole corpus"),
        ({"search": trellis.Search(tag_dictionary=True)}, "tag_dictionary needs the whole corpus"),
        ({"features": trellis.Features(pairs="seen")}, "pairs needs the whole corpus"),
        ({"init": trellis.train(random_corpus(1), target="label")}, "init needs the whole corpus"),
        (
            {
                "features": trellis.Features(["label[-1] & word[0]"], min_count=2),
            },
            "min_count on templates of label pairs",
        ),
        ({"features": trellis.Features(min_count=1000)}, "leaves no feature"),
    ],
)
def test_what_needs_the_whole_corpus_is_rejected(more: dict[str, Any], said: str) -> None:
    with pytest.raises(LearnerError, match=said):
        trellis.train(trellis.stream(blocks_of(random_corpus(6), 5)), target="label", **more)


def test_streams_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no file matches this pattern"):
        trellis.stream(str(tmp_path / "*.txt"))
    with pytest.raises(CorpusError, match="can be read only once"):
        trellis.stream("-")
    with pytest.raises(CorpusError, match="names of files or a function"):
        trellis.stream(3)
    with pytest.raises(CorpusError, match="no tokens in it"):
        trellis.train(trellis.stream(lambda: []), target="label")
    one, other = random_corpus(1), trellis.read({"word": [["a"]], "label": [["L0"]]})
    with pytest.raises(CorpusError, match="the columns word, label, where others have word, pos, label"):
        trellis.train(trellis.stream(lambda: [one, other]), target="label")


def test_sentences_that_change_between_passes() -> None:
    passes = iter([random_corpus(1), random_corpus(1), random_corpus(2), random_corpus(3)])
    with pytest.raises(CorpusError, match="other sentences than in the pass before"):
        trellis.train(trellis.stream(lambda: [next(passes)]), target="label")


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
