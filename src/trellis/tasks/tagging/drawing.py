"""The trellis of one sentence, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis._support.arguments import whole_number
from trellis._support.errors import ModelError
from trellis.display.trellises import Picture, Trellis
from trellis.tasks.tagging.decoding import listed
from trellis.tasks.tagging.explain import shown

if TYPE_CHECKING:
    from trellis.tasks.tagging.constraints import AllowedLabels
    from trellis.tasks.tagging.model import Sentence, Tagger

MOST_TOKENS = 200


def draw(tagger: Tagger, sentence: Sentence, most_labels: int, allowed: AllowedLabels | None) -> Picture:
    """The picture, with the marginals of labels and, where the model has them, of label pairs."""
    most_labels = whole_number("most_labels", most_labels, 1)
    [sentence] = listed([sentence])
    rows = tagger._decoder.rows_of(sentence)
    best = tagger.tag(sentence, allowed=allowed)
    tokens = [shown(t, token) for t, token in enumerate(rows)][:MOST_TOKENS]
    try:
        posterior = tagger.marginals(sentence, edges=True, allowed=allowed)
    except ModelError:
        posterior = tagger.marginals(sentence, allowed=allowed)
    number = {label: z for z, label in enumerate(tagger.labels)}
    path = [number[label] for label in best[:MOST_TOKENS]]
    return Trellis(tokens, tagger.labels, posterior.node[:MOST_TOKENS], posterior.edge, path).picture(most_labels)
