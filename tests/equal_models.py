"""What two trainings with other options or other data may have in common: all of a model but the record of it."""

from __future__ import annotations

from dataclasses import replace

import trellis


def learnt(tagger: trellis.Tagger) -> bytes:
    """The bytes of a tagger without what its record says of options, data and day."""
    record = {key: value for key, value in tagger.training.items() if key not in ("options", "digest", "date")}
    return trellis.Tagger(replace(tagger.model, training=record)).to_bytes()
