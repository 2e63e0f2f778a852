"""Results of tools in the frames of both protocols: texts, values, images and files."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent
from headrace.projections.thinking.tool_result import _plain as thinking_value
from headrace.projections.tool_value import _plain as ux_value

PNG = ImageContent(media_type="image/png", data="AAAA")
PDF = FileContent(media_type="application/pdf", data="AAAA", name="a.pdf")
PNG_URL, PDF_URL = "data:image/png;base64,AAAA", "data:application/pdf;base64,AAAA"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (TextContent("5"), "5"),
        (JSONContent({"a": 1}), {"a": 1}),
        (PNG, {"imageUrl": PNG_URL}),
        (PDF, {"name": "a.pdf", "media_type": "application/pdf", "url": PDF_URL}),
    ],
)
def test_content_in_the_thinking_protocol(content: Content, expected: Any) -> None:
    assert thinking_value(content) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (TextContent("5"), "5"),
        (JSONContent({"a": 1}), {"a": 1}),
        (PNG, {"type": "image", "media_type": "image/png", "url": PNG_URL}),
        (
            PDF,
            {"type": "file", "media_type": "application/pdf", "url": PDF_URL, "name": "a.pdf"},
        ),
        (
            FileContent(media_type="application/pdf", url="https://example.com/a.pdf"),
            {"type": "file", "media_type": "application/pdf", "url": "https://example.com/a.pdf"},
        ),
    ],
)
def test_content_in_the_ux_protocol(content: Content, expected: Any) -> None:
    assert ux_value(content) == expected
