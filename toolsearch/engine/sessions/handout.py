"""One turn of a conversation: a search that finds what its session holds, and adds to it.

A turn lasts from the lock of the session to the answer. Searches of one session so follow each other, each over the
catalogue and the rules of its own moment; what it hands out is durable before the answer is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolsearch.contracts.export import estimate_tokens
from toolsearch.engine.sessions.listing import Session, definition_of, pinned
from toolsearch.engine.sessions.names import session_names
from toolsearch.engine.sessions.store import SessionStore
from toolsearch.engine.sessions.view import SessionView
from toolsearch.model.answer import CandidateSet, LeftTool, SessionUpdate
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.errors import RequestError
from toolsearch.model.reasons import counted
from toolsearch.model.request import Principal, SearchRequest
from toolsearch.search.handout import HandedOut
from toolsearch.store.sessions import SessionToolRow


class SessionHandout:
    """A search of a session.

    Attributes:
        moment: What the search reads.
        session: The session, less what its principal does not see any more.
    """

    def __init__(
        self, session: Session, *, created: bool, moment: SessionView, principal: Principal, shelf: SessionStore
    ) -> None:
        """Look at the session as of now.

        Args:
            session: As it is kept, or an empty one.
            created: Whether it begins with this turn.
            moment: Catalogue and rules as its principal sees them.
            principal: As narrowed by the request.
            shelf: Where the session is kept.
        """
        self.moment = moment
        self._before, self._created, self._narrowed, self._shelf = session, created, principal, shelf
        self._gone = moment.leaving(session)
        self.session = session.changed(self._gone)
        self._offered: dict[ToolRef, SessionToolRow] = {}

    def loaded(self, refs: Sequence[str]) -> frozenset[str]:
        """Return the refs that the model has: those given, and the list of the session."""
        return frozenset((*refs, *map(str, self.session.listed)))

    def names(self, refs: Sequence[ToolRef]) -> Mapping[ToolRef, str]:
        """Return the names under which the model calls these tools in this session."""
        return session_names(refs, known=self.session.names)

    def definition(
        self, contract: ToolContract, *, request: SearchRequest, api_name: str, adjacent: Mapping[str, str]
    ) -> HandedOut:
        """Return the definition that the session holds, or will hold if the tool is handed out; see `Handout`."""
        tool = self._tool(contract, request=request, api_name=api_name, adjacent=adjacent)
        return HandedOut(definition_of(tool), estimate_tokens(tool.definition))

    def _tool(
        self, contract: ToolContract, *, request: SearchRequest, api_name: str, adjacent: Mapping[str, str]
    ) -> SessionToolRow:
        held = self.session.listed.get(contract.ref)
        if held is not None:
            return held
        session_id = self.session.key.session_id
        tool = self._offered[contract.ref] = pinned(
            self.moment.revision(contract, session_id=session_id, principal=self._narrowed),
            format=request.format,
            detail=request.detail,
            api_name=api_name,
            adjacent=adjacent,
        )
        return tool

    def close(self, answer: CandidateSet) -> CandidateSet:
        """Return the answer with what it did to the session, which is durable then.

        Raises:
            RequestError: If the session would hold more tools than it may.
            IndexStateError: If the registry cannot be written.
        """
        handed = (*(tool.ref for tool in answer.always_on), *(candidate.ref for candidate in answer.candidates))
        offered = {str(ref): tool for ref, tool in self._offered.items()}
        added = self.session.appended(offered[ref] for ref in handed if ref in offered)
        self._require_room(len(added))
        after = self._shelf.put(self._before, [*self._gone, *added], begin=self._created)
        update = SessionUpdate(
            id=after.key.session_id,
            created=self._created,
            refs=tuple(map(str, after.listed)),
            tools_hash=after.tools_hash,
            appended=tuple(str(tool.ref) for tool in added),
            left=tuple(LeftTool(ref=str(tool.ref)) for tool in self._gone),
            newer_available=tuple(map(str, self.moment.outdated(after))),
            token_metrics=self.moment.token_metrics(after),
        )
        return answer.model_copy(update={"session": update})

    def _require_room(self, count: int) -> None:
        held, most = len(self.session.tools), self._shelf.limits.tools
        if count and held + count > most:
            raise RequestError(
                f"session {self.session.key.session_id!r} was handed {counted(held, 'tool')} of at most {most}; "
                "end it and begin another, or ask for fewer candidates with k",
                field="session",
            )
