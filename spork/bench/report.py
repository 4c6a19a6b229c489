"""Report: the benchmark's rows as a table a person reads."""

from __future__ import annotations

from typing import Any, Callable, Sequence

#: heading → (key, format); a figure that does not exist shows as a dash.
_COLUMNS: list[tuple[str, Callable[[dict[str, Any]], Any], str]] = [
    ("", lambda r: r["name"], "{}"),
    ("tokens/s", lambda r: r["tokens_per_s"], "{:.1f}"),
    ("middle half", lambda r: _span(r["tokens_per_s_quartiles"], ".1f"), "{}"),
    ("speed-up", lambda r: r["speedup"], "{:.2f}"),
    ("middle half", lambda r: _span(r["speedup_quartiles"], ".2f"), "{}"),
    ("tokens/round", lambda r: r["tokens_per_round"], "{:.2f}"),
    ("ms/round", lambda r: r["total_ms_per_round"], "{:.1f}"),
    ("× weights read", lambda r: r["reads_per_round"], "{:.2f}"),
    ("same text", lambda r: f"{r['identical_prompts']} of {r['prompts']}", "{}"),
]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A Markdown table, one row a contender."""
    cells = [[title for title, _, _ in _COLUMNS]]
    cells += [["–" if (v := get(row)) is None else form.format(v) for _, get, form in _COLUMNS] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(_COLUMNS))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(line, widths)) + " |" for line in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def details(rows: Sequence[dict[str, Any]]) -> str:
    """Per contender of ours: where a round's time goes, how far forks hold, how far rounds jump."""
    lines = []
    for row in rows:
        if row["ms_per_round"] is None:
            continue
        cost = ", ".join(f"{phase} {ms:.1f}" for phase, ms in row["ms_per_round"].items())
        lines.append(f"{row['name']}{_beside(row)}: ms a round: {cost}")
        if row["acceptance_by_depth"]:
            lines.append("    accepted to depth 1, 2, ...: " + ", ".join(f"{a:.0%}" for a in row["acceptance_by_depth"]))
            rounds = sum(row["jump_histogram"].values())
            lines.append("    tokens a round: " + ", ".join(f"{n}: {c / rounds:.0%}" for n, c in row["jump_histogram"].items()))
        if row["turned_down_rounds"]:
            lines.append(f"    speculation turned down in {row['turned_down_rounds']:.0%} of rounds")
    return "\n".join(lines)


def prices_line(prices: dict[str, list[float]], what: str = "a pass, by rows") -> str:
    first = prices["pass_ms"][0]
    cells = [f"{rows}: {ms:.1f} ({ms / first:.2f}×)" for rows, ms in zip(prices["rows"], prices["pass_ms"])]
    return f"{what}, ms: " + ", ".join(cells)


def _span(pair: list[float] | None, form: str) -> str | None:
    return None if pair is None else f"{pair[0]:{form}} to {pair[1]:{form}}"


def _beside(row: dict[str, Any]) -> str:
    return f" ({row['note']})" if row["note"] else ""
