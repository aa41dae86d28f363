"""Decision records: who may read one, and what it names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from toolsearch.engine.state import IndexState
from toolsearch.model.errors import UnknownTrace
from toolsearch.model.request import Principal
from toolsearch.search.visibility.rules import ADMIN_ROLE
from toolsearch.store.decisions import DecisionRow


def readable(row: DecisionRow | None, *, trace_id: str, principal: Principal, state: IndexState) -> dict[str, Any]:
    """Return a record as plain data, if the principal may read it.

    The same subject and tenant may, as long as it still sees every tool that the record names: rights withdrawn since
    must not be read back out of an old answer. Administrators may read all.

    Raises:
        UnknownTrace: Otherwise; the message does not tell why.
    """
    unknown = UnknownTrace(f"no decision {trace_id[:64]!r} of this principal is kept; search again to get a new one")
    if row is None:
        raise unknown
    answer = json.loads(row.answer)
    if ADMIN_ROLE not in principal.roles:
        if not row.belongs_to(subject=principal.subject, tenant=principal.tenant):
            raise unknown
        docs = state.views.of(principal).docs
        if not all(state.find([ref.rpartition("@")[0]], docs=docs) for ref in named_refs(answer)):
            raise unknown
    return {
        "trace_id": row.trace_id,
        "at": row.at.isoformat(),
        "subject": row.subject,
        "tenant": row.tenant,
        "request": json.loads(row.request),
        "answer": answer,
    }


def named_refs(data: Any) -> Iterator[str]:
    """Yield the refs that the ref fields of an answer hold, at any depth."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key == "ref" and isinstance(value, str):
                yield value
            elif key == "obtain_from" and isinstance(value, list):
                yield from value
            elif key == "session" and isinstance(value, dict) and isinstance(value.get("refs"), list):
                yield from value["refs"]  # what left was named only as gone
            else:
                yield from named_refs(value)
    elif isinstance(data, list):
        for value in data:
            yield from named_refs(value)
