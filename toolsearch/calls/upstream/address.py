"""Which addresses a server of the configuration may have: the guard against requests to where nobody meant to go."""

from __future__ import annotations

import ipaddress
from typing import Literal
from urllib.parse import SplitResult, urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Reach = Literal["loopback", "private", "public", "never"]

_SHARED = ipaddress.ip_network("100.64.0.0/10")  # carrier-grade NAT, also used by overlay networks
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def checked_url(url: str, *, allow_private: bool) -> SplitResult:
    """Return the parts of a URL that a server may have.

    Raises:
        ValueError: If it is not http or https, holds credentials, or names an address that is out of reach; the text
            holds nothing of the URL but its scheme and host.
    """
    if any(ord(character) <= 32 or ord(character) == 127 or character == "\\" for character in url):
        raise ValueError("url holds white space, a control character or a backslash")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("url cannot be read; write http://HOST[:PORT]/PATH or https://...") from None
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"url has the scheme {parts.scheme!r}; only http and https are spoken")
    if "@" in parts.netloc:
        raise ValueError("url holds credentials; put them into a header")
    if not host:
        raise ValueError("url names no host")
    if parts.fragment:
        raise ValueError("url has a fragment, which no server sees")
    literal = literal_address(host)
    if literal is not None:
        check_address(literal, host=host, allow_private=allow_private)
    return parts


def literal_address(host: str) -> Address | None:
    """Return the address that a host name spells out, or None."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def check_address(address: Address, *, host: str, allow_private: bool) -> None:
    """Refuse an address that a host must not have.

    Args:
        address: What the host is, or resolves to.
        host: Its name in the configuration; only `localhost` and addresses may lead to loopback.
        allow_private: Whether private networks are within reach.

    Raises:
        ValueError: Naming the host, and not the address that it resolved to.
    """
    reach = reach_of(address)
    if reach == "public" or (reach == "private" and allow_private):
        return
    if reach == "loopback" and (allow_private or is_local_name(host)):
        return
    if reach == "never":
        raise ValueError(f"host {host} has an address that is never connected to: link-local, multicast or reserved")
    raise ValueError(f"host {host} has a {reach} address; allow it with allow_private, if that is meant")


def is_local_name(host: str) -> bool:
    """Tell whether a host is this machine by its very name."""
    name = host.lower().rstrip(".")
    literal = literal_address(name)
    return name == "localhost" or name.endswith(".localhost") or (literal is not None and literal.is_loopback)


def reach_of(address: Address) -> Reach:
    """Return how far away an address is; an IPv4 address inside an IPv6 one counts as itself."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if inner is not None:
            return reach_of(inner)
    if address.is_loopback:
        return "loopback"
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return "never"
    if address.version == 4 and address in _SHARED:
        return "private"
    if address.is_private:
        return "private"
    return "public" if address.is_global and not address.is_reserved else "never"
