"""Corpora larger than memory: files in pieces, and blocks of whole sentences that are read again in every pass."""

from __future__ import annotations

import glob
import os
import re
import select
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

import numpy as np

from trellis._support.arguments import file_path, whole_number
from trellis._support.disk import Disk
from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.columns import Layout, fix_names, parse_names, parse_text
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import STANDARD_STREAM, message_name, read_bytes, reading
from trellis.corpus.read import FileShape, choose, format_of, read, read_file

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

BLOCK_BYTES = 4 << 20  # bytes of text, some hundred thousand tokens


class Piece(NamedTuple):
    """Some whole sentences of a file of columns, with the bytes they were read from."""

    corpus: Corpus  # may be empty if there are only comments or blank lines
    text: bytes
    first_line: int  # number of its first line in the file
    layout: Layout


T = TypeVar("T")


def map_pieces(
    work: Callable[[Piece], T], path: str, layout: Layout, n_threads: int, piece_bytes: int = 1 << 20
) -> Iterator[T]:
    """Apply ``work`` to each piece on threads; results are in order, and memory holds a few pieces per thread.

    The first pieces are small, so that all threads start early. If the input pauses (a pipe), everything read so far is
    processed before waiting for more.
    """

    def parse_and_work(text: _Text, layout: Layout) -> T:
        return work(_piece(text, source, layout))

    source, pending = message_name(path), deque["Future[T]"]()
    pool: ThreadPoolExecutor | None = None
    with reading(path) as file:
        try:
            for text in _texts(file, piece_bytes, first=min(piece_bytes, 1 << 16)):
                alone = not pending and (text.pauses or text.ends)  # a thread would not run in parallel with anything
                if alone or (layout.names is None and not layout.n_inputs):  # column names come from the first rows
                    piece = _piece(text, source, layout)
                    layout = fix_names(layout, piece.corpus)
                    task = partial(work, piece)
                else:
                    task = partial(parse_and_work, text, layout)
                if alone:
                    yield task()
                    continue
                if pool is None:
                    from concurrent.futures import ThreadPoolExecutor  # the import takes longer than tagging a sentence

                    pool = ThreadPoolExecutor(n_threads)
                pending.append(submit(pool, task))
                while pending and (text.pauses or len(pending) > n_threads + 1):
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            if pool is not None:
                pool.shutdown(cancel_futures=True)


def submit(pool: ThreadPoolExecutor, task: Callable[[], T]) -> Future[T]:
    """Run the task in the pool, or in this thread if no thread can be started."""
    from concurrent.futures import Future

    try:
        return pool.submit(task)
    except RuntimeError:  # the pool could not start a thread; an existing thread may do the work a second time
        future = Future[T]()
        try:
            future.set_result(task())
        except Exception as error:
            future.set_exception(error)
        return future


def pieces_of_path(path: str, layout: Layout, piece_bytes: int = 1 << 22) -> Iterator[Piece]:
    """Split a file of columns or CoNLL-U after blank lines into pieces of about ``piece_bytes``."""
    with reading(path) as file:
        yield from pieces_of_file(file, message_name(path), layout, piece_bytes)


def whole_piece(path: str, layout: Layout) -> Piece:
    """The whole file as one piece."""
    return _piece(_Text(read_bytes(path), 1, pauses=False), message_name(path), layout)


def pieces_of_file(file: BinaryIO, source: str, layout: Layout, piece_bytes: int) -> Iterator[Piece]:
    """The same for an open file.

    The texts of the pieces one after the other are the file. Lines in errors and in ``Corpus.lines`` are those of the
    whole file, and every row must have as many fields as the very first.
    """
    for text in _texts(file, piece_bytes, first=piece_bytes):
        piece = _piece(text, source, layout)
        layout = fix_names(layout, piece.corpus)
        yield piece


UP_TO_BLANK_LINE = re.compile(rb"(?:.*\n)?[ \t]*\r?\n", re.DOTALL)  # up to the last blank line


class _Text(NamedTuple):
    """The bytes of a piece."""

    text: bytes
    first_line: int
    pauses: bool  # whether reading more would block
    ends: bool = False  # whether it is the last piece of the file


def _piece(text: _Text, source: str, layout: Layout) -> Piece:
    corpus = parse_text(text.text, source, layout, first_line=text.first_line)
    return Piece(corpus, text.text, text.first_line, layout)


