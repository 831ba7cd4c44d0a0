"""What it takes to begin: CPU time and memory of imports and of tagging one sentence, each in a fresh process."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import trellis
from benchmarks.common import Result, Setting, verdict
from benchmarks.processes import usage

BAR = 2.0  # import trellis against import numpy
SCRIPT = str(Path(sys.executable).parent / "trellis")
PYTHON = [sys.executable, "-c"]
NUMPY = "import numpy"
SENTENCE = ["the", "dog", "barks"]
# The script of python-crfsuite's user, who has a trained model.
CRFSUITE = f"""
import pycrfsuite
tagger = pycrfsuite.Tagger()
tagger.open("model.crfsuite")
print(tagger.tag([[f"w={{word}}"] for word in {SENTENCE}]))
"""
COMMANDS = {
    "the interpreter": [*PYTHON, "pass"],
    NUMPY: [*PYTHON, NUMPY],
    "import numpy, one thread of BLAS": [*PYTHON, f"import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; {NUMPY}"],
    "import trellis": [*PYTHON, "import trellis"],
    "trellis.load, ready to call": [*PYTHON, "from trellis import load"],
    "trellis.train, ready to call": [*PYTHON, "from trellis import train"],
    "trellis --version": [SCRIPT, "--version"],
    "trellis predict, one sentence": [SCRIPT, "predict", "--quiet", "--model", "model.trellis", "one.txt"],
    "python-crfsuite, one sentence": [*PYTHON, CRFSUITE],
}


def run(setting: Setting) -> Result:
    """The least CPU time of several processes each, in turn, after one to see that it runs."""
    with tempfile.TemporaryDirectory() as folder:
        _write_models(Path(folder))
        # Installed modules are compiled, so settings of the environment that prevent this are removed.
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        place: dict[str, Any] = {"cwd": folder, "env": {**kept, "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}}
        works = {what: command for what, command in COMMANDS.items() if usage(command, **place) is not None}
        turns = [[usage(command, **place) for command in works.values()] for _ in range(5 * setting.rounds)]
    best = {what: min(use for use in uses if use) for what, uses in zip(works, zip(*turns, strict=True), strict=True)}
    rows = [
        {
            "what": what,
            "ms of CPU": 1000 * best[what].cpu if what in best else None,
            "of import numpy": best[what].cpu / best[NUMPY].cpu if what in best else "does not run",
            "MB": best[what].megabytes if what in best else None,
        }
        for what in COMMANDS
    ]
    met = best["import trellis"].cpu <= BAR * best[NUMPY].cpu
    note = f"import trellis at most {BAR:.0f} times import numpy: {verdict(met)}"
    return Result("what it takes to start", rows, notes=[note])


def _write_models(folder: Path) -> None:
    """A model of one sentence each."""
    labels = ["D", "N", "V"]
    trellis.train({"word": [SENTENCE], "pos": [labels]}, target="pos").save(folder / "model.trellis")
    (folder / "one.txt").write_text("\n".join(SENTENCE) + "\n", encoding="utf-8")
    try:
        import pycrfsuite
    except ImportError:
        return
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([[f"w={word}"] for word in SENTENCE], labels)
    trainer.train(str(folder / "model.crfsuite"))
