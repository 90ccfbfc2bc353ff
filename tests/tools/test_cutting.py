"""A result stays within its limit, and says what is missing."""

from hypothesis import given
from hypothesis import strategies as st

from claude_control.tools import Media
from claude_control.tools.contents import text_block
from claude_control.tools.cutting import cut


def test_small_result_is_left_alone() -> None:
    """What fits exactly is returned as it was, and so is everything without a limit."""
    result = {"content": [text_block("abcde")], "structuredContent": {"a": 1}, "isError": True}
    assert cut(result, 8) == result
    big = {"content": [text_block("x" * 100)]}
    assert cut(big, None) is big


def test_text_is_cut_at_its_end() -> None:
    """The beginning of a text is kept, and the model is told that there was more."""
    (block,) = cut({"content": [text_block("x" * 100)]}, 10)["content"]
    assert block["text"].startswith("x" * 10 + "\n[cut: 100 bytes")


def test_cut_keeps_characters_whole() -> None:
    """A cut through a character of several bytes leaves it out."""
    (block,) = cut({"content": [text_block("ééé")]}, 3)["content"]
    assert block["text"].startswith("é\n[cut")


def test_image_is_left_out_whole() -> None:
    """Half an image is none: a text stands in its place, and later pieces that fit are kept."""
    image = Media(b"x" * 100, "image/png").block()
    first, second = cut({"content": [image, text_block("seen")]}, 20)["content"]
    assert first["text"].startswith("[image of 136 bytes left out")
    assert second["text"].endswith("at most]")  # what is left out has used up the rest, so that sizes only shrink


def test_structured_content_is_there_whole_or_not() -> None:
    """Data beyond the limit is dropped, and the failure flag stays."""
    result = {"content": [text_block("x")], "structuredContent": {"a": "y" * 100}, "isError": True}
    assert cut(result, 50) == {"content": [text_block("x")], "isError": True}
    assert "structuredContent" in result


@given(st.lists(st.text(), max_size=5), st.integers(1, 40))
def test_no_result_exceeds_its_limit(texts: list[str], limit: int) -> None:
    """Apart from the remarks about what is missing, no more than the limit is left."""
    kept = cut({"content": [text_block(text) for text in texts]}, limit)["content"]
    remarks = [block["text"].rpartition("\n[cut: ") for block in kept]
    sizes = [
        len((before if mark else block["text"]).encode())
        for (before, mark, _), block in zip(remarks, kept, strict=True)
    ]
    assert sum(sizes) <= limit
