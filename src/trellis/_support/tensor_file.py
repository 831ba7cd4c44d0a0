"""Named arrays and a text in one safetensors file, written atomically.

The format is implemented here because equal content must give equal bytes, and reading must not copy.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import reprlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

import trellis
from trellis import _core
from trellis._support.arrays import Arrays
from trellis._support.errors import ModelError, TemplateError, UnknownFunctionError, file_reason
from trellis._support.replacing import replacing

Tensors = Mapping[str, npt.NDArray[Any]]
T = TypeVar("T")

# The types of safetensors: a letter and bits, such as U8 and F32; numbers are little-endian.
_DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(f"<{name[0].lower()}{int(name[1:]) // 8}")
    for name in ("U8", "I8", "U16", "F16", "I32", "U32", "F32", "I64", "U64", "F64")
}
_NAMES: dict[np.dtype[Any], str] = {kind: name for name, kind in _DTYPES.items()}
_MAX_HEADER = 100_000_000  # the limit of the safetensors format
_MAX_DIMENSIONS = 8
_DAMAGE = LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError, TemplateError
_MAX_REASON = 200  # maximum length of file content in a message


def write_tensors(path: str | os.PathLike[str], format: str, tensors: Tensors, text: str) -> None:
    """Write arrays and a text to a file, atomically."""
    parts = _parts(format, tensors, text)

    def failed(why: str) -> ModelError:
        return ModelError(f"cannot write {os.fspath(path)}: {why}")

    with replacing(path, failed) as temporary, temporary.open("wb") as file:
        file.writelines(parts)


def pack_tensors(format: str, tensors: Tensors, text: str) -> bytes:
    """The bytes that ``write_tensors`` writes."""
    return b"".join(_parts(format, tensors, text))


def unpack_tensors(data: bytes, what: str) -> Opened:
    """Like ``read_tensors``, for bytes in memory."""
    with rejecting_damage("bytes", what):
        return Opened(Path("bytes"), what, *_split(bytes(data), Path("bytes"), what))  # mutable buffers are copied


def _parts(format: str, tensors: Tensors, text: str) -> Iterator[bytes]:
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    return safetensors_parts(arrays, {"format": format, "digest": digest(text, arrays), "text": text})


def read_tensors(path: str | os.PathLike[str], what: str, *, copy: bool = True) -> Opened:
    """The arrays and the text of a file; ModelError unless it is ``what`` it should be.

    Without ``copy`` the arrays share the file's memory map: whoever truncates or overwrites the file in place (``cp``
    does) ends the process that has it mapped.
    """
    with rejecting_damage(path, what):
        where = Path(path)
        if where.is_dir():
            raise ModelError(f"{path}: a folder, not {what}")
        with where.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                raise ModelError(f"{path}: not {what}: too short")
            if not copy:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                return Opened(where, what, *_split(mapped, where, what))
            whole = np.empty(size, np.uint8)
            done = _core.read_into(file.fileno(), whole)
        return Opened(where, what, *_split(whole.data[:done].toreadonly(), where, what))


class Opened:
    """Arrays and text of a file, and the digest stored in it."""

    def __init__(self, path: Path, what: str, tensors: Tensors, header: Mapping[str, str]) -> None:
        self.path, self.what, self.tensors, self.text = path, what, tensors, header["text"]
        self.format, self._digest = str(header.get("format")), str(header["digest"])

    def rejection(self) -> str:
        """Why a file of an unknown format is not opened."""
        return f"not {self.what}, or written by a newer release than {trellis.__version__}"

    def of(self, format: str) -> Opened:
        """Return itself; ModelError if the file has another format."""
        if self.format != format:
            raise ModelError(f"{self.path}: {self.rejection()}")
        return self

    def made(self, make: Callable[[Tensors, str], T]) -> T:
        """Apply ``make`` to arrays and text; ModelError if they are damaged."""
        with rejecting_damage(self.path, self.what):
            if self._digest != digest(self.text, self.tensors):
                why = "the content does not match its digest; copy or create the file again"
                raise ModelError(f"{self.path}: damaged: {why}")
            return make(self.tensors, self.text)


@contextmanager
def rejecting_damage(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Convert errors in a file's content to a ModelError that names the file."""
    try:
        yield
    except OSError as error:
        raise ModelError(": ".join(file_reason(path, error))) from error
    except MemoryError as error:
        raise ModelError(f"{path}: cannot be read: not enough memory") from error
    except UnknownFunctionError as error:
        need = f"needs the function {error.function[:_MAX_REASON]!r}, which trellis {trellis.__version__} does not have"
        todo = "register it with trellis.register_function before loading, or update trellis"
        raise ModelError(f"{path}: {need}; {todo}") from error
    except _DAMAGE as error:
        reason = str(error).partition("\n")[0]  # shortened, as it may contain data of a damaged file
        reason = reason if len(reason) <= _MAX_REASON else f"{reason[:_MAX_REASON]}..."
        raise ModelError(f"{path}: damaged or not {what} ({reason})") from error


