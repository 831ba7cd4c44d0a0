"""Executes notebooks as Jupyter does, in this process: cell by cell in one namespace, with all outputs collected."""

from __future__ import annotations

import ast
import contextlib
import copy
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).parent
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# The types of output that notebooks show, and the methods of objects that give them.
RICH = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def read(path: Path) -> dict[str, Any]:
    """A notebook as its JSON."""
    notebook: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return notebook


def write(path: Path, notebook: dict[str, Any]) -> None:
    """Write it as Jupyter does."""
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


def lines(text: str) -> list[str]:
    """A text as notebooks hold it."""
    return text.splitlines(keepends=True)


def bundle(value: Any) -> dict[str, list[str]]:
    """What a notebook shows of an object."""
    rich = {kind: getattr(value, method, None) for kind, method in RICH.items()}
    shown = {kind: lines(show()) for kind, show in rich.items() if show is not None}
    # Objects with a picture of their own have a long text: their type says enough.
    return {**shown, "text/plain": [f"<{type(value).__name__}>"] if shown else lines(repr(value))}


class Outputs:
    """The outputs of one cell, in their order."""

    def __init__(self, count: int) -> None:
        self.count, self.found, self.printed = count, list[dict[str, Any]](), io.StringIO()

    def flush(self) -> None:
        """What was printed becomes an output."""
        if text := self.printed.getvalue():
            self.found.append({"name": "stdout", "output_type": "stream", "text": lines(text)})
            self.printed.seek(0)
            self.printed.truncate()

    def display(self, *values: Any) -> None:
        """Jupyter's function of that name."""
        self.flush()
        for value in values:
            self.found.append({"data": bundle(value), "metadata": {}, "output_type": "display_data"})

    def result(self, value: Any) -> None:
        """The value of the last line."""
        self.flush()
        if value is not None:
            result = {"data": bundle(value), "execution_count": self.count, "metadata": {}}
            self.found.append({**result, "output_type": "execute_result"})


def run(source: str, name: str, scope: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Execute a cell; its outputs."""
    tree, outputs = ast.parse(source, name), Outputs(count)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    scope["display"] = outputs.display
    with contextlib.redirect_stdout(outputs.printed):
        exec(compile(tree, name, "exec"), scope)
        if isinstance(last, ast.Expr):
            outputs.result(eval(compile(ast.Expression(last.value), name, "eval"), scope))
        outputs.flush()
    return outputs.found


def execute(notebook: dict[str, Any], name: str, report: Callable[[str], Any] = lambda cell: None) -> dict[str, Any]:
    """The notebook with the outputs of its code cells."""
    module, done, count = ModuleType("__main__"), copy.deepcopy(notebook), 0
    main, sys.modules["__main__"] = sys.modules["__main__"], module  # where pickle looks for what cells define
    try:
        for cell in done["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                report(source := "".join(cell["source"]))
                cell |= {"execution_count": count, "outputs": run(source, f"{name}, cell {count}", vars(module), count)}
    finally:
        sys.modules["__main__"] = main
    return done
