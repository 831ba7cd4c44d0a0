"""A generated pair of languages: what a translator has to learn, and nothing else.

The target language is a little English. The source language has words of its own, made of syllables, and differs in
three ways: verbs follow their objects, adjectives follow their nouns, and articles and adjectives agree with the gender
of the noun. One verb and one noun mean different things in different company: the words around have to be looked at.
"""

from __future__ import annotations

import random

from examples.translation.corpus import Pair

NOUNS = [
    "man",
    "woman",
    "dog",
    "child",
    "horse",
    "bird",
    "boat",
    "car",
    "street",
    "bank",
    "ball",
    "hat",
    "tree",
    "river",
    "shirt",
]
ADJECTIVES = ["red", "old", "small", "young", "green", "tall"]
VERBS = ["sees", "holds", "chases", "likes", "paints", "follows"]
PLACES = ["on", "near", "behind", "under"]
SYLLABLES = ["ka", "lo", "mi", "tu", "re", "sa", "ni", "po"]
ENDINGS = ("u", "ae")  # of articles and adjectives, by gender
DRIVEN = {"boat": "steers", "car": "steers", "horse": "rides"}  # what "drives" is, by what is driven


class Dictionary:
    """The source word of each target word, and the gender of nouns."""

    def __init__(self) -> None:
        words = [*NOUNS, *ADJECTIVES, *VERBS, *PLACES, "the", "a", "drives"]
        self.words = {
            word: SYLLABLES[i % 8] + SYLLABLES[(i // 8 + 3 * i) % 8] + SYLLABLES[(i // 2) % 8]
            for i, word in enumerate(words)
        }
        self.gender = {noun: i % 2 for i, noun in enumerate(NOUNS)}
        self.words["street"] = self.words["bank"]  # one word for both

    def noun_phrase(self, chosen: random.Random, nouns: list[str]) -> tuple[list[str], list[str], str]:
        """Source words, target words, and the noun."""
        article, noun = chosen.choice(["the", "a"]), chosen.choice(nouns)
        adjectives = chosen.sample(ADJECTIVES, chosen.choice([0, 0, 1, 1, 2]))
        ending = ENDINGS[self.gender[noun]]
        source = [self.words[article] + ending, self.words[noun], *(self.words[one] + ending for one in adjectives)]
        return source, [article, *reversed(adjectives), noun], noun

    def pair(self, chosen: random.Random) -> Pair:
        """A sentence: who, whom, the verb, and maybe where."""
        who, subject, _ = self.noun_phrase(chosen, NOUNS[:6])
        whom, thing, noun = self.noun_phrase(chosen, [one for one in NOUNS if one not in ("street", "bank")])
        verb = chosen.choice([*VERBS, "drives", "drives"])
        said = DRIVEN.get(noun, "drives") if verb == "drives" else verb
        source, target = [*who, *whom, self.words[verb]], [*subject, said, *thing]
        if chosen.random() < 0.6:
            place = chosen.choice(PLACES)
            nearby = "bank" if place in ("on", "under") else "street"  # one sits on a bank and is near a street
            where, there, _ = self.noun_phrase(chosen, [nearby, "tree", "river"])
            source, target = [*source, self.words[place], *where], [*target, place, *there]
        return Pair((*source, "."), (*target, "."))


def generated_pairs(n: int, seed: int = 0) -> list[Pair]:
    """So many pairs, the same for the same seed."""
    chosen, words = random.Random(seed), Dictionary()
    return [words.pair(chosen) for _ in range(n)]
