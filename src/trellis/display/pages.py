"""HTML report of a tagger's errors: one file, no scripts. Numbers in the confusion matrix link to sentences."""

from __future__ import annotations

from typing import Any

from trellis.display.charts import confusion_chart, curves_chart, learning_curves, reliability_chart
from trellis.display.html import Html, bar, element, folded, page, piece, table

_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
a { color: inherit }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
.side, .trellis .trellis { display: flex; flex-wrap: wrap; gap: 0 2rem; align-items: flex-start }
.trellis .trellis p { width: 100% }
.wrong { text-decoration: underline wavy #c2453b; text-underline-offset: .2em }
.small { font-size: .8em; opacity: .8 }
ol:target { outline: 2px solid #c26a1a; outline-offset: .4rem }
"""


def errors_page(errors: Any, title: str) -> str:
    """The page of ``ErrorsFound``: report, charts, confusion matrix, figures by label, sentences with errors."""
    parts: list[Html] = [Html(errors.report._repr_html_()), _charts(errors)]
    has_errors, links = bool(errors.examples), {pair: f"#{name}" for pair, name in _ids(errors).items()}
    matrix = confusion_chart(errors.error_analysis, links).svg if has_errors else element("p", "No errors.")
    parts += [element("h2", "Confusion matrix"), matrix]
    parts += [element("h2", "Labels"), Html(errors.error_analysis._repr_html_())]
    parts += [element("h2", "Sentences"), *_examples(errors)]
    return page(title, element("h1", title), piece(*parts), style=_STYLE)


def _charts(errors: Any) -> Html:
    charts = list[tuple[str, Html]]()
    for name in ("tokens", "spans") if errors.calibration is not None else ():
        reliability = getattr(errors.calibration, name)
        if reliability is not None:
            charts.append((f"Calibration ({name})", reliability_chart(reliability, name).svg))
    if curves := learning_curves(errors.history, errors.score_name):
        charts.append(("Training", curves_chart(curves, "").svg))
    rows = [
        (f"{group.low}–{group.high or ''}", bar(group.accuracy, 1, f"{100 * group.accuracy:.2f}%"), group.n_sentences)
        for group in errors.lengths
    ]
    charts.append(("Accuracy by sentence length", table(rows, ("tokens", "accuracy", "sentences"))))
    figures = [element("figure", element("figcaption", name), chart) for name, chart in charts]
    return element("div", *figures, class_="side")


def _ids(errors: Any) -> dict[tuple[str, str], str]:
    """The anchor of each confusion's sentences."""
    return {pair: f"c{i}" for i, pair in enumerate(errors.examples)}


def _examples(errors: Any) -> list[Html]:
    """The confusions, the most frequent first, each with some of its sentences."""
    ids, examples = _ids(errors), []
    for gold, predicted, times in errors.error_analysis.confusions:
        numbers = errors.examples.get((gold, predicted), [])
        sentences = [_sentence(errors.sentences[number], gold, predicted) for number in numbers]
        note = f", the first {len(numbers)} sentences" if times > len(numbers) else ""
        # Browsers open the folded part that contains the target of a link.
        inside = element("ol", *sentences, id=ids[gold, predicted])
        examples.append(folded(f"gold {gold}, predicted {predicted}: {times:,}{note}", inside))
    return examples


def _sentence(sentence: Any, gold: str, predicted: str) -> Html:
    words: list[object] = []
    for word, *pair in zip(sentence.words, sentence.gold, sentence.predicted, strict=True):
        if pair == [gold, predicted]:
            word = element("mark", word, style="background:#ffd08a")
        elif pair[0] != pair[1]:
            word = element("span", word, class_="wrong", title=f"gold {pair[0]}, predicted {pair[1]}")
        words += [word, " "]
    number = element("span", f"sentence {sentence.number}", class_="small")
    return element("li", *words, number, value=str(sentence.number), dir="auto")
