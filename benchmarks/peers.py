"""Which peers are here, and what to call for each."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import version

CONTENDERS = "benchmarks.contenders"


@dataclass(frozen=True, slots=True)
class Peer:
    """A rival: a module from PyPI, or a command that was built by hand."""

    name: str
    file: str  # of benchmarks/contenders
    module: str = ""
    package: str = ""
    command: str = ""

    def call(self, function: str) -> str:
        """The function of its file; commands share one, so theirs have their names in them."""
        if self.command:
            short = self.name.lower().replace("+", "p")
            function = f"{short}_file" if function == "tag_file" else f"{function}_{short}"
        return f"{CONTENDERS}.{self.file}:{function}"

    @property
    def is_here(self) -> bool:
        """Whether it is installed."""
        if self.command:
            return shutil.which(self.command) is not None and (
                self.name != "Wapiti" or _is_the_crf_wapiti(self.command)
            )
        return importlib.util.find_spec(self.module) is not None

    @property
    def title(self) -> str:
        """Name and version."""
        return self.name if self.command else f"{self.name} {version(self.package or self.name)}"


def _is_the_crf_wapiti(command: str) -> bool:
    """Another program, a scanner of web sites, has the same name."""
    said = subprocess.run([command, "version"], capture_output=True, text=True)
    return "Sequence Labelling" in said.stdout + said.stderr or "Wapiti v1" in said.stdout + said.stderr


PEERS = {
    peer.name: peer
    for peer in (
        Peer("python-crfsuite", "crfsuite", "pycrfsuite"),
        Peer("sklearn-crfsuite", "sklearn_crfsuite_fit", "sklearn_crfsuite"),
        Peer("chaine", "chaine_train", "chaine"),
        Peer("Vowpal Wabbit", "vowpal", "vowpalwabbit", "vowpalwabbit"),
        Peer("NLTK", "nltk_perceptron", "nltk", "nltk"),
        Peer("spaCy", "spacy_tagger", "spacy", "spacy"),
        Peer("Wapiti", "commands", command="wapiti"),
        Peer("CRF++", "commands", command="crf_learn"),
        Peer("hunpos", "commands", command="hunpos-train"),
        Peer("MarMoT", "commands", command="marmot"),
    )
}


def present(*names: str) -> list[Peer]:
    """Those of the named that are here."""
    return [PEERS[name] for name in names if PEERS[name].is_here]


def absent(*names: str) -> list[str]:
    """A line for each missing peer, for the notes under a table."""
    return [f"{name} is not here." for name in names if not PEERS[name].is_here]