def _texts(file: BinaryIO, piece_bytes: int, *, first: int) -> Iterator[_Text]:
    """Cut the file after blank lines once about ``piece_bytes`` are read (fewer at first) or the input pauses."""
    line, blocks, size, size_limit = 1, list[bytes](), 0, first
    read = getattr(file, "read1", file.read)
    while block := read(max(size_limit - size, 1)):
        blocks.append(block)
        size += len(block)
        pauses = size < size_limit and not _has_more(file)
        if size < size_limit and not pauses:
            continue
        data = b"".join(blocks)
        cut = end.end() if (end := UP_TO_BLANK_LINE.match(data)) else 0
        if cut:
            text = data[:cut]
            yield _Text(text, line, pauses)
            line += text.count(b"\n")
            size_limit = min(2 * size_limit, piece_bytes)
        elif not pauses:
            size_limit *= 2  # a sentence longer than a piece: doubling keeps the search for its end linear
        blocks, size = [data[cut:]], size - cut
    if data := b"".join(blocks):
        yield _Text(data, line, pauses=False, ends=True)


def _has_more(file: BinaryIO) -> bool:
    """Whether reading would not block; true for files other than pipes and terminals."""
    try:
        status = os.fstat(file.fileno()).st_mode
        if stat.S_ISREG(status):
            return True
        return bool(select.select([file], [], [], 0)[0])
    except (OSError, ValueError, AttributeError):  # no file descriptor, or select is not supported
        return True


@dataclass(frozen=True, slots=True)
class Files:
    """Files that are read block by block."""

    paths: tuple[str, ...]
    sizes: tuple[int, ...]  # in bytes
    shape: FileShape
    columns: tuple[str, ...] | None
    block_bytes: int

    def blocks(self) -> Iterator[tuple[Corpus, int]]:
        """Iterate over blocks of sentences, each with the number of bytes read so far."""
        total = 0
        for path, n_bytes in zip(self.paths, self.sizes, strict=True):
            shape, read, columns = self.shape.of(path), 0, self.columns
            if shape.format == "parquet":
                from trellis.corpus.tables import parquet_blocks

                for block in parquet_blocks(path, columns, self.shape.sentence, self.block_bytes):
                    yield block, total
            elif shape.format in ("conll", "conllu"):
                for piece in pieces_of_path(path, shape.layout(columns), self.block_bytes):
                    # Uncompressed text may be larger than the file.
                    read = min(read + len(piece.text), n_bytes)
                    yield choose(piece.corpus, columns) if piece.corpus.columns else piece.corpus, total + read
            else:
                yield read_file(path, shape, columns), total + n_bytes
            total += n_bytes

    def run(self, first: int, last: int | None = None) -> Files:
        """The files first..last."""
        return replace(self, paths=self.paths[first:last], sizes=self.sizes[first:last])

    def runs(self, n: int) -> list[int]:
        """Offsets of n runs of files with about equal bytes and at least one file each, including the end."""
        begins, cuts = np.cumsum([0, *self.sizes]), [0]
        for k in range(1, n):
            nearest = int(np.abs(begins - k * float(begins[-1]) / n).argmin())
            cuts.append(min(max(nearest, cuts[-1] + 1), len(self.sizes) - (n - k)))
        return [*cuts, len(self.sizes)]


