"""Drawings of the trellis of a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis._support.arguments import whole_number
from trellis._support.errors import ModelError
from trellis.display.svg import Picture
from trellis.display.trellises import draw_trellis
from trellis.tasks.tagging.decoding import listed
from trellis.tasks.tagging.explain import shown

if TYPE_CHECKING:
    from trellis.tasks.tagging.constraints import AllowedLabels
    from trellis.tasks.tagging.model import Sentence, Tagger
    from trellis.tasks.tagging.posterior import Posterior

MOST_TOKENS = 200


def draw(tagger: Tagger, sentence: Sentence, most_labels: int, allowed: AllowedLabels | None) -> Picture:
    """Draw the trellis with the marginals of labels and, if available, of label pairs."""
    most_labels = whole_number("most_labels", most_labels, 1)
    [sentence] = listed([sentence])
    rows = tagger._decoder.rows_of(sentence)
    best = tagger.tag(sentence, allowed=allowed)
    tokens = [shown(t, token) for t, token in enumerate(rows)][:MOST_TOKENS]
    posterior = marginals_of(tagger, sentence, allowed)
    number = {label: z for z, label in enumerate(tagger.labels)}
    path = [number[label] for label in best[:MOST_TOKENS]]
    return draw_trellis(tokens, tagger.labels, posterior.node[:MOST_TOKENS], posterior.edge, path, most_labels)


def marginals_of(tagger: Tagger, sentence: Sentence, allowed: AllowedLabels | None) -> Posterior:
    """The marginals of labels and, if available, of label pairs."""
    try:
        return tagger.marginals(sentence, edges=True, allowed=allowed)
    except ModelError:
        return tagger.marginals(sentence, allowed=allowed)
