"""Each figure against its formula, worked by hand."""

import math

from spork.metrics import Meter


def ms(total: float) -> dict[str, float]:
    return {"propose": 0.1 * total, "verify": 0.7 * total, "select": 0.05 * total, "other": 0.15 * total}


def three_rounds(greedy=None) -> Meter:
    meter = Meter(greedy)
    meter.add_round(committed=4, accepted=True, accepted_depth=3, drafted_depth=4, ms=ms(100))
    meter.add_round(committed=1, accepted=False, accepted_depth=0, drafted_depth=4, ms=ms(100))
    meter.add_round(committed=1, accepted=False, accepted_depth=0, drafted_depth=0, ms=ms(50))
    return meter


def final(meter: Meter, paired=None) -> dict:
    return meter.final(peak_memory_bytes=7, paired=paired, parity=None)


def test_figures_by_hand():
    m = final(three_rounds(greedy=10.0), paired=True)
    assert math.isclose(m["tokens_per_s"], 6 / 0.25)
    assert math.isclose(m["speedup"], 2.4)
    assert math.isclose(m["acceptance_rate"], 1 / 3)
    assert math.isclose(m["token_acceptance"], 3 / 8)
    assert math.isclose(m["mean_jump"], 4.0)
    assert math.isclose(m["tokens_per_round"], 2.0)
    assert math.isclose(m["ms_per_round"]["verify"], 175 / 3)
    assert math.isclose(sum(m["ms_per_round"].values()), 250 / 3)
    # At break-even tokens per round, tokens/s equals greedy: (2 / 2.4) per round of 83.3 ms is 10 a second.
    assert math.isclose(m["break_even"], m["tokens_per_round"] / m["speedup"])
    assert m["jump_histogram"] == {"1": 2, "4": 1}
    assert m["acceptance_by_depth"] == [0.5, 0.5, 0.5, 0.0]
    assert m["longest_fallback_streak"] == 2
    assert m["speedup_paired"] is True


def test_a_figure_that_does_not_exist_is_null_and_never_zero():
    m = final(Meter())
    assert {k: v for k, v in m.items() if v is not None} == {"decode_s": 0.0, "rounds": 0, "peak_memory_bytes": 7}
    m = final(three_rounds(greedy=None), paired=False)
    assert m["speedup"] is m["break_even"] is m["speedup_paired"] is None


def test_running_figures_agree_with_the_final_ones():
    meter = three_rounds(greedy=10.0)
    running = meter.running()
    for name, value in final(meter).items():
        assert running.get(name, value) == value
