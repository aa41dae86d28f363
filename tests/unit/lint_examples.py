"""For each rule of lint: a catalogue that it speaks up about, and one that comes near and does not."""

from __future__ import annotations

from typing import Any

from toolsearch.model.contract import ToolContract

Catalogue = list[ToolContract]


def tool(
    name: str = "get_order",
    does: str = "Reads one order and returns its status and its items. Use it for one order at a time.",
    *,
    parameters: dict[str, Any] | None = None,
    required: tuple[str, ...] = (),
    schema: dict[str, Any] | None = None,
    output: dict[str, Any] | None = None,
    effect: str | None = "read_only",
    server: str = "shop",
    foreign: bool = False,
    selection: dict[str, Any] | None = None,
    **sections: Any,
) -> ToolContract:
    """Return a contract with nothing but what a case is about."""
    body = schema
    if body is None:
        body = {"type": "object", "properties": parameters or {}, **({"required": list(required)} if required else {})}
    provenance = {"source": "mcp", "fields": {"execution.side_effect": "inferred"}} if foreign else {}
    return ToolContract.model_validate(
        {
            "identity": {"name": name, "server": server, **sections.pop("identity", {})},
            "capability": {"does": does, **sections.pop("capability", {})},
            "selection": selection or {},
            "input": {"schema": body, **sections.pop("input", {})},
            "output": output or {},
            "execution": {**({} if effect is None else {"side_effect": effect}), **sections.pop("execution", {})},
            "provenance": provenance,
            **sections,
        }
    )


def with_parameter(parameter: str, node: dict[str, Any], /, *, required: bool = False, **more: Any) -> Catalogue:
    return [tool(parameters={parameter: node}, required=(parameter,) if required else (), **more)]


def text(description: str, **node: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **node}


def number(description: str, **node: Any) -> dict[str, Any]:
    return {"type": "integer", "description": description, **node}


def several(*names: str, **more: Any) -> Catalogue:
    return [tool(name, **more) for name in names]


def schema_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


_NESTED = schema_of(
    order={"type": "object", "description": "The order.", "properties": {"buyer": schema_of(name=text("Full name."))}}
)
_LISTED = schema_of(
    items={"type": "array", "description": "The goods.", "items": schema_of(sku=text("Number of the article."))}
)
_KEY = {"order_id": text("Order number, e.g. 'ORD-1', as the user says it.")}
_LONG = "Reads an order and says what is in it and when it was made and who made it and why. " * 14
_FINE = [
    tool(f"get_user_{field}", f"Reads the {field} of a user.", parameters=_KEY, required=("order_id",))
    for field in ("name", "email", "phone", "birthday")
]
_TWINS = [
    tool("find_orders", "Find orders of a customer by date and status."),
    tool("search_orders", "Search orders of a customer by date and status."),
]

