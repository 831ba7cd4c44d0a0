"""The component in real pipelines of spaCy: entities, tags, training, files, pickles, spaCy's own trainer."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.vocab import Vocab

import trellis
from trellis._support.errors import ArgumentError, ModelError
from trellis.interfaces.spacy import TrellisTagger

pytestmark = pytest.mark.filterwarnings("ignore")  # of spaCy's dependencies

TEXTS = [
    ("Ann Lee lives in Paris .", ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]),
    ("Bob likes Rome .", ["B-PER", "O", "B-LOC", "O"]),
    ("Rome is big .", ["B-LOC", "O", "O", "O"]),
    ("Ann met Bob .", ["B-PER", "O", "B-PER", "O"]),
] * 3


def words_and_labels() -> dict[str, list[list[str]]]:
    return {"word": [text.split() for text, _ in TEXTS], "label": [labels for _, labels in TEXTS]}


def test_sentences_are_tagged_one_by_one() -> None:
    """Where spaCy knows their boundaries; a name is one at the beginning of a sentence here."""
    corpus = {"word": [["Ann", "slept"], ["he", "saw", "Ann"]] * 3, "label": [["B-PER", "O"], ["O", "O", "O"]] * 3}
    tagger = trellis.train(
        corpus,
        target="label",
        features=["word[0] & is_first", "word[0]"],
        learner="crf",
        labels=trellis.Labels(scheme="iob2"),
    )
    component = TrellisTagger(name="ner")
    component.tagger = tagger
    words = ["he", "slept", "Ann", "slept"]
    for starts, names in ((None, []), ([True, False, True, False], ["Ann"])):
        docs = [Doc(Vocab(), words=words, sent_starts=starts) for _ in range(2)]
        found = [component(docs[0]), *component.pipe([docs[1], docs[1], Doc(Vocab(), words=[])])]
        assert [[entity.text for entity in doc.ents] for doc in found] == [names, names, names, []]
    # Training reads the same sentences.
    entities = ["B-PER", "O", "O", "O", "O"]
    doc = Doc(Vocab(), words=["Ann", "slept", "he", "saw", "Ann"], sent_starts=[1, 0, 1, 0, 0], ents=entities)
    learnt = TrellisTagger(name="ner", features=["word[0] & is_first", "word[0]"])
    learnt.initialize(lambda: [Example(doc, doc)] * 3)
    assert learnt.tagger is not None
    assert learnt.tagger.training["sentences"] == 6


@pytest.fixture
def model(tmp_path: Path) -> Path:
    features = ["word[0]", "word[-1]", "is_capitalized(word[0])"]
    trellis.train(words_and_labels(), target="label", features=features, learner="crf").save(tmp_path / "ner.trellis")
    return tmp_path / "ner.trellis"


def examples(vocab: Vocab) -> list[Example]:
    out = []
    for text, labels in TEXTS:
        words = text.split()
        out.append(Example(Doc(vocab, words=words), Doc(vocab, words=words, ents=labels)))
    return out


def test_a_model_file_in_a_pipeline(model: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("trellis", config={"model": str(model)})  # found by its entry point
    doc = nlp("Ann Lee lives in Paris .")
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("Ann Lee", "PER"), ("Paris", "LOC")]
    assert all(0.2 < ent._.trellis_confidence <= 1 for ent in doc.ents)
    assert doc.spans["trellis"].attrs["scores"] == [ent._.trellis_confidence for ent in doc.ents]
    assert set(nlp.get_pipe("trellis").labels) == {"PER", "LOC"}
    docs = list(nlp.pipe(["Bob likes Rome .", "", "Ann met Bob ."], batch_size=2))
    assert [[ent.text for ent in doc.ents] for doc in docs] == [["Bob", "Rome"], [], ["Ann", "Bob"]]


def test_training_inside_initialize_and_files(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("trellis", config={"learner": "perceptron", "features": ["word[0]", "word[-1]"]})
    with pytest.raises(ModelError, match="has no model; set model in its config, or call nlp"):
        nlp("Ann")
    nlp.initialize(lambda: examples(nlp.vocab))
    scores = nlp.evaluate(examples(nlp.vocab))
    assert scores["ents_f"] == 1.0
    nlp.to_disk(tmp_path / "pipeline")
    again = spacy.load(tmp_path / "pipeline")
    assert [ent.label_ for ent in again("Bob likes Rome .").ents] == ["PER", "LOC"]
    by_bytes = spacy.blank("en")
    by_bytes.add_pipe("trellis")
    by_bytes.from_bytes(nlp.to_bytes())
    assert [ent.label_ for ent in by_bytes("Bob likes Rome .").ents] == ["PER", "LOC"]
    component = pickle.loads(pickle.dumps(nlp.get_pipe("trellis")))
    assert component.labels == nlp.get_pipe("trellis").labels


def test_a_saved_pipeline_does_not_need_the_file_it_was_made_from(model: Path, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("trellis", config={"model": str(model)})
    nlp.to_disk(tmp_path / "pipeline")
    model.unlink()
    assert [ent.label_ for ent in spacy.load(tmp_path / "pipeline")("Bob likes Rome .").ents] == ["PER", "LOC"]
    nlp = spacy.blank("en")
    nlp.add_pipe("trellis", config={"model": str(model)})
    with pytest.raises(ModelError, match="ner"):
        nlp("Bob")


def test_blanks_are_no_words(model: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("trellis", config={"model": str(model)})
    assert not nlp("   ").ents
    assert [ent.text for ent in nlp("Ann  Lee lives  in   Paris .").ents] == ["Ann  Lee", "Paris"]
    with pytest.raises(ArgumentError, match="batch_size"):
        list(nlp.get_pipe("trellis").pipe([], batch_size=0))
    untrained = spacy.blank("en")
    untrained.add_pipe("trellis")
    assert untrained.to_bytes()


def test_tags() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("trellis", config={"annotate": "tag", "features": ["word[0]"], "order": 1})
    words, tags = ["the", "dog", "ran"], ["DT", "NN", "VBD"]
    given = [Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=tags)) for _ in range(3)]
    nlp.initialize(lambda: given)
    assert [token.tag_ for token in nlp("the dog ran")] == tags
    assert nlp.evaluate(given)["tag_acc"] == 1.0
    assert nlp.get_pipe("trellis").labels == ("DT", "NN", "VBD")


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    with pytest.raises(ArgumentError, match="annotate must be one of"):
        TrellisTagger(annotate="lemmas")
    nlp.add_pipe("trellis")
    with pytest.raises(ArgumentError, match="no example has tags"):
        nlp.initialize(lambda: [Example(Doc(nlp.vocab, words=["a"]), Doc(nlp.vocab, words=["a"]))])
    trellis.train({"shape": [["x"]], "y": [["A"]]}, target="y", features=["shape[0]"]).save(tmp_path / "m")
    with pytest.raises(ModelError, match="a column 'shape'"):
        TrellisTagger(model=str(tmp_path / "m"))(Doc(nlp.vocab, words=["a"]))


def test_values_of_a_config_are_checked() -> None:
    nlp = spacy.blank("en")
    with pytest.raises(ValueError, match="'abc' is not <class 'int'>"):
        nlp.add_pipe("trellis", config={"order": "abc"})


def test_a_model_of_tags_needs_a_tagger_before_it(tmp_path: Path) -> None:
    words = {"word": [["Ann", "ran"]] * 3, "pos": [["NNP", "VBD"]] * 3, "label": [["B-PER", "O"]] * 3}
    trellis.train(words, target="label", features=["pos[0]"]).save(tmp_path / "m")
    component = TrellisTagger(model=str(tmp_path / "m"))
    with pytest.raises(ModelError, match="reads 'pos', which no earlier component sets"):
        component(Doc(Vocab(), words=["Ann", "ran"]))
    doc = component(Doc(Vocab(), words=["Ann", "ran"], tags=["NNP", "VBD"]))
    assert [ent.text for ent in doc.ents] == ["Ann"]


CONFIG = """
[paths]
train = null
dev = null
[nlp]
lang = "en"
pipeline = ["trellis"]
[components]
[components.trellis]
factory = "trellis"
learner = "perceptron"
features = ["word[0]", "word[-1]"]
[corpora]
[corpora.train]
@readers = "spacy.Corpus.v1"
path = ${paths.train}
[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${paths.dev}
[training]
train_corpus = "corpora.train"
dev_corpus = "corpora.dev"
max_steps = 1
eval_frequency = 1
[training.score_weights]
ents_f = 1.0
"""


def test_spacy_train(tmp_path: Path) -> None:
    vocab = Vocab()
    DocBin(docs=[example.reference for example in examples(vocab)]).to_disk(tmp_path / "train.spacy")
    (tmp_path / "config.cfg").write_text(CONFIG)
    given = ["config.cfg", "--output", "out", "--paths.train", "train.spacy", "--paths.dev", "train.spacy"]
    for arguments in (["init", "fill-config", "config.cfg", "config.cfg"], ["train", *given]):
        done = subprocess.run(
            [sys.executable, "-m", "spacy", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    nlp = spacy.load(tmp_path / "out" / "model-best")
    assert [ent.label_ for ent in nlp("Bob likes Rome .").ents] == ["PER", "LOC"]
