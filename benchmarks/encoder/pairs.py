"""Training examples: a request (or what stands for one) and the text of the tool it needs.

Labelled requests are few and of a few styles, so the catalogues teach most: the sentence that says what a tool does
stands for a request, and the tool is named by what is left. Batches are drawn from one data set, and from few servers
of a catalogue, so that the others in a batch are look-alikes: hard negatives that cost no extra step.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeGuard, TypeVar

from benchmarks.encoder.asked import Task, asked_rows, tasks
from benchmarks.encoder.crosslingual import ParallelRow, chinese_requests, code_switched, parallel_rows
from benchmarks.encoder.records import (
    CATALOGUES,
    FIT_SETS,
    Request,
    Tool,
    permitted_catalogue,
    read_requests,
    read_tools,
)

_T = TypeVar("_T")

SERVERS_A_BATCH: Final = 4
CATALOGUE_SHARE: Final = {"real_servers": 1.0, "toolsdk_registry": 0.5, "scale_aws": 0.12, "scale_google": 0.12}
"""Share of each catalogue's servers seen in one epoch: the cloud catalogues are large and repeat themselves."""

PARALLEL_ROUNDS: Final = 6
"""How often an epoch goes over our own tools in two languages, each time in another mix of the two."""

STEPS_A_TASK: Final = 3.2

SWITCHED_REQUESTS: Final = 0.2
SWITCHED_TOOLS: Final = 0.05
"""Shares of the English pairs whose request, or whose tool, has words exchanged by the glossary."""

_OPENING = re.compile(
    r"^(?:this (?:tool|function|endpoint|api|method|operation)\s+(?:is used to|can|will|allows you to)?\s*)", re.I
)


Arrange = Callable[[Sequence["Example"]], list["Example"]]
"""Puts the examples of one data set into another order."""

Batch = tuple["Example", ...] | tuple["Steps", ...]
"""What one step of the fit reads."""


@dataclass(frozen=True, slots=True)
class Example:
    """One pair.

    Attributes:
        request: Text on the side of the request.
        tool: Text on the side of the tool.
        key: Which tool it is; another example of a batch with a key among `right` is no negative.
        right: Keys of every tool that is right for the request.
    """

    request: str
    tool: str
    key: str
    right: frozenset[str]


@dataclass(frozen=True, slots=True)
class Steps:
    """A task of several steps.

    Attributes:
        text: The whole request.
        examples: Its parts, each with its tool.
    """

    text: str
    examples: tuple[Example, ...]


def is_steps(batch: Batch) -> TypeGuard[tuple[Steps, ...]]:
    """Tell whether a batch is of tasks."""
    return bool(batch) and isinstance(batch[0], Steps)


def parallel_example(row: ParallelRow, *, rng: random.Random) -> Example:
    """Return a pair of one row: mostly a request in one language and a tool in the other."""
    key = f"parallel/{row.name}"
    asked = rng.randrange(2)
    told = 1 - asked if rng.random() < 0.7 else asked
    request = row.does[asked] if rng.random() < 0.3 else row.asks[asked]
    if rng.random() < 0.15:
        return Example(row.asks[asked], row.asks[1 - asked], key, frozenset({key}))
    if told == 0 and rng.random() < 0.3:
        return Example(request, row.name, key, frozenset({key}))
    tool = row.does[told] if told and rng.random() < 0.5 else f"{row.name}. {row.does[told]}"
    return Example(request, tool, key, frozenset({key}))


