"""`toolsearch diff`: what changed between two contracts or catalogues, and how much that breaks."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected

if TYPE_CHECKING:
    from toolsearch import ToolContract
    from toolsearch.contracts.change.diff import CatalogueDiff, ToolDiff

EXIT_WORSE = 1

_OLD = typer.Argument(
    help="File or folder of definitions, folder of an index, server/name@version, or that with @fingerprint.",
    show_default=False,
)


class DiffFailOn(StrEnum):
    """From which class of change on the exit code is 1."""

    SAFE = "safe"
    BEHAVIOUR = "behaviour"
    HALF_BREAKING = "half_breaking"
    BREAKING = "breaking"


def diff(
    old: Annotated[str, _OLD],
    new: Annotated[str, typer.Argument(help="The same.", show_default=False)],
    fail_on: Annotated[
        DiffFailOn | None, typer.Option(help="Exit with 1 if a change is of this class or worse.", show_default=False)
    ] = None,
    server: Annotated[
        str | None, typer.Option(help="Server of the tools whose source names none.", show_default=False)
    ] = None,
    trusted: Annotated[
        bool, typer.Option("--trusted", help="Let hints of foreign definitions lower the risk assumed of a tool.")
    ] = False,
    index: o.IndexOption = None,
    subject: o.SubjectOption = None,
    tenant: o.TenantOption = None,
    environment: o.EnvironmentOption = None,
    role: o.RoleOption = None,
    scope: o.ScopeOption = None,
    principal: o.PrincipalOption = None,
    api_key: o.ApiKeyOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Say what changed between two contracts or catalogues, and how much that breaks."""
    from toolsearch.contracts.change.change import ChangeClass
    from toolsearch.contracts.change.diff import CatalogueDiff, diff_catalogues

    sides = [_contracts(side, server=server, trusted=trusted, api_key=api_key) for side in (old, new)]
    before, after = sides
    answer: ToolDiff | CatalogueDiff
    if before is not None and after is not None:
        answer = diff_catalogues(before, after)
    else:
        who = o.principal_from(
            subject=subject, tenant=tenant, environment=environment, role=role, scope=scope, file=principal
        )
        with connected(index, principal=who, api_key=api_key) as (found, on_behalf_of):
            answer = found.versions.diff(
                old if before is None else _one(before, like=new),
                new if after is None else _one(after, like=old),
                principal=on_behalf_of,
            )
    if as_json:
        print(answer.model_dump_json())
    else:
        from toolsearch.cli.render_versions import print_diff

        if not isinstance(answer, CatalogueDiff):
            changed = (answer,) if answer.verdict else ()
            answer = CatalogueDiff(verdict=answer.verdict, tools=changed, unchanged=1 - len(changed))
        print_diff(answer)
    if fail_on is not None and answer.verdict is not None and answer.verdict.rank >= ChangeClass(fail_on).rank:
        raise typer.Exit(EXIT_WORSE)


def _contracts(side: str, *, server: str | None, trusted: bool, api_key: str | None) -> tuple[ToolContract, ...] | None:
    """Return the contracts of a path, or None where it is a ref.

    Raises:
        ContractError: If a definition cannot be read: a difference to half a source would mislead.
    """
    from toolsearch import read_path

    path = Path(side)
    if not path.exists():
        return None
    if (path / "registry.duckdb").exists():
        with connected(path, principal=None, api_key=api_key) as (found, _):
            return found.versions.contracts()
    report = read_path(path, server=server, trusted=trusted)
    if report.refused:
        raise report.refused[0]
    return report.contracts


def _one(contracts: tuple[ToolContract, ...], *, like: str) -> ToolContract:
    """Return the contract to compare with a ref: the only one, or the one of that name.

    Raises:
        RequestError: If there is none, or several.
    """
    from toolsearch.model.errors import RequestError

    tool = like.partition("@")[0]
    found = [each for each in contracts if tool in (each.identity.name, f"{each.identity.server}/{each.identity.name}")]
    chosen = list(contracts) if len(contracts) == 1 else found
    if len(chosen) != 1:
        raise RequestError(f"{len(chosen)} of {len(contracts)} definitions are called {tool[:200]!r}: name one of them")
    return chosen[0]
