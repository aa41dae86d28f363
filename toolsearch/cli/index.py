"""`toolsearch index`: read tool definitions into an index, making it where there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.progress import progress_bar

if TYPE_CHECKING:
    from toolsearch import ChangeReport, RuleBook, ToolContract, ToolIndex

CONTRACTS_FOLDER, RULES_FILE = "contracts", "rules.yaml"
"""What is read from the index folder itself where nothing else is named."""

_SHOWN = 20
_NOBODY = (
    "visible to nobody: {tools}, whose contracts state no `access` and which no rule allows. Give --rules "
    "FILE, or --public to show every such tool to everyone. For example: {names}"
)


def index(
    path: Annotated[Path, typer.Argument(help="Folder of the index.", show_default=False)],
    sources: Annotated[
        list[Path] | None,
        typer.Argument(help="Files or folders of tool definitions [default: PATH/contracts].", show_default=False),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option(help="YAML or JSON file of access rules [default: PATH/rules.yaml].", show_default=False),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Show every tool that states no `access` to everyone.")
    ] = False,
    server: Annotated[
        str | None, typer.Option(help="Server of the tools whose source names none.", show_default=False)
    ] = None,
    trusted: Annotated[
        bool, typer.Option("--trusted", help="Let hints of foreign definitions lower the risk assumed of a tool.")
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option(help="bundled, minilm, hashed or st:NAME; for a new index.", show_default=False),
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Make the snapshot again from the registry.")] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Remove the tools that no source names.")] = False,
    author: o.AuthorOption = None,
    reason: o.ReasonOption = "",
    api_key: o.ApiKeyOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Read tool definitions into an index: add, replace, and with --prune remove."""
    from toolsearch.model.errors import RequestError

    if not sources and not rebuild and (path / CONTRACTS_FOLDER).is_dir():
        sources = [path / CONTRACTS_FOLDER]
    if rules is None and not public and (path / RULES_FILE).is_file():
        rules = path / RULES_FILE
    if not (sources or rebuild or rules or public):
        raise RequestError("nothing to do: name SOURCES, --rules, --public or --rebuild", field="sources")
    if prune and not sources:
        raise RequestError("--prune removes what no source names: name SOURCES", field="sources")
    book = _rules(rules, public=public)
    read = _read(sources or (), server=server, trusted=trusted)
    changes, in_force = _apply(
        path,
        read.contracts,
        prune=prune and not read.refused,  # a refused definition must not take its tool away
        book=book,
        encoder=encoder,
        rebuild=rebuild,
        author=author,
        reason=reason,
        api_key=api_key,
    )
    unseen = [] if in_force is None else seen_by_nobody(read.contracts, rules=in_force)
    if as_json:
        _print_json(changes, read.refused, unseen)
    else:
        _print_report(changes, read.refused, unseen)
    if read.refused:
        raise typer.Exit(3)


@dataclass(frozen=True, slots=True)
class _Read:
    contracts: tuple[ToolContract, ...]
    refused: tuple[Exception, ...]


def seen_by_nobody(contracts: Sequence[ToolContract], *, rules: RuleBook) -> list[str]:
    """Return the refs of the contracts that the default, deny, hides from everyone."""
    allowing = [rule for rule in rules.rules if rule.effect.value == "allow"]
    return [
        str(contract.ref)
        for contract in contracts
        if not contract.access.declared
        and not any(
            rule.tools.matches(
                server=contract.identity.server,
                name=contract.identity.name,
                domain=contract.identity.domain,
                tags=contract.capability.tags,
                side_effect=contract.assumed_side_effect,
            )
            for rule in allowing
        )
    ]


def _rules(file: Path | None, *, public: bool) -> RuleBook | None:
    from toolsearch import RuleBook
    from toolsearch.model.errors import RequestError

    if file is not None and public:
        raise RequestError("--rules and --public exclude each other: put the public rule into the file", field="rules")
    if public:
        return RuleBook.public()
    if file is None:
        return None
    return o.validated(RuleBook, o.read_data(str(file), what="rules file") or {}, what=f"rules file {file}")


