"""The commands."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import trellis
from trellis.cli.outcome import USER_ERROR, leave, telling_errors

# Each is a module of this package with a function ``command``, in the order of the help.
COMMANDS = ("train", "tag", "evaluate", "calibrate", "explain", "info", "demo")


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
        with telling_errors():
            super().invoke(ctx)


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
        leave(f"{str(told()).rstrip('.')}; see trellis --help", USER_ERROR)
    sys.exit(code if isinstance(code, int) else 0)
