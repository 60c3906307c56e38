"""Names out of files of others, as text that is only text wherever it is shown.

A kernel's name may hold whatever its author, or whoever made the file, put in it: an escape that
clears a terminal or sets its title, a mark that turns writing around, a tag.
"""

from __future__ import annotations

import re
import unicodedata

# In JSON text: what msgspec leaves as it is and a terminal, or who reads it there, does not.
_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_ENTITY = re.compile(r"&(?=#?\w+;)")
# A link, emphasis (within a word one underscore is none), code, the next cell.
_MARKUP = re.compile(r"(?<=\])\(|__|[*`|]")


def printable(text: str) -> str:
    """`text` in one line, with escapes such as ``\\x1b`` for all that is not printed."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or unicodedata.category(each) == "Zs" else _escape(each)
        for each in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def printable_json(text: str) -> str:
    """JSON that says the same, with escapes for what is not printed."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def markdown_text(text: str) -> str:
    """Text for a cell or a line of markdown that no reader takes for a tag, a link or emphasis."""
    plain = _ENTITY.sub("&amp;", printable(text)).replace("<", "&lt;")
    return _MARKUP.sub(lambda found: "".join(f"\\{each}" for each in found[0]), plain)
