"""The MCP server: four meta-tools in fixed bytes, structured answers, progress and cancellation passed through.

On the low level of the package mcp, because its decorators would make the definitions, and the next version of the
package other ones.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from pydantic import ValidationError

from toolsearch import __version__
from toolsearch.calls.gateway.call import CallResult
from toolsearch.calls.gateway.confirm import digest
from toolsearch.model.contract import Frozen
from toolsearch.model.errors import ToolSearchError
from toolsearch.serve.mcp.approval import OpenQuestions, agreed, answered, ask, can_ask, declined, waits_for_a_person
from toolsearch.serve.mcp.definitions import BY_NAME, INSTRUCTIONS, META_TOOLS, CallWriteTool, MetaTool
from toolsearch.serve.mcp.verbs import Caller, Desk, answer, call_through, refused

LIST_FRESH_MS = 86_400_000
"""Milliseconds for which a client may keep the list of tools: it changes with the version of this package only."""

_LOG = logging.getLogger("toolsearch.serve")

Context = ServerRequestContext[Any, Any]
CallerOf = Callable[[Context], Caller]
"""Who is behind a message: by its credentials over HTTP, the owner of the process over stdio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handlers:
    """What the server does with a message.

    Attributes:
        desk: Where answers come from.
        caller_of: On whose behalf.
        questions: What people were asked and have not answered yet.
    """

    desk: Desk
    caller_of: CallerOf
    questions: OpenQuestions = field(default_factory=OpenQuestions)
    listed: types.ListToolsResult = field(default_factory=lambda: types.ListToolsResult(tools=list(listed_tools())))

    async def list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Return the meta-tools: the same for everyone."""
        return self.listed

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Answer a call of a meta-tool."""
        tool = BY_NAME.get(params.name)
        if tool is None:
            known = ", ".join(BY_NAME)
            hint = "to call a tool that search_tools found, pass its ref to call_tool or call_write_tool"
            raise MCPError(types.INVALID_PARAMS, f"no tool {params.name[:100]!r} is listed, only {known}; {hint}")
        try:
            caller = self.caller_of(context)
            given = tool.arguments.model_validate(params.arguments or {})
            progress = context.session.report_progress
            if isinstance(given, CallWriteTool):
                written = await self._write(given, context, params, caller=caller)
                if isinstance(written, types.InputRequiredResult):
                    return written
                made: Frozen = written
            else:
                made = await answer(given, desk=self.desk, caller=caller, progress=progress)
        except (ToolSearchError, ValidationError) as error:
            made = refused(error, kind=tool.answer)
        except Exception as error:  # noqa: BLE001 - a caller always gets an answer, and never the text of a bug
            _LOG.error("%s failed", tool.name, exc_info=error)
            made = refused(error, kind=tool.answer)
        return result_of(made)

    async def _write(
        self, given: CallWriteTool, context: Context, params: types.CallToolRequestParams, *, caller: Caller
    ) -> CallResult | types.InputRequiredResult:
        """Call a tool that writes, asking the person at the client for approval where the gateway wants one."""
        call = partial(call_through, desk=self.desk, caller=caller, progress=context.session.report_progress)
        if not can_ask(context):
            return await call(given)  # nobody was asked, whatever the message says
        whom = digest([caller.principal.model_dump(mode="json"), caller.session, given.model_dump(mode="json")])
        said, confirmation, result = answered(params), None, None
        if said is not None and params.request_state is not None:
            confirmation = self.questions.take(params.request_state, asked=whom)
        if said is None or confirmation is None:
            result = await call(given)
            if not waits_for_a_person(result, arguments=given.arguments):
                return result
            reply = await ask(context, result, arguments=given.arguments, questions=self.questions, asked=whom)
            if isinstance(reply, types.InputRequiredResult):
                return reply
            said, confirmation = reply, result.error.confirmation if result.error else None
        if not agreed(said) or confirmation is None:
            return declined(result)
        approval = (await self.desk.gateway()).approve(confirmation)
        return await call(given.model_copy(update={"confirmation": approval}))


def make_server(desk: Desk, *, caller_of: CallerOf) -> Server[Any]:
    """Return the MCP server over a desk."""
    handlers = Handlers(desk=desk, caller_of=caller_of)
    return Server(
        "toolsearch",
        version=__version__,
        title="toolsearch",
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        cache_hints={"tools/list": CacheHint(ttl_ms=LIST_FRESH_MS, scope="public")},
    )


def listed_tools() -> tuple[types.Tool, ...]:
    """Return the meta-tools as they are listed."""
    return tuple(_listed(tool) for tool in META_TOOLS)


def _listed(tool: MetaTool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(title=tool.title, **tool.hints),
    )


def result_of(made: Frozen) -> types.CallToolResult:
    """Return an answer as an MCP result: structured, and the same as text for clients that show only that.

    What says nothing (empty lists, what is not so) is left out, as each word costs the model's attention.
    """
    data = made.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    content: list[types.ContentBlock] = [types.TextContent(text=json.dumps(data, ensure_ascii=False))]
    return types.CallToolResult(content=content, structured_content=data, is_error=not data["ok"])
