"""A corpus that is being labelled: nothing is lost, everything can be undone, what is labelled can be learnt from."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")
from command_line import call, refused  # noqa: F401
from starlette.testclient import TestClient

import trellis
from trellis.interfaces.serve import Models
from trellis.interfaces.studio.app import make_studio
from trellis.interfaces.studio.lessons import lessons, path_features, viterbi
from trellis.interfaces.studio.workbook import ConflictError, Workbook

TEXT = "Ann\nsaw\nRome\n\nBob\nran\n\n"


def book(folder: Path, target: str = "ner", *, columns: str = "word", text: str | None = None) -> Workbook:
    path = folder / "words.txt"
    if text is not None or not path.exists():
        path.write_text(text or TEXT)
    return Workbook(str(path), trellis.read(path, columns=columns), target)


def train(one: Workbook, error: str = "") -> list[trellis.Tagger]:
    """Train, and wait for it."""
    taggers: list[trellis.Tagger] = []
    before = set(threading.enumerate())
    one.start_training(taggers.append)
    for thread in set(threading.enumerate()) - before:
        thread.join(30)
    assert (one.training.running, one.training.error) == (False, error)
    return taggers


@contextmanager
def room(path: Path, n_bytes: int) -> Iterator[None]:
    """A file may grow by n_bytes: the next line is cut short, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_what_was_done_is_there_again(tmp_path: Path) -> None:
    with book(tmp_path) as one:
        one.set(0, ["B-PER", None, None])
        one.set(0, ["B-PER", "O", "B-LOC"])
        one.set(1, ["O", "O"])
        assert (one.undo(), one.n_labelled()) == (1, 1)
    with book(tmp_path) as other:
        assert other.labels == one.labels == [["B-PER", "O", "B-LOC"], [None, None]]
        assert other.undo() is None  # of this session nothing
        assert other.warnings == []
    assert (tmp_path / "words.txt").read_text() == TEXT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["words.txt", "words.txt.studio.jsonl"]


def test_a_line_cut_short_is_not_there(tmp_path: Path) -> None:
    with book(tmp_path) as one:
        one.set(1, ["B-PER", "O"])
    whole = one.journal.path.read_bytes()
    for n in range(1, 8):  # wherever it was cut, also within the first line
        for kept in (whole, b""):
            one.journal.path.write_bytes(kept + (whole[len(kept) :] or b'{"sentence": 0, "lab')[: 2 * n])
            with book(tmp_path) as again:
                assert again.labels[1] == (["B-PER", "O"] if kept else [None, None])
                assert ["incomplete" in line for line in again.warnings] == [True]
                again.set(0, ["O", "O", "O"])
            with book(tmp_path) as again:
                assert again.labels == [["O", "O", "O"], ["B-PER", "O"] if kept else [None, None]]
                assert again.warnings == []


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    with book(tmp_path) as one:
        one.set(0, ["A", "A", "A"])
        before = one.journal.path.read_bytes()
        with room(one.journal.path, 20):
            with pytest.raises(
                trellis.CorpusError, match=r"studio.jsonl: cannot be written: File too large; not saved"
            ):
                one.set(1, ["B", "B"])
            with pytest.raises(trellis.CorpusError, match="not saved"):
                one.undo()
        assert one.journal.path.read_bytes() == before
        assert one.labels == [["A", "A", "A"], [None, None]]
        one.set(1, ["C", "C"])
        assert one.undo() == 1  # what was not saved is nothing to undo
        one.set(1, ["D", "D"])
    with book(tmp_path) as again:
        assert (again.labels, again.warnings) == ([["A", "A", "A"], ["D", "D"]], [])


class StuckFile(io.FileIO):
    """Ten bytes are written; then nothing can be, nor be taken back."""

    n_written = 0

    def write(self, data: Any) -> int:
        self.n_written = super().write(data[:10])
        raise OSError(5, "Input/output error")

    def truncate(self, size: int | None = None) -> int:
        if self.n_written:
            raise OSError(5, "Input/output error")
        return super().truncate(size)


