"""The controller: what it keeps pays, what cannot pay is turned down, and it comes back when it can."""

from __future__ import annotations

import random

import pytest

from spork.control import PLAIN_FIRST, Control
from spork.prices import DraftPrice, PriceList
from spork.tree import ROOT, ForkTree

FLAT = PriceList((1, 8, 64), (10.0, 10.5, 14.0))  # rows nearly free, as on a GPU
STEEP = PriceList((1, 2, 4, 8), (10.0, 20.0, 40.0, 80.0))  # a row costs a pass, as with a bad kernel


def level(ms: float) -> DraftPrice:
    return DraftPrice(ms, ms)


def chain_tree(p: float, depth: int = 4, forks: int = 2) -> ForkTree:
    tree = ForkTree.rooted(1)
    for fork in range(forks):
        node = tree.add(ROOT, 10 + fork, p if fork == 0 else (1 - p) / 4)
        for level in range(depth - 1):
            node = tree.add(node, 100 * fork + level, p)
    return tree


def draft_what_pays(control: Control, p: float, most: int = 4) -> int:
    """Levels drafted, as a drafter does that asks after each; 0 where the round is a plain one."""
    depth, level = control.plan(most), 1
    while level < depth and control.deepen([p**level, (1 - p) / 4 * p ** (level - 1)]):
        level += 1
    return min(depth, level)


def simulate(prices: PriceList, p: float, level_ms: float, rounds: int, seed: int = 0) -> tuple[float, float, Control]:
    """(speed-up, share of rounds turned down) of a drafter that is right with probability p at each level, and says so."""
    rng, control = random.Random(seed), Control(prices)
    tokens = ms = down = 0
    for _ in range(rounds):
        depth = draft_what_pays(control, p)
        tree = ForkTree.rooted(1) if depth == 0 else chain_tree(p, depth)
        nodes = control.paying(tree)
        right = 0
        while right < depth and rng.random() < p:
            right += 1
        kept_depth = len([n for n in nodes if tree.path(n)[0] == 1]) if nodes else 0
        accepted = min(right, kept_depth)
        phase = {"propose": depth * level_ms, "verify": prices(len(nodes) + 1), "select": 0.1, "other": 0.1}
        control.learn(accepted, phase)
        tokens += accepted + 1
        ms += sum(phase.values())
        down += control.turned_down is not None
    return tokens / ms * (prices(1) + 0.2), down / rounds, control


@pytest.mark.parametrize("seed", range(3))
def test_a_good_drafter_with_cheap_rows_is_used_in_full(seed):
    speedup, down, _ = simulate(FLAT, p=0.8, level_ms=0.3, rounds=400, seed=seed)
    assert speedup > 2 and down == 0


@pytest.mark.parametrize("level_ms", [0.3, 1.5, 5.0])
@pytest.mark.parametrize("prices", [FLAT, STEEP], ids=["flat", "steep"])
@pytest.mark.parametrize("p", [0.01, 0.05, 0.2])
def test_it_never_loses_more_than_3_percent(prices, p, level_ms):
    """Over a text of ordinary length, whatever rows and drafting cost, and however bad the drafter is."""
    speedup, _, _ = simulate(prices, p, level_ms, rounds=600)
    assert speedup > 0.97


def test_a_hopeless_drafter_is_turned_down_and_the_reason_says_so():
    _, down, control = simulate(STEEP, p=0.05, level_ms=1.0, rounds=300)
    assert down > 0.9
    control.plan(4)
    assert "turned down" in control.turned_down


def test_a_kernel_that_makes_rows_dear_is_noticed():
    cheap, dear = Control(FLAT), Control(STEEP)
    for control in (cheap, dear):
        control.plan(4)
    assert len(cheap.paying(chain_tree(0.7))) >= 4
    assert len(dear.paying(chain_tree(0.7))) == 0


def test_what_it_keeps_is_a_tree():
    rng = random.Random(1)
    for _ in range(50):
        tree = ForkTree.rooted(0)
        for token in range(1, 30):
            tree.add(rng.randrange(len(tree)), token, rng.random())
        control = Control(FLAT)
        control.plan(8)
        kept = set(control.paying(tree))
        assert all(tree.parents[n] == ROOT or tree.parents[n] in kept for n in kept)


