"""Which catalogue a case file is about, when nobody says: what it names, looked for where it would be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toolsearch import RuleBook, load_contracts
from toolsearch.eval.cases import CaseSuite
from toolsearch.eval.scenes import Scene
from toolsearch.model.errors import DataError
from toolsearch.model.limits import DEFAULT_ENCODER
from toolsearch.text.embed.protocol import Encoder


def scene_of(
    suites: Sequence[CaseSuite], *, catalog: Path | None = None, encoder: str | Encoder = DEFAULT_ENCODER
) -> Scene:
    """Return the catalogue that case files are asked of.

    Args:
        suites: All of one catalogue.
        catalog: As `Scene.read` takes it; None = what the case files name.
        encoder: Name or object.

    Raises:
        DataError: If the files name none, several, or one that is not there.
    """
    if catalog is not None:
        if not catalog.exists():
            raise DataError(
                "is not there; name a folder with contracts/, or a file of tool definitions", source=str(catalog)
            )
        return Scene.read(catalog, encoder=encoder)
    named = list(dict.fromkeys(suite.catalog for suite in suites if suite.catalog))
    if len(named) != 1:
        several = f"the case files name {len(named)} catalogues" if named else "no case file names a catalogue"
        raise DataError(f"{several}; say which with --catalog or --index", source=str(suites[0].source))
    source = next(suite.source for suite in suites if suite.catalog)
    return _named(named[0], source=source, encoder=encoder)


def _named(catalog: str | tuple[str, ...], *, source: Path, encoder: str | Encoder) -> Scene:
    if isinstance(catalog, tuple):
        files = [source.parent / name for name in catalog]
        contracts = [contract for file in files for contract in load_contracts(file)]
        return Scene.of(source.stem, contracts, rules=RuleBook.public(reason="listed by a case file"), encoder=encoder)
    folders = (source.parent / catalog, Path("indexes") / catalog, Path(catalog))
    for folder in folders:
        if folder.exists():
            return Scene.read(folder, encoder=encoder)
    looked = ", ".join(map(str, folders))
    raise DataError(f"names the catalogue {catalog!r}, which is at none of {looked}; use --catalog", source=str(source))
