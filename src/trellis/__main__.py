"""The command ``trellis``; also ``python -m trellis``."""

from __future__ import annotations

import sys

from trellis import __version__


def main() -> None:
    """Run the command line; the version is told before anything slow is imported."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"trellis {__version__}")
        return
    try:
        from trellis.cli.plain import plain_tagging

        plain = plain_tagging(sys.argv[1:])
        if plain is None:
            from trellis.cli.main import run

            run(sys.argv[1:])
        else:
            from trellis.cli.outcome import telling_errors
            from trellis.cli.tagging import tag_file

            with telling_errors():
                tag_file(**plain)
    except KeyboardInterrupt:
        print("trellis: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
