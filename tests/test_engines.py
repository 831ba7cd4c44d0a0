"""The examples of docs/cluster.md for Dask and Spark: ``make test-engines`` installs both and runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet
import pytest

SECONDS = 300  # for a process with an engine; Spark takes long to start on a loaded machine
PAGE = (Path(__file__).parent.parent / "docs" / "cluster.md").read_text()
WORDS = ["the", "dog", "sleeps"]
SPARK = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").getOrCreate()
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def run_examples(tmp_path: Path) -> Callable[..., None]:
    """Run the blocks of the page that prepare, then those with a word in them, in a process with a time limit."""

    def run(word: str, before: str = "") -> None:
        blocks = re.findall(r"^```(python|py)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
        chosen = [block for fence, block in blocks if fence == "python" and "predict_files" not in block]
        chosen += [block for fence, block in blocks if fence == "py" and word in block]
        (tmp_path / "example.py").write_text("\n".join(["if __name__ == '__main__':", *indented([before, *chosen])]))
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        with subprocess.Popen(
            [sys.executable, "example.py"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                said, _ = process.communicate(timeout=SECONDS)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, 9)
        assert process.returncode == 0, said

    return run


def indented(blocks: list[str]) -> list[str]:
    return [f"    {line}" for block in blocks for line in block.splitlines()]


def tagged(folder: Path) -> list[list[str]]:
    """The labels that an engine wrote."""
    table = pyarrow.parquet.read_table(folder, columns=["word", "pos"])
    assert table.column("word").to_pylist() == [WORDS] * len(table)
    return table.column("pos").to_pylist()


@pytest.mark.skipif(find_spec("dask") is None, reason="Dask is not installed: make test-engines")
@pytest.mark.parametrize("word", ["dask.dataframe", "dask.distributed"])
def test_dask(word: str, run_examples: Callable[..., None], tmp_path: Path) -> None:
    run_examples(word)
    if word == "dask.dataframe":
        assert tagged(tmp_path / "by_dask") == [["D", "N", "V"]] * 30


@pytest.mark.skipif(find_spec("pyspark") is None, reason="Spark is not installed: make test-engines")
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_spark(run_examples: Callable[..., None], tmp_path: Path) -> None:
    run_examples("spark.read", SPARK)
    assert tagged(tmp_path / "by_spark") == [["D", "N", "V"]] * 30