def epoch_batches(
    data: Path, *, seed: int, size: int, chinese_rounds: int, arrange: Arrange | None = None
) -> list[tuple[Example, ...]]:
    """Return the batches of one epoch in a random order that depends on the seed alone.

    Args:
        data: Folder of the public data sets.
        seed: Of every random choice.
        size: Pairs a batch.
        chinese_rounds: How often to go over our own Chinese requests for English tools.
        arrange: Puts look-alikes among the labelled pairs next to each other; without it they come as they fall.
    """
    rng = random.Random(seed)
    batches: list[tuple[Example, ...]] = []
    for name in (*FIT_SETS, "seal_tools"):
        examples = _shuffled(labelled_examples(data, name, rng=rng), rng)
        batches += _chunks(arrange(examples) if arrange else examples, size)
    batches += _chunks(_shuffled(name_examples(read_tools(data, "acebench_zh"), rng=rng), rng), size)
    for _ in range(PARALLEL_ROUNDS):
        rows = _shuffled([row for row in parallel_rows() if not row.held_out], rng)
        batches += _chunks([parallel_example(row, rng=rng) for row in rows], size)
    for _ in range(chinese_rounds):
        batches += _chunks(_shuffled(chinese_examples(data, rng=rng), rng), size)
    for name in CATALOGUES:
        tools = permitted_catalogue(read_tools(data, name))
        batches += _catalogue_batches(tools, share=CATALOGUE_SHARE[name], size=size, rng=rng)
    return _shuffled(batches, rng)


def asked_batches(data: Path, *, seed: int, size: int, rounds: int, arrange: Arrange | None = None) -> list[Batch]:
    """Return batches of our own requests and tasks for real tools, in a random order that depends on the seed alone.

    Args:
        data: Folder of the public data sets.
        seed: Of every random choice.
        size: Pairs a batch; of tasks, about so many steps.
        rounds: How often to go over them.
        arrange: Puts look-alikes next to each other.
    """
    rng = random.Random(seed)
    tools = {tool.key: tool for name in (*FIT_SETS, *CATALOGUES) for tool in read_tools(data, name)}
    batches: list[Batch] = []
    for at in range(rounds):
        asked = _shuffled(asked_examples(tools, rng=rng), rng)
        batches += _chunks(arrange(asked) if arrange else asked, size)
        told = _shuffled(step_examples(tools, rng=rng), rng)
        batches += _chunks(told, max(1, round(size / STEPS_A_TASK)))
        if at % 2 == 0:
            parts = _shuffled([part for steps in told for part in steps.examples], rng)
            batches += _chunks(parts, size)
    return _shuffled(batches, rng)


def labelled_examples(data: Path, dataset: str, *, rng: random.Random) -> list[Example]:
    """Return one example for each labelled request, with one of its tools, parts of whose text are left out."""
    tools = {tool.key: tool for tool in read_tools(data, dataset)}
    requests = read_requests(data, dataset, split="test" if dataset == "seal_tools" else None)
    known = [request for request in requests if request.relevant[0] in tools]
    return [_switched(_labelled(request, tools, rng=rng), rng=rng) for request in known]


def _labelled(request: Request, tools: dict[str, Tool], *, rng: random.Random) -> Example:
    tool = tools[rng.choice([key for key in request.relevant if key in tools])]
    text = tool.text(parameters=rng.random() < 0.8)
    # A Chinese request over a tool of which only the English name and inputs are left: a pair across languages.
    if request.lang == "zh" and rng.random() < 0.4:
        text = tool.text(description="")
    return Example(request.text, text, tool.key, frozenset(request.relevant))


def _switched(example: Example, *, rng: random.Random) -> Example:
    """Return the pair, one in a few with the glossary's words of the request (seldom: of the tool) in Chinese."""
    chance = rng.random()
    if chance < SWITCHED_REQUESTS:
        return replace(example, request=code_switched(example.request, share=rng.uniform(0.4, 1.0), rng=rng))
    if chance < SWITCHED_REQUESTS + SWITCHED_TOOLS:
        return replace(example, tool=code_switched(example.tool, share=rng.uniform(0.4, 1.0), rng=rng))
    return example


def name_examples(tools: Sequence[Tool], *, rng: random.Random) -> list[Example]:
    """Return description -> name and inputs, for tools whose names are English and whose descriptions are not."""
    return [
        Example(
            tool.description, tool.text(description="", parameters=rng.random() < 0.5), tool.key, frozenset({tool.key})
        )
        for tool in tools
        if tool.description
    ]


