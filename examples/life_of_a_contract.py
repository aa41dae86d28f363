"""The life of a contract in a shell: imported, checked, found, changed under a conversation, approved, rolled back.

`make servers`, then `python examples/life_of_a_contract.py`. What it prints is docs/tour.md.
"""

from __future__ import annotations

import shutil

from scratch import HERE, block, scratch_folder, shell

INTRODUCTION = """\
# The life of a contract

A session in a shell, as it was: `python examples/life_of_a_contract.py` runs the commands with real servers and prints
this page, and a test compares the two. Times, dates and trace ids are taken out. The files are in
[examples/tour](../examples/tour): `mcp.json` names the reference servers `filesystem` (npm) and `time` (PyPI) and a
small server of our own, `parcels.py`; `weather.yaml` is an OpenAPI document.
"""

STEPS = (
    (
        """## Import and check

An index, then everything into it. Lint says what of it will mislead a model; its many warnings of parameters without a
description are left out here.""",
        """\
export TOOLSEARCH_INDEX=tools
toolsearch index tools --public
toolsearch import mcp.json weather.yaml
toolsearch lint --least warning --ignore TS301""",
    ),
    (
        """## Search, in a conversation

The session `chat-1` pins what it is handed.""",
        'toolsearch search "Where is parcel PX104211?" --session chat-1',
    ),
    (
        """## The server changes

A new release of the parcel server demands the carrier. Calls by the old contract would fail, so the new definition
waits, and the conversation goes on with the old one.""",
        """\
sed -i 's/carrier: Carrier = "dhl"/carrier: Carrier/' parcels.py
toolsearch import mcp.json --server parcels
toolsearch pending
toolsearch search "Is parcel PX104211 late?" --session chat-1""",
    ),
    (
        """## Approved: the pinned view and the new one

A conversation that begins now gets the new definition and has to ask for the carrier. The open one keeps the definition
that it was handed, byte for byte, and can see that there is a newer one.""",
        """\
toolsearch approve parcels/track_parcel --author ann --reason "gls and ups are used now"
toolsearch search "Where is parcel PX104211?" --session chat-2
toolsearch sessions chat-1
toolsearch sessions chat-1 --json | grep -o '"required":\\["number[^]]*]' | uniq
toolsearch sessions chat-2
toolsearch sessions chat-2 --json | grep -o '"required":\\["number[^]]*]' | uniq""",
    ),
    (
        """Its list only grows: a tool from the OpenAPI document goes to the end.""",
        """\
toolsearch search "What will the weather be in Utrecht, NL?" -k 1 --session chat-1
toolsearch sessions chat-1""",
    ),
    (
        """## The way back

A rollback is a revision too. The server still has the definition that was taken back; it is not taken again, and does
not wait again.""",
        """\
toolsearch rollback parcels/track_parcel --author ann --reason "agents ask for what nobody knows"
toolsearch history parcels/track_parcel
toolsearch import mcp.json --server parcels""",
    ),
    (
        """\
New conversations get the old definition again, with the `tools_hash` that `chat-1` began with. `chat-2` keeps what it
has until it asks for what is current.""",
        """\
toolsearch search "Where is parcel PX104211?" --session chat-3
toolsearch sessions chat-2
toolsearch sessions chat-2 --refresh""",
    ),
)

CLOSING = "More: [import.md](import.md), [lint.md](lint.md), [sessions.md](sessions.md), [versions.md](versions.md)."


def main() -> None:
    print(INTRODUCTION)
    with scratch_folder() as (folder, environment):
        shutil.copytree(HERE / "tour", folder, dirs_exist_ok=True)
        (folder / "files").mkdir()
        environment["TOOLSEARCH_INDEX"] = "tools"
        for prose, commands in STEPS:
            with block(prose):
                for command in commands.splitlines():
                    shell(command, folder, environment)
    print(CLOSING)


if __name__ == "__main__":
    main()
