"""docs/results.md, and the rows and figures of README.md, made from benchmarks/results and experiments/results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.bars import barred
from benchmarks.compare import OURS
from benchmarks.kept import PEERS, kept
from benchmarks.papers_page import figures, paper_rows

Row = dict[str, Any]

HEAD = """# Results

Speed, memory and accuracy of trellis, beside other programs on the same data and beside published figures.

- **One run.** Programs of one table take turns in one run on one machine, each in a process of its own. The best round
  of each counts. `ratio` is the time (or memory) of a program divided by that of trellis; its
  range over the rounds is in brackets. Ratios are comparable between machines, seconds are not.
- **Equal work.** Programs get the same features unless the text says otherwise. The accuracy on the test set is beside
  the speed.
- **Commands.** `make bench` installs the other programs into `.venv-bench` and runs all benchmarks;
  `.venv-bench/bin/python -m benchmarks NAME` runs one. Wapiti, CRF++, hunpos and MarMoT are not on PyPI: they take
  part where their commands are on the `PATH`. `--data` or `TRELLIS_DATA` names the
  [folder of corpora](papers.md#the-corpora), which are not part of the repository.

ABSENT
All learners on the same data: [learners](learners.md). All presets: [presets](presets.md). The papers' tables in full:
[papers](papers.md). This page is made by `python -m benchmarks report`; no figure on it is typed.
"""


@dataclass(frozen=True, slots=True)
class Table:
    """One benchmark on the page: its name, and what a reader must know."""

    name: str
    title: str
    text: str
    quality: str = ""  # meaning of the accuracy column, for benchmarks against peers
    rounds: bool = True  # the best of several rounds counts
    columns: tuple[str, ...] = ()  # which, and their order; else all of the rows


@dataclass(frozen=True, slots=True)
class Group:
    """A heading with its tables, pictures of docs/img, and experiments whose rows stand beside published figures."""

    title: str
    tables: tuple[Table, ...]
    experiments: tuple[str, ...] = ()
    beside: str = "Beside published figures"
    pictures: tuple[tuple[str, str], ...] = ()


GROUPS = (
    Group(
        "Phrase chunking",
        (
            Table(
                "crf",
                "Training a CRF",
                "CoNLL-2000, 211,727 tokens, the 19 templates that CRFsuite ships for it, L2 regularisation with c2 "
                "= 1. Time of optimisation alone. `to CRFsuite's objective`: until the objective of trellis is at "
                "least as low as that of CRFsuite after convergence. Stochastic: 10 epochs, AdaGrad in trellis, "
                "l2sgd in CRFsuite.",
                "F1, %",
            ),
            Table(
                "perceptron",
                "Training an averaged perceptron",
                "10 epochs, one thread. Time per epoch is that of optimisation alone; for chaine it includes loading "
                "the attributes. `typos`: labels are letters, and the figure under F1 is their accuracy. "
                "`trellis, pairs seen`: weights only for pairs of attribute and label that occur in "
                "training, as in CRFsuite.",
                "F1, %",
            ),
            Table(
                "end_to_end",
                "From file to model",
                "Whole processes: read the file, extract features, train, save. trellis: perceptron, 4 epochs. "
                "Vowpal Wabbit: `--search_task sequence`, 3 passes or 1. python-crfsuite: averaged perceptron.",
                "F1, %",
            ),
            Table(
                "tagging",
                "Tagging with a CRF",
                "47,377 tokens of the test file, models after 30 iterations of L-BFGS with 456,468 weights each. The "
                "other programs include their feature extraction in Python. trellis starts with an empty cache of "
                "words, except in rows with `words seen before`.",
                "F1, %",
            ),
            Table(
                "all_pairs",
                "Training and tagging with weights for all pairs",
                "Every fourth training sentence of CoNLL-2000, the 19 templates, L2 regularisation, c2 = 1, L-BFGS; "
                "weights for all pairs of an attribute and a label and of two labels, as in Wapiti and CRF++. "
                "One thread, CPU seconds of whole processes on a busy machine; each program stops by its own rule.",
                "F1, %",
            ),
            Table(
                "files",
                "Tagging a file of 1,000,000 tokens",
                "Whole processes, from column file to column file. The words are those of CoNLL-2000, repeated.",
                "F1 or accuracy, %",
            ),
        ),
        ("collins-chunking", "sha-pereira"),
    ),
    Group(
        "Parts of speech",
        (
            Table(
                "pos",
                "CoNLL-2000",
                "Features from words only. trellis and python-crfsuite: averaged perceptron with the preset "
                "`default`; NLTK: its perceptron tagger with its own features; spaCy: its neural tagger, 2 epochs. "
                "Training is from file to model.",
                "accuracy, %",
            ),
            Table(
                "pos_more",
                "UD English-EWT and the Brown corpus",
                "As above.",
                "accuracy, %",
            ),
            Table(
                "udpipe",
                "UDPipe",
                "Every fourth training sentence of CoNLL-2000, 5 epochs, one thread, CPU seconds on a busy machine. "
                "Training is from file to model, tagging from lists of strings to labels. trellis as above; UDPipe and "
                "NLTK with their own features, UDPipe for parts of speech alone.",
                "accuracy, %",
            ),
        ),
    ),
    Group(
        "Beside published results",
        (
            Table("presets", "Presets", "On test sets, with the default learner.", rounds=False),
            Table(
                "rerank",
                "Reranking",
                "CoNLL-2000, the 20 best label sequences of an averaged perceptron.",
                rounds=False,
            ),
            Table(
                "segments",
                "Semi-Markov chains",
                "Chains and semi-Markov chains with the same templates of tokens.",
                rounds=False,
            ),
        ),
        ("typos", "ocr"),
    ),
    Group(
        "Word segmentation",
        (Table("segmentation", "Chinese, PKU", "From file to file. jieba with its own dictionary.", rounds=False),),
        ("segmentation",),
    ),
    Group(
        "Dependency parsing",
        (
            Table(
                "parsing_peers",
                "Other parsers",
                "Trained on the same files with gold tags and their default settings. Measured in a run of its own, "
                "not in turns with trellis; Java programs without start-up and loading.",
                rounds=False,
                columns=("corpus", "parser", "UAS, %", "LAS, %", "sentences/s"),
            ),
        ),
        ("parsing",),
        "trellis and these parsers",
    ),
    Group("Constituency parsing", (), ("trees",), "The WSJ sample"),
    Group(
        "Servers and model files of other tools",
        (
            Table(
                "serve",
                "Requests of one sentence",
                "`trellis serve` and a FastAPI server around python-crfsuite answer the same requests with the same "
                "model.",
            ),
            Table(
                "serve_soak",
                "Ten minutes of load",
                "`trellis serve`, 16 clients, with words that are new to the model.",
                rounds=False,
            ),
            Table(
                "crfsuite_models",
                "A model of CRFsuite",
                "Trained by python-crfsuite, run by both. GridSearchCV: four settings, three folds, with the "
                "estimators of trellis and of sklearn-crfsuite.",
            ),
            Table("nltk_models", "A tagger of NLTK", "The perceptron tagger of NLTK, run by trellis and by NLTK."),
        ),
    ),
    Group(
        "Data, memory and threads",
        (
            Table("reading", "Reading a column file", "Beside a Python loop that splits each line."),
            Table("clusters", "Brown clusters", "Beside plain C++ that computes all pairs again after each merge."),
            Table(
                "memory",
                "Peak memory of training",
                "1,045,507 tokens of the Brown corpus, order 1, two threads.",
                rounds=False,
            ),
            Table("startup", "Start-up", "CPU time and memory of one process each."),
            Table(
                "batches",
                "Mini-batches on two threads",
                "CoNLL-2000, 10 epochs, seconds per epoch; any number of threads gives the same model.",
            ),
        ),
        pictures=(("growth", "time by size of the problem"),),
    ),
)

# Texts of kept rows, in the terms of the documentation.
TERMS = (
    ("chunks, file to file", "phrases, file to file"),
    ("chunks, ", ""),
    ("chunks", "phrases"),
    ("parts of speech, CoNLL-2000, ", ""),
    ("parts of speech, EWT", "EWT"),
    ("parts of speech, one thread, ", ""),
    ("CRF, all pairs, ", ""),
    ("parts of speech, Brown", "Brown"),
    (" 1 clients", " 1 client"),
    (" 1 threads", " 1 thread"),
    ("an epoch", "per epoch"),
    ("trellis tag,", "trellis predict,"),
    ("to its own end", "to convergence"),
    ("words met before", "words seen before"),
    ("five best paths", "5-best label sequences"),
    ("requests a second", "requests per second"),
    ("opening its model", "loading the model"),
    ("labels that are the same, %", "identical labels, %"),
    ("probabilities differ at most", "largest difference of probabilities"),
    ("words in the same class, %", "words in the same cluster, %"),
    ("classes", "clusters"),
    ("1 thread(s)", "1 thread"),
    ("2 thread(s)", "2 threads"),
    ("of import numpy", "relative to import numpy"),
    ("seconds of CPU", "CPU seconds"),
    ("memory when warm, MB", "memory after warm-up, MB"),
    ("memory at most, MB", "peak memory, MB"),
    ("its F1 on 500 test sentences; best parameters: same", "F1 of the best setting on 500 sentences, %"),
)


def results_page() -> str:
    """The whole page."""
    parts = [HEAD.replace("ABSENT", _absent())]
    for group in GROUPS:
        parts.append(f"## {group.title}")
        for table in group.tables:
            if result := kept(table.name):
                parts += [f"### {table.title}", table.text, _table(table, result["rows"]), _about(table, result)]
        if rows := [
            row for row in paper_rows() if any(f"`python -m experiments {name}`" in row for name in group.experiments)
        ]:
            parts += [f"### {group.beside}", _published(rows)]
        parts += [f"![{text}](img/{name}.svg)" for name, text in group.pictures]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _absent() -> str:
    """Programs known to the benchmarks that were not installed."""
    notes = (note for name in PEERS for note in kept(name).get("notes", []))
    names = list(dict.fromkeys(note.removesuffix(" is not here.") for note in notes if note.endswith(" is not here.")))
    names = [name for name in names if not any(name in kept(other).get("rival", "") for other in PEERS)]
    return f"Not installed when these figures were measured: {', '.join(names)}." if names else ""


def _about(table: Table, result: Row) -> str:
    machine = result["machine"]
    rounds = f"best of {result['rounds']} rounds" if table.rounds and result["rounds"] > 1 else "one round"
    peers = f" Versions: {result['rival']}." if any(char.isdigit() for char in result["rival"]) else ""
    return (
        f"`python -m benchmarks {table.name}`, {rounds}. {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['system']}, Python {machine['python']}.{peers}"
    )


def _table(table: Table, rows: list[Row]) -> str:
    if "contender" in rows[0]:
        return _against_peers(table, rows)
    if table.name == "presets":
        return _presets(rows)
    if any("rival" in row for row in rows):
        return _pairs(rows)
    return _plain(table, rows)


def _against_peers(table: Table, rows: list[Row]) -> str:
    lines = [["work", "program", "time", "tokens/s", "peak MB", table.quality, "ratio"]]
    last = ""
    for row in rows:
        work, spread = _terms(row["work"]), ""
        if "times" in row and row["most"] >= 1.05 * row["least"]:
            spread = f" ({times(row['least'])} to {times(row['most'])})"
        lines.append(
            [
                "" if work == last else work,
                _terms(row["contender"]),
                "" if row["unit"] == "MB" else duration(row["best"]),
                rounded(row["tokens/s"]) if row.get("tokens/s") is not None else "",
                f"{row['peak_mb']:,.0f}",
                f"{row['quality']:.2f}" if row.get("quality") is not None else "",
                f"{times(row['times'])}{spread}" if "times" in row else "",
            ]
        )
        last = work
    return _markdown(lines)


def _pairs(rows: list[Row]) -> str:
    lines = [["work", "trellis", "other", "ratio"]]
    for row in rows:
        rival = _figure(row["rival"]) if "rival" in row else ""
        # A gain of percentages is a difference.
        ratio = times(row["gain"]) if "gain" in row and "%" not in row["what"] and "F1" not in row["what"] else ""
        lines.append([_terms(row["what"]), _figure(row["trellis"]), rival, ratio])
    return _markdown(lines)


def _presets(rows: list[Row]) -> str:
    published = {
        "EWT": ("UD English-EWT, UPOS accuracy", "94.8 (best published linear tagger)"),
        "noun phrases": ("CoNLL-2000 noun phrases, F1", "94.38 (Sha & Pereira 2003)"),
        "all phrases": ("CoNLL-2000 all phrases, F1", "93.91 (Kudo & Matsumoto 2001)"),
    }
    lines = [["task, test set", "preset", "trellis", "published"]]
    for row in (row for row in rows if row.get("test") is not None):
        task, figure = published[row["task"]]
        lines.append([task, row["features"], f"{row['test']:.2f}", figure])
    return _markdown(lines)


def _plain(table: Table, rows: list[Row]) -> str:
    names = list(table.columns or dict.fromkeys(name for row in rows for name in row if name != "wanted"))
    head = ["work" if name == "what" else _terms(name) for name in names]
    return _markdown([head, *([_figure(row.get(name)) for name in names] for row in rows)])


def _published(rows: list[str]) -> str:
    lines = [["work", "trellis", "published, or other programs", "command"]]
    for row in rows:
        work, ours, theirs, _, command = (cell.strip() for cell in row.split("|")[1:-1])
        lines.append([work, ours, theirs, command])
    return _markdown(lines)


def _markdown(lines: list[list[str]]) -> str:
    """A table without empty columns; columns of numbers are right-aligned."""
    columns = [column for column in zip(*lines, strict=True) if any(column[1:])]
    right = [all(not cell or cell[0].isdigit() or cell[0] in "-–" for cell in column[1:]) for column in columns]
    rule = ["---:" if to_right else "---" for to_right in right]
    head, *body = zip(*columns, strict=True)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *body))


def _terms(text: str) -> str:
    for old, new in TERMS:
        text = text.replace(old, new)
    return text


def _figure(value: Any) -> str:
    if value is None or isinstance(value, str):
        return _terms(value or "")
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Three significant digits, in a suitable unit."""
    if seconds >= 0.1:
        return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.2f} s"
    return f"{1000 * seconds:.1f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.0f} µs"


