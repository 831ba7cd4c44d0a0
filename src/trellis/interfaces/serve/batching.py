"""Requests that wait are tagged together: the first goes at once, those that come meanwhile are the next batch.

The work is done by a thread, in native code without the GIL, so that the loop goes on reading and writing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

from trellis._support.errors import TrellisError
from trellis.tasks.tagging.model import Tagger

MOST_SENTENCES = 4096  # of a batch
MOST_TOKENS = 50_000

Labels = list[list[str]]


class _Waiting(NamedTuple):
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
        self._task: asyncio.Task[None] | None = None  # while anything waits
        self.n_batches = self.n_requests = 0

    async def tag(self, tagger: Tagger, sentences: Sequence[Any]) -> Labels:
        """The best labels of a request's sentences."""
        request = _Waiting(tagger, sentences, sum(map(len, sentences)), self._loop.create_future())
        self._waiting.append(request)
        if self._task is None:
            self._task = self._loop.create_task(self._work())
        return await request.answer

    async def _work(self) -> None:
        """Batch after batch, until nothing waits."""
        while batch := self._batch():
            self.n_batches += 1
            self.n_requests += len(batch)
            results = await self._loop.run_in_executor(self._pool, self._tag, batch)
            for request, result in zip(batch, results, strict=True):
                if request.answer.cancelled():
                    continue
                if isinstance(result, BaseException):
                    request.answer.set_exception(result)
                else:
                    request.answer.set_result(result)
        self._task = None

    def _batch(self) -> list[_Waiting]:
        """What waits, as far as it is for one model and not too much."""
        batch, rest, n_sentences, n_tokens = list[_Waiting](), list[_Waiting](), 0, 0
        for request in self._waiting:
            if request.answer.cancelled():
                continue
            size = n_sentences + len(request.sentences), n_tokens + request.n_tokens
            # Of a model of two passes over documents, every request is a document.
            joins = size[0] <= MOST_SENTENCES and size[1] <= MOST_TOKENS and request.tagger.model.first is None
            if not batch or (request.tagger is batch[0].tagger and joins):
                batch.append(request)
                n_sentences, n_tokens = size
            else:
                rest.append(request)
        self._waiting = rest
        return batch

    def _tag(self, batch: list[_Waiting]) -> list[Labels | BaseException]:
        """In the thread: the labels of each request, or its error."""
        sentences = [sentence for request in batch for sentence in request.sentences]
        try:
            labels = iter(batch[0].tagger.tag_batch(sentences, n_threads=self._n_threads))
            return [list(islice(labels, len(request.sentences))) for request in batch]
        except BaseException as error:
            if isinstance(error, TrellisError) and len(batch) > 1:  # of one of them: each alone gets its own
                return [result for request in batch for result in self._tag([request])]
            return [error] * len(batch)

    def close(self) -> None:
        """No more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)
