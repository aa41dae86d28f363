"""The tools of one conversation: what is in it, what a name means, what became of a call.

The list is that of a session at the source: it grows at its end, and a tool leaves it only when its principal may not
use it any more. Everything here works the same for each SDK; an adapter adds the shapes of its provider.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any

from pydantic import ValidationError

from toolsearch.adapters.calling import Forwards, Run, ToolSetResult, failed, nothing_runs, parsed, succeeded
from toolsearch.adapters.request_text import request_text, speaks
from toolsearch.adapters.search_tool import SEARCH_TOOL, asked, found_text
from toolsearch.adapters.source import ToolSource
from toolsearch.model.answer import CandidateSet, SessionTool
from toolsearch.model.errors import RequestError, ToolSearchError, UnknownSession, UnknownTool
from toolsearch.model.request import DefinitionFormat, Detail, Outcome, OutcomeStatus, Restriction, SearchRequest

_LOG = logging.getLogger("toolsearch.adapters")


class ToolSet:
    """The tools that one conversation was handed, and the way to call them."""

    def __init__(
        self,
        source: ToolSource,
        *,
        format: DefinitionFormat,
        run: Run = nothing_runs,
        session: str | None = None,
        k: int | None = None,
        detail: Detail = Detail.FULL,
        always_on: Sequence[str] = (),
        restrict: Restriction | None = None,
        search_name: str = SEARCH_TOOL,
    ) -> None:
        """Begin a session, or go on with one.

        Args:
            source: A `Client`, or `on_behalf_of(index, principal)`.
            format: Shape of the definitions.
            run: Runs a tool that the model called: `(ref, arguments) -> result`. See `by_ref`.
            session: Id of the conversation; None = a new one with a random id.
            k: At most so many tools a search; None = by situation.
            detail: How much of each definition.
            always_on: Tools that the first search lists in any case, if visible.
            restrict: Narrows what is found.
            search_name: Name of the search tool.

        Raises:
            RequestError: If the session was begun in another format, or holds a tool with the search tool's name.
        """
        self._source, self._format, self._run = source, format, run
        self._k, self._detail, self._always_on, self._restrict = k, detail, tuple(always_on), restrict
        self.search_name = search_name
        self._traces: dict[str, str] = {}
        self._looking = threading.Lock()
        opened = source.sessions.open(session)
        self.session = opened.id
        self._tools, self._hash = self._usable(opened.tools), opened.tools_hash

    @property
    def tools(self) -> tuple[SessionTool, ...]:
        """Return the tools of the session in order, as last seen."""
        return self._tools

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """Return the definitions of the session in order: from turn to turn the same bytes with more at the end."""
        return [deepcopy(tool.definition) for tool in self._tools]

    def turn(self, said: Sequence[str], *, inputs: Mapping[str, Any] | None = None) -> CandidateSet | None:
        """Search for what the user said last, before the model's turn.

        Args:
            said: The user's messages, oldest first.
            inputs: Parameter values already at hand.

        Returns:
            The answer, or None where the user said nothing that can be searched for.
        """
        text = request_text(said)
        return self.search(text, inputs=inputs) if speaks(text) else None

    def search(self, text: str, *, k: int | None = None, inputs: Mapping[str, Any] | None = None) -> CandidateSet:
        """Search, and put what is found at the end of the list.

        Raises:
            RequestError: If the text is empty or too long, or the session is full.
        """
        try:
            request = SearchRequest(
                text=text,
                k=k or self._k,
                inputs=dict(inputs or {}),
                restrict=self._restrict,
                detail=self._detail,
                format=self._format,
                always_on=self._always_on,
                session=self.session,
            )
        except ValidationError as error:
            first = error.errors()[0]
            raise RequestError(f"{'.'.join(map(str, first['loc']))} {first['msg']}", field="text") from None
        answer = self._source.search(request)
        self._traces |= dict.fromkeys(_refs(answer), answer.trace_id)
        if answer.session is not None and answer.session.tools_hash != self._hash:
            self.look()
        return answer

    def found(self, answer: CandidateSet) -> list[SessionTool]:
        """Return what an answer hands out: always-on tools that are new, then the candidates, best first."""
        held = {tool.ref: tool for tool in self._tools}
        known = {tool.ref for tool in answer.always_on if tool.already_loaded}
        return [held[ref] for ref in _refs(answer) if ref in held and ref not in known]

    def look(self) -> tuple[SessionTool, ...]:
        """Ask the source for the list as of now: a tool that may not be used any more has left it."""
        with self._looking:  # of two looks at the same time, the later one stays
            try:
                seen = self._source.sessions.get(self.session)
            except UnknownSession:  # it expired: the next search begins it again
                self._tools, self._hash = (), ""
            else:
                self._tools, self._hash = self._usable(seen.tools), seen.tools_hash
            return self._tools

    def tool(self, name: str) -> SessionTool:
        """Return the tool that the model calls by a name.

        Raises:
            UnknownTool: If no tool of the session has it.
        """
        for tool in self._tools:
            if tool.api_name == name:
                return tool
        raise UnknownTool(f"there is no tool {name[:100]!r} in this conversation; call {self.search_name} to find one")

    def is_search(self, name: str) -> bool:
        """Tell whether a call is one of the search tool."""
        return name == self.search_name

    def call(self, name: str, arguments: str | Mapping[str, Any] | None) -> ToolSetResult:
        """Run a call of the model, if its tool is still in the list, and report how it ended.

        Nothing that the model sends and nothing that fails makes it raise. A call of the search tool is answered, too.
        """
        if self.is_search(name):
            return self._searched(arguments)
        begun = self._begun(name, arguments)
        if isinstance(begun, ToolSetResult):
            return begun
        ref, given = begun
        started = time.perf_counter()
        try:
            if isinstance(self._run, Forwards):
                raise RequestError("this adapter runs tools through a gateway: await its calls (`acall`, `aresults`)")
            result = succeeded(ref, self._run(ref, given))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises, the conversation goes on
            result = failed(ref, error)
        self._report(result, since=started)
        return result

    async def acall(self, name: str, arguments: str | Mapping[str, Any] | None) -> ToolSetResult:
        """Do what `call` does without holding up the event loop; `run` may be async."""
        if self.is_search(name):
            return await asyncio.to_thread(self._searched, arguments)
        begun = await asyncio.to_thread(self._begun, name, arguments)
        if isinstance(begun, ToolSetResult):
            return begun
        ref, given = begun
        if isinstance(self._run, Forwards):
            return await self._run.forward(ref, given, session=self.session, trace_id=self._traces.get(ref))
        started = time.perf_counter()
        try:
            value = await asyncio.to_thread(self._run, ref, given)
            result = succeeded(ref, await value if inspect.isawaitable(value) else value)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises, the conversation goes on
            result = failed(ref, error)
        await asyncio.to_thread(self._report, result, since=started)
        return result

    def _searched(self, arguments: str | Mapping[str, Any] | None) -> ToolSetResult:
        """Run a call of the search tool."""
        try:
            query, limit = asked(parsed(arguments))
            answer = self.search(query, k=limit)
        except ToolSearchError as error:
            return ToolSetResult(text=f"the search failed: {_told(error)}", status=OutcomeStatus.REJECTED)
        tools = self.found(answer)
        return ToolSetResult(text=found_text(answer, tools), status=OutcomeStatus.SUCCESS, found=tuple(tools))

    def _begun(
        self, name: str, arguments: str | Mapping[str, Any] | None
    ) -> ToolSetResult | tuple[str, dict[str, Any]]:
        """Return reference and arguments of a call, or its refusal."""
        try:
            self.look()
            return self.tool(name).ref, parsed(arguments)
        except ToolSearchError as error:
            return ToolSetResult(text=f"the call was not made: {_told(error)}", status=OutcomeStatus.REJECTED)

    def _report(self, result: ToolSetResult, *, since: float) -> None:
        """Report how a call ended, under the trace_id of the newest search that found its tool."""
        assert result.ref is not None
        outcome = Outcome(
            ref=result.ref,
            status=result.status,
            trace_id=self._traces.get(result.ref),
            latency_ms=round((time.perf_counter() - since) * 1000, 3),
        )
        with suppress(ToolSearchError):  # the call is made and its result stands, whatever becomes of the report
            self._source.record_outcome(outcome)

    def _usable(self, tools: Sequence[SessionTool]) -> tuple[SessionTool, ...]:
        for tool in tools:
            if tool.format != self._format.value:
                raise RequestError(
                    f"session {self.session!r} was begun in format {tool.format}, not {self._format.value}; use "
                    "another session",
                    field="session",
                )
            if tool.api_name == self.search_name:
                raise RequestError(
                    f"a tool is named {tool.api_name!r} like the search tool; choose another search_name",
                    field="search_name",
                )
        return tuple(tools)


def _refs(answer: CandidateSet) -> list[str]:
    """Return what an answer hands out."""
    return [*(tool.ref for tool in answer.always_on), *(candidate.ref for candidate in answer.candidates)]


def _told(error: ToolSearchError) -> str:
    """Return what the model reads of an error: what it can mend itself, and of everything else only that it is."""
    if isinstance(error, RequestError | UnknownTool):
        return str(error)
    _LOG.warning("a call of the model was not made: %s", error)
    return "tools cannot be reached now. Do not try again at once; tell the user"
