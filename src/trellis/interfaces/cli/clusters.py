"""Cluster the words of unlabelled text (Brown clustering), for features of words that are rare in the training data.

The output has one line per word: bit string of its cluster, word, count. Templates read it:
cluster(word[0], "clusters.tsv", 8).

examples:
  trellis clusters news.txt --words --output clusters.tsv
  trellis clusters corpus.txt --columns word,pos --classes 500 --min-count 2 --output clusters.tsv
"""

from __future__ import annotations

from argparse import Namespace

from trellis._support.errors import ArgumentError
from trellis.corpus.corpus import Corpus
from trellis.features.brown import brown_clusters
from trellis.interfaces.cli.files import read_for, reject_file_options
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.pieces import text_corpus, text_pieces
from trellis.interfaces.cli.progress import say, show_steps


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", metavar="FILE", help="text or corpus; - is standard input")
    parser.share("output", required=True, help="file for the clusters")
    add("--classes", type=at_least(2), default=1000, metavar="N", help="number of clusters")
    add("--min-count", type=at_least(1), default=2, metavar="N", help="minimum count of a word")
    add("--text", action="store_true", help="raw text, split into sentences and tokens by the built-in rules")
    add("--lines", action="store_true", help="raw text, one sentence per line")
    add("--words", action="store_true", help="one sentence per line, tokens separated by spaces")
    add("--column", metavar="NAME", help="column of words in a corpus (default: the first)")
    parser.share("threads", "quiet")
    parser.share_file_options()


def command(options: Namespace) -> None:
    """Read, cluster, write."""
    corpus = _corpus(options)
    settings = {"column": options.column, "min_count": options.min_count, "n_threads": options.threads}
    with show_steps(not options.quiet) as step:
        progress = lambda n_done, n: step(f"clustering: {n_done:,} of {n:,} words")  # noqa: E731
        clusters = brown_clusters(corpus, options.classes, progress=progress, **settings)
    clusters.save(options.output)
    say(f"{options.output}: {len(clusters):,} words in {len(set(clusters.paths)):,} classes", options.quiet)


def _corpus(options: Namespace) -> Corpus:
    if any((options.text, options.lines, options.words)):
        if options.column is not None:
            raise ArgumentError("raw text has no columns; omit --column")
        reject_file_options(options, "raw text has no columns")
        return text_corpus([sentence for _, _, sentences in text_pieces(options) for sentence in sentences], "word")
    return read_for(None, options, options.source)
