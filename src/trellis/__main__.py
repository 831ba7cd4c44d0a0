"""The command ``trellis``; also ``python -m trellis``."""

from __future__ import annotations

import os
import sys

from trellis import __version__


def main() -> None:
    """Run the command line; the version is printed before anything slow is imported."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        try:
            print(f"trellis {__version__}", flush=True)
        except OSError as error:  # a closed pipe, a full disk
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            if isinstance(error, BrokenPipeError):
                sys.exit(141)
            print(f"trellis: {error.strerror}", file=sys.stderr)
            sys.exit(2)
        return
    import gc
    import signal

    def say(message: bytes) -> None:
        if sys.stderr is not None:  # past Python's buffer, in the midst of whose work a signal may come
            os.write(sys.stderr.fileno(), b"trellis: " + message + b"\n")

    def leave_at_once(number: int, frame: object) -> None:
        say(b"interrupted")
        os._exit(130)

    def leave(number: int, frame: object) -> None:
        say(b"terminated")
        sys.exit(128 + number)

    def begin() -> None:
        """From here on there may be files to remove, so signals become exceptions."""
        gc.freeze()  # imported modules stay until the end: no garbage collection, no clean-up at exit
        gc.enable()
        if hears:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, leave)

    # A third of the time to tag one sentence is saved here: threads of a library that are not used, and garbage
    # collection during imports.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()
    # NumPy turns an interrupt within its import into errors of its own, and there is nothing to clean up yet: until
    # everything is imported, Ctrl-C ends the process at once. Where it is ignored (a background job), it stays so.
    hears = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if hears:
        signal.signal(signal.SIGINT, leave_at_once)
    from trellis.interfaces.cli.main import buffer_output, run

    buffer_output()
    run(sys.argv[1:], begin)


if __name__ == "__main__":
    main()