def test_a_line_that_could_not_be_removed_is_removed_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with book(tmp_path) as one:
        one.set(0, ["A", "A", "A"])
        before = one.journal.path.read_bytes()
        monkeypatch.setattr(Path, "open", lambda path, *options, **more: StuckFile(path, "ab"))
        with pytest.raises(trellis.CorpusError, match="Input/output error"):
            one.set(1, ["B", "B"])
        monkeypatch.undo()
        assert one.journal.path.read_bytes() == before + b'{"sentence'
        one.set(1, ["C", "C"])
    with book(tmp_path) as again:
        assert (again.labels, again.warnings) == ([["A", "A", "A"], ["C", "C"]], [])


def test_a_journal_that_another_program_changed(tmp_path: Path) -> None:
    with book(tmp_path) as one:
        one.set(0, ["A", "A", "A"])
        content = one.journal.path.read_bytes()
        for changed in (content + b"x\n", content[:-5], b""):
            one.journal.path.write_bytes(changed)
            with pytest.raises(trellis.CorpusError, match="changed by another program; not saved, restart"):
                one.set(1, ["B", "B"])
            assert one.journal.path.read_bytes() == changed


HEADER = '{"format": 1, "target": "ner"}'


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("nonsense\n", "not a journal"),
        ("nonsense", "not a journal"),
        ("[]\n", "not a journal"),
        ("\n", "not a journal"),
        pytest.param("[" * 100_000 + "\n", "not a journal", id="deep"),
        ('{"format": 1, "target": ["ner"]}\n', "not a journal"),
        ('{"sentence": 0, "labels": ["A", "B", "C"]}\n', "not a journal"),
        ('{"format": 2, "target": "ner"}\n', "not a journal of this studio version"),
        (
            '{"format": 1, "target": "pos"}\n',
            "has labels of column 'pos', not 'ner'; open the studio with --target pos",
        ),
    ],
)
def test_a_journal_of_something_else_is_refused(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "words.txt.studio.jsonl").write_text(content)
    errors = []
    for _ in range(2):  # the lock is given back at once, though the error still holds what was being opened
        with pytest.raises(trellis.CorpusError, match=why) as error:
            book(tmp_path)
        errors.append(error.value)
        assert "move the file away" in str(error.value)
        assert error.value.line == 1
    assert (tmp_path / "words.txt.studio.jsonl").read_text() == content


def test_damaged_lines_are_skipped_and_kept(tmp_path: Path) -> None:
    with book(tmp_path) as one:
        one.set(0, ["A", "A", "A"])
    digest = one.journal.path.read_text().split('"')[9]
    damaged = ["nonsense", "[]", "\xff", "{}", '{"sentence": "x", "occurrence": 0, "labels": [1]}', "[" * 100_000]
    damaged += [f'{{"sentence": "{digest}", "occurrence": 0, "labels": ["\\ud800", "A", "A"]}}']
    content = one.journal.path.read_bytes() + "".join(f"{line}\n" for line in damaged).encode("latin-1")
    content += f'{{"sentence": "{digest}", "occurrence": 0, "labels": ["B"]}}\n'.encode()  # too few
    one.journal.path.write_bytes(content)
    with book(tmp_path) as again:
        assert again.labels[0] == ["A", "A", "A"]
        assert "7 damaged lines, the first in line 3; skipped, but kept" in again.warnings[0]
        assert "labels of 1 sentence that the corpus no longer has" in again.warnings[1]
        again.set(1, ["B", "B"])
        assert again.journal.path.read_bytes().startswith(content)


def test_labels_follow_their_words(tmp_path: Path) -> None:
    """Equal sentences are distinguished by their order; labels without a sentence are reported and kept."""
    text = "a\nb\n\nc\nd\n\na\nb\n\ne\nf\n\n"
    with book(tmp_path, text=text) as one:
        for number, label in enumerate("PQRS"):
            one.set(number, [label, label])
    with book(tmp_path, text="x\ny\n\n" + text) as edited:  # a sentence before all others
        assert edited.labels == [[None, None], ["P"] * 2, ["Q"] * 2, ["R"] * 2, ["S"] * 2]
        assert edited.warnings == []
    with book(tmp_path, text="e\nf\n\na\nb\n\nc\nD\n\n") as edited:  # one changed, one removed, another order
        assert edited.labels == [["S"] * 2, ["P"] * 2, [None, None]]
        assert (
            "labels of 2 sentences that the corpus no longer has; not applied, but kept in the file"
            in edited.warnings[0]
        )
        edited.set(2, ["T", "T"])
    with book(tmp_path, text=text) as again:
        assert again.labels == [["P"] * 2, ["Q"] * 2, ["R"] * 2, ["S"] * 2]


