"""The rows of the report: what is run, on which sides, and what is promised.

`must` is what every release keeps; `stretch` is what a profile has shown to be possible.
"""

import statistics
from collections.abc import Callable, Sequence

from benchmarks.metrics import Metric, Pair, bare_cost, bare_rate, cost, own, rate
from benchmarks.real_program import serve
from benchmarks.running import Row

ALL_SIDES = ("ours", "official", "floor")
FAST_WAKE_SECONDS = 50e-6
"""Below this hop floor the machine wakes threads fast, and more is asked of a round trip."""

MIB = 1024 * 1024
_DELTA = {"kind": "delta", "size": 60}
_DELTA_BYTES = 297  # of the stand-in's line


def wakes_fast(pairs: Sequence[Pair]) -> bool:
    """Whether the hop floor of these pairs shows a machine that wakes threads fast."""
    return statistics.median(pair["floor"]["p50"] for pair in pairs) < FAST_WAKE_SECONDS


def count_growth(pair: Pair) -> float:
    """Take our cost per message at 1M over that at 10k, each against the loop of the same round."""
    ours, floor = pair["ours"], pair["floor"]
    return (ours["1M"] / floor["1M"]) / (ours["10k"] / floor["10k"])


def session_growth(pair: Pair) -> float:
    """Take our seconds per session at 200 sessions over those at 10."""
    return (pair["ours"]["200"] / 200) / (pair["ours"]["10"] / 10)


def _streamed(what: str, official: tuple[float, float], loop: tuple[float, float | None]) -> tuple[Metric, ...]:
    return (
        Metric(f"{what}: rate / official", rate("seconds"), *official, least=True),
        Metric(f"{what}: rate / orjson loop", rate("seconds", "floor"), *loop, least=True),
    )


def _asked(what: str, figure: str, one: tuple[float, float], many: tuple[float, float]) -> tuple[Metric, ...]:
    return (
        Metric(f"{what} one by one: rate / official", rate(f"{figure}_seq"), *one, least=True),
        Metric(f"{what} one by one, bare: rate / official", bare_rate(f"{figure}_seq"), least=True),
        Metric(f"{what} at once: rate / official", rate(f"{figure}_burst"), *many, least=True),
        Metric(f"{what} at once, bare: rate / official", bare_rate(f"{figure}_burst"), least=True),
    )


def _called(what: str, server: str) -> tuple[Metric, ...]:
    return (
        Metric(f"{what}, one by one, p50: rate / official", rate(f"{server}_seq_p50"), least=True),
        Metric(f"{what}, at once: rate / official", rate(f"{server}_burst"), least=True),
    )


def _over_own(server: str) -> Callable[[Pair], float]:
    return lambda pair: pair["ours"][f"{server}_seq_p50"] / pair["ours"]["own_seq_p50"]


STARTING = (
    Row(
        "import",
        "import",
        "`import`, with the name that everybody uses, in a fresh process; and up to the first session, not yet open",
        (
            Metric("import wall / official", cost("seconds"), 0.10, 0.06),
            Metric("RSS after import / official", cost("rss"), 0.35, 0.25),
            Metric("import and first Session(), wall / official", cost("ready")),
            Metric("RSS with the first Session() / official", cost("ready_rss")),
        ),
        quick={},
    ),
    Row(
        "connect",
        "connect",
        "open() until the program has answered, the first of a process and later ones; close()",
        (
            Metric("first connect / official", cost("first"), 0.35, 0.15),
            Metric("warm connect / official", cost("warm"), 1.0, 0.85),
            Metric("warm connect, bare / official", bare_cost("warm")),
            Metric("close one / official", cost("close")),
        ),
        ALL_SIDES,
        {"n": 40},
        quick={"n": 15},
        rounds=4,
    ),
)

