"""One family of errors. Each message is one line that names the place and says what to do.

The command line prints that line and exits with 2.
"""

from __future__ import annotations

import errno
import warnings

SHOWN = 60  # maximum length of a path in a message


class TrellisError(Exception):
    """Base class of all trellis exceptions."""


class CorpusError(TrellisError):
    """Invalid input data; the message names the file and the line.

    Parameters
    ----------
    path
        Name of the file, or an empty string.
    line
        Number of the line, if known.
    reason
        What is wrong, and what to do.
    """

    def __init__(self, path: str, line: int | None, reason: str) -> None:
        self.path, self.line, self.reason = path, line, reason
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {reason}" if place else reason)

    def __reduce__(self) -> tuple[type[CorpusError], tuple[str, int | None, str]]:
        """Pickle by constructor arguments: otherwise a process pool would hang on this exception."""
        return type(self), (self.path, self.line, self.reason)


def file_reason(path: object, error: OSError) -> tuple[str, str]:
    """Name of a file that cannot be read, and the reason; the name may be a text passed by mistake."""
    name = str(path)
    if isinstance(error, IsADirectoryError):
        return name, "is a folder, not a file; give the path of a file"
    if not isinstance(error, FileNotFoundError) and error.errno != errno.ENAMETOOLONG:
        return name, f"cannot be read: {error.strerror or error}"
    if len(name) <= SHOWN or (len(name) < 4 * SHOWN and not any(map(str.isspace, name))):
        return name, "no such file; check the path"
    return f"{name[:SHOWN]!r}...", "no such file; a string is a path, not text: give text as a list"


class TemplateError(TrellisError):
    """A feature template that is invalid or does not fit the corpus."""


class ModelError(TrellisError):
    """A model file that is damaged or not a model, or a model that does not support the request."""


class LearnerError(TrellisError):
    """An invalid parameter of a learner, or training data that it cannot use."""


class ConstraintError(TrellisError):
    """Constraints that no label sequence satisfies."""


class ArgumentError(TrellisError, ValueError):
    """An invalid argument; the message has its name, its value and the valid values."""


class UnknownFunctionError(TemplateError):
    """A function in a template that neither this version has nor the user has registered."""

    def __init__(self, message: str, function: str = "") -> None:
        super().__init__(message)
        self.function = function


class TrellisWarning(UserWarning):
    """Base class of all trellis warnings."""


def warn(message: str) -> None:
    """Issue a warning, even if it was issued before at the same place."""
    warnings.warn_explicit(message, TrellisWarning, "trellis", 1)
