"""Model files that versions wrote, one per learner and kind of model: they stay loadable and give the same labels.

``python tests/test_old_models.py`` writes those of this version; once a version is released its files never change.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trellis

FOLDER = Path(__file__).parent / "files" / "models"
WORDS = [["the", "man", "saw", "the", "Dog"], ["Ann", "saw", "it"], ["two", "dögs", "barked"], []]
LABELS = [["B-NP", "I-NP", "O", "B-NP", "I-NP"], ["B-NP", "O", "B-NP"], ["B-NP", "I-NP", "O"], []]
NEW = [["Ann", "barked"], ["the", "dögs", "saw", "three", "men"], ["?"], []]
PLAIN: dict[str, Any] = {"features": ["word[0]", "word[-1] & word[0]", "suffix(word[0], 2)", "shape(word[0])"]}
EDGES: dict[str, Any] = {"features": ["word[0]", "label[-1] & word[0]"]}
HISTORIES: dict[str, Any] = {"features": ["word[0]", "label[-1] & word[0]", "label[-3..-1] & shape(word[0])"]}
FAR: dict[str, Any] = {"features": ["word[0]", "label[-2] & word[0]", "label[any]", "label[same]"]}
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "perceptron": (trellis.Perceptron(epochs=3), PLAIN),
    "perceptron-voted": (trellis.Perceptron(epochs=2, vote=True), PLAIN),
    "perceptron-dictionary": (
        trellis.Perceptron(epochs=2),
        {**PLAIN, "order": 2, "search": trellis.Search(tag_dictionary=2)},
    ),
    "perceptron-smoothed": (
        trellis.Perceptron(epochs=2),
        {
            **PLAIN,
            "search": trellis.Search(tag_dictionary="smoothed", prune=0.99),
        },
    ),
    "perceptron-histories": (trellis.Perceptron(epochs=2), HISTORIES),
    "perceptron-far": (trellis.Perceptron(epochs=2), {**FAR, "search": trellis.Search(beam=4)}),
    "perceptron-attributes": (trellis.Perceptron(epochs=2), {"features": "attributes"}),
    "passive-aggressive": (trellis.PassiveAggressive(epochs=2), PLAIN),
    "mira": (trellis.MIRA(epochs=2, k=2), EDGES),
    "arow": (trellis.AROW(epochs=2), PLAIN),
    "crf": (trellis.CRF(epochs=5), {**PLAIN, "order": 2}),
    "crf-scheme": (trellis.CRF(epochs=5), {**EDGES, "labels": trellis.Labels(scheme="iob2")}),
    "maxent": (trellis.MaxEnt(epochs=5), PLAIN),
    "exponential": (trellis.ExponentialLoss(epochs=5), PLAIN),
    "boost": (trellis.SequenceBoost(epochs=8), PLAIN),
    "hmm": (trellis.HMM(), {"features": "hmm"}),
    "segments": (trellis.CRF(epochs=5), {**PLAIN, "segments": True}),
    "hmsvm": (trellis.HMSVM(epochs=5), PLAIN),
    "hmsvm-kernel": (trellis.HMSVM(kernel="poly", epochs=5), PLAIN),
    "kernel-perceptron": (trellis.KernelPerceptron(kernel="rbf", epochs=2), PLAIN),
}


def columns_of(words: list[list[str]]) -> dict[str, Any]:
    """The words, and attributes of each."""
    return {"word": words, "attributes": [[{"w": w, "length": len(w) / 4} for w in some] for some in words]}


def sentences_for(tagger: trellis.Tagger) -> list[Any]:
    """New sentences as the model reads them."""
    given: list[Any] = columns_of(NEW)[tagger.columns[0]]
    return given


def answers(tagger: trellis.Tagger) -> dict[str, Any]:
    """What a model says of new sentences."""
    best = [tagger.kbest(sentence, 1)[0] for sentence in sentences_for(tagger)]
    return {
        "labels": tagger.tag_batch(sentences_for(tagger)),
        "scores": [score for _, score in best],
        "measure": tagger.probability_kind,
    }


def write_reranker(folder: Path) -> None:
    data = {"word": WORDS[:3] * 2, "chunk": LABELS[:3] * 2}
    reranker = trellis.Reranker.train(
        data, tagger=lambda part: trellis.train(part, target="chunk", **PLAIN), k=5, folds=3
    )
    reranker.save(folder / "reranker.rerank")
    (folder / "reranker.json").write_text(json.dumps([reranker.kbest(words) for words in NEW]) + "\n", "utf-8")


def write() -> None:
    folder = FOLDER / trellis.__version__
    folder.mkdir(parents=True, exist_ok=True)
    write_reranker(folder)
    expected = {}
    for name, (learner, options) in MODELS.items():
        column = "attributes" if "attributes" in options["features"] else "word"
        data = {column: columns_of(WORDS)[column], "chunk": LABELS}
        tagger = trellis.train(data, target="chunk", learner=learner, **options)
        tagger = tagger.calibrated(data) if name == "arow" else tagger
        tagger.save(folder / f"{name}.trellis")
        expected[name] = answers(tagger)
    lines = [f"{json.dumps(name)}: {json.dumps(said)}" for name, said in expected.items()]
    (folder / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/*.trellis")), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_model_files_stay_loadable(path: Path) -> None:
    tagger = trellis.load(path)
    expected = json.loads((path.parent / "expected.json").read_text("utf-8"))[path.stem]
    found = answers(tagger)
    assert found["labels"] == expected["labels"]
    assert found["measure"] == expected["measure"]
    assert found["scores"] == pytest.approx(expected["scores"], rel=1e-6, abs=1e-6)
    assert tagger.training["history"]
    again = trellis.Tagger.from_bytes(tagger.to_bytes())
    assert again.tag_batch(sentences_for(again)) == expected["labels"]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/*.rerank")), ids=lambda p: p.parent.name)
def test_files_of_rerankers_stay_loadable(path: Path) -> None:
    reranker = trellis.Reranker.load(path)
    for words, expected in zip(NEW, json.loads(path.with_suffix(".json").read_text("utf-8")), strict=True):
        found = reranker.kbest(words)
        assert [labels for labels, _ in found] == [labels for labels, _ in expected]
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], rel=1e-6, abs=1e-6)
        assert reranker.tag(words) == expected[0][0]


def test_every_kind_of_model_is_kept() -> None:
    assert {path.stem for path in FOLDER.glob("*/*.trellis")} >= set(MODELS)
    assert list(FOLDER.glob("*/*.rerank"))
    learners = {type(learner).__name__ for learner, _ in MODELS.values()}
    assert learners == {
        name
        for name in trellis.__all__
        if isinstance(getattr(trellis, name), type)
        and issubclass(getattr(trellis, name), trellis.Learner)
        and name != "Learner"
    }


if __name__ == "__main__":
    write()