def parse_header(text: str) -> Any:
    """Parse the JSON in a file's header; ValueError if a string cannot be encoded as UTF-8."""
    header = json.loads(text)
    if "\\ud" in text.lower():  # possibly an unpaired surrogate, which trellis never writes
        json.dumps(header, ensure_ascii=False).encode()
    return header


def _split(whole: bytes | memoryview | mmap.mmap, path: Path, what: str) -> tuple[Arrays, dict[str, str]]:
    """A safetensors file as arrays that share its memory, and the strings of its header."""
    size = len(whole)
    if size < 8:
        raise ModelError(f"{path}: not {what}: too short")
    header_size = int.from_bytes(whole[:8], "little")
    if header_size > min(size - 8, _MAX_HEADER):
        raise ModelError(f"{path}: not {what}, or truncated")
    try:
        header = json.loads(bytes(whole[8 : 8 + header_size]))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: not {what}") from error
    if not isinstance(header, dict) or not isinstance(header.get("__metadata__"), dict):
        raise ModelError(f"{path}: not {what}")
    first, room = 8 + header_size, size - 8 - header_size
    metadata = header.pop("__metadata__")
    tensors, last = Arrays(), 0
    # Contiguous, without gaps or overlaps, so that arrays are never larger than the file.
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        kind, shape = _DTYPES[entry["dtype"]], entry["shape"]
        n = math.prod(shape) if len(shape) <= _MAX_DIMENSIONS else -1
        if not last == begin <= end <= room or end - begin != kind.itemsize * n:
            raise ModelError(f"{path}: truncated or damaged at tensor {reprlib.repr(name)}")
        last = end
        tensor: npt.NDArray[Any] = np.frombuffer(whole if n else b"", kind, n, first + begin if n else 0)
        if len(shape) != 1:
            tensor = tensor.reshape(shape)
        tensors[name] = tensor if tensor.flags.aligned else tensor.copy()  # possibly written by another program
    if last != room:
        raise ModelError(f"{path}: {room - last:,} extra bytes at the end; copy or create the file again")
    return tensors, metadata


def safetensors_parts(tensors: Tensors, metadata: dict[str, str]) -> Iterator[bytes]:
    """The parts of a safetensors file: the same bytes for the same content, the widest numbers first to align all."""
    names = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in names:
        array = tensors[name]
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": _NAMES[array.dtype], "shape": array.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for name in names:
        yield tensors[name].tobytes()


def digest(text: str, tensors: Tensors) -> str:
    """Hash of all content including the header, to detect damage."""
    names = sorted(tensors)
    kinds = "\n".join(f"{name} {tensors[name].dtype.str} {tensors[name].shape}" for name in names)
    heads = [np.frombuffer(head.encode(), np.uint8) for head in (text, kinds)]
    return f"{_core.digest([*heads, *(_bytes_of(tensors[name]) for name in names)]):016x}"


def _bytes_of(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    flat = array if array.ndim == 1 else np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8)
