"""Which peers are here, and what to call for each."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

CONTENDERS = "benchmarks.contenders"


@dataclass(frozen=True, slots=True)
class Peer:
    """A rival: a module from PyPI, or a command that was built by hand and is on the PATH."""

    name: str
    file: str  # of benchmarks/contenders
    module: str = ""
    package: str = ""
    command: str = ""
    answer: str = ""  # what the command says to ``--version``, with the version as a group

    def call(self, function: str) -> str:
        """The function of its file; commands share one, so theirs have their names in them."""
        if self.command:
            short = self.name.lower().replace("+", "p")
            function = f"{short}_file" if function == "tag_file" else f"{function}_{short}"
        return f"{CONTENDERS}.{self.file}:{function}"

    @property
    def is_here(self) -> bool:
        """Whether it is installed. Another program, a scanner of web sites, is called ``wapiti`` too."""
        if self.command:
            return shutil.which(self.command) is not None and (not self.answer or bool(self.version))
        try:
            return importlib.util.find_spec(self.module) is not None
        except ModuleNotFoundError:  # of the package around it
            return False

    @property
    def version(self) -> str:
        """Empty for a command that does not tell it."""
        if not self.command:
            return version(self.package or self.name)
        said = re.search(self.answer, _said(self.command)) if self.answer else None
        return said[1] if said else ""

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}".rstrip()


@cache
def _said(command: str) -> str:
    """What a command prints for ``--version``."""
    answer = subprocess.run([command, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return answer.stdout + answer.stderr


PEERS = {
    peer.name: peer
    for peer in (
        Peer("python-crfsuite", "crfsuite", "pycrfsuite"),
        Peer("sklearn-crfsuite", "sklearn_crfsuite_fit", "sklearn_crfsuite"),
        Peer("chaine", "chaine_train", "chaine"),
        Peer("Vowpal Wabbit", "vowpal", "vowpalwabbit", "vowpalwabbit"),
        Peer("NLTK", "nltk_perceptron", "nltk", "nltk"),
        Peer("spaCy", "spacy_tagger", "spacy", "spacy"),
        Peer("UDPipe", "udpipe", "ufal.udpipe", "ufal.udpipe"),
        Peer("Wapiti", "commands", command="wapiti", answer=r"Wapiti v([\d.]+)"),
        Peer("CRF++", "commands", command="crf_learn", answer=r"CRF\+\+ of ([\d.]+)"),
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
