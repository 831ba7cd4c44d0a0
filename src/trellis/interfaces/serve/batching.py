"""Requests that wait are tagged together: the first goes at once, those that come meanwhile are the next batch.

The work is done by a thread, in native code without the GIL, so that the loop goes on reading and writing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from trellis._support.errors import TrellisError
from trellis.tasks.tagging.model import Tagger

MOST_SENTENCES = 4096  # of a batch
MOST_TOKENS = 50_000

Labels = list[list[str]]


@dataclass(slots=True)
class _Waiting:
    tagger: Tagger
    sentences: Sequence[Any]
    n_tokens: int
    answer: asyncio.Future[Labels]


class Batcher:
    """Tags sentences for requests; made within the loop that they come from."""

    def __init__(self, n_threads: int | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._pool = ThreadPoolExecutor(1, "trellis-tag")
        self._n_threads = n_threads
        self._waiting: list[_Waiting] = []
        self._busy = False
        self.n_batches = self.n_requests = 0

    async def tag(self, tagger: Tagger, sentences: Sequence[Any]) -> Labels:
        """The best labels of a request's sentences."""
        waiting = _Waiting(tagger, sentences, sum(map(len, sentences)), self._loop.create_future())
        self._waiting.append(waiting)
        if not self._busy:
            self._busy = True
            self._loop.call_soon(self._start)
        return await waiting.answer

    def _start(self) -> None:
        """Give the thread what waits, as far as it is for one model and not too much."""
        while self._waiting and self._waiting[0].answer.cancelled():
            self._waiting.pop(0)
        if not self._waiting:
            self._busy = False
            return
        first, batch, rest, n = self._waiting[0].tagger, list[_Waiting](), list[_Waiting](), 0
        n_tokens = 0
        for one in self._waiting:
            if one.answer.cancelled():
                continue
            # Of a model of two passes over documents, every request is a document.
            small = n + len(one.sentences) <= MOST_SENTENCES and n_tokens + one.n_tokens <= MOST_TOKENS
            joins = first.model.first is None and small
            fits = one.tagger is first and (not batch or joins)
            (batch if fits else rest).append(one)
            if fits:
                n, n_tokens = n + len(one.sentences), n_tokens + one.n_tokens
        self._waiting = rest
        self.n_batches += 1
        self.n_requests += len(batch)
        self._loop.run_in_executor(self._pool, self._work, batch)

    def _work(self, batch: list[_Waiting]) -> None:
        """In the thread: tag, and hand the answers over."""
        tagger, all_sentences = batch[0].tagger, [sentence for one in batch for sentence in one.sentences]
        found: list[Labels | BaseException] = []
        try:
            labels = tagger.tag_batch(all_sentences, n_threads=self._n_threads)
            at = 0
            for one in batch:
                found.append(labels[at : at + len(one.sentences)])
                at += len(one.sentences)
        except TrellisError as error:  # of one of them: each alone, so that it gets its own
            found = [error] if len(batch) == 1 else [self._alone(one) for one in batch]
        except BaseException as error:
            found = [error] * len(batch)
        self._loop.call_soon_threadsafe(self._answer, batch, found)

    def _alone(self, one: _Waiting) -> Labels | BaseException:
        try:
            return one.tagger.tag_batch(list(one.sentences), n_threads=1)
        except Exception as error:
            return error

    def _answer(self, batch: list[_Waiting], found: list[Labels | BaseException]) -> None:
        for one, labels in zip(batch, found, strict=True):
            if one.answer.cancelled():
                continue
            if isinstance(labels, BaseException):
                one.answer.set_exception(labels)
            else:
                one.answer.set_result(labels)
        self._start()

    def close(self) -> None:
        """No more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)
