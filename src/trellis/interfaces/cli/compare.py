"""Compare two models on a file with the true labels: which is better, and is the difference significant?

McNemar's test counts the tokens that only one of them has right; approximate randomisation and bootstrap intervals are
of F1 where labels mark spans, else of token accuracy. --differences writes the tokens on which the two differ.

example:
  trellis compare old.trellis new.trellis test.txt --differences differ.tsv
"""

from __future__ import annotations

from argparse import Namespace

import numpy as np

from trellis._support.errors import ModelError
from trellis.corpus.corpus import Column
from trellis.corpus.schemes import guess_scheme
from trellis.evaluation.significance import bootstrap, f1_of, mcnemar, randomisation, sentence_counts
from trellis.evaluation.tagging import right_tokens
from trellis.interfaces.cli.file_shape import shape_for
from trellis.interfaces.cli.mistakes import check_mistakes, write_mistakes
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import align, show, show_json
from trellis.interfaces.cli.progress import show_steps
from trellis.tasks.tagging.model import Tagger


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("first", metavar="A", help="model file")
    add("second", metavar="B", help="another model file")
    add("source", metavar="FILE", help="file with the true labels")
    add("--gold", metavar="NAME", help="column of true labels (default: the target of A)")
    add("--differences", metavar="FILE", help="write the tokens that get different labels, as a table")
    parser.share("threads", "json")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Tag with both, and test."""
    check_mistakes(given.differences, given.source, given.first, given.second)
    taggers = [Tagger.load(path) for path in (given.first, given.second)]
    corpora = [
        shape_for(tagger, given, given.source).read_for(given.source, tagger, given.columns) for tagger in taggers
    ]
    target = given.gold or taggers[0].target
    if given.gold is None and taggers[1].target != target:
        other = taggers[1].target
        raise ModelError(
            f"{given.first} labels {target!r} and {given.second} {other!r}; name the true column by --gold"
        )
    if corpora[0].starts.tolist() != corpora[1].starts.tolist():
        raise ModelError(
            f"{given.first} and {given.second} read {given.source} differently; give --columns and --format"
        )
    gold, starts = corpora[0].column(target), corpora[0].starts
    spans = guess_scheme(gold.values) is not None
    with show_steps() as step:
        found = list[Column]()
        for path, tagger, corpus in zip((given.first, given.second), taggers, corpora, strict=True):
            step(f"tagging {len(gold.codes):,} tokens with {path}")
            found.append(tagger.tag_column(corpus, n_threads=given.threads))
        right = [right_tokens(gold, one) for one in found]
        counts = [sentence_counts(gold, one, starts, spans=spans) for one in found]
        scores = [float(f1_of(one.sum(axis=0))) for one in counts]
        step("approximate randomisation")
        tokens, score = mcnemar(*right), randomisation(*counts)
        step("bootstrap intervals")
        intervals = [bootstrap(one) for one in counts]
    if given.differences is not None:
        differ = np.flatnonzero(~right_tokens(found[0], found[1]))
        columns = [("true", gold), ("A", found[0]), ("B", found[1])]
        write_mistakes(given.differences, corpora[0], taggers[0].columns[0], columns, differ.tolist())
    what = "F1 of spans" if spans else "token accuracy"
    if given.json:
        figures = {"measure": what, "scores": scores, "intervals": intervals}
        test = {"only_a_right": tokens.a, "only_b_right": tokens.b, "p": tokens.p}
        show_json({**figures, "mcnemar": test, "randomisation": {"p": score.p}})
        return
    rows = [["", what, "95% of bootstraps", "tokens that only it has right"]]
    for name, one, (low, high), only in zip("AB", scores, intervals, (tokens.a, tokens.b), strict=True):
        rows.append([name, f"{100 * one:.2f}", f"{100 * low:.2f} to {100 * high:.2f}", f"{only:.0f}"])
    tests = [
        f"McNemar's test on tokens: p = {tokens.p:.4g}",
        f"approximate randomisation of the {what}: p = {score.p:.4g}",
        "p < 0.05 is conventionally called significant.",
    ]
    show("\n".join([align(rows, right=(1, 3)), "", *tests]))
