"""Gradual roll-out: which sessions get the new revision of a tool. A pure function of the session, so it sticks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from toolsearch.model.contract import ToolContract, ToolRef

_BUCKETS = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A new revision that a share of new sessions gets, while the others get the current one.

    Attributes:
        contract: The new revision; its ref is that of the current one.
        share: Share of new sessions, in (0, 1).
    """

    contract: ToolContract
    share: float


def in_rollout(session_id: str, *, ref: ToolRef | str, share: float) -> bool:
    """Tell whether a session gets the new revision of a tool.

    The session's place in [0, 1) is a hash of session and tool: the same for ever, and another one for each tool. So
    whoever is in at a share stays in at every larger one, and no session is the first for every tool.

    Args:
        session_id: Of the session.
        ref: Of the tool.
        share: Share of sessions, in [0, 1]; 0 = none, 1 = all.
    """
    digest = hashlib.sha256(f"{ref}\n{session_id}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") < share * _BUCKETS
