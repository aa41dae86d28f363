"""What a tool answered -> data and status: failure told apart from emptiness, suspicious words flagged. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolsearch.calls.gateway.call import Business, DataState, Flag
from toolsearch.contracts.poison.scan import text_findings
from toolsearch.model.contract import ToolContract

MAX_FLAGS, MAX_FLAGGED_TEXTS, MAX_FLAGGED_CHARS = 10, 200, 50_000
_SAYS_NO = {"ok": (False,), "success": (False,), "succeeded": (False,), "status": ("error", "failed", "failure")}
_LISTS = ("result", "results", "items", "data", "rows", "records", "entries", "matches", "hits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The meaning of an answer.

    Attributes:
        data: Structured content, a text, or blocks; None where there is nothing.
        business: Whether the tool did what it was asked.
        state: What the data are worth.
        empty_reason: What is empty, or None.
        complaint: What the tool says against the call, where it does.
        code: The error code that the tool gives, where its contract knows it.
    """

    data: Any
    business: Business
    state: DataState
    empty_reason: str | None = None
    complaint: str = ""
    code: str = ""


def told(
    content: tuple[Mapping[str, Any], ...], structured: Any, *, is_error: bool, contract: ToolContract, write: bool
) -> Told:
    """Return what an answer means.

    Args:
        content: Blocks of the content.
        structured: The structured content, or None.
        is_error: Whether the tool says that it failed.
        contract: Its contract: which error codes it knows, what proves a success.
        write: Whether the call was a write: without the declared evidence nobody knows what became of it.
    """
    data = _data(content, structured)
    parsed = _parsed(data)
    refusal = _refusal(parsed, contract)
    if is_error or refusal:
        code = _code(parsed, contract)
        text = refusal if refusal and not is_error else _text(data)
        return Told(data=data, business="rejected", state="present", complaint=text[:2_000], code=code)
    if write and (missing := _unproven(parsed, contract)):
        return Told(data=data, business="unknown", state="invalid", complaint=f"the result lacks {', '.join(missing)}")
    reason = _empty(parsed)
    return Told(data=data, business="ok", state="empty" if reason else "present", empty_reason=reason)


def flags_of(data: Any) -> tuple[Flag, ...]:
    """Return where data speak to the model: known shapes of injected instructions. What passes is untrusted still."""
    found: dict[tuple[str, str], Flag] = {}
    for number, (path, text) in enumerate(_strings(data)):
        if number == MAX_FLAGGED_TEXTS or len(found) >= MAX_FLAGS:
            break
        for finding in text_findings(path, text[:MAX_FLAGGED_CHARS]):
            flag = Flag(kind=finding.kind, severity=finding.severity, path=finding.path, why=finding.why)
            found.setdefault((flag.kind, flag.path), flag)
    return tuple(found.values())[:MAX_FLAGS]


def without_blobs(data: Any) -> tuple[Any, bool]:
    """Return data without pictures, sounds and files, and whether there were any: no model reads base64."""
    if not isinstance(data, list) or not all(isinstance(block, Mapping) and "type" in block for block in data):
        return data, False
    slim = [_slim(block) for block in data]
    return slim, slim != data


def _slim(block: Mapping[str, Any]) -> dict[str, Any]:
    inner = block.get("resource")
    if isinstance(inner, Mapping) and isinstance(inner.get("blob"), str):
        rest = {key: value for key, value in inner.items() if key != "blob"}
        return {**block, "resource": {**rest, "omitted_bytes": len(inner["blob"]) * 3 // 4}}
    if block.get("type") in ("image", "audio") and isinstance(block.get("data"), str):
        rest = {key: value for key, value in block.items() if key != "data"}
        return {**rest, "omitted_bytes": len(block["data"]) * 3 // 4}
    return dict(block)


def _data(content: tuple[Mapping[str, Any], ...], structured: Any) -> Any:
    if structured is not None:
        # MCP wraps what is no object; the name says nothing.
        only_result = isinstance(structured, Mapping) and set(structured) == {"result"}
        return structured["result"] if only_result else structured
    if all(block.get("type") == "text" for block in content):
        return "\n".join(str(block.get("text", "")) for block in content) if content else None
    return [dict(block) for block in content]


def _parsed(data: Any) -> Any:
    """Return what a text of JSON holds, else the data as they are."""
    if isinstance(data, str) and data[:1] in "[{n" and len(data) <= 1_000_000:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            return data
    return data


def _refusal(data: Any, contract: ToolContract) -> str:
    """Return what a result that is no error of MCP says against the call all the same; "" where it says nothing."""
    if not isinstance(data, Mapping):
        return ""
    code = _code(data, contract)
    says_no = any(data.get(key) in values and data.get(key) is not None for key, values in _SAYS_NO.items())
    error = data.get("error") or data.get("errors")
    if not code and not says_no and not (error and _has_no_data(data)):
        return ""
    message = data.get("message") or (error.get("message") if isinstance(error, Mapping) else error) or code
    return str(message or "the tool says that it failed")


def _has_no_data(data: Mapping[str, Any]) -> bool:
    return not any(data.get(key) for key in _LISTS)


def _code(data: Any, contract: ToolContract) -> str:
    if not isinstance(data, Mapping):
        return ""
    inner = data.get("error")
    places = (data, inner) if isinstance(inner, Mapping) else (data, {"code": inner})
    known = {code.lower(): code for code in contract.output.error_taxonomy}
    for place in places:
        given = place.get("code")
        if isinstance(given, str) and given.lower() in known:
            return known[given.lower()]
    return ""


def _unproven(data: Any, contract: ToolContract) -> list[str]:
    evidence = contract.output.success_evidence
    if not evidence:
        return []
    names = {name for name, value in _fields(data) if value is not None}
    return [name for name in evidence if name.rpartition(".")[2] not in names and name.isidentifier()]


def _fields(data: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > 8:
        return
    if isinstance(data, Mapping):
        for name, value in data.items():
            yield str(name), value
            yield from _fields(value, depth + 1)
    elif isinstance(data, list):
        for value in data[:20]:
            yield from _fields(value, depth + 1)


def _empty(data: Any) -> str | None:
    if data is None:
        return "the tool answered with nothing"
    if isinstance(data, str):
        return None if data.strip() else "the text is empty"
    if isinstance(data, list):
        return None if data else "the list is empty"
    if isinstance(data, Mapping):
        if not data:
            return "the object is empty"
        lists = [name for name in _LISTS if name in data]
        if lists and all(data[name] in ([], {}, None) for name in lists):
            return f"{lists[0]} is empty"
    return None


def _text(data: Any) -> str:
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)


def _strings(data: Any, path: str = "data") -> Iterator[tuple[str, str]]:
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _strings(value, f"{path}.{str(key)[:64]}")
    elif isinstance(data, list):
        for at, value in enumerate(data):
            yield from _strings(value, f"{path}.{at}")
