"""OpenAPI 2.0 to 3.2: one tool for each operation of a document.

What a method says about the effect of a call is a hint like any other (RFC 9110, section 9.2): GET, HEAD, OPTIONS,
TRACE and QUERY are read-only, DELETE destroys, PUT and PATCH write, POST says nothing. `enrich.effects` weighs it: of
an untrusted document it can raise the risk that name and text show, and never lower it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolsearch.contracts.enrich.foreign import ForeignTool, Hints, text_at, texts_at
from toolsearch.contracts.read.openapi_document import Operation, Spec, place_of
from toolsearch.contracts.read.openapi_inputs import input_of, media_schema
from toolsearch.contracts.read.openapi_schema import json_schema
from toolsearch.contracts.read.openapi_security import access_of

FORMAT = "openapi"

# The registry of HTTP methods calls these safe.
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "SEARCH", "PROPFIND", "REPORT"})
_WRITES = frozenset({"PUT", "PATCH"})
_IDEMPOTENT = _SAFE | {"PUT", "DELETE"}
_NOT_WORD = re.compile(r"[\W_]+")
_CREDENTIALS = re.compile(r"//[^/@\s]*@")
_VARIABLE = re.compile(r"\{([^{}]{1,100})\}")
_MAX_ERRORS = 12


def read_operation(operation: Operation, *, server: str | None, trusted: bool) -> ForeignTool:
    """Return the tool that an operation is.

    Args:
        operation: The operation.
        server: Server the caller names; None = made of the document's title.
        trusted: Whether the document may lower an assumed risk.

    Raises:
        ContractError: If a part has the wrong type; `path` is a JSON pointer into the operation.
        UnresolvedReference: If a `$ref` leads nowhere, out of the document, or round in a circle.
    """
    body, spec = operation.body, operation.spec
    schema, placed = input_of(operation)
    access, security = access_of(operation)
    summary = text_at(body, "summary") or text_at(operation.item, "summary", where="/..")
    text = text_at(body, "description") or text_at(operation.item, "description", where="/..")
    stated = text_at(body, "operationId").strip()
    tags = texts_at(body, "tags")
    output, errors = _responses(operation)
    notes = [f"call: {operation.method} {_host(operation)}{operation.path}", *placed]
    if body.get("deprecated") is True:
        notes.append("deprecated: the document says that this operation should no longer be used")
    return ForeignTool(
        name=stated or _NOT_WORD.sub("_", operation.path).strip("_") or operation.method.lower(),
        renamed=operation.renamed,
        title=summary,
        description=_joined(summary, text),
        input_schema=schema,
        output_schema=output,
        hints=_hints(operation.method),
        server=server or _server_of(spec),
        domain=tags[0] if tags else "",
        tags=tags,
        errors=errors,
        access=access,
        notes=(*notes, *security),
        format=FORMAT,
        trusted=trusted,
    )


def _hints(method: str) -> Hints:
    idempotent = method in _IDEMPOTENT or None
    if method in _SAFE:
        return Hints(read_only=True, idempotent=idempotent)
    if method == "DELETE":
        return Hints(read_only=False, destructive=True, idempotent=idempotent)
    # PUT overwrites: reversible only where name or text say so. POST may be a search or a payment.
    return Hints(read_only=False if method in _WRITES else None, idempotent=idempotent)


def _joined(summary: str, text: str) -> str:
    """Return summary and description as one text; the summary is the sentence that says what the tool does."""
    summary, text = summary.strip(), text.strip()
    if not summary or text.casefold().startswith(summary.rstrip(".").casefold()):
        return text
    return f"{summary.rstrip('.')}.\n\n{text}" if text else summary


def _server_of(spec: Spec) -> str | None:
    info = spec.root.get("info")
    title = info.get("title") if isinstance(info, Mapping) else None
    return (_NOT_WORD.sub("_", title).strip("_").lower() or None) if isinstance(title, str) else None


def _host(operation: Operation) -> str:
    """Return where the API lives: the first server of the operation, its path or the document, "" where none is said.

    A URL loses its user name and password.
    """
    root = operation.spec.root
    if operation.spec.version < (3, 0):
        host, base = root.get("host"), root.get("basePath")
        schemes = texts_at(root, "schemes")
        url = f"{schemes[0] if schemes else 'https'}://{host}" if isinstance(host, str) and host else ""
        url += base if isinstance(base, str) else ""
        return _CREDENTIALS.sub("//", url).rstrip("/")
    for holder in (operation.body, operation.item, root):
        servers = holder.get("servers")
        first = servers[0] if isinstance(servers, list) and servers else None
        if isinstance(first, Mapping) and isinstance(first.get("url"), str):
            return _CREDENTIALS.sub("//", _with_defaults(first)).rstrip("/")
    return ""


def _with_defaults(server: Mapping[str, Any]) -> str:
    variables = server.get("variables")
    known = variables if isinstance(variables, Mapping) else {}

    def value(match: re.Match[str]) -> str:
        variable = known.get(match[1])
        default = variable.get("default") if isinstance(variable, Mapping) else None
        return default if isinstance(default, str) else match[0]

    return _VARIABLE.sub(value, server["url"])


def _responses(operation: Operation) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the schema of the first successful response that has one, and the errors that are described."""
    stated = operation.body.get("responses")
    if not isinstance(stated, Mapping):
        return {}, ()
    schema: dict[str, Any] = {}
    errors: list[str] = []
    for code in sorted(stated, key=str.upper):
        if code[:1] not in ("2", "4", "5") or not isinstance(stated[code], Mapping):
            continue
        at = f"/responses{place_of(code)}"
        response = operation.spec.follow(stated[code], at=at)
        described = text_at(response, "description", where=at).strip()
        if code[0] != "2":
            errors.append(f"{code}: {' '.join(described.split())[:200]}" if described else code)
        elif not schema:
            schema = json_schema(_result_schema(operation.spec, response, at=at), spec=operation.spec, side="output")
            if described and schema:
                schema.setdefault("description", described)
    return schema, tuple(errors[:_MAX_ERRORS])


def _result_schema(spec: Spec, response: Mapping[str, Any], *, at: str) -> dict[str, Any]:
    for kind, node in _content(response):
        where = f"{at}/content{place_of(kind)}" if kind else at
        schema = media_schema(spec.follow(node, at=where), kind=kind or "json", at=where)
        if schema:
            return dict(schema)
    return {}


def _content(response: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (media type, Media Type Object), JSON first; a response of 2.0 has its schema itself."""
    if "schema" in response:
        yield "", {"schema": response["schema"]}
    content = response.get("content")
    if isinstance(content, Mapping):
        yield from sorted(content.items(), key=lambda entry: "json" not in entry[0].lower())