class CorpusStream:
    """A corpus that is read block by block, made by ``trellis.stream``. Every iteration reads its source again.

    Parameters
    ----------
    open
        Function that opens the source and returns its blocks.
    source
        Name of the source, for messages.
    folder
        Folder of temporary files (default: that of the system).
    files
        The files that are read, if the source is files.
    """

    __slots__ = ("_open", "files", "folder", "source")

    def __init__(
        self,
        open: Callable[[], Iterable[Any]],
        source: str,
        folder: str | None = None,
        files: Files | None = None,
    ) -> None:
        self._open = open
        self.source = source  # for messages
        self.folder = folder  # for temporary files
        self.files = files

    def corpus(self, progress: Callable[[int, int], None] | None = None) -> Corpus:
        """Read all blocks into one corpus whose tokens are on disk.

        Parameters
        ----------
        progress
            Function that gets the bytes read so far and in total, after every block of files.

        Returns
        -------
        Corpus
            The corpus.
        """
        from trellis.corpus.on_disk import on_disk

        def blocks() -> Iterator[Corpus]:
            assert self.files is not None
            for block, n_bytes in self.files.blocks():
                if progress is not None:
                    progress(n_bytes, sum(self.files.sizes))
                if len(block):
                    yield block

        return on_disk(iter(self) if self.files is None else blocks(), self.source, Disk(self.folder))

    def __iter__(self) -> Iterator[Corpus]:
        try:
            blocks = iter(self._open())
        except TypeError as error:
            reason = f"a stream needs a function without arguments that returns corpora ({error})"
            raise CorpusError(self.source, None, reason) from error
        for block in blocks:
            corpus = block if isinstance(block, Corpus) else read(block)
            if len(corpus):
                yield corpus

    def __repr__(self) -> str:
        return f"CorpusStream({self.source})"


def stream(
    source: Any,
    *,
    block_bytes: int = BLOCK_BYTES,
    columns: str | Sequence[str] | None = None,
    comments: bool = False,
    folder: str | os.PathLike[str] | None = None,
    format: str | None = None,
    sentence: str | None = None,
    tabs: bool | None = None,
) -> CorpusStream:
    """Open a corpus that is read block by block, for training on more data than fits into memory.

    Training reads it once and stores tokens and attributes in temporary files, 150 to 250 bytes per token.

    Parameters
    ----------
    source
        File name, pattern such as ``"parts/*.parquet"``, or a list of these; or a function without arguments that
        returns an iterable of corpora, or of anything that ``trellis.read`` accepts.
    block_bytes
        Size of a block in bytes of text, for column files, CoNLL-U and Parquet; other files are read whole.
    columns
        Names of the columns, as for ``trellis.read``.
    comments
        Whether to skip lines that begin with ``#``, as for ``trellis.read``.
    folder
        Folder of the temporary files (default: that of the system, see TMPDIR).
    format
        Format of the files, as for ``trellis.read``.
    sentence
        Column that identifies sentences, as for ``trellis.read``.
    tabs
        Whether single tabs are the only separators, as for ``trellis.read``.

    Returns
    -------
    CorpusStream
        The corpus; every iteration reads the source again and yields blocks.

    Examples
    --------
    >>> import trellis
    >>> blocks = [{"word": [["the", "dog"]], "pos": [["D", "N"]]}, {"word": [["a", "cat"]], "pos": [["D", "N"]]}]
    >>> stream = trellis.stream(lambda: blocks)
    >>> sum(block.n_tokens for block in stream)
    4
    >>> trellis.train(stream, target="pos").predict(["a", "dog"])
    ['D', 'N']
    """
    size = whole_number("block_bytes", block_bytes, 1, 1 << 40)
    temporary = None if folder is None else file_path("folder", folder)
    names, shape = parse_names(columns), FileShape(format, tabs, comments, sentence)
    if callable(source):
        shape.check("a function that returns blocks", ())
        if columns is not None:
            raise ArgumentError("columns has no effect on a function that returns blocks; omit it")
        return CorpusStream(source, "<blocks>", temporary)
    sources = [source] if isinstance(source, str | os.PathLike) else source
    if not isinstance(sources, list | tuple) or not all(isinstance(name, str | os.PathLike) for name in sources):
        raise CorpusError("", None, f"a stream needs file names or a function that returns blocks, not {source!r}")
    paths = [path for name in sources for path in matching_files(file_path("source", name))]
    for path in paths:
        shape.check_format(path, format or format_of(path))

    sizes = tuple(Path(path).stat().st_size if Path(path).is_file() else 0 for path in paths)
    files = Files(tuple(paths), sizes, shape, names, size)
    return CorpusStream(lambda: (block for block, _ in files.blocks()), ", ".join(map(str, sources)), temporary, files)


def matching_files(name: str) -> list[str]:
    """The files that match a name or pattern."""
    if name == STANDARD_STREAM:
        raise CorpusError("<stdin>", None, "standard input can be read only once; give files")
    if Path(name).exists() or not glob.has_magic(name):
        return [name]
    matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207
    if not matches:
        raise CorpusError(name, None, "no file matches this pattern")
    return matches
