"""Goals: what the benchmark's figures should reach, checked and said plainly."""

from __future__ import annotations

from typing import Any

#: Against the engine's own greedy, and against transformers' eager generate.
GPU_SPEEDUP, GPU_OVER_HF = 2.0, 20.0
CPU_SPEEDUP, CPU_OVER_HF, NEVER_BELOW = 1.6, 1.0, 0.97
#: A round of one row against reading the weights once; one of 32 rows against one of one row.
READS, ROWS_32 = 1.5, 1.25


def goals(result: dict[str, Any], on_gpu: bool) -> list[dict[str, Any]]:
    """`goal`, `wanted`, `got` (None where it was not measured) and `met` of each."""
    rows = {row["name"]: row for row in result["rows"]}
    best = [r for name, r in rows.items() if name in ("fork-head+exact", "auto+exact")]
    head = rows.get("fork-head+exact")
    found = [_goal("fork-head+exact against greedy", GPU_SPEEDUP if on_gpu else CPU_SPEEDUP, head and head["speedup_total"])]
    if "hf-greedy" in rows:
        hf = rows["hf-greedy"]["speedup_total"]
        ours = max(r["speedup_total"] for r in best) if on_gpu and best else 1.0  # greedy is what the others are against
        what = "the best of ours against transformers' generate" if on_gpu else "greedy against transformers' generate"
        found.append(_goal(what, GPU_OVER_HF if on_gpu else CPU_OVER_HF, ours / hf))
    worst = min((r["speedup_total"] for name, r in rows.items() if _is_controlled(name)), default=None)
    found.append(_goal("the worst proposer that the controller watches against greedy", NEVER_BELOW, worst))
    if (rounds := result.get("rounds")) is not None:
        ms = dict(zip(rounds["rows"], rounds["ms"]))
        found.append(_goal("a round of one row, in times of reading the weights", READS, ms[1] / result["weight_read"]["read_ms"], most=True))
        found.append(_goal("a round of 32 rows, in rounds of one row", ROWS_32, ms[32] / ms[1], most=True))
    return found


def lines(found: list[dict[str, Any]]) -> str:
    def line(g: dict[str, Any]) -> str:
        got = "not measured" if g["got"] is None else f"{g['got']:.2f}"
        return f"{'met' if g['met'] else 'NOT met'}: {g['goal']}: {got}, wanted at {'most' if g['most'] else 'least'} {g['wanted']}"

    return "goals\n" + "\n".join(map(line, found))


def _goal(what: str, wanted: float, got: float | None, most: bool = False) -> dict[str, Any]:
    met = got is not None and (got <= wanted if most else got >= wanted)
    return {"goal": what, "wanted": wanted, "got": got, "most": most, "met": met}


def _is_controlled(name: str) -> bool:
    return "+exact" in name and not name.startswith("full-model")