def rounded(figure: float) -> str:
    """To three digits."""
    return f"{float(f'{figure:.3g}'):,.0f}"


def times(figure: float) -> str:
    """A ratio."""
    return f"{figure:.0f}" if figure >= 19.95 else f"{figure:.1f}" if figure >= 0.95 else f"{figure:.2f}"


# ------------------------------------------------------------ README

# Rows of README.md from benchmarks with peers: benchmark, work, peer, title, name of the quality.
README_ROWS = (
    (
        "crf",
        "chunks, CRF by L-BFGS, 1 thread, to CRFsuite's objective",
        "python-crfsuite",
        "phrases: training a CRF, one thread",
        "F1",
    ),
    ("end_to_end", "chunks, file to model at equal F1", "Vowpal Wabbit", "phrases: training from file to model", "F1"),
    ("tagging", "chunks, lists of strings to labels", "python-crfsuite", "phrases: tagging", "F1"),
    (
        "tagging",
        "chunks, one sentence of 23 to 27 words",
        "python-crfsuite",
        "phrases: tagging one sentence of 23 to 27 words",
        "",
    ),
    ("pos", "parts of speech, CoNLL-2000, tagging", "NLTK", "parts of speech: tagging", "accuracy"),
)


def readme_table() -> str:
    """The rows of README.md."""
    lines = [["task", "trellis", "other", "ratio", "command"]]
    for name, work, peer, title, quality in README_ROWS:
        rows = [row for row in kept(name).get("rows", []) if row["work"] == work]
        ours, theirs = (_measured(find(rows, program), quality) for program in (OURS, peer))
        ratio = times(find(rows, peer)["times"])
        lines.append([title, ours, f"{peer} {theirs}", ratio, f"`python -m benchmarks {name}`"])
    if scores := [row["test"] for row in kept("presets").get("rows", []) if (row["task"], row["features"]) == REPORTED]:
        ours, theirs = f"F1 {scores[0]:.2f}", "F1 94.38 (Sha & Pereira 2003)"
        lines.append(["noun phrases: preset `phrases`, reranked", ours, theirs, "", "`python -m benchmarks presets`"])
    parser = figures("parsing").get("wsj-sample, order 1")
    peers = [row for row in kept("parsing_peers").get("rows", []) if row["parser"] == "MSTParser, order 1"]
    if parser and peers:
        ours, theirs = (f"UAS {one['UAS']:.2f}" for one in (parser, {"UAS": peers[0]["UAS, %"]}))
        speeds = parser["sentences/s"], peers[0]["sentences/s"]
        ours, theirs = f"{ours}, {speeds[0]:,.0f} sentences/s", f"MSTParser {theirs}, {speeds[1]:,.0f} sentences/s"
        lines.append(["dependency parsing, order 1", ours, theirs, "", "`python -m experiments parsing`"])
    return _markdown(lines) + "\n"


