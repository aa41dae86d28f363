"""Tools that find what a better tool needs: read from names, put forward, never scored up."""

import pytest

from toolsearch import Principal, SearchRequest, ToolContract, ToolIndex
from toolsearch.model.limits import SearchLimits
from toolsearch.model.reasons import ReasonCode
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.finders import finder_of, wanted_entity
from toolsearch.search.rank.helpers import find_helpers
from toolsearch.search.visibility.rules import RuleBook

ANYONE = Principal(subject="u")


def tool(name: str, does: str, *, required: tuple[str, ...] = (), server: str = "films") -> ToolContract:
    schema = {"type": "object", "properties": {part: {"type": "string"} for part in required}, "required": [*required]}
    return ToolContract.model_validate(
        {
            "identity": {"name": name, "server": server},
            "capability": {"does": does},
            "input": {"schema": schema},
            "execution": {"side_effect": "read_only"},
        }
    )


CREDITS = tool("get_credits", "Returns the cast and crew of a movie.", required=("movie_id",))
SEARCH = tool("search_movie", "Searches by title.", required=("query",))
OTHERS = tuple(
    tool(f"get_{noun}", f"Returns the cast {noun} of a show and its crew {noun}.", required=("show",))
    for noun in ("photos", "awards", "reviews", "quotes", "trailers", "ratings")
)


@pytest.mark.parametrize(
    ("name", "strength", "nouns"),
    [
        ("search_movies", 1.0, {"movie"}),
        ("ListArtists", 0.9, {"artist"}),
        ("get_artist_id", pytest.approx(0.72), {"artist"}),
        ("GET_person_{person_id}_credits", pytest.approx(0.72), {"person", "credit"}),
        ("delete_movie", 0.0, {"delete", "movie"}),
    ],
)
def test_what_a_name_says_it_finds(name: str, strength: float, nouns: set[str]) -> None:
    finder = finder_of(name)
    assert finder.strength == strength
    assert finder.nouns == nouns


@pytest.mark.parametrize(
    ("parameter", "tool_name", "entity"),
    [
        ("movie_id", "get_credits", ("movie",)),
        ("artistId", "list_albums", ("artist",)),
        ("orderid", "get", ("order",)),
        ("id", "get_albums_tracks", ("album",)),
        ("bank_account_number", "x", ("bank", "account")),
        ("id", "get", ()),
        ("title", "x", ()),
        ("grid", "x", ("gr",)),
        ("", "x", ()),
    ],
)
def test_what_a_parameter_identifies(parameter: str, tool_name: str, entity: tuple[str, ...]) -> None:
    assert wanted_entity(parameter, tool=tool_name) == entity


def index_of(*contracts: ToolContract) -> ToolIndex:
    index = ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed")
    index.add(contracts)
    return index


def test_a_finder_is_put_forward_and_says_why() -> None:
    index = index_of(CREDITS, SEARCH, *OTHERS)
    asked = "cast and crew of a movie"
    refs = [ref for ref, _ in index.rank(asked, principal=ANYONE)]
    scores = dict(index.rank(asked, principal=ANYONE))
    assert refs[:2] == ["films/get_credits@1", "films/search_movie@1"]
    assert scores[refs[1]] < max(scores[ref] for ref in refs[2:])
    reasons = index.explain(asked, ref="search_movie", principal=ANYONE).reasons
    assert ("supplies_input", "finds movie_id, which films/get_credits@1 needs") in [(r.code, r.text) for r in reasons]


def test_its_score_is_what_it_is_alone() -> None:
    asked = "cast and crew of a movie"
    with_needer = dict(index_of(CREDITS, SEARCH, *OTHERS).rank(asked, principal=ANYONE))
    index = index_of(SEARCH, *OTHERS, CREDITS.model_copy(update={"input": SEARCH.input}))
    without = dict(index.rank(asked, principal=ANYONE))
    assert with_needer["films/search_movie@1"] == pytest.approx(without["films/search_movie@1"], abs=0.05)
    assert with_needer["films/search_movie@1"] < with_needer["films/get_credits@1"]


def test_an_input_at_hand_needs_no_finder() -> None:
    index = index_of(CREDITS, SEARCH, *OTHERS)
    asked = SearchRequest(text="cast and crew of a movie", inputs={"movie_id": "27205"})
    codes = [reason.code for reason in index.explain(asked, ref="search_movie", principal=ANYONE).reasons]
    assert ReasonCode.SUPPLIES_INPUT not in codes


def test_other_servers_and_hidden_tools_are_no_helpers() -> None:
    elsewhere = tool("search_movie", "Searches by title.", required=("query",), server="shop")
    index = index_of(CREDITS, elsewhere, SEARCH)
    state = index._live.state
    ids = {str(contract.ref): doc_id for doc_id, contract in enumerate(state.contracts)}
    needer = ids["films/get_credits@1"]
    everything = state.views.of(ANYONE).docs

    def found(docs: DocSet) -> list[int]:
        missing = {needer: ["movie_id"]}
        return list(find_helpers([needer], missing=missing, columns=state.columns, docs=docs))

    assert found(everything) == [ids["films/search_movie@1"]]
    assert found(DocSet.of([needer, ids["shop/search_movie@1"]], n_docs=len(ids))) == []


def test_declared_producers_come_before_names() -> None:
    declared = SEARCH.model_copy(
        update={
            "identity": SEARCH.identity.model_copy(update={"name": "catalogue", "server": "other"}),
            "output": SEARCH.output.model_copy(update={"produces": {"movie_id": "$.id"}}),
        }
    )
    index = index_of(CREDITS, SEARCH, declared)
    reasons = index.explain("cast and crew of a movie", ref="other/catalogue", principal=ANYONE).reasons
    assert ReasonCode.SUPPLIES_INPUT in [reason.code for reason in reasons]


def test_helpers_can_be_left_out() -> None:
    index = index_of(CREDITS, SEARCH, *OTHERS)
    plain = index.with_limits(SearchLimits(helpers=False))
    scores = plain.rank("cast and crew of a movie", principal=ANYONE)
    assert [score for _, score in scores] == sorted((score for _, score in scores), reverse=True)
    assert dict(scores) == dict(index.rank("cast and crew of a movie", principal=ANYONE))
