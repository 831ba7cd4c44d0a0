"""The results that were kept, as tables in pages and as plots: python -m benchmarks report.

The pages are README.md, docs/learners.md, presets.md, parsing.md, cluster.md and scale.md, and docs/papers.md, which is
made whole from experiments/results.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.bars import barred
from benchmarks.common import RESULTS
from benchmarks.compare import OURS
from benchmarks.papers_page import draw_papers, paper_rows, papers_page

ROOT = Path(__file__).parent.parent
README, IMAGES = ROOT / "README.md", ROOT / "docs" / "img"
NAMES = ("learners", "presets", "parsing", "cluster", "scale", "papers")
LEARNERS, PRESETS, PARSING, CLUSTER, SCALE, PAPERS = (ROOT / "docs" / f"{name}.md" for name in NAMES)
BEGIN, END = "<!-- results: made by python -m benchmarks report -->\n", "<!-- end of results -->\n"
PEERS = ("crf", "perceptron", "end_to_end", "tagging", "files", "pos", "pos_more")
Kept = dict[str, Any]


def kept(name: str) -> Kept:
    """The result of the newest version that has it in today's form, or nothing."""
    versions = sorted(RESULTS.glob("*"), key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)])
    for version in reversed(versions):
        path = version / f"{name}.json"
        if path.exists():
            result: Kept = json.loads(path.read_text(encoding="utf-8"))
            if name not in PEERS or "contender" in result["rows"][0]:
                return result
    return {}


def table() -> str:
    """All bars against peers, then the accuracies beside the published ones."""
    lines = [*_against_peers(), *_beside_others(), *paper_rows()]
    return (
        "\n".join(["| work | trellis | peer | speed-up | benchmark |", "| --- | --- | --- | --- | --- |", *lines])
        + "\n"
    )


def _against_peers() -> list[str]:
    lines = []
    for name in PEERS:
        rows = kept(name).get("rows", [])
        for row in barred(rows):
            ours = _ours(rows, row)
            spread = "" if row["most"] < 1.05 * row["least"] else f" ({_times(row['least'])} to {_times(row['most'])})"
            lines.append(
                f"| {row['work']} | {_figure(ours)} | {row['contender']} {_figure(row)} "
                f"| {_times(row['times'])}{spread} | `{name}` |"
            )
    return lines


def _ours(rows: list[Kept], row: Kept) -> Kept:
    """The row of trellis that a peer's row was divided by."""
    same = [one for one in rows if one["work"] == row["work"] and one["contender"].startswith(OURS)]
    return min(same, key=lambda one: abs(row["best"] / one["best"] - row["times"]))


def _figure(row: Kept) -> str:
    quality = f", {row['quality']:.2f}%" if row.get("quality") is not None else ""
    if row.get("tokens/s") is not None:
        return f"{_rounded(row['tokens/s'])} tokens/s{quality}"
    best = row["best"]
    if row["unit"] == "MB":
        return f"{best:,.0f} MB"
    shown = f"{best:.2f} s" if best >= 0.1 else f"{1000 * best:.1f} ms" if best >= 1e-3 else f"{1e6 * best:.0f} µs"
    return f"{shown}{quality}"


def _rounded(figure: float) -> str:
    """To three digits."""
    return f"{float(f'{figure:.3g}'):,.0f}"


def _times(figure: float) -> str:
    return f"{figure:.0f}" if figure >= 19.95 else f"{figure:.1f}"


def _beside_others() -> list[str]:
    lines = []
    if rows := kept("reading").get("rows"):
        row = rows[0]
        ours, theirs = f"{row['trellis']:.0f} ms", f"a loop that splits lines, {row['rival']:.0f} ms"
        lines.append(f"| reading and encoding CoNLL-2000 | {ours} | {theirs} | {_times(row['gain'])} | `reading` |")
    tested = {
        "EWT": ("UD English-EWT, UPOS, test", "best published linear tagger 94.8"),
        "noun phrases": ("noun phrases, CoNLL-2000, F1", "Sha & Pereira 2003: 94.38"),
        "all phrases": ("all phrases, CoNLL-2000, F1", "Kudo & Matsumoto 2001: 93.91"),
    }
    for row in kept("presets").get("rows", []):
        if row.get("test") is not None:
            what, peer = tested[row["task"]]
            lines.append(f"| {what}: preset {row['features']} | {row['test']:.2f} | {peer} | | `presets` |")
    if rows := kept("rerank").get("rows"):
        first, _, *reranked = (row["F1, %"] for row in rows)
        lines.append(
            f"| chunks, 20-best lists reranked by {len(reranked)} learners | F1 {min(reranked):.2f} to "
            f"{max(reranked):.2f} (tagger alone {first:.2f}) | Kudo et al. 2005: 94.12 (93.9) | | `rerank` |"
        )
    if rows := kept("segments").get("rows"):
        chain, segments = (row["F1, %"] for row in rows[2:4])
        against = f"CRF with the same words {chain:.2f}"
        lines.append(f"| chunks, semi-Markov CRF | F1 {segments:.2f} | {against} | | `segments` |")
    if len(rows := kept("segmentation").get("rows", [])) == 2:
        figures = [f"{row['characters/s']:,.0f} characters/s, {row['F1, %']:.2f}" for row in rows]
        gain = rows[0]["characters/s"] / rows[1]["characters/s"]
        lines.append(
            f"| Chinese words, file to file | {figures[0]} | jieba {figures[1]} | {gain:.1f} | `segmentation` |"
        )
    if rows := kept("nltk_models").get("rows"):
        row = rows[1]
        ours, theirs = (
            f"{47_377 / row['trellis']:,.0f} tokens/s, 1 thread",
            f"NLTK {47_377 / row['rival']:,.0f} tokens/s",
        )
        lines.append(
            f"| NLTK's own tagger, the same labels | {ours} | {theirs} | {_times(row['gain'])} | `nltk_models` |"
        )
    if rows := kept("serve").get("rows"):
        row = next(row for row in rows if row["what"] == "requests a second, 256 clients")
        ours, theirs = f"{row['trellis']:,.0f} requests/s", f"FastAPI around python-crfsuite {row['rival']:,.0f}"
        lines.append(f"| one sentence to a server, 256 clients | {ours} | {theirs} | {_times(row['gain'])} | `serve` |")
    return lines


