"""A catalogue under its rules that can be indexed in variants: fewer tools, another order, sections left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from toolsearch import CandidateSet, Principal, RuleBook, SearchRequest, ToolContract, ToolIndex, load_contracts
from toolsearch.eval.bench import SharedDocumentVectors
from toolsearch.eval.cases import CaseSuite
from toolsearch.eval.catalogue import read_rules
from toolsearch.eval.judge import names
from toolsearch.model.errors import DataError
from toolsearch.model.limits import DEFAULT_ENCODER
from toolsearch.search.visibility.decide import PolicyRow, decide
from toolsearch.text.embed.catalog import load_encoder
from toolsearch.text.embed.protocol import Encoder

UNSTABLE = frozenset({"trace_id", "timings_ms"})
"""The only parts of an answer that may differ between two searches for the same thing."""


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A catalogue, its rules, and an encoder that encodes each text once.

    Attributes:
        name: Of the catalogue.
        contracts: In order of ref.
        rules: Access rules.
        encoder: Shared by every index of the scene.
    """

    name: str
    contracts: tuple[ToolContract, ...]
    rules: RuleBook
    encoder: Encoder

    @classmethod
    def of(
        cls, name: str, contracts: Sequence[ToolContract], *, rules: RuleBook, encoder: str | Encoder = DEFAULT_ENCODER
    ) -> Scene:
        """Return the scene of some contracts."""
        shared = SharedDocumentVectors(load_encoder(encoder) if isinstance(encoder, str) else encoder)
        return cls(name, tuple(sorted(contracts, key=lambda contract: contract.ref)), rules, shared)

    @classmethod
    def read(cls, path: Path, *, encoder: str | Encoder = DEFAULT_ENCODER) -> Scene:
        """Return the scene of a catalogue.

        Args:
            path: A folder with `contracts` and `rules.yaml`; or a file or folder of tool definitions of any known
                format without rules, which is taken as public.
            encoder: Name or object.

        Raises:
            DataError: If the rules are wrong.
            ContractError: If a definition is wrong or there is none.
        """
        inside, rules_file = path / "contracts", path / "rules.yaml"
        contracts = load_contracts(inside if inside.is_dir() else path)
        rules = read_rules(rules_file) if rules_file.is_file() else RuleBook.public(reason="it has no rules.yaml")
        return cls.of(path.resolve().stem, contracts, rules=rules, encoder=encoder)

    def index(self, contracts: Sequence[ToolContract] | None = None) -> ToolIndex:
        """Return an index in memory of these contracts, added in the order given; None = all of the scene."""
        index = ToolIndex.create(None, rules=self.rules, encoder=self.encoder)
        index.add(self.contracts if contracts is None else contracts)
        return index

    def visible(self, principal: Principal) -> tuple[ToolContract, ...]:
        """Return the contracts a principal may see, decided one by one and without an index."""
        return tuple(
            contract
            for contract in self.contracts
            if decide(PolicyRow.of(contract), principal=principal, rules=self.rules).allowed
        )

    def named(self, name: str) -> tuple[ToolContract, ...]:
        """Return the contracts that `name`, `server/name` or a full ref names."""
        return tuple(contract for contract in self.contracts if names(name, str(contract.ref)))


@dataclass(frozen=True, slots=True)
class Question:
    """One request that is asked of a scene.

    Attributes:
        id: Unique within a list of questions.
        split: Of the case it comes from; "" where there is none.
        request: What is asked, with the moment it is asked at.
        principal: On whose behalf.
        golds: Names of right tools, any one of them; () where none is known.
    """

    id: str
    split: str
    request: SearchRequest
    principal: Principal
    golds: tuple[str, ...]


def case_questions(suites: Sequence[CaseSuite]) -> tuple[Question, ...]:
    """Return the requests of case files.

    Raises:
        DataError: If there is no case.
    """
    found = tuple(
        Question(
            id=case.id,
            split=case.split,
            request=case.request(tools=suite.tools),
            principal=suite.principal(case),
            golds=case.expect.accepted or case.expect.tools,
        )
        for suite in suites
        for case in suite.cases
    )
    if not found:
        raise DataError("no case is left to ask")
    return found


def comparable(answer: CandidateSet) -> str:
    """Return an answer as the JSON that must be the same whenever the same thing is asked."""
    return answer.model_dump_json(exclude=set(UNSTABLE))


def changed(contract: ToolContract, **sections: BaseModel) -> ToolContract:
    """Return a contract with some sections replaced."""
    parts = {name: getattr(contract, name) for name in type(contract).model_fields}
    # Not model_copy: it would carry over the fingerprint and texts cached on the contract.
    return type(contract).model_construct(**{**parts, **sections})


def without_boundaries(contract: ToolContract) -> ToolContract:
    """Return a contract that does not say what it is not for: no `does_not`, no `do_not_use_when`."""
    return changed(
        contract,
        capability=contract.capability.model_copy(update={"does_not": ()}),
        selection=contract.selection.model_copy(update={"do_not_use_when": ()}),
    )
