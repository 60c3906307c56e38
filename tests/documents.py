"""What can be run in the documentation: fenced blocks, the comment above one that says how, and the
table below one that it prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs"

_BLOCK = re.compile(
    r"^(?P<indent> *)(?:<!-- (?P<note>[^\n]+) -->\n *)?```(?P<language>\w+)\n(?P<text>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)
_PRINTED = re.compile(r"\s*<!-- printed -->\s*((?:^\|[^\n]*\n)+)", re.MULTILINE)
NEEDS_CUDA = "needs: cuda"
NOT_RUN = "not run: "


@dataclass(frozen=True)
class Block:
    """A block of one language; `file` is what a leading comment says it is saved as, `printed` are
    lines that the page says it prints, some of them.
    """

    page: str
    language: str
    text: str
    note: str | None
    printed: tuple[str, ...] = ()

    @property
    def file(self) -> str | None:
        """The path in a first line that is nothing but a comment with one."""
        found = re.match(r"# (\S+\.py)\n", self.text)
        return found[1] if found else None


def pages() -> list[str]:
    """The names of all pages."""
    return sorted(path.name for path in FOLDER.glob("*.md"))


def blocks(page: str, *languages: str) -> Iterator[Block]:
    """The blocks of some languages, in their order."""
    whole = (FOLDER / page).read_text()
    for found in _BLOCK.finditer(whole):
        if found["language"] in languages:
            indent = found["indent"]
            text = "".join(
                line.removeprefix(indent) for line in found["text"].splitlines(keepends=True)
            )
            table = _PRINTED.match(whole, found.end())
            lines = tuple(table[1].splitlines()) if table else ()
            yield Block(page, found["language"], text, found["note"], lines)


def commands(block: Block) -> list[str]:
    """The commands of a block, a line each."""
    return [line for line in block.text.splitlines() if line.strip()]