REPORTED = ("noun phrases", "phrases, reranked")


def headline() -> str:
    """The line of README.md with its first figures."""
    rows = kept("crf")["rows"]
    one, two = (
        times(find([row for row in rows if f"{n} to CRFsuite" in row["work"]], "python-crfsuite")["times"])
        for n in ("1 thread,", "2 threads,")
    )
    latency = find([row for row in kept("tagging")["rows"] if "one sentence" in row["work"]], OURS)
    return (
        f"A CRF trains {one} times as fast as with python-crfsuite ({two} times with two threads), to the same "
        f"objective and F1; tagging a sentence of 23 to 27 words takes {duration(latency['best'])}."
    )


def find(rows: list[Row], program: str) -> Row:
    """The row of a program: of trellis by any number of threads."""
    return next(row for row in rows if row["contender"].partition(",")[0] == program)


def _measured(row: Row, quality: str) -> str:
    shown = f"{rounded(row['tokens/s'])} tokens/s" if row.get("tokens/s") is not None else duration(row["best"])
    return f"{shown}, {quality} {row['quality']:.2f}" if quality else shown


def panels() -> list[Row]:
    """Content of docs/img/speed.svg: per panel a title, and per program its seconds and accuracy."""
    shown = (
        ("crf", "chunks, CRF by L-BFGS, to its own end", "Train a CRF to convergence", "F1"),
        ("end_to_end", "chunks, file to model at equal F1", "Train a tagger, from file to model", "F1"),
        ("all_pairs", "chunks, CRF, all pairs, file to model", "Train a CRF, weights for all pairs, 1 thread", "F1"),
        ("files", "chunks, file to file", "Tag 1,000,000 words: phrases", "F1"),
        ("pos", "parts of speech, CoNLL-2000, tagging", "Tag 47,377 words: parts of speech", "acc."),
        ("udpipe", "parts of speech, one thread, tagging", "Tag parts of speech, 1 thread", "acc."),
    )
    return [
        {
            "title": title,
            "quality": quality,
            "rows": [row for row in kept(name).get("rows", []) if row["work"] == work],
        }
        for name, work, title, quality in shown
    ]


def bars() -> list[Row]:
    """The rows of docs/img/peers.svg."""
    return [row for name in PEERS for row in barred(kept(name).get("rows", []))]