def section() -> str:
    """What stands between the markers of README.md."""
    pictures = [
        f"\n![{title}](docs/img/{name}.svg)\n"
        for name, title in (("peers", "how many times faster"), ("growth", "time by size"))
        if (IMAGES / f"{name}.svg").exists()
    ]
    return table() + "".join(pictures)


def learners() -> str:
    """What stands between the markers of docs/learners.md: every learner on the same data."""
    rows = kept("learners").get("rows", [])
    lines = [
        f"| {row['learner']} | {row['F1, %']:.2f} | {row['training, s']:.1f} | {row['epochs']:,} "
        f"| {row['weights']:,} | {row['model, MB']:.1f} |"
        for row in rows
    ]
    head = "| learner | F1, % | training, s | epochs | weights | model, MB |"
    return "\n".join([head, "| --- | --- | --- | --- | --- | --- |", *lines]) + "\n"


def presets() -> str:
    """What stands between the markers of docs/presets.md: what presets and learners give."""
    head = "| task | features | learner | dev | test | training, s | tokens/s |"
    lines = [head, "| --- | --- | --- | ---: | ---: | ---: | ---: |"]
    for row in kept("presets").get("rows", []):
        if "dev" not in row:
            continue
        test = "" if row.get("test") is None else f"{row['test']:.2f}"
        speed = f"{row['training, s']:.1f} | {_rounded(row['tokens/s'])}"
        lines.append(f"| {row['task']} | {row['features']} | {row['learner']} | {row['dev']:.2f} | {test} | {speed} |")
    return "\n".join(lines) + "\n"


def parsers() -> str:
    """What stands between the markers of docs/parsing.md: other parsers."""
    lines = ["| corpus | parser | UAS, % | LAS, % | sentences/s |", "| --- | --- | ---: | ---: | ---: |"]
    for row in kept("parsing_peers").get("rows", []):
        las = f"{row['LAS, %']:.2f}" if "LAS, %" in row else "–"
        lines.append(f"| {row['corpus']} | {row['parser']} | {row['UAS, %']:.2f} | {las} | {row['sentences/s']:,.0f} |")
    return "\n".join(lines) + "\n"


def shards() -> str:
    """What stands between the markers of docs/cluster.md: F1 and seconds by the number of shards."""
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
    """What stands between the markers of docs/scale.md: streams, iterations measured, and simulated ones by workers."""
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
    """A page's text with the section between its markers made anew."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no markers {BEGIN.strip()} and {END.strip()}")
    return f"{head}{BEGIN}{made}{END}{tail}"


def pages() -> dict[Path, str]:
    """The pages with sections made of results, as they should read."""
    made = {
        README: section(),
        LEARNERS: learners(),
        PRESETS: presets(),
        PARSING: parsers(),
        CLUSTER: shards(),
        SCALE: scale(),
    }
    sections = {page: with_section(page.read_text(encoding="utf-8"), text) for page, text in made.items()}
    return sections | {PAPERS: papers_page()}


def write() -> None:
    """Draw the plots, then write the sections."""
    from benchmarks.plots import draw_growth, draw_peers, draw_scale

    IMAGES.mkdir(parents=True, exist_ok=True)
    if bars := [row for name in PEERS for row in barred(kept(name).get("rows", []))]:
        draw_peers(bars, IMAGES / "peers.svg")
    if rows := kept("growth").get("rows"):
        draw_growth(rows, IMAGES / "growth.svg")
    if rows := kept("scale").get("rows"):
        draw_scale([row for row in rows if "workers" in row], IMAGES / "scale.svg")
    draw_papers(IMAGES / "papers")
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
