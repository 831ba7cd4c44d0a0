"""Two passes over documents: what the first says elsewhere, counted by hand, and models of two passes as one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damaged import save_model
from hypothesis import given, settings
from hypothesis import strategies as st

import trellis
from trellis._support.errors import CorpusError, LearnerError, ModelError
from trellis.corpus.corpus import Column, Strings
from trellis.learning.fit import Fit
from trellis.tasks.tagging.chain_model import FIRST_PASS
from trellis.tasks.tagging.documents import elsewhere, word_column
from trellis.tasks.tagging.train import train_once
from trellis.tasks.tagging.training.documents import part_bounds

# In every document the name is plain once ("Mr X") and unclear once ("X went" beside "rain went").
NAMES = [f"Name{i}" for i in range(24)]
LINES = [
    line
    for i, name in enumerate(NAMES)
    for line in (
        "-DOCSTART- O",
        "",
        "Mr O" if i % 2 else "In O",
        f"{name} {'B-PER' if i % 2 else 'B-LOC'}",
        "",
        "then O",
        f"{name} {'B-PER' if i % 2 else 'B-LOC'}",
        "went O",
        "",
    )
]
FEATURES = ["word[-1]", "word[1]", "shape(word[0])"]


@pytest.fixture
def corpus(tmp_path: Path) -> trellis.Corpus:
    (tmp_path / "names.txt").write_text("\n".join(LINES))
    return trellis.read(tmp_path / "names.txt", columns="word,name")


def train(corpus: Any, **more: Any) -> trellis.Tagger:
    learner = more.pop("learner", trellis.Perceptron(shuffle=False))
    return trellis.train(corpus, target="name", features=FEATURES, learner=learner, documents=True, **more)


# ---------------------------------------------------------------------------- held-out labels


def test_no_model_labels_sentences_it_has_learnt_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second pass learns from labels that models of other sentences gave, and these have not seen the words."""
    words = [[f"w{i}", f"w{i}"] for i in range(10)]
    labels = [["A", "A"] if i % 2 else ["B", "B"] for i in range(10)]
    corpus, parts = trellis.read({"word": words, "name": labels}), list[trellis.Corpus]()

    def train(fit: Fit, part: trellis.Corpus) -> trellis.Tagger:
        parts.append(part)
        return train_once(fit, part)

    monkeypatch.setattr("trellis.tasks.tagging.training.documents.train_once", train)
    trellis.train(corpus, target="name", features=["word[0]"], order=0, documents=True)
    first, *others, second = parts
    assert trellis.train(first, target="name", features=["word[0]"]).tag_batch(words) == labels
    held_out = [set(first.column("word").tolist()) - set(part.column("word").tolist()) for part in others]
    assert sorted(word for part in held_out for word in part) == sorted(f"w{i}" for i in range(10))
    # To a model that has seen none of its words, one sentence is as another.
    elsewhere = dict(zip([sentence[0] for sentence in words], second.sentences(FIRST_PASS[0]), strict=True))
    for part in held_out:
        assert len({tuple(elsewhere[word]) for word in part}) == 1


# ---------------------------------------------------------------------------- counting


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.sampled_from(["O", "B-X", "I-X", "B-Y"]))))
def test_majorities_are_counted(tokens: list[tuple[int, str, str]]) -> None:
    groups = np.array([group for group, _, _ in tokens], np.int64)
    labels = ["O", "B-X", "I-X", "B-Y"]
    words = Column(np.array(["ab".index(word) for _, word, _ in tokens], np.int32), Strings.of("ab"))
    column = Column(np.array([labels.index(label) for _, _, label in tokens], np.int32), Strings.of(labels))
    found = elsewhere(words, column, groups).tolist()
    for t, (group, word, _) in enumerate(tokens):
        others = [one for u, one in enumerate(tokens) if u != t and one[:2] == (group, word)]
        counts = Counter(label.removeprefix("B-").removeprefix("I-") for _, _, label in others)
        most = max(counts.values(), default=0)
        assert found[t] == min((kind for kind, n in counts.items() if n == most), default="no other")


