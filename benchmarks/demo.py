"""Three searches over the starter index with their reasons: one English, one Chinese, one that needs no tool.

`make demo` builds the index first if it is not there.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolsearch import CandidateSet, Principal, ToolIndex
from toolsearch.cli.render import one_line
from toolsearch.eval.catalogue import open_catalogue
from toolsearch.model.errors import IndexLocked, ToolSearchError

STARTER = Path(__file__).resolve().parent.parent / "indexes" / "starter"

REQUESTS = (
    "Where is order ORD-20260917? The customer is asking",
    "把订单 ORD-20260917 退款，客户说收到时就坏了",
    "Who painted the Mona Lisa?",
)


def main() -> int:
    console = Console(highlight=False)
    try:
        index = opened()
    except ToolSearchError as error:
        console.print(f"{error}", style="red")
        return 1
    settings = tomllib.loads((STARTER / "serve.toml").read_text(encoding="utf-8"))
    principal = Principal.model_validate(settings["local_principal"])
    with index:
        index.warm()
        for request in REQUESTS:
            show(request, index.search(request, principal=principal), total=index.status().tools, console=console)
    return 0


def opened() -> ToolIndex:
    """Open the built index, or make one in memory while a server owns it."""
    try:
        return ToolIndex.open(STARTER)
    except IndexLocked:
        return open_catalogue(STARTER)


def show(request: str, answer: CandidateSet, *, total: int, console: Console) -> None:
    console.print(Text(f"\n› {request}", style="bold cyan"))
    cost = answer.token_metrics
    console.print(
        f"{answer.outcome}: {len(answer.candidates)} of {answer.visible_tools} visible tools ({total} in the index), "
        f"{cost.returned} instead of {cost.baseline} tokens, {answer.timings_ms['total']:.0f} ms",
        style="dim",
    )
    if answer.candidates:
        table = Table("tool", "score", "effect", "why", box=None, padding=(0, 2, 0, 0))
        for found in answer.candidates:
            why = Text("\n".join(one_line(reason.text) for reason in found.reasons[:3]))
            for caution in found.cautions[:1]:
                why.append(f"\n! {one_line(caution.text)}", style="yellow")
            table.add_row(Text(found.ref, style="bold"), f"{found.score:.2f}", found.side_effect.label, why)
        console.print(table)
    else:
        console.print(Text(answer.message))
    for near in answer.near_misses:
        console.print(Text(f"  nearest: {near.ref} ({near.score:.2f})", style="dim"))
    for held in answer.withheld:
        console.print(Text(f"held back: {held.ref}: {one_line(held.reason.text)}; {held.unlock}", style="yellow"))


if __name__ == "__main__":
    sys.exit(main())