def test_after_a_rest_it_comes_back_when_drafts_pay_again():
    """As the engine calls it: every round asks what pays, a resting one of a tree that is only its root."""
    control = Control(FLAT)
    ms = {"propose": 8.0, "verify": 10.0, "select": 0.0, "other": 0.0}

    def round_(p: float, ms: dict[str, float]) -> bool:
        depth = draft_what_pays(control, p)
        kept = control.paying(chain_tree(p, depth) if depth else ForkTree.rooted(1))
        control.learn(4 if kept and p > 0.5 else 0, ms)
        return bool(kept)

    for _ in range(20):
        round_(0.02, ms)
    assert control.turned_down and "turned down" in control.turned_down
    drafted = [round_(0.95, ms | {"propose": 0.4}) for _ in range(400)]
    assert any(drafted[:100])
    first = drafted.index(True)
    assert sum(drafted[first:]) > 0.9 * len(drafted[first:]), "one good try ends the rests"
    assert control.turned_down is None


def test_a_rest_is_not_prolonged_by_its_own_rounds():
    control = Control(STEEP, drafting=level(8.0))
    tries = 0
    for _ in range(1000):
        depth = draft_what_pays(control, 0.02)
        tries += depth > 0
        control.paying(chain_tree(0.02, depth) if depth else ForkTree.rooted(1))
        control.learn(0, {"propose": 8.0 * depth, "verify": 10.0, "select": 0.0, "other": 0.0})
    assert 10 < tries < 40


def test_a_drafter_that_overstates_is_believed_less():
    control = Control(FLAT)
    control.plan(4)
    before = len(control.paying(chain_tree(0.5)))
    control.learn(0, {"propose": 0.0, "verify": 10.0, "select": 0.0, "other": 0.0})
    for _ in range(40):
        control.plan(4)
        control.paying(chain_tree(0.5))
        control.learn(0, {"propose": 0.0, "verify": 10.0, "select": 0.0, "other": 0.0})
    control.plan(4)
    assert len(control.paying(chain_tree(0.5))) < before


def mean_depth(control: Control, p: float, rounds: int = 60, level_ms: float = 1.0) -> float:
    """Levels drafted a round, at most 8, by a drafter that is right as often as it says."""
    rng, levels = random.Random(0), 0
    for _ in range(rounds):
        depth = draft_what_pays(control, p, most=8)
        levels += depth
        tree = chain_tree(p, depth) if depth else ForkTree.rooted(1)
        nodes = control.paying(tree)
        right = next((i for i in range(depth) if rng.random() >= p), depth)
        accepted = min(right, len([n for n in nodes if tree.path(n)[0] == 1]))
        control.learn(accepted, {"propose": depth * level_ms, "verify": FLAT(len(nodes) + 1), "select": 0.0, "other": 0.0})
    return levels / rounds


def test_a_sure_drafter_goes_deep_and_a_doubtful_one_stays_shallow():
    deep, middling, shallow = (mean_depth(Control(FLAT, drafting=level(1.0)), p) for p in (0.95, 0.6, 0.3))
    assert deep > 6 and deep > middling > shallow and shallow < 2.5


def test_depth_is_judged_round_by_round():
    """In one text, a sure round goes deeper than the doubtful one before it."""
    control = Control(FLAT, drafting=level(1.0))
    mean_depth(control, 0.6)
    doubtful = draft_what_pays(control, 0.2, most=8)
    sure = draft_what_pays(control, 0.95, most=8)
    assert sure > doubtful


def test_dear_levels_keep_a_draft_shallow():
    assert mean_depth(Control(FLAT, drafting=level(3.0)), 0.6, level_ms=3.0) < mean_depth(Control(FLAT, drafting=level(0.2)), 0.6, level_ms=0.2)


def test_levels_that_cost_nothing_are_never_refused():
    control = Control(FLAT, drafting=level(0.0))
    assert draft_what_pays(control, 0.01, most=8) == 8


def test_with_no_room_left_nothing_is_judged():
    control = Control(STEEP, drafting=level(8.0))
    for _ in range(40):
        assert control.plan(0) == 0
        assert control.paying(ForkTree.rooted(1)) == []
        assert control.turned_down is None


