"""Chinese words on PKU, file to file: characters per second beside jieba; accuracy: python -m experiments segmentation.

Speed is characters per second of CPU time on one core over the text of the training file, with the start of the program
and the loading of the model.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

import trellis
from benchmarks.common import Result, Setting
from benchmarks.processes import usage
from experiments.papers.segmentation import Line, lines_of, measured, scores


def run(setting: Setting) -> Result:
    """Train once, then each program over the same file."""
    train, test = (lines_of(setting.file(f"pku/{part}.utf8.gz")) for part in ("train", "test"))
    train = train[:1_000] if setting.quick else train
    segmenter = trellis.Segmenter.train(train, n_threads=1)
    rows, version = list[dict[str, Any]](), "not installed"
    with tempfile.TemporaryDirectory() as folder:
        model, text = Path(folder, "words.trellis"), Path(folder, "text.txt")
        segmenter.save(model)
        text.write_text("".join("".join(words) + "\n" for words in train), encoding="utf-8")
        command = ["-m", "trellis", "segment", "run", "--model", str(model), "--threads", "1"]
        f1 = measured(segmenter, train, test)["F1"]
        rows.append(
            {"program": "trellis", "F1, %": f1, **_speed([*command, str(text), "--output", f"{folder}/out"], text)}
        )
        if importlib.util.find_spec("jieba") is not None:
            version = importlib.metadata.version("jieba")
            f1 = scores(train, test, _jieba(test))["F1"]
            rows.append({"program": "jieba", "F1, %": f1, **_speed(["-m", "jieba", "-q", "-d", " ", str(text)], text)})
    return Result("Chinese words, PKU, file to file", rows, f"jieba {version}")


def _speed(arguments: list[str], text: Path) -> dict[str, float]:
    used = usage([sys.executable, *arguments])
    n = len(text.read_text(encoding="utf-8").replace("\n", ""))
    return {} if used is None else {"characters/s": n / used.cpu, "MB": used.megabytes}


def _jieba(lines: list[Line]) -> list[Line]:
    import jieba  # type: ignore[import-not-found,unused-ignore]

    jieba.setLogLevel(60)
    return [jieba.lcut("".join(words)) for words in lines]
