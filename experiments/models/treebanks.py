"""The treebanks of the shelf: name of the model, language, licence."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from trellis._support.errors import CorpusError


class UDTreebank(NamedTuple):
    """A treebank of Universal Dependencies."""

    model: str  # name of the model
    name: str  # of the repository, without UD_
    language: str
    code: str  # of the language, for spaCy and conllu_to_text.pl
    licence: str
    folder: str = ""  # other name of its folder

    def files(self, data: Path) -> dict[str, Path]:
        """The files of train, dev and test in a folder of treebanks; CorpusError if the treebank is absent."""
        for folder in (f"UD_{self.name}", self.folder):
            place = data / folder
            if folder and place.is_dir():
                found = {}
                for part in ("train", "dev", "test"):
                    paths = sorted(place.glob(f"*-ud-{part}.conllu")) or sorted(place.glob(f"*-ud-{part}.conllu.gz"))
                    if not paths or not paths[0].stat().st_size:
                        raise CorpusError(
                            str(place), None, f"no file *-ud-{part}.conllu; get the release of UD_{self.name}"
                        )
                    found[part] = paths[0]
                return found
        why = f"absent: UD_{self.name} of universaldependencies.org; name the folder above it by --data"
        raise CorpusError(str(data / f"UD_{self.name}"), None, why)


TREEBANKS = (
    UDTreebank("english", "English-EWT", "English", "en", "CC BY-SA 4.0", "ud-english-ewt"),
    UDTreebank("french", "French-Sequoia", "French", "fr", "LGPL-LR", "ud-french-sequoia"),
    UDTreebank("german", "German-GSD", "German", "de", "CC BY-SA 4.0"),
    UDTreebank("spanish", "Spanish-AnCora", "Spanish", "es", "CC BY 4.0"),
    UDTreebank("chinese", "Chinese-GSD", "Chinese", "zh", "CC BY-SA 4.0"),
    UDTreebank("finnish", "Finnish-TDT", "Finnish", "fi", "CC BY-SA 4.0"),
    UDTreebank("arabic", "Arabic-PADT", "Arabic", "ar", "CC BY-NC-SA 3.0"),
    UDTreebank("hebrew", "Hebrew-HTB", "Hebrew", "he", "CC BY-NC-SA 4.0"),
    UDTreebank("hindi", "Hindi-HDTB", "Hindi", "hi", "CC BY-NC-SA 4.0"),
)
