"""Completion of command lines, asked of the shells themselves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import refused

LINES = [
    ("trellis pre", {"predict"}),
    ("trellis predict --mo", {"--model"}),
    ("trellis train --proj", {"--projective"}),
    ("trellis train --task ", {"tag", "parse", "trees", "words", "rerank", "pipeline"}),
    ("trellis train --pairs s", {"seen"}),
    ("trellis predict --decode ", {"viterbi", "posterior"}),
]


def answer(shell: str, script: Path, line: str) -> set[str]:
    if shell == "fish":
        # Words behind a tab say what each is.
        done = subprocess.run(
            ["fish", "-N", "-c", f"source {script}; complete -C '{line}'"], capture_output=True, text=True
        )
        return {row.partition("\t")[0] for row in done.stdout.splitlines()}
    words = line.split(" ")
    asked = '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _trellis; echo "${COMPREPLY[*]}"'
    done = subprocess.run(["bash", "-c", asked, "bash", str(script), *words], capture_output=True, text=True)
    assert not done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_what_the_shell_offers(shell: str, here: Path, call: Any) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not on this machine")
    script = here / "script"
    script.write_text(call(f"completion {shell}").out)
    for line, expected in LINES:
        assert answer(shell, script, line) == expected, line


def test_zsh_reads_the_script_of_bash(call: Any) -> None:
    assert call("completion zsh").out.endswith(call("completion bash").out)


def test_other_shells(call: Any) -> None:
    refused(call("completion tcsh"), "tcsh", "bash")
