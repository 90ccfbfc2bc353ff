"""The project's Markdown pages, taken apart: what the tests of the documentation read."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests import sources

DOCS = sources.ROOT / "docs"

_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<code>.*?)^(?P=fence) *$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(?P<title>[^\n]+?) *$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, the heading it stands under, its place below it, what it says it is, and its text."""

    page: str
    heading: str
    number: int
    info: str
    code: str

    def __str__(self) -> str:
        return f"{self.page}, {self.heading} ({self.number})" if self.number > 1 else f"{self.page}, {self.heading}"


@dataclass(frozen=True)
class Page:
    """A Markdown file."""

    path: Path

    def __str__(self) -> str:
        return self.path.relative_to(sources.ROOT).as_posix()

    @functools.cached_property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text(encoding="utf-8")

    @functools.cached_property
    def prose(self) -> str:
        """The text without its blocks."""
        return _FENCE.sub("", self.text)

    @functools.cached_property
    def anchors(self) -> frozenset[str]:
        """What a link to a heading of this page may name, as GitHub makes it of the heading."""
        return frozenset(_slug(found["title"]) for found in _HEADING.finditer(self.prose))

    @functools.cached_property
    def inline_code(self) -> tuple[str, ...]:
        """What stands between backquotes."""
        return tuple(code.replace("\\|", "|") for code in _CODE.findall(self.prose))

    @functools.cached_property
    def links(self) -> tuple[str, ...]:
        """Where its links point that do not leave the project."""
        targets = [found["target"] for found in _LINK.finditer(_CODE.sub("", self.prose))]
        return tuple(target for target in targets if "://" not in target)

    @functools.cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Its fenced blocks."""
        return tuple(self._blocks())

    def _blocks(self) -> Iterator[Block]:
        counts: dict[str, int] = {}
        for found in _FENCE.finditer(self.text):
            before = _FENCE.sub("", self.text[: found.start()])
            headings = _HEADING.findall(before) or [""]
            heading = headings[-1]
            counts[heading] = counts.get(heading, 0) + 1
            yield Block(str(self), heading, counts[heading], found["info"].strip(), found["code"])


def _slug(title: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", title.lower())
    return kept.replace(" ", "-")


def pages() -> tuple[Page, ...]:
    """Return the pages at the top and those of the documentation."""
    built = DOCS / "_build"
    found = [path for path in DOCS.rglob("*.md") if built not in path.parents]
    return tuple(Page(path) for path in sorted([*sources.ROOT.glob("*.md"), *found]))


def blocks() -> tuple[Block, ...]:
    """Return the blocks of all pages."""
    return tuple(block for page in pages() for block in page.blocks)