def chinese_examples(data: Path, *, rng: random.Random) -> list[Example]:
    """Return our own Chinese requests, each with its English tool, parts of whose text are left out."""
    asked = [request for request in chinese_requests() if not request.held_out]
    tools = {tool.key: tool for name in (*FIT_SETS, "seal_tools", *CATALOGUES) for tool in read_tools(data, name)}
    examples = []
    for request in asked:
        tool = tools[request.key]
        said = rng.choice((tool.description, tool.sentences()[0], ""))
        text = tool.text(description=said, parameters=rng.random() < 0.5)
        examples.append(Example(request.text, text, tool.key, frozenset({tool.key})))
    return examples


def asked_examples(tools: Mapping[str, Tool], *, rng: random.Random) -> list[Example]:
    """Return one of our own two requests for each of the tools that has some, parts of the tool's text left out."""
    return [
        Example(rng.choice(row.asks), _told(tools[row.key], rng=rng), row.key, frozenset({row.key}))
        for row in asked_rows()
        if not row.held_out and row.key in tools
    ]


def step_examples(tools: Mapping[str, Tool], *, rng: random.Random) -> list[Steps]:
    """Return our own tasks of several steps."""
    return [_steps(task, tools, rng=rng) for task in tasks() if not task.held_out and tools.keys() >= set(task.keys)]


def _steps(task: Task, tools: Mapping[str, Tool], *, rng: random.Random) -> Steps:
    parts = [Example(text, _told(tools[key], rng=rng), key, frozenset({key})) for key, text in task.steps]
    return Steps(task.text, tuple(parts))


def _told(tool: Tool, *, rng: random.Random) -> str:
    """Return a tool's text as an index has it, or with less of it."""
    said = tool.description if rng.random() < 0.8 else tool.sentences()[0] if tool.description else ""
    return tool.text(description=said, parameters=rng.random() < 0.7, server=rng.random() < 0.5)


def catalogue_example(tool: Tool, *, rng: random.Random) -> Example:
    """Return a pair made of one tool's own text: one sentence asks, the rest answers; or its name asks."""
    sentences = tool.sentences()
    right = frozenset({tool.key})
    if rng.random() < 0.15:
        return Example(
            tool.name, tool.text(description=" ".join(sentences[:3])).removeprefix(tool.name + ". "), tool.key, right
        )
    asked = sentences[0] if rng.random() < 0.8 else rng.choice(sentences)
    rest = " ".join(sentence for sentence in sentences if sentence != asked)
    return Example(_OPENING.sub("", asked), tool.text(description=rest), tool.key, right)


def _catalogue_batches(
    tools: Sequence[Tool], *, share: float, size: int, rng: random.Random
) -> Iterator[tuple[Example, ...]]:
    servers: dict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        servers[tool.server].append(tool)
    width = size // SERVERS_A_BATCH
    groups: list[list[Tool]] = []
    for server in sorted(servers):
        mine = _shuffled(servers[server], rng)
        groups += [mine[at : at + width] for at in range(0, len(mine), width)]
    groups = _shuffled(groups, rng)[: max(1, round(share * len(groups)))]
    flat = [_switched(catalogue_example(tool, rng=rng), rng=rng) for group in groups for tool in group]
    return _chunks(flat, size)


def _chunks(examples: Sequence[_T], size: int) -> Iterator[tuple[_T, ...]]:
    """Yield full batches; a last one that is less than half full is left out."""
    for at in range(0, len(examples), size):
        batch = tuple(examples[at : at + size])
        if len(batch) * 2 >= size:
            yield batch


def _shuffled(items: Sequence[_T], rng: random.Random) -> list[_T]:
    mixed = list(items)
    rng.shuffle(mixed)
    return mixed
