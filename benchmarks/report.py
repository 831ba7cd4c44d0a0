"""The results that were kept, as tables in pages and as plots: python -m benchmarks report.

The pages with a generated section are README.md, docs/learners.md, presets.md, parsing.md, cluster.md and scale.md.
docs/results.md and docs/papers.md are generated as a whole.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.kept import kept
from benchmarks.papers_page import draw_papers, papers_page
from benchmarks.results_page import bars, headline, panels, readme_table, results_page, rounded

ROOT = Path(__file__).parent.parent
README, IMAGES = ROOT / "README.md", ROOT / "docs" / "img"
NAMES = ("learners", "presets", "parsing", "cluster", "scale", "papers", "results")
LEARNERS, PRESETS, PARSING, CLUSTER, SCALE, PAPERS, RESULTS = (ROOT / "docs" / f"{name}.md" for name in NAMES)
BEGIN, END = "<!-- results: made by python -m benchmarks report -->\n", "<!-- end of results -->\n"
HEADLINE = re.compile(r"^A CRF trains.*$", re.MULTILINE)


def learners() -> str:
    """The generated section of docs/learners.md: every learner on the same data."""
    rows = kept("learners").get("rows", [])
    lines = [
        f"| {row['learner']} | {row['F1, %']:.2f} | {row['training, s']:.1f} | {row['epochs']:,} "
        f"| {row['weights']:,} | {row['model, MB']:.1f} |"
        for row in rows
    ]
    head = "| learner | F1, % | training, s | epochs | weights | model, MB |"
    return "\n".join([head, "| --- | --- | --- | --- | --- | --- |", *lines]) + "\n"


def presets() -> str:
    """The generated section of docs/presets.md: results of presets and learners, and of numbers of epochs."""
    head = "| task | features | learner | dev | test | training, s | tokens/s |"
    lines = [head, "| --- | --- | --- | ---: | ---: | ---: | ---: |"]
    for row in kept("presets").get("rows", []):
        if "dev" not in row:
            continue
        test = "" if row.get("test") is None else f"{row['test']:.2f}"
        speed = f"{row['training, s']:.1f} | {rounded(row['tokens/s'])}"
        lines.append(f"| {row['task']} | {row['features']} | {row['learner']} | {row['dev']:.2f} | {test} | {speed} |")
    rows = kept("epochs").get("rows", [])
    numbers = [name for name in rows[0] if name.endswith(" epochs")] if rows else []
    lines += ["", f"| task | learner | {' | '.join(numbers)} |", f"| --- | --- |{' ---: |' * len(numbers)}"]
    for row in rows:
        lines.append(f"| {row['task']} | {row['learner']} | {' | '.join(f'{row[name]:.2f}' for name in numbers)} |")
    return "\n".join(lines) + "\n"


def parsers() -> str:
    """The generated section of docs/parsing.md: other parsers."""
    lines = ["| corpus | parser | UAS, % | LAS, % | sentences/s |", "| --- | --- | ---: | ---: | ---: |"]
    for row in kept("parsing_peers").get("rows", []):
        las = f"{row['LAS, %']:.2f}" if "LAS, %" in row else "–"
        lines.append(f"| {row['corpus']} | {row['parser']} | {row['UAS, %']:.2f} | {las} | {row['sentences/s']:,.0f} |")
    return "\n".join(lines) + "\n"


def shards() -> str:
    """The generated section of docs/cluster.md: F1 and seconds by the number of shards."""
    rows = kept("shards").get("rows", [])
    names = list(dict.fromkeys(row["shards"] for row in rows))
    learners = list(dict.fromkeys(row["learner"] for row in rows))
    lines = [
        f"| shards | {' | '.join(f'{name}, F1, % | seconds' for name in learners)} |",
        f"| --- |{' ---: | ---: |' * len(learners)}",
    ]
    for name in names:
        cells = list[str]()
        for row in (row for row in rows if row["shards"] == name):
            loss = f" ({row['difference']:+.2f})" if "difference" in row else ""
            cells.append(f"{row['F1, %']:.2f}{loss} | {row['seconds']:.1f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def scale() -> str:
    """The generated section of docs/scale.md: streams, measured iterations, and simulated iterations by workers."""
    lines = ["| corpus | peak MB | µs per token | ratio | bar |", "| --- | ---: | ---: | ---: | ---: |"]
    for row in kept("streams").get("rows", []):
        cells = (f"{row[name]:,.3g}" if name in row else "" for name in ("µs per token", "ratio", "at most"))
        memory = f"{row['peak MB']:,.0f}" if "peak MB" in row else ""
        lines.append(f"| {row['corpus']} | {memory} | {' | '.join(cells)} |")
    rows = kept("scale").get("rows", [])
    lines += ["", "| measured | | model | bar |", "| --- | ---: | ---: | ---: |"]
    for row in (row for row in rows if "workers" not in row):
        model, bar = (f"{row[name]:.3g}" if name in row else "" for name in ("model", "at most"))
        lines.append(f"| {row['what']} | {row['measured']:.3g} | {model} | {bar} |")
    lines += ["", "| simulated | workers | gradient, s | tree, s | times as fast | slices, s | times as fast |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    names = "gradient, s", "simulated, s", "times", "slices, s", "times, slices"
    for row in (row for row in rows if "workers" in row):
        figures = " | ".join(f"{row[name]:,.0f}" if row[name] >= 100 else f"{row[name]:.2g}" for name in names)
        lines.append(f"| {row['what']} | {row['workers']:,} | {figures} |")
    return "\n".join(lines) + "\n"


def with_section(text: str, made: str) -> str:
    """A page's text with the section between its markers replaced."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no markers {BEGIN.strip()} and {END.strip()}")
    return f"{head}{BEGIN}{made}{END}{tail}"


def pages() -> dict[Path, str]:
    """The pages with sections made of results, as they should read."""
    made = {
        README: readme_table(),
        LEARNERS: learners(),
        PRESETS: presets(),
        PARSING: parsers(),
        CLUSTER: shards(),
        SCALE: scale(),
    }
    sections = {page: with_section(page.read_text(encoding="utf-8"), text) for page, text in made.items()}
    sections[README] = HEADLINE.sub(headline(), sections[README])
    return sections | {PAPERS: papers_page(), RESULTS: results_page()}


def write() -> None:
    """Draw the plots, then write the sections."""
    from benchmarks.plots import draw_growth, draw_peers, draw_scale, draw_speed

    IMAGES.mkdir(parents=True, exist_ok=True)
    draw_peers(bars(), IMAGES / "peers.svg")
    draw_speed(panels(), IMAGES / "speed.svg")
    if rows := kept("growth").get("rows"):
        draw_growth(rows, IMAGES / "growth.svg")
    if rows := kept("scale").get("rows"):
        draw_scale([row for row in rows if "workers" in row], IMAGES / "scale.svg")
    draw_papers(IMAGES / "papers")
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
