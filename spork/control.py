"""Control: how much to draft, from what a pass costs and how drafts have fared lately.

The contract: speculation must not cost more than it wins. Each round the controller says whether to
draft, after each drafted level whether one more pays, and which drafted nodes pay for their rows.
It only ever sees probabilities, counts and milliseconds; the text a lossless verifier gives is the
same whatever it decides.

A drafted node's worth is its *reach*, the product of draft probabilities down to it, times how
much the drafter has over- or understated that lately. A round that verifies n nodes is expected
to commit 1 + sum of their worths tokens, in the time of the draft, of a pass over n + 1 rows, and
of the rest; the n with the best rate is taken. One more level is drafted where what its nodes have
lately been worth, for each unit of reach above them, betters that rate: so a sure draft goes deep
and a doubtful one ends at once. Where even the best loses against one token a pass, drafting rests,
and is tried again ever more rarely until it pays.
"""

from __future__ import annotations

from typing import Sequence

from .prices import PriceList
from .tree import ROOT, ForkTree

#: Weight of a round in running means, once there are many.
MEMORY = 0.08
#: Rounds' worth of trust in the drafter's own probabilities before any were seen to hold.
TRUST = 4.0
#: Rounds of rest after the first failed try, and at most.
FIRST_REST, LONGEST_REST = 8, 64
#: Drafts looked at before the first rest.
FAIR_TRIAL = 4
#: Drafting below this share of a pass is free: it never rests, trimming decides alone.
FREE = 0.01
#: A tree is drafted one level deeper than pays this often, to see whether it does now.
LOOK_DEEPER = 16
#: Before any was seen: reach of a level's kept nodes for each unit of the level above, and how many are kept.
FIRST_SHARE, FIRST_KEPT = 0.6, 2.0


class Running:
    """A mean that forgets: exact over the first values, exponential after."""

    def __init__(self) -> None:
        self.value: float | None = None
        self.seen = 0

    def add(self, value: float) -> None:
        self.seen += 1
        weight = max(MEMORY, 1 / self.seen)
        self.value = value if self.value is None else self.value + weight * (value - self.value)


class Belief:
    """Accepted tokens per token that the drafter's probabilities promised, lately; 1 before any were seen.

    The prior fades with the rest, so what was seen takes over.
    """

    def __init__(self) -> None:
        self._held = self._stated = TRUST

    @property
    def value(self) -> float:
        return self._held / self._stated

    def learn(self, accepted: int, stated: float) -> None:
        """A round's kept nodes promised `stated` tokens in all, and `accepted` were."""
        self._held = (1 - MEMORY) * self._held + accepted
        self._stated = (1 - MEMORY) * self._stated + stated