def _read(sources: Sequence[Path], *, server: str | None, trusted: bool) -> _Read:
    from toolsearch import read_path
    from toolsearch.model.errors import ContractError

    contracts: dict[object, ToolContract] = {}
    refused: list[Exception] = []
    for source in sources:
        report = read_path(source, server=server, trusted=trusted)
        refused.extend(report.refused)
        for contract in report.contracts:
            known = contracts.setdefault(contract.ref, contract)
            if known.fingerprint != contract.fingerprint:
                refused.append(
                    ContractError(f"{contract.ref} is defined differently by another source", source=str(source))
                )
    return _Read(tuple(contracts.values()), tuple(refused))


def _apply(
    path: Path,
    contracts: Sequence[ToolContract],
    *,
    prune: bool,
    book: RuleBook | None,
    encoder: str | None,
    rebuild: bool,
    author: str | None,
    reason: str,
    api_key: str | None,
) -> tuple[ChangeReport, RuleBook | None]:
    """Change the index; return what changed and, where they are known, the rules in force."""
    from toolsearch.cli.connect import server_of
    from toolsearch.model.errors import RequestError
    from toolsearch.serve.settings import load_settings

    remote = server_of(path, api_key=api_key)
    if remote is not None:
        if rebuild or encoder is not None:
            raise RequestError(f"a server at {remote.url} owns {path}: stop it before --rebuild or --encoder")
        if author is not None:
            raise RequestError(f"the server at {remote.url} takes the author from the credentials: leave --author out")
        if book is not None:
            remote.set_rules(book)
        change = remote.replace_all if prune else remote.add
        return change(contracts, reason=reason), book
    with _opened(path, book=book, encoder=encoder, rebuild=rebuild) as local, progress_bar() as progress:
        if book is not None:
            local.set_rules(book)
        change = local.replace_all if prune else local.add
        who = author or load_settings(index=path).local_principal.subject
        return change(contracts, author=who, reason=reason, progress=partial(progress, "embedding")), local.rules


@contextmanager
def _opened(path: Path, *, book: RuleBook | None, encoder: str | None, rebuild: bool) -> Iterator[ToolIndex]:
    from toolsearch import ToolIndex
    from toolsearch.model.errors import IndexMissing

    try:
        found = ToolIndex.open(path, encoder=encoder, rebuild=rebuild)
    except IndexMissing:
        found = ToolIndex.create(path, rules=book, encoder=encoder or "bundled")
    with found:
        yield found


def _print_json(changes: ChangeReport, refused: Sequence[Exception], unseen: Sequence[str]) -> None:
    from dataclasses import asdict

    from pydantic_core import to_json

    report = {**asdict(changes), "refused": [str(error) for error in refused], "visible_to_nobody": list(unseen)}
    print(to_json(report).decode("utf-8"))


def _print_report(changes: ChangeReport, refused: Sequence[Exception], unseen: Sequence[str]) -> None:
    from toolsearch.cli.render import console, plain
    from toolsearch.model.reasons import counted

    counts = {
        "added": changes.added,
        "replaced": changes.replaced,
        "unchanged": changes.unchanged,
        "removed": changes.removed,
    }
    told = ", ".join(f"{len(refs)} {word}" for word, refs in counts.items())
    console().print(plain(f"{told}, {len(refused)} refused; generation {changes.generation}"))
    errors = console(stderr=True)
    for error in refused[:_SHOWN]:
        errors.print(plain(f"refused: {error}", "red"), soft_wrap=True)
    if len(refused) > _SHOWN:
        errors.print(plain(f"... and {len(refused) - _SHOWN} more; --json lists all", "red"), soft_wrap=True)
    if unseen:
        names = ", ".join(unseen[:3])
        errors.print(
            plain(f"warning: {_NOBODY.format(tools=counted(len(unseen), 'tool'), names=names)}", "yellow"),
            soft_wrap=True,
        )
