"""Execute notebooks and write their outputs: python -m examples.notebooks [FILE ...]."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

from examples.notebooks.execute import NOTEBOOKS, execute, read, write

if __name__ == "__main__":
    for path in [Path(name).resolve() for name in sys.argv[1:]] or NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # cells may write files
            done = execute(read(path), path.name)
        write(path, done)
        print(f"{path.name}: {path.stat().st_size:,} bytes")
