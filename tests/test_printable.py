"""Text of others that is only text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftax_micro.reporters.printable import markdown_text, printable, printable_json

# Of every sort that there is, some.
TEXT = st.text(
    st.sampled_from(
        'aé–µ<&;|"\\ \xa0\t\r\n\x00\x1b\x7f\x85\x9b\xad\u200b\u2028\u202e\u2066\ufeff\U000e0001'
    )
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ampere_sgemm<64, float*>", "ampere_sgemm<64, float*>"),
        ("3 µs … 5 µs – größer", "3 µs … 5 µs – größer"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("two\nlines\tand\r", "two\\nlines\\tand\\r"),
        ("c1\x9b2J", "c1\\x9b2J"),
        ("abc\u202edef\u2066", "abc\\u202edef\\u2066"),
        ("no\xa0break", "no\xa0break"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_is_not_printed_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(TEXT)
def test_nothing_but_printed_characters_and_blanks_is_left(text: str) -> None:
    shown = printable(text)
    assert all(each.isprintable() or each.isspace() for each in shown)
    assert len(shown.splitlines()) <= 1
    assert printable(shown) == shown


@given(TEXT)
def test_json_says_the_same(text: str) -> None:
    before = json.dumps({"name": text}, ensure_ascii=False)
    after = printable_json(before)
    assert json.loads(after) == {"name": text}
    assert not set(after) & set("\x7f\x9b\u202e\u2028")


def test_a_tag_is_text_in_markdown() -> None:
    assert markdown_text("<b>x|y</b>") == "&lt;b>x\\|y&lt;/b>"
    assert markdown_text("&lt; & &#60;") == "&amp;lt; & &amp;#60;"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("kernel[grid](...)", "kernel[grid]\\(...)"),
        ("its __call__", "its \\_\\_call\\_\\_"),
        ("void f(float*, int*)", "void f(float\\*, int\\*)"),
        ("`x` of bert_base", "\\`x\\` of bert_base"),
    ],
)
def test_names_are_no_markup(text: str, shown: str) -> None:
    assert markdown_text(text) == shown
