"""The page of a tagger's mistakes: one file, no scripts. A number in the table of confusions leads to its sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis.display.charts import BLUE, ORANGE, bars_chart, lines_chart, reliability_chart
from trellis.display.figures import score_name, wrong_curve
from trellis.display.html import Html, element, piece, said
from trellis.display.tables import Table

if TYPE_CHECKING:
    from trellis.evaluation.reliability import Reliability
    from trellis.tasks.tagging.errors_found import ErrorsFound, WrongSentence

MOST_LABELS = 40  # rows of the table of confusions

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ground: #fff; --ink: #1a1a1a; --heat: 59, 120, 194 }}
@media (prefers-color-scheme: dark) {{ :root {{ --ground: #16181c; --ink: #e8e8e8 }} }}
body {{ background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }}
body {{ max-width: 72rem; margin: 2rem auto; padding: 0 1rem }}
a {{ color: inherit }}
h1 {{ font-size: 1.5rem }} h2 {{ font-size: 1.15rem; margin-top: 2rem }}
.side {{ display: flex; flex-wrap: wrap; gap: 2rem; align-items: flex-start }}
.heat {{ overflow-x: auto }}
.heat td {{ text-align: right; padding: .1rem .45rem; min-width: 1.6rem; border: 0 }}
.heat th {{ text-align: right; padding: .1rem .45rem; font-weight: normal; border: 0 }}
.heat thead th {{ writing-mode: vertical-rl; text-align: left }}
.wrong {{ text-decoration: underline wavy #c2453b; text-underline-offset: .2em }}
.small {{ font-size: .8em; opacity: .8 }}
ol:target {{ outline: 2px solid #c26a1a; outline-offset: .4rem }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def errors_page(found: ErrorsFound, title: str) -> str:
    """Figures, confusions with their sentences, reliability, training, length of sentences."""
    report, analysis = found.report, found.error_analysis
    summary = {**analysis.summary(), **report.summary()}
    figures = Table.of(report.columns, report.rows() if report.spans is not None else {}, summary)
    parts = [figures.to_html(), *_charts(found)]
    parts += [_heading("Confusion matrix"), _heat(found)]
    parts += [_heading("Labels"), Table.of(report.columns, analysis.rows()).to_html()]
    if analysis.partial is not None:
        parts += [_heading("Partial matches of spans"), analysis.partial_table().to_html()]
    parts += [_heading("Sentences"), *_examples(found)]
    return _PAGE.format(title=said(title), body=piece(*parts))


def _heading(text: str) -> Html:
    return element("h2", text)


def _charts(found: ErrorsFound) -> list[Html]:
    charts: list[Html] = []
    if found.calibration is not None:
        for name, bins in (("tokens", found.calibration.tokens), ("spans", found.calibration.spans)):
            if bins is not None:
                charts.append(_figure(f"Reliability ({name}), ECE {bins.ece:.4f}", _reliability(bins)))
    epochs = [(e["epoch"], e["objective"]) for e in found.history if "objective" in e]
    wrong_name, wrong = wrong_curve(found.history)
    scores = [(e["epoch"], 100 * e["dev_score"]) for e in found.history if "dev_score" in e]
    if epochs or wrong:
        name, points = ("objective", epochs) if epochs else (wrong_name, wrong)
        charts.append(_figure("Training", lines_chart([(name, BLUE, points)], "epoch")))
    if scores:
        name = f"{score_name(None, found.labels)} on dev, %"
        charts.append(_figure("Training, held out", lines_chart([(name, ORANGE, scores)], "epoch")))
    bars = [
        (
            f"{one.low}–{one.high}" if one.high else f"{one.low}–",
            one.accuracy,
            f"{100 * one.accuracy:.2f}%, {one.n_sentences:,}",
        )
        for one in found.lengths
    ]
    charts.append(_figure("Token accuracy by sentence length; number of sentences", bars_chart(bars)))
    return [element("div", *charts, class_="side")]


def _figure(title: str, chart: Html) -> Html:
    return element("figure", element("figcaption", title), chart)


def _reliability(found: Reliability) -> Html:
    return reliability_chart([(bin.confidence, bin.accuracy, bin.n) for bin in found.bins if bin.n])


def _heat(found: ErrorsFound) -> Html:
    """Gold labels down, predicted labels across; the darker, the larger the share of the gold label."""
    counts = {(one.gold, one.predicted): one.times for one in found.error_analysis.confusions}
    wrong = dict.fromkeys(found.error_analysis.labels, 0)
    for (a, b), n in counts.items():
        wrong[a] += n
        wrong[b] += n
    names = [label for label in sorted(wrong, key=lambda label: (-wrong[label], label))[:MOST_LABELS] if wrong[label]]
    names.sort()
    if not names:
        return element("p", "No errors.")
    head = element("thead", element("tr", element("th", ""), *(element("th", name) for name in names)))
    rows = []
    for a in names:
        score = found.error_analysis.labels[a]
        cells = []
        for b in names:
            n = score.correct if a == b else counts.get((a, b), 0)
            share = n / max(1, score.gold)
            inner: object = (
                n
                if a == b or not n
                else element("a", n, href=f"#{_anchor(found, a, b)}", title=f"gold {a}, predicted {b}")
            )
            style = f"background:rgba(var(--heat),{0.65 * share**0.5:.3f})" if n else ""
            cells.append(element("td", inner if n else "", style=style))
        rows.append(element("tr", element("th", a), *cells))
    return element("div", element("table", head, element("tbody", *rows)), class_="heat")


def _anchor(found: ErrorsFound, gold: str, predicted: str) -> str:
    return f"c{list(found.examples).index((gold, predicted))}"


def _examples(found: ErrorsFound) -> list[Html]:
    """The confusions, the most frequent first, each with some of its sentences."""
    out = []
    for one in found.error_analysis.confusions:
        numbers = found.examples.get((one.gold, one.predicted), [])
        shown = [_sentence(found.sentences[number], one.gold, one.predicted) for number in numbers]
        more = f", the first {len(numbers)} sentences" if one.times > len(numbers) else ""
        head = element("summary", f"gold {one.gold}, predicted {one.predicted}: {one.times:,}{more}")
        inside = element("ol", *shown, id=_anchor(found, one.gold, one.predicted))  # a browser opens what is asked for
        out.append(element("details", head, inside))
    return out


def _sentence(one: WrongSentence, gold: str, predicted: str) -> Html:
    words: list[object] = []
    for word, true, given in zip(one.words, one.gold, one.predicted, strict=True):
        if (true, given) == (gold, predicted):
            words.append(element("mark", word, style="background:#ffd08a"))
        elif true != given:
            words.append(element("span", word, class_="wrong", title=f"gold {true}, predicted {given}"))
        else:
            words.append(word)
        words.append(" ")
    return element(
        "li", *words, element("span", f"sentence {one.number}", class_="small"), value=str(one.number), dir="auto"
    )