CONTROL = (
    Row(
        "control",
        "control",
        "get_mcp_status(): one after the other, from 64 threads (tasks), and 64 at a time by submit()",
        (
            Metric("control round trip p50 / hop floor", cost("p50", "floor"), 1.4, 1.15),
            Metric("control round trip p50 / official, hop floor < 50 µs", cost("p50"), 0.35, 0.25, applies=wakes_fast),
            Metric("control round trip p50 / official", cost("p50"), 0.8, 0.7),
            Metric("control round trip p50, bare / official", bare_cost("p50")),
            Metric("control round trip CPU / official", cost("cpu"), 0.55, 0.25),
            Metric("control round trip CPU, bare / official", bare_cost("cpu")),
            Metric("64 threads: rate / official", rate("threads"), 2.0, 3.0, least=True),
            Metric("64 threads, bare: rate / official", bare_rate("threads"), least=True),
            Metric("64 outstanding (submit): rate / official", rate("outstanding"), 8.0, 15.0, least=True),
            Metric("64 outstanding, bare: rate / official", bare_rate("outstanding"), least=True),
        ),
        ALL_SIDES,
        {"n": 6400, "turns": 10, "width": 64},
        quick={"n": 1920},
        rounds=4,
    ),
    Row(
        "callbacks",
        "asks",
        "permission callbacks and hooks that answer at once, by the program's clock",
        (
            *_asked("permission callbacks", "permission", (1.5, 2.2), (5.0, 7.0)),
            *_asked("hooks", "hook", (1.2, 1.5), (3.5, 5.0)),
        ),
        ALL_SIDES,
        {"n": 2000},
        quick={"n": 500},
        rounds=2,
    ),
    Row(
        "tools",
        "tools",
        "calls of a tool in this process that answers at once: a function, and servers of the mcp library",
        (
            Metric("tool calls one by one, p50: rate / official", rate("own_seq_p50"), 5.0, 12.0, least=True),
            Metric("tool calls at once: rate / official", rate("own_burst"), 3.0, 10.0, least=True),
            *_called("low-level mcp server, bridged", "low"),
            *_called("MCPServer (FastMCP), bridged", "high"),
            Metric("tool call, p50: bridged low-level server / own tool", _over_own("low")),
            Metric("tool call, p50: bridged MCPServer (FastMCP) / own tool", _over_own("high")),
            Metric("tool call, p50", own("own_seq_p50", 1e6), unit="µs"),
        ),
        parameters={"n": 1000},
        quick={"n": 300},
    ),
    Row(
        "delivery",
        "delivery",
        "one message every 500 µs, from the program's clock to the loop that reads it",
        (
            Metric("delivery latency p50 / official", cost("p50"), 0.6, 0.4),
            Metric("delivery latency p50, bare / official", bare_cost("p50")),
            Metric("delivery latency p99 / official", cost("p99"), 1.2, 0.9),
        ),
        ALL_SIDES,
        {"n": 4000, "gap": 500},
        quick={"n": 500},
    ),
)

STREAMS = (
    Row(
        "deltas",
        "stream",
        "100,000 text deltas, each read as its type",
        (
            *_streamed("100k deltas", (6.0, 8.0), (0.40, 0.50)),
            Metric("100k deltas: CPU / official", cost("cpu")),
        ),
        ALL_SIDES,
        {"n": 100_000, "turns": 5, **_DELTA},
        quick={"n": 30_000},
    ),
    Row(
        "assistant",
        "stream",
        "40,000 assistant messages of 1 KiB",
        _streamed("1 KiB assistant messages", (4.0, 6.0), (0.45, 0.7)),
        ALL_SIDES,
        {"n": 40_000, "turns": 10, "kind": "assistant", "size": 1024},
        quick={"n": 6000},
        rounds=2,
    ),
    Row(
        "large",
        "stream",
        "400 assistant messages of 900 KiB",
        _streamed("900 KiB lines", (3.0, 4.0), (1.0, None)),
        ALL_SIDES,
        {"n": 400, "turns": 8, "kind": "assistant", "size": 900 * 1024},
        quick={"n": 80},
        rounds=2,
    ),
    Row(
        "huge",
        "stream",
        "8 assistant messages of 16 MiB",
        _streamed("16 MiB lines", (1.8, 2.2), (1.0, None)),
        ALL_SIDES,
        {"n": 8, "kind": "assistant", "size": 16 * MIB},
    ),
)

