"""Write what a shell needs to complete command lines of trellis: commands, options and their values.

examples:
  trellis completion bash >> ~/.bashrc
  trellis completion zsh >> ~/.zshrc
  trellis completion fish > ~/.config/fish/completions/trellis.fish
"""

from __future__ import annotations

import importlib
from argparse import Namespace

from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import show

SHELLS = ("bash", "zsh", "fish")

_BASH = """\
_trellis() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words
  local command="${{COMP_WORDS[1]}}"
  case "$command" in {families}) [ "$COMP_CWORD" -gt 2 ] && command="$command ${{COMP_WORDS[2]}}";; esac
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


def command(given: Namespace) -> None:
    """Write the script."""
    show(_fish() if given.shell == "fish" else _bash(given.shell))


def _parsers() -> dict[str, Parser]:
    """The parser of every command."""
    from trellis.interfaces.cli.main import COMMANDS, module_of

    found = dict[str, Parser]()
    for name in COMMANDS:
        parser = found[name] = Parser(f"trellis {name}", "")
        importlib.import_module(module_of(name)).describe(parser)
    return found


def _bash(shell: str) -> str:
    """The script for bash; zsh reads it too, once it is told to."""
    parsers = _parsers()
    families = dict[str, list[str]]()
    for family, _, member in (name.partition(" ") for name in parsers):
        if member:
            families.setdefault(family, []).append(member)
    values, options = list[str](), list[str]()
    for name, parser in parsers.items():
        for action in parser._actions:
            if action.choices:
                words = " ".join(map(str, action.choices))
                values += [f"    '{name}:{option}') words='{words}';;" for option in action.option_strings]
        names = " ".join(option for action in parser._actions for option in action.option_strings)
        options.append(f"      '{name}':-*) words='{names}';;")
    options += [f"      '{family}':*) words='{' '.join(members)}';;" for family, members in families.items()]
    first = " ".join(dict.fromkeys(name.split()[0] for name in parsers))
    script = _BASH.format(
        families="|".join(families), values="\n".join(values), options="\n".join(options), commands=first
    )
    return script if shell == "bash" else f"autoload -U +X bashcompinit && bashcompinit\n{script}"


def _fish() -> str:
    """The same as fish has it: a line for each command and each option."""
    from trellis.interfaces.cli.main import COMMANDS

    parsers, lines = _parsers(), ["complete -c trellis -n __fish_use_subcommand -f"]
    families = " ".join(dict.fromkeys(name.split()[0] for name in parsers if " " in name))
    for name, parser in parsers.items():
        first, *second = name.split()
        seen = " ".join(f"__fish_seen_subcommand_from {word};" for word in (first, *second))
        alone = "" if second else f"; and not __fish_seen_subcommand_from {families}"
        where = f"-n '{seen.replace('; ', '; and ').rstrip(';')}{alone}'"
        before = f"-n '__fish_seen_subcommand_from {first}'" if second else "-n __fish_use_subcommand"
        what = COMMANDS[name].replace("'", "\\'")
        lines.append(f"complete -c trellis {before} -f -a {second[0] if second else first} -d '{what}'")
        for action in parser._actions:
            long = next((option[2:] for option in action.option_strings if option.startswith("--")), None)
            if long is None:
                continue
            takes = " -x -a '" + " ".join(map(str, action.choices)) + "'" if action.choices else ""
            said = (action.help or "").replace("'", "\\'").replace("%%", "%")
            lines.append(f"complete -c trellis {where} -l {long}{takes} -d '{said}'")
    return "\n".join(dict.fromkeys(lines))
