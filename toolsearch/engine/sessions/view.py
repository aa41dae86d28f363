"""Catalogue and rules of one moment, as a session's principal sees them: what leaves its list, what is newer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from toolsearch.contracts.change.rollout import Rollout, in_rollout
from toolsearch.engine.sessions.listing import Session, definition_of
from toolsearch.engine.state import IndexState
from toolsearch.model.answer import LeftTool, SessionList, SessionTool, TokenMetrics
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.request import Principal
from toolsearch.search.index.view import View
from toolsearch.search.visibility.decide import PolicyRow, decide
from toolsearch.store.sessions import SessionToolRow


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SessionView:
    """What one principal sees now.

    Attributes:
        state: The current state.
        principal: Whose session it is, not narrowed by a request: what a request leaves out has not left.
        view: What the principal sees of the state.
        rollouts: Revisions that a share of the sessions gets, by the ref of the current one.
    """

    state: IndexState
    principal: Principal
    view: View
    rollouts: Mapping[ToolRef, Rollout]

    def contract(self, ref: ToolRef) -> ToolContract | None:
        """Return the current contract of a visible tool, else None; hidden and withdrawn are not told apart."""
        doc_id = self._visible(ref)
        return None if doc_id is None else self.state.contracts[doc_id]

    def leaving(self, session: Session) -> list[SessionToolRow]:
        """Return the rows of listed tools that are not visible any more, as they are from now on."""
        return [
            replace(tool, listed=False, definition="")
            for ref, tool in session.listed.items()
            if self._visible(ref) is None
        ]

    def revision(self, contract: ToolContract, *, session_id: str, principal: Principal | None = None) -> ToolContract:
        """Return what a session gets of a tool: its current contract, or the revision that is rolled out to it.

        Args:
            contract: The current contract, which is visible.
            session_id: Of the session.
            principal: As narrowed by a request: the other revision must be visible too.
        """
        rollout = self.rollouts.get(contract.ref)
        if rollout is None or not in_rollout(session_id, ref=contract.ref, share=rollout.share):
            return contract
        row, whom = PolicyRow.of(rollout.contract), principal or self.principal
        return rollout.contract if decide(row, principal=whom, rules=self.state.rules).allowed else contract

    def outdated(self, session: Session) -> list[ToolRef]:
        """Return the listed tools of which the session would get another revision now."""
        return [ref for ref, tool in session.listed.items() if self._newest(ref, session) != tool.fingerprint]

    def shown(self, session: Session, *, created: bool = False) -> SessionList:
        """Return a session as it is told to its principal; nothing in it depends on when it is asked for."""
        outdated = frozenset(self.outdated(session))
        return SessionList(
            id=session.key.session_id,
            created=created,
            tools_hash=session.tools_hash,
            tools=tuple(
                SessionTool(
                    ref=str(ref),
                    fingerprint=tool.fingerprint,
                    api_name=tool.api_name,
                    format=tool.format,
                    detail=tool.detail,
                    newer_available=ref in outdated,
                    definition=definition_of(tool),
                )
                for ref, tool in session.listed.items()
            ),
            left=tuple(LeftTool(ref=str(ref)) for ref in session.left),
            token_metrics=self.token_metrics(session),
        )

    def token_metrics(self, session: Session) -> TokenMetrics:
        """Return the tokens of the list against those of all that the principal sees."""
        baseline = self.view.baseline_tokens
        saved = 100.0 * (1 - session.tokens / baseline) if baseline > 0 else 0.0
        return TokenMetrics(baseline=baseline, returned=session.tokens, savings_percent=round(saved, 1))

    def _visible(self, ref: ToolRef) -> int | None:
        doc_id = self.state.snapshot.contracts.find(ref)
        return doc_id if doc_id is not None and self.view.docs.mask[doc_id] else None

    def _newest(self, ref: ToolRef, session: Session) -> str | None:
        doc_id = self._visible(ref)
        if doc_id is None:
            return None
        if ref not in self.rollouts:
            return self.state.snapshot.contracts.fingerprints[doc_id]
        return self.revision(self.state.contracts[doc_id], session_id=session.key.session_id).fingerprint
