"""Independent jobs, run by this process or by Ray workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from trellis._support.errors import CorpusError, TrellisError, file_reason


class Job(NamedTuple):
    """The work on one file. Its functions can be pickled: they hold names of files and options, never arrays."""

    name: str  # the file, for messages
    parts: Sequence[Callable[[], Any]]  # may run at the same time
    join: Callable[[Iterable[Any]], object]  # writes the output from what the parts return, in their order


class Workers(Protocol):
    """Protocol of job runners."""

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, TrellisError | None]]:
        """Every job once it is done, in any order, and the error that it ended with."""
        ...


class ThisProcess:
    """One job after the other, in this process."""

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, TrellisError | None]]:
        """Every job once it is done."""
        for job in jobs:
            error = attempt(job.name, lambda job=job: job.join(part() for part in job.parts))  # type: ignore[misc]
            yield job, error if isinstance(error, TrellisError) else None


def attempt(name: str, work: Callable[[], Any]) -> Any:
    """Run the work; user errors are returned, not raised."""
    try:
        return work()
    except TrellisError as error:
        return error
    except OSError as error:
        label, reason = file_reason(error.filename or name, error)
        return CorpusError(label, None, reason)
    except MemoryError:
        return CorpusError(name, None, "not enough memory; split the file")


def successes(results: Iterable[Any]) -> Iterator[Any]:
    """The results; the first error is raised."""
    for result in results:
        if isinstance(result, TrellisError):
            raise result
        yield result
