"""Bounds of the gateway, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayLimits:
    """How long, how many, how much.

    Attributes:
        connect_s: Seconds to start or reach a server.
        call_s: Seconds for one answer, where the contract says nothing; a contract may ask for more, up to `longest_s`.
        longest_s: Longest time that a contract gets.
        connections: Open connections to servers in all; each principal has its own.
        connections_per_principal: Of those, by one principal.
        idle_s: Seconds without a call after which a connection is closed.
        calls: Calls that are forwarded at the same time; more wait.
        first_pause_s: Seconds before a server that failed twice in a row is tried again; doubled with each failure.
        longest_pause_s: Most of that.
        result_tokens: Estimated tokens of data that are returned at once.
        kept_bytes: Bytes of truncated results kept for each principal.
        kept_principals: Principals for whom any are kept.
        kept_s: Seconds that they are kept.
        confirm_s: Seconds that a confirmation is good for.
        remember_s: Seconds that the outcome of a write is remembered under its key.
        repeats: From how many equal calls with equal results in a session on the answer is to conclude.
        max_result_bytes: Bytes of a result beyond which it is not taken.
    """

    connect_s: float = 30.0
    call_s: float = 60.0
    longest_s: float = 600.0
    connections: int = 64
    connections_per_principal: int = 16
    idle_s: float = 900.0
    calls: int = 64
    first_pause_s: float = 0.5
    longest_pause_s: float = 60.0
    result_tokens: int = 4_000
    kept_bytes: int = 16_777_216
    kept_principals: int = 256
    kept_s: float = 900.0
    confirm_s: float = 600.0
    remember_s: float = 86_400.0
    repeats: int = 3
    max_result_bytes: int = 33_554_432
