"""The numbers of the lanes, measured at once or in two steps."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from toolsearch import Principal, RuleBook, ToolIndex
from toolsearch.model.contract import ToolContract
from toolsearch.model.request import Mode
from toolsearch.search.rank.intent import read_intent
from toolsearch.search.rank.pool import make_probes
from toolsearch.search.rank.recall import TOKENS_FROM, Recalled, measure, measure_more, recall, whole_meaning

WHO = Principal(subject="x")


def contracts() -> list[ToolContract]:
    told = {
        "orders.get": "Reads one order by its number",
        "orders.cancel": "Cancels an order that is not sent yet",
        "mail.send": "Sends an e-mail to a person",
        "weather.today": "Tells today's weather of a city",
        "rates.convert": "Converts an amount between two currencies",
        "天气": "查询城市天气",
    }
    return [
        ToolContract.model_validate(
            {"identity": {"name": name, "server": "s"}, "capability": {"does": does, "examples": [f"please: {does}"]}}
        )
        for name, does in told.items()
    ]


def same(one: Recalled, other: Recalled) -> bool:
    return all(getattr(one, field.name).tobytes() == getattr(other, field.name).tobytes() for field in fields(Recalled))


@pytest.mark.parametrize("text", ["where is order 12?", "cancel order 12. Then mail the customer about it", "查天气"])
def test_documents_measured_later_have_the_numbers_of_those_measured_at_once(text: str) -> None:
    with ToolIndex.create(None, rules=RuleBook.public(reason="test")) as index:
        index.add(contracts())
        state = index._live.state
        docs = state.views.of(WHO).docs
        probes = make_probes(
            text,
            intent=read_intent(text),
            mode=Mode.HYBRID,
            lexical=index._lexical(state),
            docs=docs,
            encoder=state.encoder,
            encode=index._live.encoder.encode_request,
        )
        lists = recall(probes, lanes=state.lanes, docs=docs, depth=1)
        first = measure(lists, lanes=state.lanes, docs=docs)
        everything = docs.ids.tolist()
        assert first.doc_ids.size < len(everything), "or there is nothing to be measured later"
        at_once = measure(lists, lanes=state.lanes, docs=docs, also=everything)
        assert same(measure_more(first, lists, lanes=state.lanes, docs=docs, also=everything), at_once)
        assert measure_more(at_once, lists, lanes=state.lanes, docs=docs, also=everything) is at_once
        near = (whole_meaning(at_once.contract_cosines, encoder=state.encoder) >= TOKENS_FROM).any(axis=0)
        compared = ~np.isnan(at_once.token_scores)
        assert (compared == near).all(), "only what is near to some probe is compared token by token, with all of them"
        assert near.any()
        assert not near.all()
