"""`Lemmatizer`: lemmas by a dictionary of words seen in training, and by a classifier of edit scripts for other words.

The classifier is a tagger of single words, whose labels are the texts of edit scripts. Its first column, ``ending``, is
the part of speech with the longest ending of the form that enough words of training have; the tag dictionary of this
column limits the scripts to those seen with it. So a word is compared with a few scripts, however many there are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np

from trellis import _core
from trellis._support.arguments import is_text, items
from trellis._support.arrays import Arrays, Ints, Longs, array_in
from trellis._support.errors import ArgumentError, CorpusError, LearnerError
from trellis._support.tensor_file import Tensors
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.features.idle_strings import without_idle_strings
from trellis.features.vocabulary_tensors import strings_of, strings_tensors
from trellis.tasks.pipeline.edit_scripts import EditScript
from trellis.tasks.tagging.chain_model import ChainModel
from trellis.tasks.tagging.model import Tagger

Word = tuple[str, str, str]  # form, part of speech, other tags
T = TypeVar("T", bound=tuple[str, ...])
Values = Sequence[str] | Column

COLUMNS = ("ending", "form", "upos", "tags")
TARGET = "script"
# Chosen on the development sets of English-EWT and French-Sequoia.
TEMPLATES = [
    "ending[0]",
    "upos[0]",
    "upos[0] & tags[0]",
    "shape(form[0]) & upos[0]",
    *(f"suffix(lower(form[0]), {k})" for k in range(1, 8)),
    *(f"upos[0] & suffix(lower(form[0]), {k})" for k in range(1, 6)),
    *(f"tags[0] & suffix(lower(form[0]), {k})" for k in range(1, 5)),
    *(f"prefix(lower(form[0]), {k})" for k in range(1, 5)),
    "prefix(lower(form[0]), 2) & suffix(lower(form[0]), 2)",
]
LONGEST = 3  # letters of an ending
ENOUGH = 20  # forms with an ending
OTHERS = 10  # scripts tried if the best one does not fit the form
MOST_KEYS = 1 << 62  # forms times parts of speech times other tags
MOST_CACHED = 1 << 19  # words whose lemmas are remembered


class Lemmatizer:
    """Lemmas of words with their tags, one by one; the words around them are not read.

    Parameters
    ----------
    tagger
        Classifier: a tagger of the columns ``ending``, ``form``, ``upos`` and ``tags`` with edit scripts as labels.
    forms
        Forms of the dictionary.
    upos
        Parts of speech of the dictionary.
    tags
        Other tags of the dictionary.
    keys
        [n_entries] number of a form, a part of speech and other tags as one number, ascending.
    scripts
        [n_entries] label of the tagger: the script of the entry.
    """

    def __init__(
        self, tagger: Tagger, forms: Strings, upos: Strings, tags: Strings, keys: Longs, scripts: Ints
    ) -> None:
        self.tagger, self.forms, self.upos, self.tags = tagger, forms, upos, tags
        self.keys, self.scripts = keys, scripts
        self._cache = dict[Word, str]()

    @classmethod
    def train(
        cls, words: Values, upos: Values, tags: Values, lemmas: Values, *, n_threads: int | None = None
    ) -> Lemmatizer:
        """Train on words with their lemmas.

        Parameters
        ----------
        words
            Forms.
        upos
            Part of speech of each word.
        tags
            Other tags of each word: features or language-specific tags.
        lemmas
            Lemma of each word.
        n_threads
            Number of threads (default: all cores); the result does not depend on it.

        Returns
        -------
        Lemmatizer
            The lemmatizer.

        Raises
        ------
        LearnerError
            If there are no words.
        CorpusError
            If a lemma is empty.
        """
        *given, gold = _columns(words=words, upos=upos, tags=tags, lemmas=lemmas)
        if not gold:
            raise LearnerError("no words to learn lemmas from")
        if "" in gold:
            raise CorpusError("", None, f"word {gold.index('')} (counted from 0) has an empty lemma; write _")
        best = _most_frequent(Counter(zip(*given, gold, strict=True)))
        tagger, numbers = _train_tagger(best, n_threads)
        return cls(tagger, *_dictionary(best, numbers))

    def predict(self, words: Values, upos: Values, tags: Values, *, n_threads: int | None = None) -> list[str]:
        """Predict lemmas.

        Parameters
        ----------
        words
            Forms.
        upos
            Part of speech of each word.
        tags
            Other tags of each word, as in training.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[str]
            One lemma per word.
        """
        given = list(zip(*_columns(words=words, upos=upos, tags=tags), strict=True))
        cache = self._cache
        found = list(map(cache.get, given))
        if None in found:
            if len(cache) > MOST_CACHED:
                cache = self._cache = {}
            new = _checked({word for word, lemma in zip(given, found, strict=True) if lemma is None})
            cache.update(zip(new, self._lemmas(new, n_threads), strict=True))
            found = list(map(cache.__getitem__, given))
        return found  # type: ignore[return-value]

    # ------------------------------------------------------------ prediction

    def _lemmas(self, words: Sequence[Word], n_threads: int | None) -> list[str]:
        """Lemmas of different words."""
        found = self._looked_up(words)
        unknown = np.flatnonzero(found < 0).tolist()
        labels = found.tolist()
        if unknown:
            corpus = _corpus(self._known_endings, [words[i] for i in unknown])
            for i, label in zip(
                unknown, self.tagger.tag_column(corpus, n_threads=n_threads).codes.tolist(), strict=True
            ):
                labels[i] = label
        out = [self._scripts[label].apply(word[0]) for word, label in zip(words, labels, strict=True)]
        unfit = [i for i, lemma in enumerate(out) if not lemma]
        if unfit:
            corpus = _corpus(self._known_endings, [words[i] for i in unfit])
            for i, lists in zip(unfit, self.tagger.kbest_batch(corpus, OTHERS, n_threads=n_threads), strict=True):
                form = words[i][0]
                lemmas = (EditScript.parse(script).apply(form) for (script,), _ in lists)
                out[i] = next((lemma for lemma in lemmas if lemma), form)
        return out

    def _looked_up(self, words: Sequence[Word]) -> Ints:
        """[n_words] script in the dictionary of each word, -1 if it has none.

        A form seen with the part of speech but other tags has the script of its entries if they agree.
        """
        columns = [Strings.of(column) for column in zip(*words, strict=True)]
        form, upos, tags = (
            known.find(asked).astype(np.int64)
            for known, asked in zip((self.forms, self.upos, self.tags), columns, strict=True)
        )
        out = np.full(len(words), -1, np.int32)
        is_seen, first = (form >= 0) & (upos >= 0), (form * len(self.upos) + upos) * len(self.tags)
        at = np.minimum(np.searchsorted(self.keys, first + tags), len(self.keys) - 1)
        is_entry = is_seen & (tags >= 0) & (self.keys[at] == first + tags)
        out[is_entry] = self.scripts[at[is_entry]]
        for i in np.flatnonzero(is_seen & ~is_entry).tolist():
            begin, end = np.searchsorted(self.keys, (first[i], first[i] + len(self.tags))).tolist()
            if begin < end and (self.scripts[begin:end] == self.scripts[begin]).all():
                out[i] = self.scripts[begin]
        return out

    @cached_property
    def _scripts(self) -> list[EditScript]:
        """The script of each label."""
        return [EditScript.parse(label) for label in self.tagger.labels]

    @cached_property
    def _known_endings(self) -> frozenset[str]:
        """The values of the column ``ending`` in training."""
        return frozenset(self.tagger.model.vocabulary.columns[0].values)

    # ------------------------------------------------------------ files

    def tensors(self) -> Arrays:
        """Convert to named arrays, for files.

        Returns
        -------
        Arrays
            Arrays by name.
        """
        return {
            **{f"tagger.{name}": array for name, array in self.tagger._content()[0].items()},
            **strings_tensors("forms", self.forms, slots=False),
            **strings_tensors("upos", self.upos, slots=False),
            **strings_tensors("tags", self.tags, slots=False),
            "keys": self.keys,
            "scripts": self.scripts,
        }

    @property
    def header(self) -> dict[str, Any]:
        """Values that are not arrays, for files."""
        return {"entries": len(self.keys), "tagger": self.tagger._content()[1]}

    @classmethod
    def of(cls, tensors: Tensors, header: dict[str, Any]) -> Self:
        """Make the lemmatizer from named arrays.

        Parameters
        ----------
        tensors
            Arrays by name.
        header
            The values that are not arrays.

        Returns
        -------
        Lemmatizer
            The lemmatizer.

        Raises
        ------
        ModelError, ValueError, LookupError or TypeError
            If the content is damaged.
        """
        own = {name.removeprefix("tagger."): array for name, array in tensors.items() if name.startswith("tagger.")}
        tagger = Tagger._from_content(own, header["tagger"])
        if (
            tagger.columns[0] != COLUMNS[0]
            or {*tagger.columns} != {*COLUMNS}
            or tagger.order != 0
            or tagger.model.dictionary is None
        ):
            raise ValueError("not a classifier of edit scripts")
        for label in tagger.labels:
            EditScript.parse(label)
        forms, upos, tags = (strings_of(name, tensors) for name in ("forms", "upos", "tags"))
        if not all(map(_core.valid_strings, (forms, upos, tags))):
            raise ValueError("a damaged table of strings")
        n = int(header["entries"])
        keys, scripts = array_in(tensors, "keys", np.int64, n), array_in(tensors, "scripts", np.int32, n)
        n_keys = len(forms) * len(upos) * len(tags)
        if n < 1 or n_keys > MOST_KEYS or not (keys[0] >= 0 and (keys[:-1] < keys[1:]).all() and keys[-1] < n_keys):
            raise ValueError("damaged keys of the dictionary of lemmas")
        if not 0 <= scripts.min() <= scripts.max() < len(tagger.labels):
            raise ValueError("a lemma with a script that is not a label")
        return cls(tagger, forms, upos, tags, keys, scripts)


# ------------------------------------------------------------ training


def _most_frequent(counts: Counter[tuple[str, ...]]) -> dict[Word, str]:
    """The lemma that each word has most often; words and lemmas in alphabetical order."""
    best, most = dict[Word, str](), dict[Word, int]()
    for form, upos, tags, lemma in _checked(counts):
        word, n = (form, upos, tags), counts[form, upos, tags, lemma]
        if n > most.get(word, 0):
            best[word], most[word] = lemma, n
    return best


def _train_tagger(lemmas: dict[Word, str], n_threads: int | None) -> tuple[Tagger, Ints]:
    """The classifier, and the number of the script of each word."""
    from trellis.learners.crf import CRF
    from trellis.tasks.tagging.options import Features, Search
    from trellis.tasks.tagging.train import train

    words = list(lemmas)
    scripts = [str(EditScript.between(form, lemma)) for (form, _, _), lemma in lemmas.items()]
    known = _frequent_endings(words)
    corpus, covering = _corpus(known, words), list(_covering(known, words, scripts))
    endings = [*corpus.column("ending").tolist(), *(ending for ending, _ in covering)]
    rows = np.array([*range(len(words)), *(word for _, word in covering)])
    corpus = corpus.take(rows).with_column("ending", Column.of(endings))
    corpus = corpus.with_column(TARGET, Column.of([scripts[i] for i in rows.tolist()]))
    tagger = train(
        corpus,
        target=TARGET,
        order=0,
        features=Features(TEMPLATES),
        learner=CRF(c1=0.1, c2=0.3, solver="adagrad"),  # L1: half as many weights
        search=Search(tag_dictionary=1, prune=False),
        n_threads=n_threads,
    )
    number = {label: i for i, label in enumerate(tagger.labels)}
    return Tagger(_slim(tagger.model)), np.array([number[script] for script in scripts], np.int32)


def _slim(model: ChainModel) -> ChainModel:
    """The model without strings that have no weights, except endings, and without the record, which has a date."""
    slim, tags = without_idle_strings(model.vocabulary), model.dictionary
    first, endings = slim.columns[0], model.vocabulary.columns[0].values
    assert tags is not None
    values, numbers = first.values.united(endings)
    view_ids = np.arange(len(values), dtype=np.int32)[:, None] + np.int32(2 * slim.plan.reach)
    set_of = np.zeros(len(values), np.int32)
    set_of[numbers] = tags.set_of
    slim = replace(slim, columns=(replace(first, values=values, view_ids=view_ids), *slim.columns[1:]))
    return replace(model, vocabulary=slim, dictionary=tags._replace(set_of=set_of), training={})


def _dictionary(lemmas: dict[Word, str], scripts: Ints) -> tuple[Strings, Strings, Strings, Longs, Ints]:
    """Tables of strings, the keys of the words, ascending, and their scripts."""
    columns = [Column.of(list(column)) for column in zip(*lemmas, strict=True)]
    forms, upos, tags = (column.values for column in columns)
    keys = np.zeros(len(lemmas), np.int64)
    for column in columns:
        keys = keys * len(column.values) + column.codes
    order = np.argsort(keys)
    return forms, upos, tags, keys[order], scripts[order]


# ------------------------------------------------------------ endings


def _endings(form: str, upos: str) -> list[str]:
    """The part of speech with each ending of the form, longest first; without an ending; and without both."""
    lower = form.lower()
    return [*(f"{upos} {lower[-n:]}" for n in range(min(LONGEST, len(lower)), 0, -1)), f"{upos} ", " "]


def _frequent_endings(words: Sequence[Word]) -> frozenset[str]:
    """Endings of enough forms, and those of no letters."""
    forms = defaultdict[str, set[str]](set)
    for form, upos, _ in words:
        for ending in _endings(form, upos):
            forms[ending].add(form.lower())
    return frozenset(ending for ending, some in forms.items() if len(some) >= ENOUGH or ending.endswith(" "))


def _covering(known: frozenset[str], words: Sequence[Word], scripts: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Pairs of a known ending and a word with it, one for each script that shorter endings must allow.

    A word is an example of its longest known ending only. These pairs are further examples, which add its script to
    those that the tag dictionary has for its shorter endings, which other words fall back to.
    """
    seen = set[tuple[str, str]]()
    for i, (form, upos, _) in enumerate(words):
        for ending in _endings(form, upos):
            if ending in known and (ending, scripts[i]) not in seen:
                seen.add((ending, scripts[i]))
                yield ending, i


