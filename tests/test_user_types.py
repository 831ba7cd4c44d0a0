"""Types as a user's own checker sees them: mypy --strict over a script and the package as a wheel installs it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

import trellis

RIGHT = """\
import trellis

corpus: trellis.Corpus = trellis.read({"word": [["the", "dog"], ["Ann"]], "pos": [["D", "N"], ["NP"]]})
learner: trellis.Learner = trellis.Perceptron(epochs=3)
tagger: trellis.Tagger = trellis.train(corpus, target="pos", learner=learner)
tagger.save("pos.trellis")
tagger = trellis.Tagger.load("pos.trellis")
model: trellis.Model = trellis.load("pos.trellis")
labels: list[str] = tagger.tag(["the", "dog"])
batch: list[list[str]] = tagger.tag_batch([["the", "dog"], ["Ann"]], n_threads=1)
best: list[tuple[list[str], float]] = tagger.kbest(["the", "dog"], 2)
terms: list[trellis.Term] = model.explain(["the", "dog"]).terms
probability: float = tagger.marginals(["the", "dog"]).node.sum().item()
accuracy: float = tagger.evaluate(corpus).token_accuracy
report: trellis.Report = model.evaluate(corpus)
treebank: trellis.Treebank = trellis.parse_trees("(TOP (S (NP (NN rain)) (VP (VBD fell))))")
tree: trellis.PhraseTree = trellis.TreeParser.train(treebank, learner="pcfg").parse(["rain", "fell"])
"""

# Code lines with the messages of mypy.
WRONG = {
    "trellis.Percepton(epochs=3)": '"Percepton"',
    'tagger: trellis.Taggerr = trellis.Tagger.load("pos.trellis")': "trellis.Taggerr",
    'trellis.Perceptron(epochs="3")': '"epochs" to "Perceptron" has incompatible type "str"; expected "int"',
    "trellis.Perceptron(epoch=3)": '"epoch" for "Perceptron"',
    'trellis.train("pos.txt", lerner="crf")': '"lerner" for "train"',
    'trellis.train("pos.txt", patience="3")': '"patience" to "train" has incompatible type "str"',
    'trellis.load("pos.trellis").tag(["the", "dog"])': '"Model" has no attribute "tag"',
    'trellis.Tagger.load("pos.trellis").tag(3)': 'Argument 1 to "tag" of "Tagger" has incompatible type "int"',
    'labels: list[int] = trellis.Tagger.load("pos.trellis").tag(["the", "dog"])': '"list[str]"',
    'trellis.Tagger.load("pos.trellis").tagged(["the", "dog"])': '"Tagger" has no attribute "tagged"',
}


@pytest.fixture(scope="module")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """mypy for an environment with trellis in site-packages: it does not follow an editable install."""
    if importlib.util.find_spec("mypy") is None:
        if os.environ.get("CI"):
            pytest.fail("mypy is not installed: make lint installs it")
        pytest.skip("mypy is not installed: make lint installs it")
    folder = tmp_path_factory.mktemp("types")
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    [packages] = (folder / "venv" / "lib").glob("python*/site-packages")
    (packages / "trellis").symlink_to(Path(trellis.__file__).parent)
    (packages / "others.pth").write_text(str(Path(np.__file__).parent.parent))
    options = ["--config-file=", "--strict", "--python-executable", str(python), "--cache-dir", str(folder / "cache")]
    return [sys.executable, "-m", "mypy", *options]


def errors_of(mypy: list[str], script: Path) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if name != "MYPYPATH"}
    done = subprocess.run([*mypy, script.name], cwd=script.parent, env=environment, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if ": error:" in line]


def test_a_script_passes_strict_checks(mypy: list[str], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(RIGHT)
    assert errors_of(mypy, script) == []


def test_mistakes_are_errors_of_types(mypy: list[str], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("\n".join(["import trellis", *WRONG]) + "\n")
    errors = errors_of(mypy, script)
    assert [error.split(":")[1] for error in errors] == [str(line) for line in range(2, 2 + len(WRONG))], errors
    for error, said in zip(errors, WRONG.values(), strict=True):
        assert said in error


def test_the_script_runs(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", RIGHT], cwd=tmp_path, check=True)
