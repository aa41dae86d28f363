"""All results as one page."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.html.confusion import confusion_body
from benchmarks.html.elements import escaped, missing, section, slug, table
from benchmarks.html.guarantees import guarantees_body
from benchmarks.html.parts import ablation_body
from benchmarks.html.quality import quality_table, refusal_card, set_card
from benchmarks.html.speed import cost_body, latency_body
from benchmarks.html.style import STYLE
from benchmarks.measures.outcomes import CaseOutcome
from benchmarks.report.instruments import datasets, same_requests, side_by_side, sorted_out
from toolsearch.eval.results import SystemResult

TITLE = "toolsearch: measured"

_QUALITY = """\
Recall@5 of our modes (hatched, bold) beside other systems on the same requests, with 95 % bootstrap intervals, and
recall by depth. Nothing was tuned on test data."""
_REFUSALS = """\
A floor on the best score trades refusals of requests that no tool fits against refusals of requests that one does. A
curve shows every floor, a marker what the system answers by itself."""
_CONFUSION = """\
Cases over the starter catalogue whose first tool is not the expected one: the tools that are missed most, and what
stood in their place."""
_GUARANTEES = (
    "What a hidden tool, the order of a catalogue or a turn of a session may change, and what contracts are worth."
)
_ABLATION = """\
What the whole engine gains over itself without a part, and over the part alone: mean paired difference of nDCG@10, or
of 1 / rank of the right tool on cases. Bold: the 95 % interval excludes 0."""
_LATENCY = "Median time in one process over pooled real tools. Both axes are logarithmic."
_COST = "The same tools and requests for every system, in a process of its own, the same encoder where it takes one."


def report_page(results: Sequence[SystemResult], outcomes: Sequence[CaseOutcome], *, made_from: str = "") -> str:
    """Return the page. The same results give the same bytes, in whatever order they come.

    Args:
        results: Of every instrument.
        outcomes: Cases over the starter catalogue, in the mode that is the product.
        made_from: Digest of the files they come from.
    """
    found = sorted_out(results)
    cards = [set_card(group) for one in datasets(found.quality).values() if (group := side_by_side(one))]
    refusing = [card for one in datasets(found.quality).values() if (card := refusal_card(_refusing(one)))]
    sections = (
        ("Quality beside others", _QUALITY, _cards(cards), "make bench bench-peers"),
        ("Requests that no tool fits", _REFUSALS, _cards(refusing), "make bench"),
        ("Confusable tools", _CONFUSION, confusion_body(outcomes) if outcomes else "", "make bench"),
        ("Guarantees", _GUARANTEES, guarantees_body(found.guarantees), "python -m benchmarks.guarantees"),
        (
            "What each part is worth",
            _ABLATION,
            ablation_body(found.ablations) if found.ablations else "",
            "python -m benchmarks.ablation",
        ),
        ("Latency", _LATENCY, latency_body(found.latency) if found.latency else "", "python -m benchmarks.latency"),
        (
            "Cost beside others",
            _COST,
            cost_body(found.costs) if found.costs else "",
            "python -m benchmarks.peers --scale",
        ),
        (
            "Further samples",
            "Systems that answered other requests of a data set than those above.",
            _rest(found.quality),
            "",
        ),
    )
    shown = [(title, about, body or missing(command)) for title, about, body, command in sections if body or command]
    links = "".join(f'<li><a href="#{slug(title)}">{escaped(title)}</a></li>' for title, _, _ in shown)
    body = "\n".join(section(title, about, content) for title, about, content in shown)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="made-from" content="{escaped(made_from)}"><style>{STYLE}</style></head>\n'
        f"<body><header><h1>{TITLE}</h1><p>Made from the files in benchmarks/results/ and nothing else. The same"
        f" figures stand as text in RESULTS.md.</p><nav><ul>{links}</ul></nav></header>\n<main>{body}</main>\n"
        f"<footer>{_environments(results)}</footer></body></html>\n"
    )


def _refusing(group: Sequence[SystemResult]) -> list[SystemResult]:
    """Return the largest group that refusals were measured on with the same requests."""
    told = [result for result in group if result.refusal is not None and result.refusal.none]
    counts = [result.queries for result in told]
    best = max(counts, key=lambda count: (counts.count(count), count), default=0)
    return [result for result in told if result.queries == best]


def _rest(quality: Sequence[SystemResult]) -> str:
    parts: list[str] = []
    for group in datasets(quality).values():
        shown = side_by_side(group)
        rest = [one for one in same_requests(group) if not shown or one[0].queries != shown[0].queries]
        parts += [f"<h3>{escaped(one[0].dataset)}: {one[0].queries} requests</h3>{quality_table(one)}" for one in rest]
    return "\n".join(parts)


def _cards(cards: Sequence[str]) -> str:
    return f'<div class="cards">{"".join(cards)}</div>' if cards else ""


def _environments(results: Sequence[SystemResult]) -> str:
    rows = sorted(
        {
            (
                here.cpu,
                str(here.cores),
                here.platform,
                here.python,
                ", ".join(map(" ".join, sorted(here.packages.items()))),
            )
            for result in results
            if (here := result.environment) is not None
        }
    )
    return table("Measured on", ["processor", "cores", "platform", "Python", "packages"], rows) if rows else ""
