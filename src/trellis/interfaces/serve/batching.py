"""Batching of requests: the first one starts at once; those that arrive meanwhile form the next batch.

A thread does the work in native code without the GIL, so that the event loop can read and write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

from trellis._support.errors import TrellisError
from trellis.tasks.tagging.model import Tagger

MOST_SENTENCES = 4096  # maximum size of a batch
MOST_TOKENS = 50_000

Labels = list[list[str]]


class _Waiting(NamedTuple):
    tagger: Tagger
    sentences: Sequence[Any]
    n_tokens: int
    answer: asyncio.Future[Labels]


class Batcher:
    """Tags sentences for requests; create it within the event loop."""

    def __init__(self, n_threads: int | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._pool = ThreadPoolExecutor(1, "trellis-tag")
        self._n_threads = n_threads
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None  # runs while requests are waiting
        self.n_batches = self.n_requests = 0

    async def tag(self, tagger: Tagger, sentences: Sequence[Any]) -> Labels:
        """The best labels of a request's sentences."""
        request = _Waiting(tagger, sentences, sum(map(len, sentences)), self._loop.create_future())
        self._waiting.append(request)
        if self._task is None:
            self._task = self._loop.create_task(self._work())
        return await request.answer

    async def _work(self) -> None:
        """Process batches until no request is waiting."""
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
        """The waiting requests for one model, up to the maximum size."""
        batch, rest, n_sentences, n_tokens = list[_Waiting](), list[_Waiting](), 0, 0
        for request in self._waiting:
            if request.answer.cancelled():
                continue
            size = n_sentences + len(request.sentences), n_tokens + request.n_tokens
            # For two-pass models every request is a document.
            joins = size[0] <= MOST_SENTENCES and size[1] <= MOST_TOKENS and request.tagger.model.first is None
            if not batch or (request.tagger is batch[0].tagger and joins):
                batch.append(request)
                n_sentences, n_tokens = size
            else:
                rest.append(request)
        self._waiting = rest
        return batch

    def _tag(self, batch: list[_Waiting]) -> list[Labels | BaseException]:
        """Run in the thread: the labels of each request, or its error."""
        sentences = [sentence for request in batch for sentence in request.sentences]
        try:
            labels = iter(batch[0].tagger.tag_batch(sentences, n_threads=self._n_threads))
            return [list(islice(labels, len(request.sentences))) for request in batch]
        except BaseException as error:
            if isinstance(error, TrellisError) and len(batch) > 1:  # caused by one request: tag them one by one
                return [result for request in batch for result in self._tag([request])]
            return [error] * len(batch)

    def close(self) -> None:
        """Stop accepting work."""
        self._pool.shutdown(wait=False, cancel_futures=True)
