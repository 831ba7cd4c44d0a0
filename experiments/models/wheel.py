"""A model as an ordinary wheel: a package with the file, and an entry point by which trellis.load finds it."""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from pathlib import Path

import trellis
from trellis.tasks.shelf import FILE, GROUP

VERSION = "0.1.0"
EPOCH = (2020, 1, 1, 0, 0, 0)  # date of all files in a wheel: the same model gives the same bytes


def make_wheel(model: Path, folder: Path) -> Path:
    """Make ``trellis_model_NAME-VERSION-py3-none-any.whl`` of a model file; pip installs it."""
    loaded, name = trellis.load(model), re.sub(r"\W", "_", model.stem)
    package, info = f"trellis_model_{name}", loaded.info
    about = f"{package}-{VERSION}.dist-info"
    metadata = [
        *("Metadata-Version: 2.1", f"Name: trellis-model-{model.stem}", f"Version: {VERSION}"),
        f"Summary: Model of trellis: {info.get('language', model.stem)}, {info.get('treebank', '')}",
        f"License: {info.get('licence', 'unknown')}",
    ]
    files = {
        f"{package}/__init__.py": f'"""Model of trellis: trellis.load({model.stem!r})."""\n'.encode(),
        f"{package}/{FILE}": model.read_bytes(),
        f"{about}/METADATA": "\n".join([*metadata, ""]).encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: trellis\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": f"[{GROUP}]\n{model.stem} = {package}\n".encode(),
    }
    record = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    wheel = folder / f"{package}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(zipfile.ZipInfo(path, EPOCH), data)
    return wheel


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