@pytest.mark.parametrize(
    ("number", "labels"),
    [(5, ["O"]), (0, ["O"]), (1, ["a b", "c"]), (1, ["", "O"]), (-1, ["O", "O"]), (1, ["\ud800", "O"])],
)
def test_what_is_no_labelling(tmp_path: Path, number: int, labels: list[str]) -> None:
    with book(tmp_path) as one:
        with pytest.raises(trellis.ArgumentError):
            one.set(number, list(labels))
        assert not one.journal.path.exists()


def test_a_target_that_no_journal_can_hold(tmp_path: Path) -> None:
    with pytest.raises(trellis.ArgumentError, match=r"target 'n\\udcff' is not valid UTF-8"):
        Workbook(str(tmp_path / "words.txt"), trellis.read({"word": [["a"]]}), "n\udcff")


def test_labels_of_the_corpus_can_be_saved_whatever_they_are(tmp_path: Path) -> None:
    corpus = trellis.read({"word": [["a", "b"]], "ner": [["two words", "x" * 101]]})
    with Workbook(str(tmp_path / "c"), corpus, "ner") as one:
        one.set(0, ["x" * 101, "two words"])
        with pytest.raises(trellis.ArgumentError, match="'three of them' is not a valid label"):
            one.set(0, ["three of them", "two words"])
    with Workbook(str(tmp_path / "c"), corpus, "ner") as one:
        assert one.labels == [["x" * 101, "two words"]]


def test_labels_that_conllu_leaves_out(tmp_path: Path) -> None:
    path = tmp_path / "raw.conllu"
    path.write_text("1\tAnn\t_\tPROPN" + "\t_" * 6 + "\n2\tran" + "\t_" * 8 + "\n\n")
    with Workbook(str(path), trellis.read(path), "upos") as one:
        assert (one.labels, one.n_labelled()) == ([["PROPN", None]], 0)


# ------------------------------------------------------------ several who label