SESSIONS = (
    Row(
        "sessions",
        "sessions",
        "200 sessions opened together, each with 20 control calls and a turn of 200 deltas, closed together",
        (
            Metric("200 sessions, wall / official", cost("wall"), 0.55, 0.40),
            Metric("200 sessions, CPU / official", cost("cpu"), 0.55, 0.40),
            Metric("RSS per session, connected / official", cost("connected"), 0.9, 0.5),
            Metric("RSS per session, after work / official", cost("worked"), 0.75, 0.5),
        ),
        parameters={"count": 200, "calls": 20, "n": 200, **_DELTA},
        quick={"count": 40},
        rounds=2,
    ),
    Row(
        "close",
        "closing",
        "50 sessions closed at once, five times: programs that end at once, and ones that take 50 ms",
        (
            Metric("close 50 at once / official", cost("together"), 0.6, 0.45),
            Metric("close 50, slow exits: beyond the slowest", own("beyond", 1e3), 15.0, unit="ms"),
        ),
        parameters={"n": 5, "count": 50, "delay_ms": 50},
        quick={"n": 1},
        rounds=2,
    ),
)

UNREAD = (
    Row(
        "backlog",
        "backlog",
        "control calls while 27 MB of deltas, less than `inbox_bytes`, wait to be read",
        (
            Metric("control call behind unread messages, p50", own("p50", 1e3), 10.0, 2.0, unit="ms"),
            Metric("unread memory / bytes received", own("ratio"), 4.0, 2.0),
        ),
        ("ours",),
        {"n": 90_000, "line": _DELTA_BYTES, **_DELTA},
        quick={"n": 30_000},
    ),
    Row(
        "spilled",
        "backlog",
        "the same with 134 MB, four times `inbox_bytes`",
        (
            Metric("control call behind spilled messages, p50", own("p50", 1e3), 10.0, 2.0, unit="ms"),
            Metric("RSS growth beyond inbox_bytes / bytes received", own("growth"), 0.1, 0.05),
        ),
        ("ours",),
        {"n": 450_000, "line": _DELTA_BYTES, **_DELTA},
        quick={"n": 250_000},
    ),
)

GROWTH = (
    Row(
        "growth-count",
        "growth",
        "deltas in one turn, 1k to 1M",
        (
            Metric("growth: cost per message, 1M / 10k, against the loop", count_growth, 1.5, 1.1),
            *(Metric(f"{name} deltas / official", cost(name)) for name in ("1k", "10k", "100k", "1M")),
        ),
        ALL_SIDES,
        {"points": {"1k": {"n": 1000}, "10k": {"n": 10_000}, "100k": {"n": 100_000}, "1M": {"n": 1_000_000}}, **_DELTA},
    ),
    Row(
        "growth-size",
        "growth",
        "some 64 MiB of assistant messages in one turn, in lines of 1 KiB to 16 MiB",
        (
            Metric("growth: cost per byte at 16 MiB / orjson loop", cost("16M", "floor"), 1.2, 1.1),
            *(Metric(f"lines of {name}iB / official", cost(name)) for name in ("1K", "16K", "256K", "1M", "16M")),
        ),
        ALL_SIDES,
        {
            "kind": "assistant",
            "points": {
                "1K": {"n": 40_000, "size": 1024},
                "16K": {"n": 4096, "size": 16 * 1024},
                "256K": {"n": 256, "size": 256 * 1024},
                "1M": {"n": 64, "size": MIB},
                "16M": {"n": 6, "size": 16 * MIB},
            },
        },
    ),
    Row(
        "growth-sessions",
        "session_growth",
        "1 to 200 sessions, as in the row `sessions`",
        (
            Metric("growth: seconds per session, 200 / 10", session_growth, 1.5, 1.1),
            *(Metric(f"{name} sessions / official", cost(name)) for name in ("1", "10", "50", "200")),
        ),
        parameters={
            "calls": 20,
            "n": 200,
            "points": {name: {"count": int(name)} for name in ("1", "10", "50", "200")},
            **_DELTA,
        },
    ),
)

REAL = (
    Row(
        "real",
        "real",
        "Claude Code 2.1.332 with a scripted model: open(); turns of one word, with one permission, of 1,000 deltas",
        (
            Metric("real program: open() / official", cost("open")),
            Metric("real program: one-word turn / official", cost("word")),
            Metric("real program: turn with one permission / official", cost("permission")),
            Metric("real program: 1,000-delta turn / official", cost("deltas")),
        ),
        needs=serve,
    ),
)

ROWS = (*STARTING, *CONTROL, *STREAMS, *SESSIONS, *UNREAD, *GROWTH, *REAL)
"""All rows, in the order of the report."""