EXAMPLES: dict[str, tuple[list[Catalogue], list[Catalogue]]] = {
    # --- names
    "TS101": (
        [several("order_details"), [tool("market.daily_bars", server="exchange")]],
        [several("get_order", "orders.search", "status_check"), [tool("查询订单", "查询一个订单。")]],
    ),
    "TS102": (
        [several("get_order", "list_orders", "orders_delete")],
        [
            several("orders_get", "orders_list", "orders_delete"),
            several("get_order", "list_orders", "browser_close_tab"),
        ],
    ),
    "TS103": ([several("getOrder"), several("get-order")], [several("get_order", "orders.get", "order")]),
    "TS104": ([several("get_order", "list_orders", "deleteOrder")], [several("getOrder", "listOrders", "ping")]),
    "TS105": (
        [several("process_data"), several("helper"), several("tool1"), several("do_thing")],
        [several("process_order", "get_data_sources", "extract_invoice_data")],
    ),
    "TS106": ([several("search"), several("query")], [several("search_orders", "orders.search", "ping")]),
    "TS107": (
        [several("manage_user"), several("process_order"), several("handle_refund_request")],
        [several("create_user", "run_query", "list_managers", "process_manager_list_get")],
    ),
    "TS108": (
        [[tool("get_order", effect="irreversible")], [tool("delete_order", effect="read_only")]],
        [[tool("get_order"), tool("delete_order", effect="irreversible"), tool("update_history", effect="read_only")]],
    ),
    "TS109": ([[tool(), tool(server="other")]], [[tool(), tool("get_invoice", server="other")]]),
    # --- descriptions
    "TS201": ([[tool(does="")], [tool(does="  ")]], [[tool()], [tool(does="", selection={"use_when": ["Always."]})]]),
    "TS202": (
        [[tool("get_weather", "Get the weather")], [tool("getWeather", "Gets weather.")]],
        [[tool("get_weather", "Get the weather of a city for the next three days")], [tool("get_weather", "查询天气")]],
    ),
    "TS203": ([[tool()]], [[tool(selection={"use_when": ["An order number is known."]})]]),
    "TS204": (
        [[tool()]],
        [[tool(capability={"does_not": ["Changes nothing."]})], [tool(selection={"adjacent_tools": {"x": "for y"}})]],
    ),
    "TS205": (
        [with_parameter("order_id", text("Identifier of the order"), required=True)],
        [
            with_parameter("order_id", text("Order number, as returned by search_orders"), required=True),
            with_parameter("order_id", text("Identifier of the order", pattern="^ORD-[0-9]+$"), required=True),
            with_parameter("order_id", text("Identifier of the order")),
            with_parameter("order_id", text("订单号，来自用户原话"), required=True),
        ],
    ),
    "TS206": (
        [[tool(does="Look into an order.")], [tool("check_order", "核对订单。")]],
        [
            [tool()],
            [tool(does="Look into an order.", output={"produces": {"order_id": "id"}})],
            [tool(does="查询订单")],
        ],
    ),
    "TS207": (
        [[tool("create_order", "Creates an order.", effect="reversible")]],
        [
            [tool("create_order", "Creates an order. Idempotent.", effect="reversible")],
            [tool("create_order", "Creates an order.", effect="reversible", execution={"idempotency": "required"})],
            [tool("create_order", "新建订单，重复调用会新建两次", effect="reversible")],
            [tool()],
        ],
    ),
    "TS208": (
        [
            [tool(does="Returns orders. It uses the OrderService class internally.")],
            [tool(does="Returns the plan of a user from a Redis cache with a TTL of 60 seconds.")],
            [tool(does="返回用户套餐，内部调用订单接口。")],
        ],
        [
            [tool("query_redis", "Runs a command using Redis and returns its answer.", server="redis")],
            [tool(does="Returns the plan of a user; it may be up to 60 seconds old.")],
        ],
    ),
    "TS209": (
        [[tool(does="I look up orders and return them.")], [tool(does="我可以查询订单。")]],
        [[tool(does="Use this to look up orders; returns all that I/O allows.")], [tool(does="查询我方订单。")]],
    ),
    "TS210": ([[tool(does=_LONG)]], [[tool(does=_LONG[:700])]]),
    "TS211": (
        [[tool(f"get_part_{at}", "Reads a part.") for at in range(20)], several(*"abcde", does="Reads a part.")],
        [
            several(*"abcd", does="Reads a part."),
            [
                tool(f"get_part_{at}", "Reads a part.", selection={"use_when": ["x"], "do_not_use_when": ["y"]})
                for at in range(20)
            ],
        ],
    ),
    "TS212": (
        [[*several("get_a", "get_b", "get_c", "get_d", does="Read a part."), tool("get_e", "This tool reads a part.")]],
        [several("get_a", "get_b", "get_c", "get_d", "get_e", does="Reads a part."), several("get_a", does="Read it.")],
    ),
    # --- parameters
    "TS301": (
        [with_parameter("city", {"type": "string"})],
        [with_parameter("city", text("City.")), with_parameter("city", {}, input={"semantics": {"city": "A city."}})],
    ),
    "TS302": (
        [with_parameter("user_id", text("user id")), with_parameter("city", text("The city"))],
        [
            with_parameter("user_id", text("Number of the customer, as search_users returns it")),
            with_parameter("city", text("城市")),
            with_parameter("status", text("status", enum=["a", "b"])),
        ],
    ),
    "TS303": (
        [
            with_parameter("priority", text("One of: low, medium, high")),
            with_parameter("sort", text("Direction ('asc' or 'desc')")),
            with_parameter("priority", text("可选值：low、medium、high")),
        ],
        [
            with_parameter("priority", text("One of: low, high", enum=["low", "high"])),
            with_parameter("city", text("A city, e.g. 'Rome', 'Oslo'")),
            with_parameter("states", text("Comma-separated states, one of: open, closed")),
            with_parameter("city", text("A city such as 'Rome' or 'Oslo'")),
        ],
    ),
    "TS304": (
        [with_parameter("status", text("Status of the order"))],
        [
            with_parameter("status", text("Status of the order", enum=["paid", "shipped"])),
            with_parameter("status", text("Status of the order (free text of the shop)")),
            with_parameter("city", text("A city of the order")),
        ],
    ),
    "TS305": (
        [with_parameter("limit", number("How many, between 1 and 100")), with_parameter("limit", number("最多 20 条"))],
        [
            with_parameter("limit", number("How many, between 1 and 100", minimum=1, maximum=100)),
            with_parameter("timeout", number("Seconds to wait (max 2 minutes)")),
            with_parameter("limit", number("How many; use lower values (10-50) for faster answers")),
        ],
    ),
    "TS306": (
        [with_parameter("limit", number("How many orders"))],
        [
            with_parameter("limit", number("How many orders", maximum=50)),
            with_parameter("limit", number("How many orders, at most 50")),
            with_parameter("order_number", number("Number of the order")),
        ],
    ),
    "TS307": (
        [
            with_parameter("limit", number("How many. Default 5.")),
            with_parameter("full", {**text("默认 true"), "type": "boolean"}),
        ],
        [
            with_parameter("limit", number("How many. Default 5.", default=5)),
            with_parameter("limit", number("How many. Default 5."), required=True),
            with_parameter("city", text("The default city of the user")),
            with_parameter("limit", number("How many; the default is 5 for guests")),
        ],
    ),
    "TS308": (
        [with_parameter("limit", number("How many orders", maximum=50))],
        [
            with_parameter("limit", number("How many orders", default=5)),
            with_parameter("limit", number("How many orders; all if not given")),
            with_parameter("limit", number("How many orders"), required=True),
        ],
    ),
    "TS309": (
        [
            with_parameter("limit", number("How many", default="5")),
            with_parameter("limit", number("How many", default=500, maximum=100)),
            with_parameter("sort", text("Direction", enum=["asc", "desc"], default="up")),
            with_parameter("limit", number("How many. Default 5.", default=10)),
        ],
        [
            with_parameter("limit", number("How many. Default 5.", default=5, maximum=100)),
            with_parameter("sort", text("Direction", enum=["asc", "desc"], default=None)),
            with_parameter("share", {"type": "number", "description": "A share.", "default": 1}),
        ],
    ),
    "TS310": (
        [with_parameter("start_date", text("First day")), with_parameter("createdAt", text("When"))],
        [
            with_parameter("start_date", text("First day", format="date")),
            with_parameter("start_date", text("First day, ISO 8601")),
            with_parameter("response_time", text("How long")),
            with_parameter("depends_on", text("Another task")),
        ],
    ),
    "TS311": (
        [with_parameter("start_time", text("Begin, YYYY-MM-DD HH:MM"))],
        [
            with_parameter("start_time", text("Begin, YYYY-MM-DD HH:MM, UTC")),
            with_parameter("start_time", text("Begin", format="date-time")),
        ],
    ),
    "TS312": (
        [with_parameter("amount", number("What to pay back")), with_parameter("timeout", number("How long to wait"))],
        [
            with_parameter("amount_cents", number("What to pay back")),
            with_parameter("timeout", number("How long to wait, in milliseconds")),
            with_parameter("amount", number("退款金额，单位：分")),
            with_parameter("page_size", number("How large a page is")),
        ],
    ),
    "TS313": (
        [
            with_parameter("people", text("Required. Who takes part")),
            with_parameter("note", text("Optional note"), required=True),
            with_parameter("limit", number("How many", default=5), required=True),
            with_parameter("people", text("必填，参会人")),
        ],
        [
            with_parameter("people", text("Required if no group is given")),
            with_parameter("people", text("Required. Who takes part"), required=True),
            with_parameter("note", text("Optional note")),
        ],
    ),
    "TS314": (
        [
            with_parameter("url", text("A page; mutually exclusive with 'file'")),
            with_parameter("url", text("与 file 二选一")),
        ],
        [with_parameter("url", text("A page of the shop, exclusive of its pictures"))],
    ),
    "TS315": (
        [
            with_parameter("q", text("Query")),
            with_parameter("data", {"type": "string"}),
            with_parameter("arg1", text("One")),
        ],
        [
            with_parameter("x", number("Column")),
            with_parameter("q", text("Words that stand in the subject or the body")),
            with_parameter("data", text("Rows to insert, one JSON object each")),
        ],
    ),
    "TS316": (
        [with_parameter("file_path", text("Where to write"))],
        [
            with_parameter("file_path", text("Absolute path of the file")),
            with_parameter("path", text("Path of the endpoint")),
        ],
    ),
    "TS317": (
        [with_parameter("state", text("State", enum=["open", "Open"]))],
        [with_parameter("state", text("State", enum=["open", "opened"]))],
    ),
    "TS318": (
        [with_parameter("value", {"description": "What to store"})],
        [with_parameter("value", text("What to store")), with_parameter("v", {"anyOf": [{"type": "string"}]})],
    ),
    # --- shape of the input
    "TS401": (
        [[tool(schema=_NESTED | {"properties": {"a": _NESTED}})]],
        [[tool(schema=_NESTED["properties"]["order"])], [tool(schema=_LISTED)]],
    ),
    "TS402": (
        [with_parameter("config", {"type": "object", "description": "Settings of the job"})],
        [
            with_parameter("config", {"type": "object", "description": "Settings, e.g. {'retries': 3}"}),
            with_parameter(
                "labels", {"type": "object", "description": "L", "additionalProperties": {"type": "string"}}
            ),
            with_parameter(
                "config", {"type": "object", "description": "S", "properties": {"retries": number("Times")}}
            ),
        ],
    ),
    "TS403": (
        [with_parameter("tags", {"type": "array", "description": "Tags"})],
        [with_parameter("tags", {"type": "array", "description": "Tags", "items": {"type": "string"}})],
    ),
    "TS404": (
        [[tool(schema={"type": "object", "properties": {"limit": number("How many")}, "required": ["limitt"]})]],
        [
            with_parameter("limit", number("How many"), required=True),
            [tool(schema={"type": "object", "required": ["anything"]})],
        ],
    ),
    "TS405": (
        [
            [tool(schema={"type": "string"})],
            with_parameter("limit", number("How many", minimum=9, maximum=3)),
            with_parameter("limit", {"type": "int", "description": "How many"}),
            with_parameter("code", text("A code", pattern="[A-Z")),
            with_parameter("state", text("A state", enum=[])),
        ],
        [
            with_parameter("limit", number("How many", minimum=3, maximum=3)),
            with_parameter("code", text("A code", pattern=r"^\p{L}+(?<year>\d{4})$")),
            [tool(schema={})],
        ],
    ),
    "TS406": (
        [[tool(parameters={"user_id": text("Whose"), "pageSize": number("How many")})]],
        [[tool(parameters={"user_id": text("Whose"), "page": number("Which"), "page_size": number("How many")})]],
    ),
    "TS407": (
        [
            [
                *(tool(f"get_part_{at}", parameters={"user_id": text("Whose")}) for at in range(3)),
                tool("get_rest", parameters={"user_id": number("Whose")}),
            ]
        ],
        [
            [
                *(tool(f"get_part_{at}", parameters={"user_id": text("Whose")}) for at in range(3)),
                tool("get_rest", parameters={"user_id": text("Whose")}, server="other"),
            ]
        ],
    ),
    # --- size of tools
    "TS501": (
        [
            with_parameter("action", text("What to do", enum=["create", "update", "delete"])),
            with_parameter("operation", text("Operation to perform: create-job, delete-job, list-jobs")),
            with_parameter("method", text("Options are:\n- 'add' - adds one\n- 'remove' - removes one")),
        ],
        [
            with_parameter("method", text("HTTP method", enum=["GET", "POST", "DELETE"])),
            with_parameter("mode", text("How to write", enum=["append", "overwrite"])),
            with_parameter("action", text("Outcome of the review", enum=["approve", "reject"])),
            with_parameter("operation", text("Name of the operation, as the log has it")),
        ],
    ),
    "TS502": (
        [[tool(parameters={f"field_{at}": text("A field") for at in range(21)})]],
        [[tool(parameters={f"field_{at}": text("A field") for at in range(20)})]],
    ),
    "TS503": (
        [[tool("create_meeting", parameters={"title": text("T"), "people": text("P")}, effect="reversible")]],
        [
            [
                tool(
                    "create_meeting",
                    parameters={"title": text("T"), "p": text("P")},
                    required=("title",),
                    effect="reversible",
                )
            ],
            [tool("list_meetings", parameters={"title": text("T"), "people": text("P")})],
        ],
    ),
    "TS504": (
        [_FINE],
        [
            _FINE[:3],
            several(
                "get_user_by_name",
                "get_user_by_email",
                "get_user_by_phone",
                "get_user_by_id",
                parameters=_KEY,
                required=("order_id",),
            ),
        ],
    ),
    # --- effects, results, errors
    "TS601": (
        [
            [tool("delete_user", "Delete a user", effect="irreversible")],
            [tool("delete_user", "删除用户", effect="irreversible")],
        ],
        [
            [tool("delete_user", "Delete a user for good. This cannot be undone.", effect="irreversible")],
            [tool("delete_user", "删除用户，不可恢复", effect="irreversible")],
            [tool("delete_user", "D", effect="irreversible", execution={"approval": "always"})],
            [tool("jump_page", "Jumps to a page.", effect="irreversible", foreign=True)],
        ],
    ),
    "TS602": ([[tool(effect=None)]], [[tool()]]),
    "TS603": (
        [with_parameter("amount", number("Cents"), required=True, name="refund", effect="irreversible")],
        [
            with_parameter(
                "amount",
                number("C"),
                required=True,
                effect="irreversible",
                input={"forbidden_inference_fields": ["amount"]},
            ),
            with_parameter("amount", number("Cents"), required=True, effect="irreversible", foreign=True),
            with_parameter("amount", number("Cents"), required=True),
        ],
    ),
    "TS604": ([[tool()]], [[tool(output={"error_taxonomy": ["not_found"]})], [tool(foreign=True)]]),
    "TS605": (
        [[tool()]],
        [[tool(operational={"freshness": "live"})], [tool(foreign=True)], [tool(effect="reversible")]],
    ),
    "TS606": (
        [with_parameter("city", text("Where"), name="list_shops", does="Lists the shops of a city.")],
        [
            [tool("list_shops", "Lists the shops.", parameters={"city": text("Where"), "limit": number("How many")})],
            with_parameter("city", text("Where"), name="list_shops", does="Lists at most 20 shops of a city."),
            [tool("list_shops", "Lists the shops.")],
        ],
    ),
    "TS607": (
        [[tool("list_orders", output={"schema": {"type": "string"}})]],
        [
            [tool("list_orders", output={"schema": schema_of(orders={"type": "array"})})],
            [tool("render_page", output={"schema": {"type": "string"}})],
        ],
    ),
    "TS608": (
        [
            [
                tool("get_a", output={"schema": schema_of(data={})}),
                tool("get_b", output={"schema": schema_of(data={})}),
                tool("get_c", output={"schema": {"type": "array"}}),
            ]
        ],
        [
            [
                tool("get_a", output={"schema": schema_of(data={})}),
                tool("get_b", output={"schema": schema_of(data={}, more={})}),
                tool("get_c", output={"schema": schema_of(data={})}),
            ]
        ],
    ),
    # --- providers
    "TS701": ([several("orders.get"), several("x" * 65)], [several("get_order", "getOrder-2")]),
    "TS702": ([[tool(does="Reads an order. " * 80)]], [[tool(does="Reads an order. " * 40)]]),
    "TS703": (
        [with_parameter("resource-group", text("Where")), with_parameter("$top", number("How many"))],
        [with_parameter("resource_group", text("Where"))],
    ),
    "TS704": (
        [[tool(schema={"type": "object", "oneOf": [schema_of(a={}), schema_of(b={})]})]],
        [with_parameter("a", {"oneOf": [text("A")]})],
    ),
    "TS705": (
        [with_parameter("code", text("A code", enum=[f"c{at}" for at in range(501)]))],
        [with_parameter("code", text("A", enum=[f"c{at}" for at in range(500)]))],
    ),
    "TS706": (
        [with_parameter("config", {"type": "object", "description": "Any settings"})],
        [with_parameter("city", text("Where"))],
    ),
    "TS707": (
        [with_parameter("config", {"type": "object", "description": "Any settings"})],
        [with_parameter("city", text("Where"))],
    ),
    "TS708": (
        [with_parameter("value", {"description": "What to store"})],
        [with_parameter("city", text("Where")), with_parameter("city", {"const": "Rome"})],
    ),
    # --- pairs
    "TS801": (
        [_TWINS, [tool("get_order", "Get an order."), tool("get_order_detail", "Get the detail of an order.")]],
        [
            [
                _TWINS[0],
                tool(
                    "search_orders",
                    _TWINS[1].capability.does,
                    selection={"do_not_use_when": ["use find_orders for one"]},
                ),
            ],
            [
                tool("create_order", "Orders of a customer by date."),
                tool("delete_order", "Orders of a customer by date."),
            ],
            [tool("get_order_buyer", "Reads one part."), tool("get_order_seller", "Reads one part.")],
            [tool("get_order", "Reads an order."), tool("list_orders", "Reads orders.")],
        ],
    ),
    "TS802": (
        [[tool("get_a"), tool("get_b")]],
        [[tool("get_a"), tool("get_b", parameters=_KEY)], [tool(), tool(identity={"version": 2})]],
    ),
    "TS803": (
        [[tool("get_order", capability={"examples": ["where is my order"]}), tool("list_orders", "Lists orders.")]],
        [
            [
                tool("get_order", capability={"examples": ["list my orders"]}),
                tool("list_orders", capability={"examples": ["x"]}),
            ]
        ],
    ),
    "TS804": (
        [[tool(selection={"adjacent_tools": {"find_invoice": "for invoices"}})]],
        [[tool(selection={"adjacent_tools": {"shop/get_bill": "for bills"}}), tool("get_bill", "Reads a bill.")]],
    ),
}
"""Rule -> (catalogues in which it finds something, catalogues in which it finds nothing)."""
