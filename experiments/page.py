"""The experiments as one HTML page with their curves; the curves as SVG."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Mapping
from pathlib import Path

from experiments import Run, experiment
from experiments.report import Curves, Report, Table
from experiments.steps import ResultFile
from trellis._support.errors import ArgumentError
from trellis._support.extras import missing
from trellis._support.replacing import replacing

STYLE = """body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; } caption { text-align: left; font-weight: 600; }
th, td { border-bottom: 1px solid #ccc; padding: .2rem .6rem; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; } img { max-width: 100%; }
.no { color: #a00; font-weight: 600; } .about { color: #555; font-size: .9rem; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } .no { color: #f88; }
.about { color: #aaa; } img { background: #fff; } }"""


def check_report(folder: Path) -> None:
    """ArgumentError now, where the page could not be written after hours of training."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise ArgumentError(missing("--report", "plot")) from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"--report {folder}: {error.strerror}; name a folder that can be created") from None


def write_report(folder: Path, runs: Mapping[str, Run]) -> None:
    """FOLDER/index.html, which needs no other file."""
    links = "".join(f'<li><a href="#{name}">{html.escape(experiment(name).TITLE)}</a></li>' for name in runs)
    parts = [_section(name, file, report) for name, (file, report) in runs.items()]
    title = "trellis: the experiments of the papers"
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head><body><h1>{title}</h1><ul>{links}</ul>{''.join(parts)}</body></html>\n"
    )
    path = folder / "index.html"
    with replacing(path, lambda why: ArgumentError(f"{path}: {why}")) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _section(name: str, file: ResultFile, report: Report) -> str:
    module = experiment(name)
    what = "".join(f"<p>{html.escape(' '.join(part.split()))}</p>" for part in (module.__doc__ or "").split("\n\n"))
    total = sum(step["seconds"] for step in file.steps.values())
    machine = ", ".join(str(value) for value in file.about["machine"].values())
    about = f"trellis {file.about['version']}; {file.about['command']}; {total:.0f} s; {machine}"
    findings = "".join(
        f"<li{'' if finding.holds else ' class=no'}>{html.escape(str(finding))}</li>" for finding in report.findings
    )
    pictures = "".join(
        f'<img alt="{html.escape(curves.title)}" src="data:image/svg+xml;base64,{svg}">'
        for curves, svg in ((curves, base64.b64encode(draw(curves)).decode()) for curves in report.curves)
    )
    remarks = "".join(f"<p>{html.escape(remark)}</p>" for remark in report.remarks)
    return (
        f'<h2 id="{name}">{html.escape(module.TITLE)}</h2>{what}{"".join(map(_table, report.tables))}'
        f'<ul>{findings}</ul>{pictures}{remarks}<p class="about">{html.escape(about)}</p>'
    )


def _table(table: Table) -> str:
    head, *rows = table.cells()
    first = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><caption>{html.escape(table.title)}</caption><tr>{first}</tr>{body}</table>"


def _cell(cell: str) -> str:
    number = re.fullmatch(r"-?[\d.,]+|–", cell) is not None
    return f"<td{' class=number' if number else ''}>{html.escape(cell)}</td>"


def draw(curves: Curves) -> bytes:
    """A picture as SVG; the same curves give the same bytes."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "trellis", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        for name, points in curves.lines.items():
            marker = "o" if len(points) <= 12 else None
            axes.plot(*zip(*points, strict=True), marker=marker, ms=3, lw=1.2, label=name)
        scales = {"xscale": "log" if curves.log_x else "linear", "yscale": "log" if curves.log_y else "linear"}
        axes.set(title=curves.title, xlabel=curves.x, ylabel=curves.y, **scales)
        axes.legend(fontsize=8)
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
