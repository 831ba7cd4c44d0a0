"""UDPipe 1's tagger by its Python bindings, with the templates and the guesser of unknown words that it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ufal.udpipe import Model, ProcessingError, Sentence, Sentences, Trainer

from benchmarks.clock import Clock, best
from benchmarks.rows import read_rows, take

Work = dict[str, Any]
# One model, of parts of speech alone: by default it learns lemmas and features of words too.
_ONLY_TAGS = ";".join(f"{verb}_{column}=0" for column in ("lemma", "xpostag", "feats") for verb in ("use", "provide"))


def _sentence(words: list[str], tags: list[str] | None = None) -> Sentence:
    sentence = Sentence()
    for at, word in enumerate(words):
        token = sentence.addWord(word)
        if tags is not None:
            token.upostag = tags[at]
    return sentence


def train(work: Work, model: str, learner: str = "perceptron", epochs: int = 5) -> Work:
    """Its dictionary of endings is made first and is part of learning."""
    with Clock() as total:
        sentences, error = Sentences(), ProcessingError()
        for sentence in read_rows(work["train"]):
            sentences.append(_sentence(take([sentence], 0)[0], take([sentence], -1)[0]))
        options = f"iterations={epochs};{_ONLY_TAGS}"
        with Clock() as training:
            trained = Trainer.train("morphodita_parsito", sentences, Sentences(), "none", options, "none", error)
        if error.occurred():
            raise RuntimeError(error.message)
        Path(model).write_bytes(trained)
    return training.figures() | {"total": total.seconds}


def label(work: Work, model: str, repeats: int = 2) -> Work:
    """Sentence by sentence: it has no batches."""
    sentences, tagger, error = take(read_rows(work["test"]), 0), Model.load(model), ProcessingError()

    def tags(words: list[str]) -> list[str]:
        sentence = _sentence(words)
        tagger.tag(sentence, Model.DEFAULT, error)
        return [sentence.words[at].upostag for at in range(1, sentence.words.size())]  # the first is the root

    figures, found = best(lambda: [tags(sentence) for sentence in sentences], repeats)
    return figures | {"labels": found}