def test_two_clients(tmp_path: Path) -> None:
    with book(tmp_path) as one:
        seen = one.revision(0)
        first = one.set(0, ["A", None, None], revision=seen, client="a")
        for stale in (seen, ""):
            with pytest.raises(ConflictError, match="sentence 1 was changed in another tab or session; not saved"):
                one.set(0, [None, None, "B"], revision=stale, client="b")
        assert one.labels[0] == ["A", None, None]
        assert one.revision(0) == first
        one.set(0, ["A", None, "B"], revision=first, client="b")
        one.set(1, ["C", "C"], revision="", client="a")
        assert one.undo("c") is None
        assert one.undo("a") == 1  # its own
        with pytest.raises(ConflictError, match="sentence 1 was changed in another tab since; undo it there first"):
            one.undo("a")
        assert (one.undo("b"), one.labels[0]) == (0, ["A", None, None])
        assert (one.undo("a"), one.labels[0]) == (0, [None, None, None])
        last = one.revision(0)
    with book(tmp_path) as again:
        assert again.revision(0) == last != seen  # a page of an earlier session is up to date or not
    with book(tmp_path, text="x\ny\nz\n\n") as edited:
        assert edited.revision(0) != seen  # as are those about other words


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with book(tmp_path):
        with pytest.raises(trellis.CorpusError) as error:
            book(tmp_path)
        place = tmp_path / "words.txt"
        assert str(error.value) == f"{place}: opened by another studio; close that studio first"
    killed = f"""
import os, signal, trellis
from trellis.interfaces.studio.workbook import Workbook
book = Workbook({str(place)!r}, trellis.read({str(place)!r}, columns="word"), "ner")
book.set(1, ["A", "A"])
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", killed], timeout=60).returncode == -9
    with book(tmp_path) as one:
        assert one.labels[1] == ["A", "A"]


@pytest.mark.skipif(
    os.geteuid() == 0 and not Path("/proc/self").exists(), reason="needs a folder that nobody can write"
)
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    corpus = trellis.read({"word": [["a"]]})
    with Workbook("/proc/self/words.txt", corpus, "ner") as one:
        with pytest.raises(trellis.CorpusError, match="cannot be written"):
            one.set(0, ["A"])
        assert one.labels == [[None]]


def test_the_least_certain_comes_first(tmp_path: Path) -> None:
    one = book(tmp_path, text="a\n\nb\n\nc\n\n")
    tagger = trellis.train(
        {"word": [["a"]] * 8 + [["b"]] * 3, "ner": [["A"]] * 8 + [["B"]] * 3},
        target="ner",
        features=["word[0]"],
        learner=trellis.CRF(),
    )
    margin = {w: tagger.kbest([w], 2)[0][1] - tagger.kbest([w], 2)[1][1] for w in "abc"}
    order = []
    for _ in range(3):
        number = one.next(tagger, None, uncertain=True)
        assert number is not None
        order.append(one.words[number][0])
        one.set(number, ["A"])
    assert order == sorted("abc", key=lambda w: margin[w])
    assert one.next(tagger, None, uncertain=True) is None


def test_in_the_order_of_the_file(tmp_path: Path) -> None:
    one = book(tmp_path)
    assert one.next(None, None, uncertain=False) == 0
    assert one.next(None, 0, uncertain=False) == 1
    assert one.next(None, 1, uncertain=False) == 0


@pytest.mark.parametrize("after", [-1, 2, 2**64])
def test_after_a_sentence_that_does_not_exist(tmp_path: Path, after: int) -> None:
    with book(tmp_path) as one, pytest.raises(trellis.ArgumentError, match=f"no sentence {after + 1}; there are 2"):
        one.next(None, after, uncertain=True)


def test_a_model_of_other_columns_gives_no_order(tmp_path: Path) -> None:
    corpus = {"word": [["a"]], "pos": [["N"]], "ner": [["A"]]}
    tagger = trellis.train(corpus, target="ner", features=["word[0]", "pos[0]"], learner=trellis.Perceptron(epochs=1))
    with book(tmp_path) as one:
        assert one.next(tagger, 0, uncertain=True) == 1


# ------------------------------------------------------------ training


def test_training_on_what_there_is(tmp_path: Path) -> None:
    with book(tmp_path) as one:
        with pytest.raises(trellis.ArgumentError, match="no labels to train on"):
            one.start_training(lambda tagger: None)
        one.set(0, ["B-PER", None, "B-LOC"])
        [tagger] = train(one)
    assert tagger.target == "ner"
    assert one.training.history
    assert one.training.epoch == len(one.training.history)
    assert one.training.held_out == 0


def test_held_out_sentences_are_not_trained_on(tmp_path: Path) -> None:
    """Every tenth whole sentence has a label and a word of its own."""
    rows = [("held", "HELD") if i % 10 == 9 else (f"w{i}", "A") for i in range(20)]
    text = "".join(f"{word} {label}\nx B\n\n" for word, label in rows)
    with book(tmp_path, columns="word,ner", text=text) as one:
        [tagger] = train(one)
        assert sorted(tagger.labels) == ["A", "B"]
        assert tagger.training["sentences"] == 18
        assert one.training.held_out == 2
        assert {event["dev_score"] for event in one.training.history} == {0.5}
        one.set(0, ["A", None])  # 19 whole ones are too few
        assert sorted(train(one)[0].labels) == ["A", "B", "HELD"]
        assert one.training.held_out == 0
        assert not any("dev_score" in event for event in one.training.history)


def test_labels_with_bars(tmp_path: Path) -> None:
    labels = ["Case=Nom|Number=Plur", "Tense=Pres|VerbForm=Fin"]
    text = "".join(f"dogs {labels[0]}\nbark {labels[1]}\n\n" for _ in range(3))
    with book(tmp_path, "feats", columns="word,feats", text=text) as one:
        one.set(0, [labels[0], None])
        one.set(1, [labels[0], labels[1]])
        [tagger] = train(one)
        assert sorted(tagger.labels) == labels
        assert tagger.tag(["dogs", "bark"]) == labels
        assert one.export("tsv") == "".join(f"dogs\t{labels[0]}\nbark\t{labels[1]}\n\n" for _ in range(2)).encode()


@pytest.mark.parametrize(
    ("error", "message", "in_thread"),
    [
        (MemoryError(), "MemoryError", True),
        (RuntimeError("no room"), "RuntimeError: no room", True),
        (trellis.CorpusError("f", 3, "too few"), "f:3: too few", True),
        (RuntimeError("can't start new thread"), "RuntimeError: can't start new thread", False),
    ],
)
def test_a_training_that_fails_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str, in_thread: bool
) -> None:
    def fail(*parts: Any, **options: Any) -> None:
        raise error

    with book(tmp_path) as one:
        one.set(0, ["A", "A", "A"])
        monkeypatch.setattr("trellis.tasks.tagging.train.train" if in_thread else "threading.Thread.start", fail)
        assert train(one, message) == []
        monkeypatch.undo()
        assert train(one)[0].labels == ("A",)


# ------------------------------------------------------------ out


def test_export(tmp_path: Path) -> None:
    one = book(tmp_path)
    with pytest.raises(trellis.ArgumentError, match="no completely labelled sentence"):
        one.export("conll")
    one.set(1, ["B-PER", "O"])
    assert one.export("conll") == b"Bob B-PER\nran O\n\n"
    assert one.export("tsv") == b"Bob\tB-PER\nran\tO\n\n"
    assert json.loads(one.export("jsonl")) == {"word": ["Bob", "ran"], "ner": ["B-PER", "O"]}
    assert one.export("csv") == b"sentence,word,ner\n1,Bob,B-PER\n1,ran,O\n"
    assert one.export("conllu").startswith(b"1\tBob\t_\tB-PER\t")
    assert one.export("crfsuite") == b"B-PER\tword=Bob\nO\tword=ran\n\n"
    for format in ("parquet", "feather"):
        (tmp_path / f"out.{format}").write_bytes(one.export(format))
        assert trellis.read(tmp_path / f"out.{format}").sentences("ner") == [["B-PER", "O"]]


# ------------------------------------------------------------ requests of the page

NAMES = {
    "word": [["Ann", "saw", "Rome"], ["Bob", "ran"], ["New", "York"]],
    "ner": [["B-PER", "O", "B-LOC"], ["B-PER", "O"], ["B-LOC", "I-LOC"]],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that allows IOB2 alone, called studio."""
    path = tmp_path_factory.mktemp("models") / "studio.trellis"
    trellis.train(NAMES, target="ner", learner=trellis.CRF(epochs=10), labels=trellis.Labels(scheme="iob2")).save(path)
    return path