class Control:
    """One run's controller. `prices` are this machine's, `propose_ms` what a level of drafting was timed at."""

    def __init__(self, prices: PriceList, propose_ms: float | None = None):
        self._prices = prices
        self._level_ms = Running()
        if propose_ms is not None:
            self._level_ms.add(propose_ms)
        self._rest_ms = Running()
        #: Reach of a level's kept nodes for each unit of reach drafted above them, and how many were kept.
        self._share, self._nodes_kept = Running(), Running()
        self._belief = Belief()
        self._resting = self._next_rest = 0
        self._rounds = 0
        self._advantage = Running()
        self._why: str | None = None
        self._drafting = self._looked_deeper = False
        self._levels_drafted = self._kept = 0
        self._reaches: list[float] = []  # of all nodes drafted in this round, so far
        self._stated_now = 0.0  # tokens the kept nodes of this round promise

    @property
    def turned_down(self) -> str | None:
        """Why this round does not speculate, for the person; None where it does."""
        return self._why if not self._kept else None

    def plan(self, depth: int) -> int:
        """Levels that this round may draft, of `depth` at most; 0 is a plain round."""
        self._rounds += 1
        self._kept, self._levels_drafted = 0, 1
        self._reaches, self._looked_deeper = [], False
        self._drafting = depth > 0 and not self._resting
        if self._resting:
            self._resting -= 1
        return depth if self._drafting else 0

    def deepen(self, reaches: Sequence[float]) -> bool:
        """Whether one more level pays; `reaches` are those of the last drafted level's nodes that it would go on from."""
        self._reaches.extend(reaches)
        wanted = self._drafting_is_free or self._one_more_pays(sum(reaches)) or self._look_deeper()
        self._levels_drafted += wanted
        return wanted

    def _one_more_pays(self, reach_above: float) -> bool:
        gain, count = self._most_worth_verifying(sorted(self._reaches, reverse=True))
        now = self._round_ms(count)
        more = self._belief.value * reach_above * _or(self._share.value, FIRST_SHARE)
        then = self._round_ms(count + round(_or(self._nodes_kept.value, FIRST_KEPT))) + self._a_level_ms
        return (1 + gain + more) / then > (1 + gain) / now

    def _look_deeper(self) -> bool:
        """Once in every LOOK_DEEPER-th round."""
        if self._rounds % LOOK_DEEPER or self._looked_deeper:
            return False
        self._looked_deeper = True
        return True

    def paying(self, tree: ForkTree) -> list[int]:
        """The drafted nodes that pay for their rows, possibly none, parents included.

        A round that drafts nothing says nothing of drafting: it neither judges nor prolongs a rest.
        """
        if not self._drafting:
            return []
        self._levels_drafted = max(self._levels_drafted, tree.depth)
        reach = tree.reaches()
        order = sorted(range(1, len(tree)), key=lambda n: (-reach[n], n))
        gain, count = self._most_worth_verifying([reach[n] for n in order])
        plain = 1 / (self._prices(1) + self._rest)
        self._judge((1 + gain) / self._round_ms(count) / plain)
        kept = order[:count]
        self._kept = count
        if order and not kept:
            self._why = self._why or "no draft was likely enough to be worth a row of the pass"
        self._note_levels(tree, kept, reach)
        return kept

    def _most_worth_verifying(self, reaches: Sequence[float]) -> tuple[float, int]:
        """Tokens expected beyond the first, and the number of nodes, of the best cut of nodes sorted by reach."""
        best_rate, best, gain = 1 / self._round_ms(0), (0.0, 0), 0.0
        for count, reach in enumerate(reaches, start=1):
            gain += self._belief.value * reach
            rate = (1 + gain) / self._round_ms(count)
            if rate > best_rate:
                best_rate, best = rate, (gain, count)
        return best

    def _round_ms(self, nodes: int) -> float:
        """What a round that verifies so many nodes takes, the levels drafted so far included."""
        return self._a_level_ms * self._levels_drafted + self._prices(nodes + 1) + self._rest

    def learn(self, accepted: int, ms: dict[str, float]) -> None:
        """The round is over: `accepted` drafted tokens were committed, in `ms` by phase."""
        self._rest_ms.add(ms["select"] + ms["other"])
        if not self._drafting:
            return
        self._level_ms.add(ms["propose"] / self._levels_drafted)
        if self._kept:
            self._belief.learn(accepted, self._stated_now)

    @property
    def _rest(self) -> float:
        return self._rest_ms.value or 0.0

    @property
    def _a_level_ms(self) -> float:
        return self._level_ms.value or 0.0

    def _judge(self, advantage: float) -> None:
        """Rest when drafts have not paid on the whole, longer each time; one that pays after a rest ends it."""
        self._why = None
        if self._drafting_is_free:
            return
        if self._next_rest and advantage > 1:  # the try after a rest
            self._next_rest, self._advantage = 0, Running()
        self._advantage.add(advantage)
        if self._next_rest == 0 and (self._advantage.seen < FAIR_TRIAL or self._advantage.value > 1):
            return
        self._resting = self._next_rest = min(LONGEST_REST, 2 * self._next_rest or FIRST_REST)
        self._why = (
            f"speculation turned down for {self._resting} rounds: with drafts the run would go at "
            f"{self._advantage.value:.2f} times the speed of plain decoding, so they do not pay here"
        )

    @property
    def _drafting_is_free(self) -> bool:
        return self._a_level_ms < FREE * self._prices(1)

    def _note_levels(self, tree: ForkTree, kept: list[int], reach: list[float]) -> None:
        """What this round's kept nodes promise, and what each level but the first was worth beside the one above."""
        self._stated_now = sum(reach[n] for n in kept)
        for level in range(2, self._levels_drafted + 1):
            above = sum(reach[n] for n in range(1, len(tree)) if tree.depths[n] == level - 1)
            here = [reach[n] for n in kept if tree.depths[n] == level]
            if above > 0:
                self._share.add(sum(here) / above)
                self._nodes_kept.add(len(here))


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
