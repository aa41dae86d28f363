"""A small catalogue behind every surface: two tools of support staff, one open to all, one of another tenant."""

from __future__ import annotations

from toolsearch import Principal, Rule, RuleBook, ToolContract

LOOPBACK = "http://127.0.0.1"


def contract(name: str, does: str, *, side_effect: str = "read_only", **sections: object) -> ToolContract:
    return ToolContract.model_validate(
        {
            "identity": {"name": name, "server": name.split(".")[0], "title": does.rstrip(".")},
            "capability": {"does": does},
            "execution": {"side_effect": side_effect},
            **sections,
        }
    )


ORDER_ID = {
    "schema": {
        "type": "object",
        "properties": {"order_id": {"type": "string", "pattern": "^ORD-[0-9]{8}$"}},
        "required": ["order_id"],
    }
}
CATALOGUE = (
    contract(
        "orders.get", "Reads one order and its delivery status.", input=ORDER_ID, access={"scopes_all": ["orders.read"]}
    ),
    contract(
        "orders.cancel", "取消一个订单。", side_effect="irreversible", input=ORDER_ID, access={"roles_any": ["support"]}
    ),
    contract("weather.today", "Tells today's weather of a city."),
    contract("vault.open", "Opens the vault of tenant globex.", access={"tenants": ["globex"]}),
)
RULES = RuleBook(
    rules=(Rule(id="weather-for-all", effect="allow", reason="public data", tools={"servers": ["weather"]}),)
)
SUPPORT = Principal(subject="s1", tenant="acme", environment="production", roles=("support",), scopes=("orders.read",))
GUEST = Principal(subject="guest")
ADMIN = Principal(subject="root", roles=("toolsearch-admin",))
