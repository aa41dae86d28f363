"""Messages of provider SDKs, read: their objects and plain dictionaries alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def part(item: Any, name: str) -> Any:
    """Return a field of an SDK's object or of a dictionary; None where it has none."""
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def parts(item: Any, name: str) -> list[Any]:
    """Return a field that is a list; empty where it is none."""
    found = part(item, name)
    return list(found) if isinstance(found, Iterable) and not isinstance(found, str | bytes | Mapping) else []


def user_texts(messages: Iterable[Any], *, text_types: tuple[str, ...]) -> list[str]:
    """Return what the user said, oldest first: no results of tools, no images.

    Args:
        messages: With `role` and `content`, which is text or a list of blocks.
        text_types: The `type` of blocks of text.
    """
    said = []
    for message in messages:
        if part(message, "role") != "user":
            continue
        content = part(message, "content")
        texts = (
            [content]
            if isinstance(content, str)
            else [part(block, "text") for block in parts(message, "content") if part(block, "type") in text_types]
        )
        said += ["\n".join(text for text in texts if isinstance(text, str))]
    return [text for text in said if text]
