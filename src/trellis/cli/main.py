"""The commands and what becomes of their errors: one line on standard error and an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import trellis
from trellis.errors import TrellisError

# Each is a module of this package with a function ``command``, in the order of the help.
COMMANDS = ("train", "tag", "evaluate", "calibrate", "explain", "info", "demo")

USER_ERROR = 2
INTERRUPTED = 130  # as shells count: 128 and the number of the signal
CLOSED_PIPE = 141


class Commands(TyperGroup):
    """Imports a command when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        app.command(name=cmd_name)(importlib.import_module(f"trellis.cli.{cmd_name}").command)
        return get_command(app)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; errors that a user can mend are told in one line."""
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except TrellisError as error:
            _leave(str(error), USER_ERROR)
        except BrokenPipeError:
            # Whoever read the output has seen enough. Nothing may be flushed into the closed pipe at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(CLOSED_PIPE)
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            _leave(f"{place}{error.strerror or error}", USER_ERROR)
        except MemoryError:
            _leave(
                "not enough memory; train with --cutoff or --pairs seen, or on a part of the corpus",
                USER_ERROR,
            )
        except KeyboardInterrupt:
            _leave("interrupted; no file was changed", INTERRUPTED)


def _leave(why: str, code: int) -> None:
    print(f"trellis: {' '.join(why.splitlines())}", file=sys.stderr)
    sys.exit(code)


def _tell_version(asked: bool) -> None:
    if asked:
        print(f"trellis {trellis.__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def about(
    version: bool = typer.Option(
        False, "--version", "-V", help="Show the version and exit.", callback=_tell_version, is_eager=True
    ),
) -> None:
    """Label sequences: train taggers, run them, measure them."""


def run(arguments: Sequence[str]) -> None:
    """Run one command line; exits with its code."""
    try:
        code = get_command(app)(list(arguments), prog_name="trellis", standalone_mode=False)
    except Exception as error:
        # What a command line lacks or has too much of is told as every other mistake is.
        told = getattr(error, "format_message", None)
        if told is None:
            raise
        _leave(f"{str(told()).rstrip('.')}; see trellis --help", USER_ERROR)
    sys.exit(code if isinstance(code, int) else 0)
