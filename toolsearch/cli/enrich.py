"""`toolsearch enrich`: propose better descriptions of tools as a diff, and apply what was reviewed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolsearch import ToolContract
    from toolsearch.contracts.enrich.proposals import EnrichmentProposal, Proposer, Review


def enrich(
    refs: Annotated[
        list[str] | None, typer.Argument(help="server/name@version of each tool.", show_default=False)
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(help="OpenAI-compatible address to ask, e.g. http://127.0.0.1:8000/v1.", show_default=False),
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model to ask there.", show_default=False)] = None,
    endpoint_key: Annotated[
        str | None,
        typer.Option(envvar="TOOLSEARCH_ENDPOINT_KEY", help="Key for the endpoint.", show_default=False),
    ] = None,
    reviewed: Annotated[
        Path | None,
        typer.Option("--from", help="Take the diff from this file, written by --json, and ask nobody."),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Apply the diff that is printed.")] = False,
    author: o.AuthorOption = None,
    index: o.IndexOption = None,
    api_key: o.ApiKeyOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Propose better descriptions: from the tools' own text, or from a model. For administrators."""
    from pydantic_core import to_json

    from toolsearch.contracts.enrich.proposals import applied
    from toolsearch.model.errors import RequestError

    if bool(refs) == (reviewed is not None):
        raise RequestError("name the tools, or the file of a review by --from", field="refs")
    if (endpoint is None) != (model is None):
        raise RequestError("--endpoint and --model go together", field="endpoint")
    with connected(index, principal=o.acting(author), api_key=api_key) as (found, who):
        contracts = {str(contract.ref): contract for contract in found.versions.contracts()}
        if reviewed is not None:
            proposals = _read(reviewed, contracts)
        else:
            proposer = _proposer(endpoint, model=model, key=endpoint_key)
            asked = [_one(contracts, ref) for ref in dict.fromkeys(refs or ())]
            proposals = [(contract, proposer.propose(contract)) for contract in asked]
        reviews = [_review(contract, proposal, contracts) for contract, proposal in proposals]
        changed = [
            applied(_one(contracts, review.ref), review, approved_by=who.subject)
            for review in reviews
            if apply and review.changes
        ]
        if changed:
            reason = f"proposals of {', '.join(sorted({review.author for review in reviews}))}"
            found.add(changed, author=who.subject, reason=reason)
    if as_json:
        print(to_json([review.model_dump() for review in reviews]).decode("utf-8"))
    else:
        _print(reviews, changed=len(changed), apply=apply)


def _proposer(endpoint: str | None, *, model: str | None, key: str | None) -> Proposer:
    from toolsearch.contracts.enrich.endpoint import EndpointProposer
    from toolsearch.contracts.enrich.proposals import Rereading

    if endpoint is None or model is None:
        return Rereading()
    return EndpointProposer(endpoint, model=model, api_key=key)


def _one(contracts: dict[str, ToolContract], ref: str) -> ToolContract:
    from toolsearch.model.errors import UnknownTool

    if ref not in contracts:
        raise UnknownTool(f"no tool {ref[:200]!r}")
    return contracts[ref]


def _review(contract: ToolContract, proposal: EnrichmentProposal, contracts: dict[str, ToolContract]) -> Review:
    from toolsearch.contracts.enrich.proposals import review

    server = contract.identity.server
    names = {other.identity.name for other in contracts.values() if other.identity.server == server}
    return review(contract, proposal, neighbours=names)


def _read(file: Path, contracts: dict[str, ToolContract]) -> list[tuple[ToolContract, EnrichmentProposal]]:
    """Return the proposals of a file of reviews, each for the very contract that was reviewed.

    Raises:
        RequestError: If the file is none, or a tool has changed since.
    """
    from toolsearch.contracts.enrich.proposals import Review, proposal_of
    from toolsearch.model.errors import RequestError

    data = o.read_data(str(file), what="review file")
    if not isinstance(data, list):
        raise RequestError(f"review file {file} is not a list of reviews", field="from")
    result = []
    for entry in data:
        review = o.validated(Review, entry, what="review")
        contract = _one(contracts, review.ref)
        if contract.fingerprint != review.fingerprint:
            raise RequestError(f"{review.ref} has changed since it was reviewed: propose again", field="from")
        result.append((contract, proposal_of(review)))
    return result


def _print(reviews: Sequence[Review], *, changed: int, apply: bool) -> None:
    from rich.padding import Padding

    from toolsearch.cli.render import console, plain
    from toolsearch.model.reasons import counted

    out = console()

    def say(text: str, *, style: str = "", indent: int = 0) -> None:
        out.print(Padding(plain(text, style), (0, 0, 0, indent)))

    for review in reviews:
        say(f"{review.ref}: {len(review.changes)} proposed by {review.author}")
        for change in review.changes:
            mark = " (replaces what the author declared)" if change.declared else ""
            say(f"{change.path}, confidence {change.confidence:.2f}: {change.reason}{mark}", indent=2)
            if change.before:
                say(f"- {_shown(change.before)}", style="red", indent=4)
            say(f"+ {_shown(change.after)}", style="green", indent=4)
        for text in review.refused:
            say(f"refused: {text}", style="yellow", indent=2)
    if apply:
        say(f"applied to {counted(changed, 'tool')}")
    elif any(review.changes for review in reviews):
        say("nothing is changed; --apply applies, --json writes a file for --from")


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "; ".join(f"{key}: {text}" for key, text in value.items())
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
