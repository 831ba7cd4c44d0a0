"""Models by name: the bundled one, those of folders and of packages."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from command_line import refused

import trellis
from experiments.models.wheel import make_wheel
from trellis.tasks import shelf
from trellis.tasks.shelf import FOLDERS, MODELS, builtin_file

TEXT = "Ann's dogs didn't bark at the postman. They were sleeping."


def test_the_bundled_model_of_english() -> None:
    nlp = trellis.load("builtin:english")
    first, second = nlp.predict(TEXT)
    assert [word.form for word in first] == ["Ann", "'s", "dogs", "did", "n't", "bark", "at", "the", "postman", "."]
    assert [word.lemma for word in first][2:6] == ["dog", "do", "not", "bark"]
    assert [word.upos for word in second] == ["PRON", "AUX", "VERB", "PUNCT"]
    assert [word.head for word in second] == [3, 3, 0, 3]
    assert nlp.info["licence"] == "CC BY-SA 4.0"


def test_all_are_there_and_small() -> None:
    for name in MODELS:
        file = builtin_file(f"builtin:{name}")
        assert len(file.read_bytes()) < 8_000_000
        licence = Path(str(file)).with_suffix(".LICENSE").read_text()
        assert trellis.load(f"builtin:{name}").info["command"] in licence
    with pytest.raises(trellis.ModelError, match="builtin:english"):
        trellis.load("builtin:nothing")


def test_text_is_annotated_before_anyone_has_a_model(here: Path, call: Any) -> None:
    done = call("predict --text", TEXT)
    assert "2\t's\t's\tPART\tPOS" in done.out
    assert "builtin:english" in done.err
    assert call("predict --text -q -m builtin:english", "Dogs bark.").err == ""
    assert "UD_English-EWT" in call("info -m builtin:english").out
    refused(call("predict", "in python"), "--model", "--text")


def test_folders_and_packages(here: Path, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = trellis.train({"word": [["a", "b"]], "y": [["A", "B"]]}, target="y")
    (here / "models").mkdir()
    tagger.info.update(language="Letters", licence="CC0")
    tagger.save(here / "models" / "letters.trellis")
    with pytest.raises(trellis.ModelError, match="letters: no such file"):
        trellis.load("letters")
    monkeypatch.setenv(FOLDERS, str(here / "models"))
    assert trellis.load("letters") == tagger
    assert "letters          tagger    Letters   CC0" in call("models").out
    assert "letters" in call("models models").out
    monkeypatch.setenv(FOLDERS, str(here / "nowhere"))
    refused(call("models"), "nowhere", FOLDERS)
    refused(call("models nowhere"), "nowhere")
    monkeypatch.delenv(FOLDERS)
    # A wheel is a package with an entry point; here it is unpacked on the path.
    wheel = make_wheel(here / "models" / "letters.trellis", here)
    assert make_wheel(here / "models" / "letters.trellis", here).read_bytes() == wheel.read_bytes()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(here / "site")
    monkeypatch.syspath_prepend(str(here / "site"))
    assert trellis.load("letters") == tagger
    assert [model.place for model in shelf.shelf() if model.name == "letters"] == ["trellis_model_letters"]
    sys.modules.pop("trellis_model_letters", None)


def test_a_smaller_pipeline() -> None:
    nlp = trellis.load("builtin:english")
    smaller = nlp.smaller(0.5, 0.5)
    assert len(smaller.to_bytes(compact="int8")) < 0.8 * len(nlp.to_bytes(compact="int8"))
    assert [word.upos for word in smaller("They were sleeping.")[0]] == ["PRON", "AUX", "VERB", "PUNCT"]
    same = nlp.smaller(0, 0)
    assert same(TEXT) == nlp(TEXT)
