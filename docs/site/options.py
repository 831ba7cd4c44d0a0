"""Write docs/options.md: the options of all trainings, from where they are declared."""

from __future__ import annotations

from pathlib import Path

from trellis.learning.options import TrainingOptions, markdown_table
from trellis.tasks.parsing.options import ParsingOptions
from trellis.tasks.reranking.options import RerankingOptions
from trellis.tasks.structured.options import StructuredOptions
from trellis.tasks.tagging.options import TaggingOptions
from trellis.tasks.trees.options import TreeOptions
from trellis.tasks.words.options import WordsOptions

BEGIN = """\
# Options of training

`trellis.train(corpus, ...)` and the `train` of every other task take options by name. A value that is not allowed, a
name that does not exist and an option without effect are errors in one line. `None` stands for the default.

```python
import trellis

corpus = {"word": [["Ann", "saw", "him"], ["dogs", "bark"]], "label": [["N", "V", "P"], ["N", "V"]]}
tagger = trellis.train(corpus, dev=corpus, patience=3, verbose=False, info={"note": "first try"})
assert tagger.info == {"note": "first try"}
assert tagger.training["dev_score"] == 1.0
```

`model.info` holds your notes, `model.training` the record of the training: version, day, learner, number of sentences,
a digest of the data, options other than their defaults, dev score and history.

## Shared by all tasks
"""
TASKS = {
    "Taggers": TaggingOptions,
    "Dependency parsers": ParsingOptions,
    "Constituency parsers": TreeOptions,
    "Word segmenters": WordsOptions,
    "Rerankers": RerankingOptions,
    "Structured models": StructuredOptions,
}


def page() -> str:
    """The text of the page."""
    parts = [BEGIN, markdown_table(TrainingOptions), ""]
    for title, kind in TASKS.items():
        parts += [f"## {title}\n", markdown_table(kind, shared=False), ""]
    return "\n".join(parts)


if __name__ == "__main__":
    Path(__file__).parents[1].joinpath("options.md").write_text(page(), encoding="utf-8")
