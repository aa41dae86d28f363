"""The conversation by way of one harness: what was sent, and whether the block of tools only grew."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.prompt_cache.cost import Prompt, only_appended
from benchmarks.prompt_cache.harnesses import Harness, ModelCall
from benchmarks.prompt_cache.world import World
from toolsearch import ToolIndex

ANSWER_TOKENS = 300
"""Tokens of the model's answer and of the results of its tools, a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What was sent in one conversation.

    Attributes:
        calls: Of the model, in order.
        changed: How often the block of tools was another one than in the call before.
        broken: Numbers of the calls, from 0, whose block is not the one before it with more at its end.
        left: Names of the tools in `broken` blocks that were no longer there.
    """

    calls: tuple[ModelCall, ...]
    changed: int
    broken: tuple[int, ...]
    left: tuple[str, ...]

    @property
    def prompts(self) -> list[Prompt]:
        """Return what the model read."""
        return [call.prompt for call in self.calls]


def converse(index: ToolIndex, begin: Callable[[World], Harness], *, said: Sequence[str]) -> Transcript:
    """Return the transcript of a conversation.

    Args:
        index: Of `world.catalogue`; it is afterwards what it was before.
        begin: Begins the conversation.
        said: What the user says.
    """
    calls: list[ModelCall] = []
    with World(index) as world:
        harness = begin(world)
        for number, text in enumerate(said, start=1):
            world.before(number)
            calls += harness.say(text)
            harness.answered(f"{number:04d}" * ANSWER_TOKENS)
    return transcript(calls)


def transcript(calls: Sequence[ModelCall]) -> Transcript:
    """Compare the block of each call with the one before it."""
    changed, broken, left = 0, [], []
    for number in range(1, len(calls)):
        before, after = calls[number - 1].block, calls[number].block
        changed += before != after
        if not only_appended(before, after):
            broken.append(number)
            left += [name for name in names(before) if name not in names(after)]
    return Transcript(calls=tuple(calls), changed=changed, broken=tuple(broken), left=tuple(left))


def names(block: Iterable[str]) -> list[str]:
    """Return the names of the tools of a block."""
    entries = [json.loads(entry) for entry in block]
    return [entry.get("name") or entry.get("function", entry).get("name", entry.get("type")) for entry in entries]