@contextmanager
def asked(one: Workbook, models: Models) -> Iterator[Any]:
    """A function that asks the studio: the status, and the answer."""

    def ask(name: str, **body: Any) -> tuple[int, dict[str, Any]]:
        answer = client.post(f"/studio/api/label/{name}", json=body)
        return answer.status_code, answer.json()

    with one, TestClient(make_studio(models, book=one), "http://localhost") as client:
        yield ask


def test_two_tabs(tmp_path: Path, model: Path) -> None:
    with asked(book(tmp_path), Models([str(model)])) as ask:
        seen = ask("next", number=1)[1]["revision"]
        change = {"number": 1, "revision": seen}
        first = ask("set", **change, labels=["B-PER", None], client="a")[1]["revision"]
        status, answer = ask("set", **change, labels=[None, "O"], client="b")
        assert (status, answer) == (409, {"error": "sentence 2 was changed in another tab or session; not saved"})
        assert ask("set", number=1, labels=["O", "O"])[0] == 409  # a client without a revision has not seen the change
        _, now = ask("next", number=1)
        assert (now["labels"], now["revision"]) == (["B-PER", None], first)
        change = {"number": 1, "revision": first}
        assert ask("set", **change, labels=["B-PER", "O"], client="b")[0] == 200
        assert ask("undo", client="c")[1]["number"] is None
        status, answer = ask("undo", client="a")
        assert (status, answer["error"]) == (409, "sentence 2 was changed in another tab since; undo it there first")
        assert ask("undo", client="b")[1]["labels"] == ["B-PER", None]
        assert ask("undo", client="a")[1]["labels"] == [None, None]


