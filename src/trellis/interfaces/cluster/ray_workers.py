"""Workers of Ray: on this machine, or on a cluster. The only module here that imports ray (extra ``ray``)."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import chdir, contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from trellis._support.errors import ArgumentError, TrellisError
from trellis._support.extras import missing
from trellis.interfaces.cluster.ray_actors import ClusterError, RayActors, first_line
from trellis.interfaces.cluster.workers import Job, attempt, successes

START_SECONDS = 120.0  # seconds for Ray to start, or to respond at an address
STOP_SECONDS = 30.0
TASK_SECONDS = 3600.0  # seconds without a finished task
RETRIES = 3  # retries of a task whose worker died


@contextmanager
def connect(address: str | None, n_workers: int, seconds: float = TASK_SECONDS) -> Iterator[RayWorkers]:
    """Start or join Ray, as a context manager that yields workers of one core each.

    A Ray that this process has already started is used and keeps running; otherwise Ray is stopped at the end.

    Parameters
    ----------
    address
        Address of a Ray cluster (None: this machine).
    n_workers
        Number of workers.
    seconds
        Timeout for the end of any task.

    Yields
    ------
    RayWorkers
        The workers, for ``trellis.train(workers=)``.
    """
    ray = imported()
    with nullcontext() if ray.is_initialized() else started(ray, address, n_workers):
        yield RayWorkers(ray, n_workers, seconds)


def imported() -> Any:
    """Ray; ArgumentError where it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage reports
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # future default; avoids a warning
    try:
        return import_module("ray")
    except ModuleNotFoundError:
        raise ArgumentError(missing("a run with workers", "ray")) from None


@contextmanager
def started(ray: Any, address: str | None, n_workers: int) -> Iterator[None]:
    """Ray on this machine, or a connection to a cluster; ClusterError if it fails or does not answer."""
    settings = {"num_cpus": n_workers, "include_dashboard": False} if address is None else {}
    place, errors = address or "this machine", list[Exception]()
    ready, stop = threading.Event(), threading.Event()

    def keep() -> None:
        try:
            ray.init(address or "local", log_to_driver=False, logging_level="ERROR", **settings)
        except Exception as error:
            errors.append(error)
        ready.set()
        if not errors:
            stop.wait()
            ray.shutdown()

    # A thread can be abandoned if Ray never responds, and signal handlers are not replaced in it. It lives until the
    # end, as Ray's processes are killed when the thread that started them ends.
    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    try:
        if not ready.wait(START_SECONDS):
            raise ClusterError(f"Ray on {place} did not answer in {START_SECONDS:g} seconds; see ray status")
        if errors:
            raise ClusterError(f"Ray on {place}: {first_line(errors[0])}")
        if threading.current_thread() is threading.main_thread() and (handler := signal.getsignal(signal.SIGTERM)):
            signal.signal(signal.SIGTERM, handler)  # replaces Ray's handler, which prints a native stack trace
        yield
    finally:
        stop.set()
        thread.join(STOP_SECONDS if ready.is_set() else 0)


class RayWorkers:
    """Tasks of Ray, one per worker at a time; tasks of dead workers are retried."""

    def __init__(self, ray: Any, n_workers: int, seconds: float) -> None:
        self._ray, self._n_workers, self._seconds = ray, n_workers, seconds
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES)(_task)

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return self._n_workers

    def actors(self, make: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> RayActors:
        """One object per entry of ``arguments``, made by ``make(*entry)`` in a worker."""
        return RayActors(self._ray, make, arguments, self._seconds)

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, TrellisError | None]]:
        """Iterate over finished jobs. Results of parts are sent between workers, never through this process."""
        jobs, ready, running = iter(jobs), deque[tuple[_Opened, Any]](), dict[Any, tuple[_Opened, Any]]()
        while True:
            while len(running) < self._n_workers:
                if not ready and (job := next(jobs, None)) is not None:
                    state = _Opened(job)
                    ready.extend((state, part) for part in job.parts or (None,))
                if not ready:
                    break
                state, part = ready.popleft()
                if part is None:
                    ref = self._submit(state.job.name, _join, state.job.join, *state.refs)
                else:
                    ref = self._submit(state.job.name, part)
                    state.refs.append(ref)
                running[ref] = state, part
            if not running:
                return
            ref = self._next({ref: state.job.name for ref, (state, _) in running.items()})
            state, part = running.pop(ref)
            if part is None:
                yield state.job, self._outcome(ref, state.job.name)
                continue
            state.n_done += 1
            if state.n_done == len(state.job.parts):
                ready.appendleft((state, None))  # None: the join

    def _submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._task.options(name=name).remote(str(Path.cwd()), name, function, *arguments)

    def _next(self, names: dict[Any, str]) -> Any:
        """Wait for the first of these tasks to finish."""
        try:
            finished, _ = self._ray.wait(list(names), timeout=self._seconds, fetch_local=False)
        except SystemExit:  # of the handler of SIGTERM, with another code: Ray makes it 1
            raise SystemExit(128 + signal.SIGTERM) from None
        if not finished:
            waiting = ", ".join(dict.fromkeys(names.values()))
            reason = "check for free cores with ray status, or increase timeout="
            raise ClusterError(f"{waiting}: no answer from its worker in {self._seconds:g} seconds; {reason}")
        return finished[0]

    def _outcome(self, ref: Any, name: str) -> TrellisError | None:
        """The error that a job ended with."""
        errors = self._ray.exceptions
        try:
            result = self._ray.get(ref, timeout=self._seconds)
        except errors.RayTaskError:  # an internal error, with its traceback
            raise
        except errors.RayError as error:
            return ClusterError(
                f"{name}: failed on {RETRIES + 1} workers, which died or were lost ({first_line(error)})"
            )
        return result if isinstance(result, TrellisError) else None


@dataclass(slots=True)
class _Opened:
    """A started job."""

    job: Job
    refs: list[Any] = field(default_factory=list)  # references to the results of its parts
    n_done: int = 0  # parts


def _task(folder: str, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in the working directory of the caller, as file names are relative to it."""
    with chdir(folder) if Path(folder).is_dir() else nullcontext():
        return attempt(name, lambda: function(*arguments))


def _join(join: Callable[[Iterable[Any]], object], *results: Any) -> None:
    join(successes(results))
