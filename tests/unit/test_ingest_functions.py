from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from toolsearch.contracts.enrich.foreign import Hints
from toolsearch.contracts.read.docstrings import read_docstring
from toolsearch.contracts.read.functions import contract_of, contracts_of
from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.model.errors import ContractError


class Currency(Enum):
    EUR = "EUR"
    USD = "USD"


class Address(BaseModel):
    street: str
    country: str = Field(default="DE", min_length=2, max_length=2, description="ISO 3166 code")


class Quote(BaseModel):
    price: float
    currency: Currency


def get_quote(
    symbol: str,
    *,
    currency: Currency = Currency.EUR,
    kind: Literal["spot", "close"] = "spot",
    days: Annotated[int, Field(ge=1, le=30, description="How far back")] = 1,
    address: Address | None = None,
) -> Quote:
    """Get the price of a share.

    Use when the ticker symbol is known.

    Args:
        symbol: Ticker symbol, e.g. `SAP`.
        currency (Currency): What the price is in,
            as the exchange quotes it.
        days: Overruled by the field.

    Returns:
        The latest price.

    Raises:
        LookupError: If there is no such share.
    """
    raise NotImplementedError


def test_signature_annotations_and_docstring_make_the_contract() -> None:
    contract = contract_of(get_quote, server="market", tags=("finance",))
    assert str(contract.ref) == "market/get_quote@1"
    assert contract.capability.does == "Get the price of a share."
    assert contract.capability.tags == ("finance",)
    assert contract.selection.use_when == ("Use when the ticker symbol is known.",)
    schema = contract.input_schema
    assert list(schema["properties"]) == ["symbol", "currency", "kind", "days", "address"]
    assert schema["required"] == ["symbol"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["symbol"] == {"type": "string", "description": "Ticker symbol, e.g. `SAP`."}
    assert schema["properties"]["currency"]["enum"] == ["EUR", "USD"]
    assert schema["properties"]["currency"]["default"] == "EUR"
    assert schema["properties"]["currency"]["description"] == "What the price is in, as the exchange quotes it."
    assert schema["properties"]["kind"] == {"enum": ["spot", "close"], "default": "spot", "type": "string"}
    assert schema["properties"]["days"] == {
        "type": "integer", "minimum": 1, "maximum": 30, "default": 1, "description": "How far back",
    }  # fmt: skip
    assert schema["properties"]["address"]["anyOf"][0]["properties"]["country"]["description"] == "ISO 3166 code"
    assert contract.output.schema_["properties"]["price"] == {"type": "number"}
    assert contract.output.schema_["description"] == "The latest price."
    assert contract.output.error_taxonomy == ("LookupError: If there is no such share.",)
    assert contract.provenance.source == "function"
    assert contract.execution.side_effect is SideEffect.READ_ONLY


class Shop:
    def find(self, text: str, limit: int = 10) -> list[str]:
        """Find articles.

        :param text: What to look for.
        :type text: str
        :param int limit: How many
            at most.
        :returns: Their names.
        :raises ValueError: If the text is empty.
        """
        raise NotImplementedError

    @classmethod
    def count(cls, kind: str) -> int:
        """Count articles."""
        raise NotImplementedError

    @staticmethod
    async def pay(amount: float, token: str = "secret") -> None:
        """Pay.

        Parameters
        ----------
        amount : float
            In euros,
            with cents.
        token, extra : str
            Not for models.

        Returns
        -------
        None
        """

    def __call__(self, text: str) -> str:
        """Answer a question."""
        raise NotImplementedError


def test_methods_lose_self_and_sphinx_fields_are_read() -> None:
    contract = contract_of(Shop().find)
    properties = contract.input_schema["properties"]
    assert properties["text"]["description"] == "What to look for."
    assert properties["limit"]["description"] == "How many at most."
    assert contract.capability.does == "Find articles."
    assert contract.output.schema_ == {"type": "array", "items": {"type": "string"}, "description": "Their names."}
    assert contract.output.error_taxonomy == ("ValueError: If the text is empty.",)
    assert list(contract_of(Shop.count).input_schema["properties"]) == ["kind"]


def test_numpy_sections_and_async_functions_are_read() -> None:
    contract = contract_of(Shop.pay, exclude=("token",))
    assert contract.input_schema["properties"] == {"amount": {"type": "number", "description": "In euros, with cents."}}
    assert contract.capability.does == "Pay."
    assert contract.output.schema_ == {}
    assert contract.execution.side_effect is SideEffect.IRREVERSIBLE


def test_an_object_that_can_be_called_is_named_by_its_class_or_the_caller() -> None:
    assert contract_of(Shop()).identity.name == "Shop"
    assert contract_of(Shop(), name="ask").input_schema["required"] == ["text"]


def test_a_partial_offers_only_what_is_left_open() -> None:
    bound = functools.partial(Shop.pay, token="s3cret")
    contract = contract_of(bound)
    assert contract.identity.name == "pay"
    assert list(contract.input_schema["properties"]) == ["amount"]
    assert "s3cret" not in contract.canonical_json
    assert (
        "symbol" not in contract_of(functools.partial(get_quote, symbol="SAP"), name="sap").input_schema["properties"]
    )
    assert "symbol" not in contract_of(functools.partial(get_quote, "SAP"), name="sap").input_schema["properties"]


def test_names_that_no_model_field_can_have_are_kept() -> None:
    def odd(_private: int, model_config: str, schema: str, copy: bool = False, **rest: float) -> None: ...

    schema = contract_of(odd).input_schema
    assert list(schema["properties"]) == ["_private", "model_config", "schema", "copy"]
    assert schema["additionalProperties"] == {"type": "number"}


def test_what_is_not_annotated_takes_anything_and_defaults_that_are_no_json_are_left_out() -> None:
    def loose(a, b=3, c: Any = object()):  # noqa: B008
        """Do it."""

    schema = contract_of(loose).input_schema
    assert schema["properties"] == {"a": {}, "b": {"default": 3}, "c": {}}
    assert schema["required"] == ["a"]


class Ticket(BaseModel):
    """Open a ticket."""

    title: str = Field(alias="subject")
    name: str = "x"


@dataclass
class Point:
    x: float
    y: float = field(default=0.0)


class Options(TypedDict, total=False):
    """Set the options."""

    verbose: bool


def test_models_dataclasses_and_typed_dicts_are_tools() -> None:
    ticket, point, options = contracts_of([Ticket, Point, Options])
    assert ticket.identity.name == "Ticket"
    assert ticket.capability.does == "Open a ticket."
    assert list(ticket.input_schema["properties"]) == ["subject", "name"]
    assert point.capability.does == ""
    assert point.input_schema["required"] == ["x"]
    assert options.input_schema["properties"] == {"verbose": {"type": "boolean"}}
    assert ticket.provenance.source == "model"


class Connection:
    pass


def takes_connection(connection: Connection, text: str) -> None: ...


def takes_list(*texts: str) -> None: ...


def takes_place(text: str, /) -> None: ...


def takes_unknown(text: Nowhere) -> None: ...  # noqa: F821


def streams(text: str) -> AsyncIterator[Connection]:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("target", "part"),
    [
        (takes_list, r"takes \*texts by its place.*a list instead"),
        (takes_place, "takes text by its place"),
        (len, "takes obj by its place"),
        (takes_connection, r"no JSON Schema.*Connection.*exclude="),
        (takes_unknown, r"cannot be evaluated: NameError"),
        (Shop.find, "method without its object"),
        (Shop, "class that is no tool"),
        (lambda text: text, "lambda.*name="),
        (3, "int that is no tool"),
        (None, "NoneType that is no tool"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_the_way_out(target: Any, part: str) -> None:
    with pytest.raises(ContractError, match=part):
        contract_of(target)


def test_the_harness_may_keep_arguments_to_itself_but_not_invent_them() -> None:
    assert list(contract_of(takes_connection, exclude={"connection"}).input_schema["properties"]) == ["text"]
    for target in (takes_connection, Ticket):
        with pytest.raises(ContractError, match="no parameter 'nope'"):
            contract_of(target, exclude={"nope"})


def test_a_result_without_a_schema_is_noted() -> None:
    contract = contract_of(streams)
    assert contract.output.schema_ == {}
    assert any("output:" in note for note in contract.provenance.notes)


def test_hints_of_ones_own_tools_are_trusted_unless_told_otherwise() -> None:
    def purge(name: str) -> None:
        """Purge a cache of this process."""

    harmless = Hints(read_only=True)
    assert contract_of(purge).execution.side_effect is SideEffect.IRREVERSIBLE
    assert contract_of(purge, hints=harmless).execution.side_effect is SideEffect.READ_ONLY
    assert contract_of(purge, hints=harmless, trusted=False).execution.side_effect is SideEffect.IRREVERSIBLE


class DuckTool:
    """Not of LangChain, but shaped like its tools."""

    name = "search_orders"
    description = "Search orders by customer."
    tags = ("orders",)

    def __init__(self, args_schema: Any) -> None:
        self.args_schema = args_schema


@pytest.mark.parametrize("schema", [Address, {"type": "object", "properties": {"street": {"type": "string"}}}])
def test_a_langchain_tool_is_read_by_its_shape(schema: Any) -> None:
    contract = contract_of(DuckTool(schema))
    assert contract.identity.name == "search_orders"
    assert contract.capability.does == "Search orders by customer."
    assert contract.capability.tags == ("orders",)
    assert contract.input_schema["properties"]["street"] == {"type": "string"}
    assert contract.provenance.source == "langchain"
    with pytest.raises(ContractError, match="args_schema is a int"):
        contract_of(DuckTool(3))


def test_contracts_of_takes_mixed_kinds_and_goes_into_an_index() -> None:
    own = ToolContract.model_validate({"identity": {"name": "own"}})
    data = {"name": "get_time", "inputSchema": {"type": "object"}, "description": "Get the time."}
    contracts = contracts_of([get_quote, Ticket, DuckTool(None), data, own], server="mine")
    assert [str(contract.ref) for contract in contracts] == [
        "mine/get_quote@1", "mine/Ticket@1", "mine/search_orders@1", "mine/get_time@1", "local/own@1",
    ]  # fmt: skip
    from toolsearch import ToolIndex

    with ToolIndex.create(None, encoder="hashed") as index:
        assert len(index.add(contracts).added) == 5


def test_contracts_of_names_everything_that_is_wrong() -> None:
    with pytest.raises(ContractError, match=r"2 tools are refused:\n.*takes_list.*\n.*lambda"):
        contracts_of([get_quote, takes_list, lambda: None])

    def other() -> None:
        """Do something else."""

    other.__name__ = "get_quote"
    with pytest.raises(ContractError, match="given twice"):
        contracts_of([get_quote, other])


def test_prose_around_sections_is_kept_and_code_examples_are_not() -> None:
    said = read_docstring(
        """Ship an order.

        Args:
            order_id (str, optional): Which one: an id.
                Begins with ORD.
            **rest: More.

        Note: costs money.

        Examples:
            >>> ship("x")

        Yields:
            dict[str, int]: What happened.
        """
    )
    assert said.description == "Ship an order.\n\nNote: costs money."
    assert said.parameters == {"order_id": "Which one: an id. Begins with ORD.", "rest": "More."}
    assert said.returns == "What happened."


@given(st.text(alphabet=st.sampled_from("aA :()*-\n\t>,.ArgsRetunparm\u4e2d"), max_size=300))
def test_any_docstring_is_read(text: str) -> None:
    said = read_docstring(text)
    assert isinstance(said.description, str)
    assert all(isinstance(value, str) for value in said.parameters.values())
