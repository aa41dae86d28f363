"""The table of what every harness sent and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.prompt_cache.conversation import REVOKED, REVOKED_BEFORE, UPDATE_BEFORE
from benchmarks.prompt_cache.conversing import ANSWER_TOKENS, Transcript
from benchmarks.prompt_cache.cost import Cost, Prices, Prompt, cost

HEAD = (
    "calls of the model",
    "tools at the start",
    "at the end",
    "block changed",
    "otherwise than by appending",
    "tokens read",
    "from the cache",
    "paid for",
    "of it for tools",
)
COLUMNS = ("harness", *HEAD, "against all tools", "against fresh top-k")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The conversation over one catalogue.

    Attributes:
        catalogue: Its name.
        visible: Tools that the principal sees at the start.
        transcripts: Harness -> what was sent; of the two baselines first.
    """

    catalogue: str
    visible: int
    transcripts: Mapping[str, Transcript]


def report(tables: Sequence[Table], *, prices: Prices, seed: int, turns: int, encoder: str) -> str:
    """Return the page as Markdown."""
    lines = [
        "# Prompt cache: an append-only block of tools",
        "",
        "Made by `python -m benchmarks.prompt_cache`; see its options for other prices and seeds.",
        "",
        f"A conversation of {turns} turns, seed {seed}, in English and Chinese, with changes of topic. Before turn "
        f"{UPDATE_BEFORE} a listed definition is reworded and a tool is added to the catalogue; before turn "
        f"{REVOKED_BEFORE} the principal loses the scope `{REVOKED}`. Encoder `{encoder}`.",
        "",
        "Tokens are estimates (`toolsearch/contracts/export/token_count.py`). A token read from the cache costs "
        f"{prices.cached:g} of a plain one, one that is not costs {prices.fresh:g} (it is written to the cache). What "
        f"two prompts have in common from the beginning is cached from {prices.least:,} tokens on. The defaults are "
        "the published factors of Anthropic's five-minute cache; with OpenAI's, `--fresh 1`. *Paid for* is in plain "
        "tokens, over whole prompts: definitions, then the conversation, to which every turn adds the user's words and "
        f"{ANSWER_TOKENS} tokens of answer. *Of it for tools* is what is paid more than for the same conversation "
        "without tools, so it includes that a longer block moves the conversation behind it out of the cache. Calls of "
        "the tools that are found are left out: they cost all alike.",
        "",
        "The one change otherwise than by appending is that of the call after the right was revoked, where the tools "
        "that need it leave the list (deferred, entries that say they are unavailable take their place). The list "
        "grows with every topic, so it costs what the conversation has needed so far; *all tools* costs the catalogue.",
        "",
        "*Deferred*: definitions are loaded at the end of the conversation, after a search by the model; here the "
        "model searches on every turn, which is one call of the model more each.",
    ]
    for table in tables:
        lines += ["", f"## {table.catalogue}: {table.visible:,} visible tools", "", *_rows(table, prices=prices)]
    return "\n".join([*lines, ""])


def _rows(table: Table, *, prices: Prices) -> list[str]:
    costs = {name: cost(made.prompts, prices=prices) for name, made in table.transcripts.items()}
    baselines = list(table.transcripts)[:2]
    bare = [Prompt(tools=(), messages=prompt.messages) for prompt in table.transcripts[baselines[0]].prompts]
    base = cost(bare, prices=prices).paid
    lines = [f"| {' | '.join(COLUMNS)} |", f"| {' | '.join([':--', *['--:'] * (len(COLUMNS) - 1)])} |"]
    for name, made in table.transcripts.items():
        against = [_ratio(costs[name], costs[baseline], base=base) for baseline in baselines]
        lines.append(f"| {' | '.join([name, *_cells(made, costs[name], base=base), *against])} |")
    return lines


def _cells(made: Transcript, paid: Cost, *, base: float) -> list[str]:
    left = ", ".join(f"`{name}`" for name in made.left) if len(made.broken) <= 1 else ""
    return [
        str(len(made.calls)),
        str(len(made.calls[0].block)),
        str(len(made.calls[-1].block)),
        str(made.changed),
        f"{len(made.broken)}{f' ({left} left)' if left else ''}",
        f"{paid.read:,}",
        f"{paid.cached / paid.read:.0%}",
        f"{paid.paid:,.0f}",
        f"{paid.paid - base:,.0f}",
    ]


def _ratio(paid: Cost, other: Cost, *, base: float) -> str:
    return f"{(paid.paid - base) / (other.paid - base):.0%}"
