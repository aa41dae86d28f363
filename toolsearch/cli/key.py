"""`toolsearch key`: make an API key for the server."""

from __future__ import annotations

import json

from toolsearch.cli import options as o


def key(
    subject: o.SubjectOption = None,
    tenant: o.TenantOption = None,
    environment: o.EnvironmentOption = None,
    role: o.RoleOption = None,
    scope: o.ScopeOption = None,
    principal: o.PrincipalOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Make an API key for a principal, and the entry of the keys file that lets it in."""
    from toolsearch.cli.render import console, plain
    from toolsearch.model.errors import RequestError
    from toolsearch.serve.keys import new_key

    who = o.principal_from(
        subject=subject, tenant=tenant, environment=environment, role=role, scope=scope, file=principal
    )
    if who is None:
        raise RequestError("whose key is it? give --subject NAME (and --role, --scope ...)", field="subject")
    secret, digest = new_key()
    entry = {"sha256": digest, "principal": who.model_dump(mode="json", exclude_defaults=True)}
    if as_json:
        print(json.dumps({"key": secret, "entry": entry}, ensure_ascii=False))
        return
    import yaml

    console(stderr=True).print(plain("The key, shown once; give it to its holder:"))
    print(secret)
    console(stderr=True).print(plain("Append this under `keys:` in the file named by TOOLSEARCH_API_KEYS_FILE:"))
    print(yaml.safe_dump([entry], allow_unicode=True, sort_keys=False), end="")
