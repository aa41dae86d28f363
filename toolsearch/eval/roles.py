"""Which labelled data may be learned from.

Nothing is fitted, tuned or chosen on test data. Weights that the product ships are fitted on `train` data
only; choices (a weight, a floor, a model) are made on `dev`. The table names the public data sets; any other
data set, such as a user's own cases, is judged by the name of its split.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from toolsearch.model.errors import DataRoleError


class Role(StrEnum):
    """What a part of a data set may be used for."""

    TRAIN = "train"
    DEV = "dev"
    TEST = "test"
    CATALOGUE = "catalogue"
    USAGE_LOG = "usage_log"


class Purpose(StrEnum):
    """What a command does with labelled data."""

    FIT = "fit"
    """Compute values from it that are shipped or stored."""
    CHOOSE = "choose"
    """Select among variants by its score."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """A public data set.

    Attributes:
        licence: SPDX-like name; "" where none is stated.
        role: Role of every split that `splits` does not name.
        splits: Split (or stem of another queries file) -> its role.
    """

    licence: str
    role: Role
    splits: Mapping[str, Role] = field(default_factory=lambda: MappingProxyType({}))


_APACHE, _MIT = "Apache-2.0", "MIT"


def _same(names: str, licence: str, role: Role) -> dict[str, DataSet]:
    return {name: DataSet(licence, role) for name in names.split()}


DATA_SETS: Mapping[str, DataSet] = MappingProxyType(
    {
        **_same("ultratool_en ultratool_zh", "", Role.TEST),
        **_same("hammerbench_en hammerbench_zh livemcpbench stabletoolbench", _APACHE, Role.TEST),
        "metatool": DataSet(_MIT, Role.TEST, MappingProxyType({"queries_unsampled": Role.USAGE_LOG})),
        **_same("azure_mcp_2025 restbench acebench_irrelevance", _MIT, Role.TEST),
        **_same("gtc_k8s gtc_github gtc_github_full gtc_ecommerce gtc_mixed_mcp", _MIT, Role.TEST),
        **_same("toolret_toolink toolret_apibank bfcl_irrelevance", _APACHE, Role.TEST),
        **_same("bfcl_multiturn nestful", _APACHE, Role.DEV),
        "tooltalk": DataSet(_MIT, Role.DEV),
        "seal_tools": DataSet(
            _APACHE, Role.TEST, MappingProxyType({"dev": Role.DEV, "test": Role.TRAIN, "train": Role.TRAIN})
        ),
        **_same("toolbank_numpy acebench_en acebench_zh apibank", _MIT, Role.TRAIN),
        **_same("bfcl apizoo toolret_apigen toolalpaca", _APACHE, Role.TRAIN),
        **_same("toolsdk_registry", _MIT, Role.CATALOGUE),
        **_same("real_servers", "MIT AND Apache-2.0 AND FSL", Role.CATALOGUE),
        **_same("toolbench_g3_corpus", "", Role.CATALOGUE),
        **_same("scale_aws scale_google", _APACHE, Role.CATALOGUE),
    }
)
"""Public data sets by folder name. A split called `test` may be train data: what counts is the role here."""

_PERMITTED: Mapping[Purpose, frozenset[Role]] = MappingProxyType(
    {
        Purpose.FIT: frozenset({Role.TRAIN}),
        Purpose.CHOOSE: frozenset({Role.TRAIN, Role.DEV}),
    }
)


def role_of(dataset: str, split: str) -> Role:
    """Return the role of one split of a data set.

    Args:
        dataset: Folder name of the data set, or `folder/file` for another queries file than `queries.jsonl`.
        split: The split its queries name. Of a data set that is not in the table, `train` and `dev` have those
            roles and every other split is test data.
    """
    folder, _, part = dataset.partition("/")
    known = DATA_SETS.get(folder)
    if known is None:
        return {"train": Role.TRAIN, "dev": Role.DEV}.get(split, Role.TEST)
    return known.splits.get(part or split, known.role)


def require_fit_allowed(dataset: str, split: str, *, purpose: Purpose = Purpose.CHOOSE) -> Role:
    """Return the role of the data if the purpose is allowed on it. Every fitting and tuning command calls this first.

    Raises:
        DataRoleError: If nothing of that kind may be learned from that part of the data.
    """
    role = role_of(dataset, split)
    permitted = _PERMITTED[purpose]
    if role not in permitted:
        allowed = " or ".join(sorted(permitted))
        raise DataRoleError(
            f"{dataset} ({split}) is {role} data and may not be used to {purpose}: it would stop measuring anything. "
            f"Use {allowed} data: {', '.join(_examples(permitted))}",
            source=dataset,
        )
    return role


def _examples(permitted: frozenset[Role]) -> list[str]:
    """Return the public data sets with a permitted role, `name` or `name (split)`, in table order."""
    names = []
    for name, data in DATA_SETS.items():
        if data.role in permitted:
            names.append(name)
        names.extend(f"{name} ({split})" for split, role in data.splits.items() if role in permitted)
    return names
