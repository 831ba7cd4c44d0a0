"""Pipelines: labels of characters, texts kept to the last character, parts, files, CoNLL-U, the command line."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import refused
from small_treebank import treebank

import trellis
from trellis import _core
from trellis._support.errors import ArgumentError, CorpusError, LearnerError, ModelError
from trellis.corpus.document_sentence import MultiwordToken
from trellis.tasks.pipeline import model as pipeline_model
from trellis.tasks.pipeline import tokenizer
from trellis.tasks.pipeline.characters import Characters, kind, shape
from trellis.tasks.pipeline.train import _characters

GOLD, TEST = treebank(), treebank(30, 2)
LEARNER = trellis.Perceptron(epochs=4)


@pytest.fixture(scope="module")
def nlp() -> trellis.Pipeline:
    return trellis.Pipeline.train(GOLD, learner=LEARNER, folds=3)


def spans(document: trellis.Document) -> list[list[tuple[int, int, bool]]]:
    """Offsets of the tokens of each sentence, and whether they are multiword tokens."""
    return [[(t.start, t.end, isinstance(t, MultiwordToken)) for t in s.tokens] for s in document]  # type: ignore[misc]


# ------------------------------------------------------------ characters and tokens


def test_labels_of_characters_give_the_tokens_back() -> None:
    corpus = _characters([GOLD, TEST])
    text = GOLD.text + "\n\n" + TEST.text
    found = tokenizer.tokens_of(Characters.of(text), tokenizer.LABELS, corpus.column("label").codes)
    moved = len(GOLD.text) + 2
    gold = [*spans(GOLD), *([(a + moved, b + moved, m) for a, b, m in s] for s in spans(TEST))]
    rows = list(zip(found.starts.tolist(), found.ends.tolist(), found.multiword.tolist(), strict=True))
    assert [rows[a:b] for a, b in zip(found.sentences[:-1], found.sentences[1:], strict=True)] == gold


def test_columns_of_characters() -> None:
    corpus = Characters.of(" Ab c.\n\nd 9").corpus()
    columns = {name: corpus.column(name).tolist() for name in corpus.columns}
    assert columns["char"] == [*"Ab", " ", *"c.", "\n", "d", " ", "9", "\n"]
    assert columns["kind"] == [*"Aa", " ", *"a.", "\n", "a", " ", "0", "\n"]
    assert columns["left"] == ["^A", "^Ab", " ", "^c", "^c.", "\n", "^d", " ", "^9", "\n"]
    assert columns["right"] == ["b$", "$", " ", ".$", "$", "\n", "$", " ", "$", "\n"]
    assert columns["next"] == ["c.", "c.", "c.", "\n", "\n", "d", "9", "9", "\n", "\n"]
    assert columns["previous"] == ["\n", "\n", "ab", "ab", "ab", "c.", "\n", "d", "d", "9"]
    assert corpus.starts.tolist() == [0, 6, 10]
    long = Characters.of("abcdefghijklmnopqrstuvwxyz").corpus()
    assert long.column("left").tolist()[-2] == "opqrstuvwxyz"
    assert long.column("right").tolist()[0] == "bcdefghijklm"


def test_kinds_and_shapes() -> None:
    assert [kind(c) for c in "aÄß中9٣.\u0301\u200b\x00"] == ["a", "A", "a", "x", "0", "0", ".", "m", "c", "c"]
    assert shape("McDonald's") == "AaAa+'a"
    assert shape("2,000.50") == "0,0+.0+"


def test_long_texts_have_sequences_of_some_hundred_characters() -> None:
    lengths = np.diff(Characters.of("word " * 1000).corpus().starts)
    assert lengths.max() <= 310
    assert np.diff(Characters.of("x" * 5000).corpus().starts).max() == 1000


def test_blocks_of_a_long_text_have_the_sentences_of_the_whole(nlp: trellis.Pipeline, monkeypatch: Any) -> None:
    text = " ".join(sentence.text for sentence in TEST)
    for separator in (" ", "\n\n"):
        whole = nlp(separator.join([text] * 4), parts=["tokens"])
        with monkeypatch.context() as patch:
            patch.setattr(tokenizer, "BLOCK", 1500)
            blocks = nlp(separator.join([text] * 4), parts=["tokens"])
        assert [s.text for s in blocks] == [s.text for s in whole]
        assert spans(blocks) == spans(whole)


LETTERS = "abc ÉdD.,!?'\"-  \n\t\r\u00a0\u200b\u3000\u2028\x1c\x85😀ש中0123()[]|\\_ÉdolLo"
HARD = [
    *(
        "",
        " ",
        "\n\n",
        "a",
        " a ",
        "\ta\n\n\nb  c\r\n d\u00a0e\u3000f",
        "שלום עולם.",
        "👩‍👩‍👧 fine.",
        "\ufeffLo rab dol rab",
    ),
    *("x" * 3000, "\x00\x01 a\x1cb\x85c\u2028d\u2029e", "a|b \\ c\tSpaceAfter=No _ _", "e\u0301\u200b \u200b"),
]


def test_no_character_is_lost(nlp: trellis.Pipeline) -> None:
    """Tokens and the whitespace between them are the text, also after CoNLL-U."""
    rng = random.Random(1)
    texts = [*HARD, *("".join(rng.choices(LETTERS, k=rng.randrange(200))) for _ in range(60))]
    for text, document in zip(texts, nlp.predict_batch(texts), strict=True):
        assert document.text == text
        at = 0
        for start, end, _ in (token for sentence in spans(document) for token in sentence):
            assert start >= at
            assert not text[at:start].strip()
            assert text[start:end].split() or text[start:end]
            at = end
        assert not text[at:].strip()
        if len(document):
            assert trellis.Document.from_conllu(document.to_conllu()).text == text
            assert spans(trellis.Document.from_conllu(document.to_conllu())) == spans(document)


def test_lines_are_sentences(nlp: trellis.Pipeline) -> None:
    document = nlp("Ana kosat. Beno velat\n\n\nla mina\n", lines=True)
    assert [sentence.text for sentence in document] == ["Ana kosat. Beno velat", "la mina"]


# ------------------------------------------------------------ predictions


def test_the_language_is_learned(nlp: trellis.Pipeline) -> None:
    report = nlp.evaluate(TEST)
    for measure, least in (("Tokens", 0.99), ("Words", 0.99), ("UPOS", 0.97), ("UFeats", 0.95), ("Lemmas", 0.95)):
        assert report.rows[measure].f1 > least, measure
    assert report.rows["LAS"].f1 > 0.85
    from_gold = nlp.evaluate(TEST, gold_tokens=True)
    assert from_gold.rows["Words"].f1 == 1
    assert from_gold.rows["UPOS"].f1 >= report.rows["UPOS"].f1


def test_a_text(nlp: trellis.Pipeline) -> None:
    document = nlp("Ana kosan dol rab. Velat?")
    words = document[0].words
    assert [word.form for word in words] == ["Ana", "kosan", "de", "lo", "rab", "."]
    assert [word.lemma for word in words] == ["Ana", "kos", "de", "lo", "rab", "."]
    assert words[1].feats == "Tense=Past|VerbForm=Fin"
    assert [token.form for token in document[0].tokens] == ["Ana", "kosan", "dol", "rab", "."]
    assert (words[2].start, words[2].end) == (words[3].start, words[3].end) == (10, 13)
    assert _core.is_tree(np.array([word.head for word in words], np.int32))
    record = document.to_json()["sentences"][0]
    assert record["text"] == "Ana kosan dol rab."
    assert json.loads(json.dumps(record)) == record


def test_batches_are_texts_one_by_one(nlp: trellis.Pipeline) -> None:
    texts = [TEST.text, "", "Ana", "  la mina velat.\n\nBeno! ", *HARD]
    alone = [nlp(text) for text in texts]
    for n_threads in (1, 3):
        assert nlp.predict_batch(texts, n_threads=n_threads) == alone
    assert [document.text for document in alone] == texts


def test_parts(nlp: trellis.Pipeline) -> None:
    text = TEST.text
    tokens = nlp(text, parts=["tokens"])
    assert spans(tokens) == spans(nlp(text))
    assert all(word.upos is word.lemma is word.head is None for sentence in tokens for word in sentence)
    tagged = nlp(tokens, parts=["tags"])
    whole = nlp(tagged, parts=["lemmas", "trees"])
    assert [s.words for s in whole] == [s.words for s in nlp(text)]
    changed = tagged.with_columns({"upos": ["PROPN"] * tagged.to_corpus().n_tokens})
    kept = nlp(changed, parts=["lemmas", "trees"])
    assert {word.upos for sentence in kept for word in sentence} == {"PROPN"}
    words = nlp(["la", "mina", "kosat", "."])
    assert [word.lemma for word in words[0]] == ["lo", "mina", "kos", "."]
    assert [len(sentence) for sentence in words] == [4]


def test_wrong_inputs_are_one_line(nlp: trellis.Pipeline) -> None:
    for x in (3, None, [3], [""], {"a": 1}):
        with pytest.raises(ArgumentError, match="an input must be a text, a list of words or a Document"):
            nlp(x)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="parts must be a list of 'tokens', 'tags', 'lemmas', 'trees', not 'tree'"):
        nlp("a", parts=["tree"])
    with pytest.raises(ArgumentError, match="raw text needs the part"):
        nlp("a", parts=["tags"])
    with pytest.raises(CorpusError, match="surrogate"):
        nlp("a\ud800")
    for method in (nlp.kbest, nlp.explain):
        with pytest.raises(ArgumentError, match="a pipeline has no"):
            method("a")  # type: ignore[operator]


def test_parts_of_a_long_sentence_are_parsed_one_by_one(nlp: trellis.Pipeline, monkeypatch: Any) -> None:
    monkeypatch.setattr(pipeline_model, "LONGEST", 5)
    words = TEST.to_corpus().column("form").tolist()[:23]
    (sentence,) = nlp(words)
    assert _core.is_tree(np.array([word.head for word in sentence], np.int32))
    root = next(i for i, word in enumerate(sentence, 1) if word.head == 0)
    assert root <= 5
    assert [word.head for word in sentence if word.deprel == "dep"] == [root] * 4
    parser = nlp.parts.parser
    assert parser is not None
    first = {name: [getattr(word, name) or "_" for word in sentence.words[:5]] for name in parser.columns}
    assert [word.head for word in sentence.words[:5]] == parser.parse(first).heads


def test_corpora(nlp: trellis.Pipeline) -> None:
    corpus = nlp.predict_corpus(trellis.read({"form": [["la", "mina", "kosat"], ["la", "mina"]]}))
    assert corpus.sentences("upos") == [["DET", "NOUN", "VERB"], ["DET", "NOUN"]]
    assert {"lemma", "feats", "head", "deprel"} <= set(corpus.columns)


def test_drawings_and_features(nlp: trellis.Pipeline) -> None:
    assert "<svg" in nlp.draw("Ana kosat.").svg
    assert {term.feature.partition(":")[0] for term in nlp.top_features(None)} == {
        *("tokens", "trees", "upos", "feats", "lemmas")
    }
    assert "<svg" in nlp.draw(" ").svg


# ------------------------------------------------------------ training


def test_threads_and_files(nlp: trellis.Pipeline, tmp_path: Path) -> None:
    again = trellis.Pipeline.train(GOLD, learner=LEARNER, folds=3, n_threads=3)
    assert again.to_bytes() == nlp.to_bytes()
    nlp.save(tmp_path / "x.trellis")
    loaded = trellis.load(tmp_path / "x.trellis")
    assert loaded == nlp
    assert loaded.predict(TEST.text) == nlp(TEST.text)
    path = tmp_path / "x.conllu"
    path.write_text(GOLD.to_conllu())
    assert trellis.Pipeline.train(path, learner=LEARNER, folds=3) == nlp


def test_some_parts_are_trained() -> None:
    tokens = trellis.Pipeline.train(GOLD, learner=LEARNER, parts=["tokens"])
    assert tokens.parts.names == ("tokens",)
    with pytest.raises(ArgumentError, match="no part 'tags'; it has tokens"):
        tokens("Ana", parts=["tokens", "tags"])
    tags = trellis.Pipeline.train(GOLD, learner=LEARNER, parts=["tags"], folds=2)
    assert [word.upos for word in tags(["la", "mina"])[0]] == ["DET", "NOUN"]
    bare = GOLD.with_columns(
        {"lemma": ["_"] * 0 + [None] * GOLD.to_corpus().n_tokens, "head": [None] * GOLD.to_corpus().n_tokens}
    )
    assert trellis.Pipeline.train(bare, learner=LEARNER, folds=2).parts.names == ("tokens", "tags")
    with pytest.raises(CorpusError, match="the part 'trees' needs values in the column head"):
        trellis.Pipeline.train(bare, parts=["tags", "trees"])
    with pytest.raises(LearnerError, match="the part 'lemmas' needs the part 'tags'"):
        trellis.Pipeline.train(GOLD, parts=["lemmas"])
    with pytest.raises(LearnerError, match="parts must be a list of"):
        trellis.Pipeline.train(GOLD, parts=["tree"])


def test_dev_and_events() -> None:
    events = list[trellis.Event]()
    nlp = trellis.Pipeline.train(GOLD, learner=LEARNER, folds=2, dev=TEST, observer=events.append)
    parts = list(dict.fromkeys(event.part for event in events))
    assert parts == ["tokenizer", "upos", "feats", "trees"]
    assert all(event.dev_score is not None for event in events)
    assert nlp.training["history"][0]["part"] == "tokenizer"
    assert events[0].text().startswith("tokenizer: epoch 1 of 4, ")


def test_parts_that_do_not_fit_are_rejected(nlp: trellis.Pipeline) -> None:
    swapped = nlp.parts._replace(taggers=nlp.parts.taggers[::-1])
    with pytest.raises(ModelError, match="columns that no part predicts: upos"):
        trellis.Pipeline.from_bytes(trellis.Pipeline(swapped, {}, {}).to_bytes())
    wrong = nlp.parts._replace(tokenizer=nlp.parts.taggers[0])
    with pytest.raises(ModelError, match="a tokenizer with other labels"):
        trellis.Pipeline.from_bytes(trellis.Pipeline(wrong, {}, {}).to_bytes())


# ------------------------------------------------------------ the command line


@pytest.fixture
def model(nlp: trellis.Pipeline, here: Path) -> str:
    nlp.save(here / "nlp.trellis")
    return "nlp.trellis"


def test_text_to_conllu(model: str, nlp: trellis.Pipeline, here: Path, call: Any) -> None:
    text = TEST.text
    out = call(f"predict -m {model} -q", text).out
    assert out == nlp(text).to_conllu()
    (here / "x.txt").write_text(text)
    call(f"predict -m {model} -q x.txt -o x.conllu")
    assert (here / "x.conllu").read_text() == out
    lines = [json.loads(line) for line in call(f"predict -m {model} -q x.txt --json").out.splitlines()]
    assert [line["id"] for line in lines] == list(range(1, len(lines) + 1))
    assert "".join(word["form"] for word in lines[0]["words"]) != ""
    tokens = call(f"predict -m {model} -q x.txt --parts tokens").out
    assert tokens == nlp(text, parts=["tokens"]).to_conllu()
    assert call(f"predict -m {model} -q x.conllu --parts tags,lemmas,trees").out == out
    assert "3\t.\t" in call(f"predict -m {model} -q --words", "Ana kosat .\n").out
    refused(call(f"predict -m {model} x.txt --kbest 3 --json"), "--kbest")
    refused(call(f"predict -m {model} x.txt -o x.csv"), "x.csv", "CoNLL-U")
    refused(call(f"predict -m {model} x.txt --parts tree"), "parts")
    (here / "bad.txt").write_bytes(b"ok\n\xff\n")
    refused(call(f"predict -m {model} bad.txt -o bad.conllu"), "bad.txt:2", "UTF-8")
    assert not (here / "bad.conllu").exists()


def test_long_input_goes_piece_by_piece(model: str, nlp: trellis.Pipeline, call: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("trellis.interfaces.cli.pipelines.ENOUGH", 400)
    for text in (TEST.text, TEST.text.replace("\n", " ")):
        out = call(f"predict -m {model} -q", text).out
        document = trellis.Document.from_conllu(out)
        assert document.text == text.strip() or document.text == text
        assert [s.sent_id for s in document] == [str(i) for i in range(1, len(document) + 1)]
        assert [[w.form for w in s] for s in document] == [[w.form for w in s] for s in nlp(text)]


def test_train_and_evaluate(here: Path, call: Any) -> None:
    (here / "train.conllu").write_text(GOLD.to_conllu())
    (here / "test.conllu").write_text(TEST.to_conllu())
    done = call("train --task pipeline train.conllu -m nlp.trellis --epochs 3 --tag-folds 2 --dev test.conllu")
    assert "sentences" in done.err
    assert "LAS" in call("evaluate -m nlp.trellis test.conllu").out
    figures = json.loads(call("evaluate -m nlp.trellis test.conllu --gold-tokens --json").out)
    assert figures["rows"]["Words"]["f1"] == 1
    call("predict -m nlp.trellis -q test.conllu -o predicted.conllu")
    report = json.loads(call("evaluate --task pipeline --gold test.conllu --predicted predicted.conllu --json").out)
    assert report["rows"] == figures["rows"]
    assert "parts" in call("info -m nlp.trellis").out
    refused(call("train --task pipeline missing.conllu -m x.trellis"), "missing.conllu")
