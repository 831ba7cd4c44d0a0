"""Print a shell completion script for trellis: commands, options and their values.

examples:
  trellis completion bash >> ~/.bashrc
  trellis completion zsh >> ~/.zshrc
  trellis completion fish > ~/.config/fish/completions/trellis.fish
"""

from __future__ import annotations

import argparse
from argparse import Namespace

from trellis.interfaces.cli.main import COMMANDS, parsers_of
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import show

Commands = dict[str, dict[str, argparse.Action]]  # the options of commands
SHELLS = ("bash", "zsh", "fish")

_BASH = """\
_trellis() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words
  local command="${{COMP_WORDS[1]}}"
  case "$command:$before" in
{values}
  esac
  if [ -z "$words" ] && [ "$COMP_CWORD" -eq 1 ]; then
    words="{commands}"
  elif [ -z "$words" ]; then
    case "$command:$current" in
{options}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _trellis trellis"""


def describe(parser: Parser) -> None:
    """The options."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


def command(options: Namespace) -> None:
    """Write the script."""
    actions = _actions()
    script = _fish(actions) if options.shell == "fish" else _bash(actions)
    show("autoload -U +X bashcompinit && bashcompinit\n" * (options.shell == "zsh") + script)


def _actions() -> Commands:
    """The options of every command by name: of one whose options depend on the task, those of all tasks."""
    actions = {name: [a for parser in parsers_of(name).values() for a in parser._actions] for name in COMMANDS}
    return {name: {word: a for a in reversed(group) for word in a.option_strings} for name, group in actions.items()}


def _bash(commands: Commands) -> str:
    """The script for bash; zsh reads it too, with bashcompinit."""
    values = [
        f"    '{name}:{option}') words='{' '.join(map(str, action.choices))}';;"
        for name, actions in commands.items()
        for option, action in actions.items()
        if action.choices
    ]
    options = [f"      '{name}':-*) words='{' '.join(actions)}';;" for name, actions in commands.items()]
    return _BASH.format(values="\n".join(values), options="\n".join(options), commands=" ".join(commands))


def _fish(commands: Commands) -> str:
    """The same for fish: a line for each command and each option."""
    lines = ["complete -c trellis -n __fish_use_subcommand -f"]
    for name, actions in commands.items():
        summary = COMMANDS[name].replace("'", "\\'")
        lines.append(f"complete -c trellis -n __fish_use_subcommand -f -a {name} -d '{summary}'")
        for option, action in actions.items():
            if option.startswith("--"):
                values = " -x -a '" + " ".join(map(str, action.choices)) + "'" if action.choices else ""
                help = (action.help or "").replace("'", "\\'").replace("%%", "%")
                condition = f"-n '__fish_seen_subcommand_from {name}'"
                lines.append(f"complete -c trellis {condition} -l {option[2:]}{values} -d '{help}'")
    return "\n".join(lines)