def test_labels_that_mark_no_spans_count_whole() -> None:
    words, labels = (
        Column(np.zeros(3, np.int32), Strings.of(["a"])),
        Column(np.array([0, 1, 1], np.int32), Strings.of(["N", "V"])),
    )
    assert elsewhere(words, labels, np.zeros(3, np.int64)).tolist() == ["V", "N", "N"]


def test_documents(corpus: trellis.Corpus, tmp_path: Path) -> None:
    assert len(set(corpus.document_numbers().tolist())) == 24
    assert set(trellis.read([["a"], ["b"]]).document_numbers().tolist()) == {0}
    lines = [f"1\t{word}\t{word}\tN\t_\t_\t0\troot\t_\t_\n\n" for word in "abc"]
    text = f"# newdoc id = a\n{lines[0]}# text = b\n{lines[1]}# newdoc\n{lines[2]}"
    (tmp_path / "a.conllu").write_text(text)
    assert np.diff(trellis.read(tmp_path / "a.conllu").document_numbers()).tolist() == [0, 1]


def test_parts_end_where_documents_do() -> None:
    assert part_bounds(np.repeat(np.arange(6), 10)).tolist() == [0, 10, 20, 40, 50, 60]
    assert part_bounds(np.zeros(10, np.int64)).tolist() == [0, 2, 4, 6, 8, 10]
    assert part_bounds(np.zeros(3, np.int64)).tolist() == [0, 1, 2, 3]
    with pytest.raises(LearnerError, match="at least two sentences"):
        part_bounds(np.zeros(1, np.int64))


# ---------------------------------------------------------------------------- models


def test_what_is_plain_elsewhere_is_known_here(corpus: trellis.Corpus) -> None:
    once = trellis.train(corpus, target="name", features=FEATURES, learner=trellis.Perceptron(shuffle=False))
    tagger = train(corpus)
    assert tagger.columns == ("word",)
    for title, label in (("Mr", "B-PER"), ("In", "B-LOC")):
        document = [[title, "Unheard"], ["then", "Unheard", "went"]]
        assert tagger.tag_batch(document)[1] == ["O", label, "O"]
        assert tagger.tag_batch([{"word": words} for words in document])[1] == ["O", label, "O"]
    # Alone, or with one pass, both would be given the same label.
    assert tagger.tag(["then", "Unheard", "went"]) == tagger.tag_batch([["then", "Unheard", "went"]])[0]
    assert len({tuple(once.tag_batch([[t, "Unheard"], ["then", "Unheard", "went"]])[1]) for t in ("Mr", "In")}) == 1
    assert tagger.evaluate(corpus).token_accuracy > once.evaluate(corpus).token_accuracy


def test_all_doors_take_two_passes(corpus: trellis.Corpus) -> None:
    tagger, document = train(corpus, learner=trellis.CRF(c2=0.1)), [["Mr", "X"], ["then", "X", "went"]]
    wanted = tagger.tag_batch(document)
    assert tagger.tag_column(trellis.read(document)).tolist() == [label for labels in wanted for label in labels]
    assert [paths[0][0] for paths in tagger.kbest_batch(document, 2)] == wanted
    assert [m.node.shape for m in tagger.marginals_batch(document)] == [
        (2, len(tagger.labels)),
        (3, len(tagger.labels)),
    ]
    assert "same_word[0]=" in str(tagger.explain(["Mr", "X", "then", "X", "went"]))
    assert len(tagger.tag_batch([])) == 0
    assert tagger.tag([]) == []
    with pytest.raises(CorpusError, match="token 1"):
        tagger.tag_batch([["a", 3]])