def test_numbers_out_of_range(tmp_path: Path, model: Path) -> None:
    with asked(book(tmp_path), Models([str(model)])) as ask:
        for number in (-1, 2, 2**64, 10**30):
            for question in ({"after": number}, {"number": number}):
                assert ask("next", **question)[0] == 422
            assert ask("set", number=number, labels=["O", "O"])[0] == 422


def test_labels_that_break_the_scheme_of_the_model(tmp_path: Path, model: Path) -> None:
    with asked(book(tmp_path), Models([str(model)])) as ask:
        assert ask("next", number=0)[1]["suggested"] == NAMES["ner"][0]
        assert ask("set", number=0, labels=["O", "I-LOC", None])[0] == 200
        status, page = ask("next", number=0)
        assert (status, page["labels"], page["suggested"]) == (200, ["O", "I-LOC", None], [])
        assert page["note"].startswith("no suggestions: no label sequence")
        seen = {ask("next", after=number)[1]["number"] for number in (0, 1)}
        assert seen == {0, 1}
        assert ask("next", number=1)[1]["note"] == ""


def test_a_model_called_studio_is_another_one(tmp_path: Path, model: Path) -> None:
    models, one = Models([str(model)]), book(tmp_path)
    with asked(one, models) as ask:
        assert ask("set", number=0, labels=["X", "Y", "X"])[0] == 200
        before = set(threading.enumerate())
        assert ask("train")[0] == 200
        for thread in set(threading.enumerate()) - before:
            thread.join(30)
        assert one.training.error == ""
        models.reload(only_changed=True)  # as the watcher does
        assert [served.name for served in models] == ["studio", "studio-trained"]
        assert set(models.get("studio-trained").tagger.labels) == {"X", "Y"}
        assert set(ask("next", number=1)[1]["suggested"]) <= {"X", "Y"}
        assert trellis.load(f"{one.path}.studio.trellis").labels == models.get("studio-trained").tagger.labels


def test_the_studio_on_the_command_line(tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    options = dict[str, Any]()
    monkeypatch.setattr("trellis.interfaces.studio.app.App", lambda models, **more: options.update(more))
    monkeypatch.setattr("trellis.interfaces.serve.server.run", lambda *parts, **more: None)
    line = ["studio", str(tmp_path / "words.txt"), "--columns", "word", "--target", "ner", "--no-browser"]
    with book(tmp_path) as one:
        one.set(0, ["A", "A", "A"])
        refused(call(line), "opened by another studio; close that studio first")
    (tmp_path / "words.txt").write_text("Ann\nsaw\nParis\n\n")
    done = call(line)
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith(f"warning: {one.journal.path}: labels of 1 sentence that the corpus no longer has")
    assert options["limits"].seconds >= 600  # a corpus is evaluated within it
    refused(
        call([*line, "--target", "pos"]), "has labels of column 'ner', not 'pos'; open the studio with --target ner"
    )


# ------------------------------------------------------------ lessons

SAMPLE = [
    [("the", "D"), ("man", "N"), ("saw", "V"), ("the", "D"), ("dog", "N")],
    [("the", "D"), ("saw", "N"), ("can", "M"), ("saw", "V")],
    [("we", "P"), ("can", "M"), ("saw", "V"), ("the", "D"), ("can", "N")],
]


def test_the_best_path_is_the_best_of_all() -> None:
    """Held against all paths, with the weights that each step begins with."""
    import itertools
    from collections import defaultdict

    weights: defaultdict[tuple[str, str], int] = defaultdict(int)
    for step in lessons(SAMPLE):
        scores = {
            path: sum(weights[feature] for feature in path_features(step["words"], list(path)))
            for path in itertools.product(step["labels"], repeat=len(step["words"]))
        }
        assert scores[tuple(step["best"])] == max(scores.values()) == max(step["table"][-1])
        assert viterbi(step["words"], step["labels"], weights)["best"] == step["best"]
        for feature, label, by in step["changes"]:
            weights[feature, label] += by
        assert {(f, z): w for f, z, w in step["weights"]} == {key: w for key, w in weights.items() if w}
    assert not step["changes"]


def test_lessons_end_and_are_small() -> None:
    with pytest.raises(trellis.ArgumentError, match="every word needs a label"):
        lessons([[("a", "")]])
    with pytest.raises(trellis.ArgumentError, match="at most"):
        lessons([[("a", "A")] * 100])
