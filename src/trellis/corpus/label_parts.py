"""Labels with parts: ``NOUN|Case=Nom|Number=Sing`` is NOUN, Case=Nom and Number=Sing."""

from __future__ import annotations

from typing import Any

from trellis.arguments import instance


def check_separator(label_parts: Any) -> str:
    """What separates the parts of a label; ArgumentError if it cannot."""
    wanted = "what separates the parts of a label, such as '|'"
    return instance("label_parts", label_parts or None, str, wanted)
