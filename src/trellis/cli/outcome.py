"""What becomes of a command's errors: one line on standard error and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from trellis.errors import TrellisError

USER_ERROR = 2
INTERRUPTED = 130  # as shells count: 128 and the number of the signal
CLOSED_PIPE = 141


def leave(why: str, code: int) -> None:
    """One line on standard error, and out."""
    print(f"trellis: {' '.join(why.splitlines())}", file=sys.stderr)
    sys.exit(code)


@contextmanager
def telling_errors() -> Iterator[None]:
    """Run a command within; errors that a user can mend are told in one line."""
    try:
        yield
        sys.stdout.flush()
    except TrellisError as error:
        leave(str(error), USER_ERROR)
    except BrokenPipeError:
        # Whoever read the output has seen enough. Nothing may be flushed into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(CLOSED_PIPE)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        leave(f"{place}{error.strerror or error}", USER_ERROR)
    except MemoryError:
        leave(
            "not enough memory; train with --cutoff or --pairs seen, or on a part of the corpus",
            USER_ERROR,
        )
    except KeyboardInterrupt:
        leave("interrupted; no file was changed", INTERRUPTED)
