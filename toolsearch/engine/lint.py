"""The visible view of an index -> what lint reads: contracts, their vectors, where requests go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from toolsearch.contracts.lint.check import LintOptions, lint
from toolsearch.contracts.lint.finding import LintReport
from toolsearch.contracts.lint.rule import Rank, Vectors
from toolsearch.engine.state import Catalogue


def lint_visible(
    catalogue: Catalogue,
    *,
    options: LintOptions | None,
    rank: Rank,
    requests: Mapping[str, Sequence[str]],
) -> LintReport:
    """Check the visible contracts as their principal reads them; hidden tools shape no byte of the report.

    Args:
        catalogue: The visible view.
        options: Which rules speak.
        rank: Where a request goes in this view.
        requests: Past requests that may be shown, ref -> texts.

    Raises:
        RequestError: If an option names no rule.
    """
    ids = catalogue.view.docs.ids.tolist()
    declared = [catalogue.contracts[doc_id] for doc_id in ids]
    contracts = [contract.naming_only(catalogue.visible_adjacent(contract)) for contract in declared]
    vectors = None
    if catalogue.view.vectors_ready and ids:
        index = catalogue.state.snapshot.contract_vectors
        # Owners ascend, and DocIds are in order of ref, as the rules want them.
        rows = index.rows[np.isin(index.owners, catalogue.view.docs.ids)]
        vectors = Vectors(rows=rows, encoder=catalogue.state.encoder)
    return lint(contracts, options=options, vectors=vectors, rank=rank, requests=requests)
