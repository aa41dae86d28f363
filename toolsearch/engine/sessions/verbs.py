"""`ToolIndex.sessions`: open, look at, end and refresh the sessions of a principal."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from toolsearch.engine.sessions.handout import SessionHandout
from toolsearch.engine.sessions.listing import Session, pinned
from toolsearch.engine.sessions.view import SessionView
from toolsearch.engine.state import Catalogue
from toolsearch.engine.writer import LiveIndex
from toolsearch.model.answer import RefreshedTool, SessionList, SessionRefresh
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.errors import RequestError, UnknownSession, UnknownTool
from toolsearch.model.request import SESSION_ID, DefinitionFormat, Detail, Principal
from toolsearch.store.sessions import SessionKey, SessionToolRow


@dataclass(frozen=True, slots=True)
class PinnedTool:
    """A listed tool of a session.

    Attributes:
        api_name: Name under which the model calls it.
        fingerprint: Of the revision that was handed out.
        current: Fingerprint of the revision that the session would get now.
        contract: That revision; adjacent tools that the principal may not see are left out of it.
    """

    api_name: str
    fingerprint: str
    current: str
    contract: ToolContract


class Sessions:
    """The sessions of an index. A session belongs to one subject and tenant; to others it does not exist."""

    def __init__(self, live: LiveIndex) -> None:
        """Work on an open index."""
        self._live, self._shelf = live, live.sessions

    def open(self, session_id: str | None = None, *, principal: Principal) -> SessionList:
        """Begin a session, or return it where the principal has one of that id. A search with a new id begins one too.

        Args:
            session_id: 1 to 128 letters, digits and `_.:-`, the first a letter or digit; None = a random one.
            principal: Whose session it is.

        Raises:
            RequestError: If the id has another form.
        """
        wanted = uuid.uuid4().hex if session_id is None else session_id
        if not re.fullmatch(SESSION_ID, wanted):
            raise RequestError(
                f"session {wanted[:200]!r}: write 1 to 128 letters, digits or _ . : -, and no sign of these first",
                field="session",
            )
        key = _key(wanted, principal)
        with self._shelf.locked(key):
            found = self._shelf.find(key)
            moment = self._moment(principal)
            session = found or Session.of(key)
            session = self._shelf.put(session, moment.leaving(session), begin=found is None)
            return moment.shown(session, created=found is None)

    def get(self, session_id: str, *, principal: Principal) -> SessionList:
        """Return a session with its definitions, byte for byte as they were handed out: to show them once more.

        Raises:
            UnknownSession: If the principal has no open session of that id.
        """
        with self._found(session_id, principal=principal) as (session, moment):
            return moment.shown(self._shelf.put(session, moment.leaving(session), begin=False))

    def end(self, session_id: str, *, principal: Principal) -> None:
        """End a session; its id may be used for a new one.

        Raises:
            UnknownSession: If the principal has no open session of that id.
        """
        with self._found(session_id, principal=principal) as (session, _):
            self._shelf.end(session.key)

    def refresh(
        self, session_id: str, refs: Sequence[str] = (), *, detail: Detail | None = None, principal: Principal
    ) -> SessionRefresh:
        """Move tools of a session to the revisions that are current now; their places, names and formats stay.

        Args:
            session_id: Of the session.
            refs: `server/name@version` of listed tools; none = all.
            detail: How much of each definition from now on; None = as much as before.
            principal: Whose session it is.

        Raises:
            UnknownSession: If the principal has no open session of that id.
            UnknownTool: If one of the refs is not in its list; nothing is changed then.
        """
        with self._found(session_id, principal=principal) as (before, moment):
            gone = moment.leaving(before)
            session = before.changed(gone)
            rows = [
                self._current(tool, detail=detail or Detail(tool.detail), moment=moment, session_id=session_id)
                for tool in _listed(session, refs)
            ]
            moved = [row for row in rows if row != session.listed[row.ref]]
            after = self._shelf.put(before, [*gone, *moved], begin=False)
            return SessionRefresh(
                changed=tuple(
                    RefreshedTool(ref=str(row.ref), before=session.listed[row.ref].fingerprint, after=row.fingerprint)
                    for row in moved
                ),
                session=moment.shown(after),
            )

    def pinned(self, session_id: str, name: str, *, principal: Principal) -> PinnedTool | None:
        """Return what a session pinned of a tool and would get of it now; None where it pinned nothing of that name.

        Args:
            session_id: Of the session; one that is not open pinned nothing.
            name: The name that the session gave the tool, or a reference with or without server and version.
            principal: Whose session it is.
        """
        with suppress(UnknownSession), self._found(session_id, principal=principal) as (session, moment):
            tool = _named(session, name)
            contract = None if tool is None else moment.contract(tool.ref)
            if tool is not None and contract is not None:
                current = moment.revision(contract, session_id=session_id)
                adjacent = Catalogue(moment.state, moment.view).visible_adjacent(current)
                return PinnedTool(tool.api_name, tool.fingerprint, current.fingerprint, current.naming_only(adjacent))
        return None

    @contextmanager
    def turn(self, session_id: str, *, principal: Principal, narrowed: Principal) -> Iterator[SessionHandout]:
        """Hold a session for one search, beginning it where there is none.

        Args:
            session_id: Of the session.
            principal: Whose session it is.
            narrowed: The same principal as the request narrows it.
        """
        key = _key(session_id, principal)
        with self._shelf.locked(key):
            found = self._shelf.find(key)
            yield SessionHandout(
                found or Session.of(key),
                created=found is None,
                moment=self._moment(principal),
                principal=narrowed,
                shelf=self._shelf,
            )

    @contextmanager
    def _found(self, session_id: str, *, principal: Principal) -> Iterator[tuple[Session, SessionView]]:
        key = _key(session_id, principal)
        with self._shelf.locked(key):
            session = self._shelf.find(key)
            if session is None:
                raise UnknownSession(
                    f"no session {session_id[:128]!r} of this principal is open; open one, or search with a new id"
                )
            yield session, self._moment(principal)

    def _moment(self, principal: Principal) -> SessionView:
        state = self._live.state
        return SessionView(
            state=state, principal=principal, view=state.views.of(principal), rollouts=self._live.rollouts
        )

    def _current(self, tool: SessionToolRow, *, detail: Detail, moment: SessionView, session_id: str) -> SessionToolRow:
        """Return the row of a listed tool with the revision that the session would get now."""
        contract = moment.contract(tool.ref)
        assert contract is not None  # what is not visible has left the list
        newest = moment.revision(contract, session_id=session_id)
        row = pinned(
            newest,
            format=DefinitionFormat(tool.format),
            detail=detail,
            api_name=tool.api_name,
            adjacent=Catalogue(moment.state, moment.view).visible_adjacent(newest),
        )
        return replace(row, position=tool.position)


def _key(session_id: str, principal: Principal) -> SessionKey:
    return SessionKey(session_id, principal.subject, principal.tenant)


def _named(session: Session, name: str) -> SessionToolRow | None:
    """Return the one listed tool that a model or a harness means by a name."""
    tools = session.listed.values()
    for means in (
        lambda tool: name == tool.api_name,
        lambda tool: name == str(tool.ref),
        lambda tool: name == f"{tool.ref.server}/{tool.ref.name}",
        lambda tool: name == tool.ref.name,
    ):
        found = [tool for tool in tools if means(tool)]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _listed(session: Session, refs: Sequence[str]) -> list[SessionToolRow]:
    """Return the listed tools of refs, or all.

    Raises:
        UnknownTool: If one is not in the list.
    """
    if not refs:
        return list(session.listed.values())
    by_ref: dict[str, ToolRef] = {str(ref): ref for ref in session.listed}
    for ref in refs:
        if ref not in by_ref:
            raise UnknownTool(
                f"no tool {ref[:200]!r} is in session {session.key.session_id!r}; write a ref of its list"
            )
    return [session.listed[by_ref[ref]] for ref in dict.fromkeys(refs)]