def _corpus(known: frozenset[str], words: Sequence[Word]) -> Corpus:
    """Words as sentences of one word, with the column of endings."""
    endings = [next(filter(known.__contains__, _endings(form, upos)), " ") for form, upos, _ in words]
    columns = (endings, *(list(column) for column in zip(*words, strict=True)))
    named = {name: Column.of(column) for name, column in zip(COLUMNS, columns, strict=True)}
    return Corpus(named, np.arange(len(words) + 1, dtype=np.int64))


def _checked(words: Iterable[T]) -> list[T]:
    """Different words in alphabetical order; CorpusError if they cannot be encoded."""
    for word in words:
        for value in word:
            if not isinstance(value, str) or not is_text(value):
                raise CorpusError("", None, f"{value!r} is not a string of valid UTF-8; decode the text as UTF-8")
    return sorted(words)


def _columns(**columns: Values) -> list[list[str]]:
    """Columns as lists of strings of the same length."""
    out = list[list[str]]()
    for name, given in columns.items():
        values = given.tolist() if isinstance(given, Column) else items(given)
        if values is None:
            raise ArgumentError(f"{name} must be a list of strings or a column of a corpus, not {given!r}")
        out.append(values)
        if len(values) != len(out[0]):
            raise ArgumentError(f"{name} has {len(values):,} values for {len(out[0]):,} words")
    return out
