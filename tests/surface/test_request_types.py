"""Values of the wrong JSON type are refused, not guessed at."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient


@pytest.mark.parametrize(
    "wrong",
    [
        *({"now": value} for value in (0, 0.5, True, "0", "1700000000")),
        *({"restrict": {"max_side_effect": value}} for value in (False, True, 1.0)),
    ],
)
def test_wrong_types_are_refused(client: TestClient, wrong: dict[str, object]) -> None:
    answer = client.post("/v1/search", json={"text": "where is my order"} | wrong)
    assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")
    assert answer.json()["errors"][0]["field"].split(".")[0] == next(iter(wrong))