def test_a_further_level_is_judged_by_its_own_price_not_by_the_first_ones():
    """The first level finds the weights cold; a mean over levels would end drafts too soon."""
    cold_first, even = DraftPrice(3.0, 0.3), DraftPrice(1.65, 1.65)
    assert cold_first(2) == even(2)
    assert draft_what_pays(Control(FLAT, cold_first), 0.5) > draft_what_pays(Control(FLAT, even), 0.5)


def run_at(pace: float, control: Control, rounds: int = 60) -> float:
    """Share of rounds that draft, on a machine that now takes `pace` times what was timed at load; every second draft is right."""
    drafted = 0
    for number in range(rounds):
        depth = draft_what_pays(control, 0.6)
        drafted += depth > 0
        nodes = control.paying(chain_tree(0.6, depth) if depth else ForkTree.rooted(1))
        ms = {"propose": pace * 0.5 * depth, "verify": pace * FLAT(len(nodes) + 1), "select": 0.0, "other": 0.0}
        control.learn(2 * (number % 2) if nodes else 0, ms)
    return drafted / rounds


def test_what_a_tree_holds_beyond_the_levels_drafted_was_not_drafted():
    """A path from elsewhere may go deeper than the drafter did, for nothing: it must not make levels look cheap."""
    control = Control(FLAT, DraftPrice(8.0, 8.0))
    for _ in range(30):
        control.plan(4)
        levels = 1 + control.deepen([0.01])  # two where it looks deeper
        control.paying(chain_tree(0.6, depth=4))
        control.learn(1, {"propose": 8.0 * levels, "verify": FLAT(9), "select": 0.1, "other": 0.1})
    assert control._draft_ms(1) == pytest.approx(8.0)


@pytest.mark.parametrize("pace", [0.3, 1.0, 3.0])
def test_a_machine_busier_or_freer_than_at_load_changes_no_judgement(pace):
    assert run_at(pace, Control(FLAT, level(0.5))) == 1.0


def test_where_verifying_goes_on_from_the_drafts_passes_plain_rounds_come_first():
    """What it takes then is no pass's price, so plain rounds tell what one is."""
    control = Control(FLAT, level(2.0), in_parts=True)
    for _ in range(PLAIN_FIRST):
        assert control.plan(4) == 0 and control.paying(ForkTree.rooted(1)) == []
        assert control.turned_down == "a plain round, to know what one takes now"
        control.learn(0, {"propose": 0.0, "verify": 30.0, "select": 0.0, "other": 0.0})
    assert control.plan(4) == 4
    control.paying(chain_tree(0.9))
    control.learn(0, {"propose": 6.0, "verify": 40.0, "select": 0.0, "other": 0.0})
    control.plan(4)
    assert control.turned_down is None, "46 ms is half a plain round lost, of 30 ms each, not three and a half"


def test_one_hiccup_of_the_machine_does_not_turn_drafting_down():
    control = Control(FLAT, level(0.5))
    run_at(1.0, control, rounds=10)
    depth = draft_what_pays(control, 0.6)
    control.paying(chain_tree(0.6, depth))
    control.learn(0, {"propose": 500.0, "verify": 500.0, "select": 0.0, "other": 0.0})
    assert control.plan(4) == 4


@pytest.mark.parametrize("in_parts", [True, False])
@pytest.mark.parametrize("slow", [1.4, 3.0])
def test_a_slow_moment_at_the_start_does_not_excuse_a_losing_drafter_for_long(in_parts, slow):
    control, lost = Control(FLAT, level(4.0), in_parts=in_parts), 0.0
    for number in range(400):
        depth = draft_what_pays(control, 0.9, most=1)  # promises much, holds nothing
        nodes = control.paying(chain_tree(0.9, depth) if depth else ForkTree.rooted(1))
        true = 4.0 * depth + FLAT(len(nodes) + 1)
        lost += true - 10.0
        pace = slow if number < PLAIN_FIRST else 1.0
        control.learn(0, {"propose": pace * 4.0 * depth, "verify": pace * FLAT(len(nodes) + 1), "select": 0.0, "other": 0.0})
    assert lost / 10.0 < 0.03 * 400