def test_one_file_and_the_same_bits(corpus: trellis.Corpus, tmp_path: Path) -> None:
    tagger = train(corpus, dev=corpus, patience=2, n_threads=1)
    tagger.save(tmp_path / "m")
    copy, document = trellis.load(tmp_path / "m"), [["Mr", "X"], ["then", "X", "went"]]
    assert copy.to_bytes() == tagger.to_bytes() == train(corpus, dev=corpus, patience=2, n_threads=2).to_bytes()
    assert copy.tag_batch(document) == tagger.tag_batch(document)
    assert copy.constrained("iob2").tag_batch(document) == tagger.tag_batch(document)
    assert copy.training["document_features"] == ["same_word[0]", "same_word_in_corpus[0]"]
    raw = (tmp_path / "m").read_bytes()
    (tmp_path / "cut").write_bytes(raw[: len(raw) // 2])
    with pytest.raises(ModelError):
        trellis.load(tmp_path / "cut")


def test_passes_that_do_not_fit_are_refused(corpus: trellis.Corpus, tmp_path: Path) -> None:
    tagger = train(corpus)
    other = corpus.with_column("pos", corpus.column("word"))
    bad: list[Any] = [None]
    for features in (["pos[0]"], ["word[0]", "pos[0]"], ["bias"]):
        bad.append(trellis.train(other, target="name", features=features).model)
    bad.append(tagger.model)
    for first in bad:
        save_model(replace(tagger.model, first=first), tmp_path / "m")
        with pytest.raises(ModelError):
            trellis.load(tmp_path / "m")
    for record in (
        {"learner": "x"},
        {"history": None},
        {"history": [3]},
        {"history": [{}]},
        {"history": [{"epoch": []}]},
    ):
        changed = replace(tagger.model, training={**tagger.training, **record})
        save_model(changed, tmp_path / "m")
        with pytest.raises(ModelError):
            trellis.load(tmp_path / "m")


def test_columns_and_attributes_beside_words() -> None:
    rows = {
        "word": [["Mr", "X"], ["X", "went"]] * 6,
        "attributes": [[["a"], ["b"]], [["b"], []]] * 6,
        "y": [["O", "PER"], ["PER", "O"]] * 6,
    }
    tagger = trellis.train(rows, target="y", features=["word[-1]", "attributes[0]"], documents=True)
    assert tagger.tag([("Mr", ["a"]), ("X", ["b"])]) == ["O", "PER"]


def test_from_the_command_line(corpus: trellis.Corpus, tmp_path: Path, call: Any) -> None:
    names, model = tmp_path / "names.txt", tmp_path / "m"
    (tmp_path / "features").write_text("\n".join(FEATURES))
    options = f"--columns word,name --features {tmp_path}/features --learner perceptron --no-shuffle --documents"
    assert call(f"train {names} --model {model} {options} --quiet").code == 0
    documents = [
        f"-DOCSTART- O\n\n{a} O\n{b} O\n\nthen O\n{b} O\nwent O\n\n" for a, b in (("Mr", "New"), ("In", "Old"))
    ]
    text = "".join(documents)
    (tmp_path / "new.txt").write_text(text)
    said = call(f"predict {tmp_path}/new.txt --model {model} --quiet").out
    assert [line.split()[-1] for line in said.splitlines() if line.startswith(("New", "Old"))] == ["B-PER"] * 2 + [
        "B-LOC"
    ] * 2
    assert said.count("-DOCSTART-") == 2
    assert "2, over documents" in call(f"info -m {model}").out
    (tmp_path / "plain.txt").write_text("Mr New.\nthen New went\n")
    said = call(f"predict {tmp_path}/plain.txt --lines --inline --model {model} --quiet").out
    assert said.splitlines()[1] == "then [PER New] went"


def test_a_file_keeps_its_bytes(corpus: trellis.Corpus, tmp_path: Path, call: Any) -> None:
    train(corpus).save(tmp_path / "m")
    (tmp_path / "odd.txt").write_text("-DOCSTART-\n\nMr\tO\nNew  O\n\n\nthen O\nNew\tO\n")
    given = f"predict {tmp_path}/odd.txt --columns word,name --model {tmp_path}/m --quiet"
    assert call(given).out == "-DOCSTART-\n\nMr\tO\tO\nNew  O B-PER\n\n\nthen O O\nNew\tO\tB-PER\n"
    assert call(f"predict --model {tmp_path}/m --quiet", given="").code == 0
    assert (
        call(f"predict {tmp_path}/odd.txt --columns word,name --model {tmp_path}/m --json --quiet").out.count("\n") == 2
    )


def test_parts_of_a_corpus_keep_its_documents(corpus: trellis.Corpus) -> None:
    some, others = next(iter(corpus.folds(3)))
    assert len(set(some.document_numbers().tolist())) == 24
    assert (np.diff(corpus.take(np.arange(10)).document_numbers()) == np.diff(corpus[:10].document_numbers())).all()
    assert len(set((corpus[:10] + corpus[:10]).document_numbers().tolist())) == 10
    assert train(others).training["document_features"] == ["same_word[0]", "same_word_in_corpus[0]"]


def test_words_are_compared_not_whatever_comes_first() -> None:
    rows = {"pos": [["N"], ["V"]] * 5, "form": [["a"], ["b"]] * 5, "y": [["A"], ["B"]] * 5}
    tagger = trellis.train(rows, target="y", features=iter(["pos[0]", "form[0]"]), documents=True)
    assert tagger.model.first is not None
    assert word_column(tagger.model.first) == "form"


def test_labels_that_a_part_lacks_may_be_weighted() -> None:
    rows = {"word": [["a"], ["b"], ["c"], ["d"], ["e"]], "y": [["X"], ["X"], ["Y"], ["X"], ["X"]]}
    for more in ({"labels": trellis.Labels(weights={"Y": 3.0})}, {"labels": trellis.Labels(costs={("Y", "X"): 3.0})}):
        assert trellis.train(rows, target="y", documents=True, **more).labels == ("X", "Y")  # type: ignore[arg-type]


def test_other_shapes_of_tokens(corpus: trellis.Corpus, tmp_path: Path) -> None:
    tagger = train(corpus)
    assert tagger.tag([("Mr",), ("X",)]) == tagger.tag(["Mr", "X"])
    assert tagger.tag_batch([[], []]) == [[], []]
    with pytest.raises(ModelError, match="two passes over documents"):
        tagger.save(tmp_path / "m.crfsuite")
    own = trellis.read({"word": [["Mr", "X"]], "same_word": [["PER", "PER"]]})
    assert tagger.tag_column(own).tolist() == tagger.tag(["Mr", "X"])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"segments": True}, "cannot be combined with segments"),
        ({"checkpoint": "c"}, "cannot be combined with checkpoint"),
        ({"documents": "yes"}, "documents"),
    ],
)
def test_what_has_no_place(corpus: trellis.Corpus, more: dict[str, Any], message: str) -> None:
    with pytest.raises(LearnerError, match=message):
        trellis.train(corpus, target="name", features=FEATURES, **{"documents": True, **more})


def test_other_refusals(corpus: trellis.Corpus) -> None:
    with pytest.raises(LearnerError, match="cannot be combined with a stream"):
        train(trellis.stream(lambda: iter([corpus])))
    with pytest.raises(LearnerError, match="cannot be combined with init"):
        trellis.train(corpus, init=train(corpus), documents=True)
    with pytest.raises(LearnerError, match="two-pass model"):
        trellis.train(corpus, init=train(corpus))
    with pytest.raises(LearnerError, match="a column 'same_word'"):
        train(corpus.with_column("same_word", corpus.column("word")))
    bags = {"attributes": [[["a"]], [["b"]]] * 5, "y": [["A"], ["B"]] * 5}
    with pytest.raises(
        LearnerError, match="documents=True needs a template that reads a column of words, such as word"
    ):
        trellis.train(bags, target="y", documents=True)
