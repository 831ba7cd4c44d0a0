"""Chinese words on PKU: learners and models on held-out lines of train, then the test file once, beside jieba.

Held out are the last 1,950 lines of train; all settings were chosen there. A word is unknown if training does not have
it as it is written, which is how published figures are counted; or, more strictly, neither in half nor in full width:
train has digits of full width, test has those of ASCII. Speed is characters per second of CPU time on one core, file to
file over the text of the training file, with the start of the program and the loading of the model.
"""

from __future__ import annotations

import gzip
import importlib.metadata
import importlib.util
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import trellis
from benchmarks.common import Result, Setting
from benchmarks.processes import usage
from trellis.features.presets import SEGMENTATION
from trellis.segmentation.scores import compare_words, half_width, places_of

HELD_OUT, FEW = 1_950, 4_000  # lines
CHARACTERS = [template for template in SEGMENTATION if "(character[0])" not in template or "kinds" in template]
Line = list[str]

# Name, how many lines of train, what Segmenter.train is told.
MODELS: list[tuple[str, int | None, dict[str, Any]]] = [
    ("MIRA", None, {}),
    ("MIRA, characters alone", None, {"features": CHARACTERS}),
    ("averaged perceptron", None, {"learner": trellis.Perceptron(shuffle=True)}),
    ("MIRA, 4,000 lines", FEW, {}),
    ("MIRA, 4,000 lines, semi-Markov", FEW, {"segments": 8}),
]
NOTES = [
    "published closed tests of PKU: CRF 95.0, perceptron with words 94.5, best linear models 95.2 to 95.4",
]


def run(setting: Setting) -> Result:
    """Train each once by itself."""
    train, test = (_read(setting.file(f"pku/{part}.utf8.gz")) for part in ("train", "test"))
    train = train[:1_000] if setting.quick else train
    held_out = HELD_OUT // (20 if setting.quick else 1)
    rows = []
    for name, n_lines, given in MODELS[: 2 if setting.quick else None]:
        lines = train[:-held_out][:n_lines]
        segmenter, seconds = _trained(lines, given)
        rows.append(_row("held out", name, lines, train[-held_out:], _words(segmenter, train[-held_out:])))
        rows[-1]["training, CPU s"] = seconds
    segmenter, seconds = _trained(train, {})
    with tempfile.TemporaryDirectory() as folder:
        model, text = Path(folder, "words.trellis"), Path(folder, "text.txt")
        segmenter.save(model)
        text.write_text("".join("".join(words) + "\n" for words in train), encoding="utf-8")
        ours = _row("test", "MIRA", train, test, _words(segmenter, test)) | {"training, CPU s": seconds}
        command = ["-m", "trellis", "segment", "run", "--model", str(model), "--threads", "1"]
        rows.append(ours | _speed([*command, str(text), "--output", f"{folder}/out.txt"], text))
        version = "not installed"
        if importlib.util.find_spec("jieba") is not None:
            version = importlib.metadata.version("jieba")
            theirs = _row("test", "jieba", train, test, _jieba(test))
            rows.append(theirs | _speed(["-m", "jieba", "-q", "-d", " ", str(text)], text))
    return Result("Chinese words, PKU", rows, f"jieba {version}", NOTES)


def _read(path: Path) -> list[Line]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [words for words in map(str.split, lines) if words]


def _trained(lines: list[Line], given: dict[str, Any]) -> tuple[trellis.Segmenter, float]:
    begun = time.process_time()
    segmenter = trellis.Segmenter.train(lines, n_threads=1, **given)
    return segmenter, time.process_time() - begun


def _words(segmenter: trellis.Segmenter, lines: list[Line]) -> list[Line]:
    return segmenter.segment_batch(["".join(words) for words in lines], n_threads=1)


def _row(part: str, name: str, train: list[Line], gold: list[Line], found: list[Line]) -> dict[str, Any]:
    written = {word for words in train for word in words}
    scores = compare_words(gold, found, {half_width(word) for word in written})
    figures = {
        "precision, %": scores.words.precision,
        "recall, %": scores.words.recall,
        "F1, %": scores.words.f1,
        "of known, %": scores.recall_of_known,
        "of unknown, %": _recall_of_unwritten(gold, found, written),
        "of unknown in any width, %": scores.recall_of_unknown,
    }
    return {"lines": part, "model": name, **{name: 100 * figure for name, figure in figures.items()}}


def _recall_of_unwritten(gold: list[Line], found: list[Line], written: set[str]) -> float:
    """The recall of words that were not written so in training."""
    right = list[bool]()
    for true, words in zip(gold, found, strict=True):
        places = set(places_of(words))
        right += [place in places for word, place in zip(true, places_of(true), strict=True) if word not in written]
    return sum(right) / max(1, len(right))


def _speed(arguments: list[str], text: Path) -> dict[str, float]:
    used = usage([sys.executable, *arguments])
    n = len(text.read_text(encoding="utf-8").replace("\n", ""))
    return {} if used is None else {"characters/s": n / used.cpu, "MB": used.megabytes}


def _jieba(lines: list[Line]) -> list[Line]:
    import jieba  # type: ignore[import-not-found,unused-ignore]

    jieba.setLogLevel(60)
    return [jieba.lcut("".join(words)) for words in lines]
