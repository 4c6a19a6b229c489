"""Control: how much to draft, from what a pass costs and how drafts have fared lately.

The contract: speculation must not cost more than it wins. Each round the controller says how deep
to draft (0: not at all), and which drafted nodes pay for their rows. It only
ever sees probabilities, counts and milliseconds; the text a lossless verifier gives is the same
whatever it decides.

A drafted node's worth is its *reach*, the product of draft probabilities down to it, times how
much the drafter has over- or understated that lately. A round that verifies n nodes is expected
to commit 1 + sum of their worths tokens, in the time of the draft, of a pass over n + 1 rows, and
of the rest; the n with the best rate is taken. Where even the best loses against one token a pass,
drafting rests, and is tried again ever more rarely until it pays.
"""

from __future__ import annotations

from .prices import PriceList
from .tree import ROOT, ForkTree

#: Weight of a round in running means, once there are many.
MEMORY = 0.08
#: Rounds' worth of trust in the drafter's own probabilities before any were seen to hold.
TRUST = 4.0
#: Rounds of rest after the first failed try, and at most.
FIRST_REST, LONGEST_REST = 8, 64
MOST_LEVELS = 1_000_000
#: Drafts looked at before the first rest.
FAIR_TRIAL = 4
#: Drafting below this share of a pass is free: it never rests, trimming decides alone.
FREE = 0.01
#: A tree is drafted one level deeper than pays this often, to see whether it does now.
LOOK_DEEPER = 16


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
        #: By depth from 1: worth of the kept nodes, and how many were kept.
        self._worth: list[Running] = []
        self._nodes: list[Running] = []
        self._belief = Belief()
        self._resting = self._next_rest = 0
        self._rounds = 0
        self._advantage = Running()
        self._why: str | None = None
        self._levels_drafted = self._kept = 0
        self._stated_now = 0.0  # tokens the kept nodes of this round promise

    @property
    def turned_down(self) -> str | None:
        """Why this round does not speculate, for the person; None where it does."""
        return self._why if not self._kept else None

    def plan(self, depth: int) -> int:
        """Levels to draft in this round, of `depth` at most; 0 is a plain round."""
        self._rounds += 1
        self._kept = self._levels_drafted = 0
        if self._resting:
            self._resting -= 1
        else:
            self._levels_drafted = min(depth, self._paying_depth())
        return self._levels_drafted

    def paying(self, tree: ForkTree) -> list[int]:
        """The drafted nodes that pay for their rows, possibly none, parents included.

        A round that drafts nothing says nothing of drafting: it neither judges nor prolongs a rest.
        """
        if not self._levels_drafted:
            return []
        reach = reaches(tree)
        order = sorted(range(1, len(tree)), key=lambda n: (-reach[n], n))
        draft_ms = (self._level_ms.value or 0.0) * self._levels_drafted
        plain = 1 / (self._prices(1) + self._rest)
        best_rate, best_count, gain = 0.0, 0, 0.0
        for count, node in enumerate([ROOT, *order]):
            gain += 0.0 if node == ROOT else self._belief.value * reach[node]
            rate = (1 + gain) / (draft_ms + self._prices(count + 1) + self._rest)
            if rate > best_rate:
                best_rate, best_count = rate, count
        self._judge(best_rate / plain)
        kept = order[:best_count]
        self._kept = best_count
        if order and not kept:
            self._why = self._why or "no draft was likely enough to be worth a row of the pass"
        self._note_worth(tree, kept, reach)
        return kept

    def learn(self, accepted: int, ms: dict[str, float]) -> None:
        """The round is over: `accepted` drafted tokens were committed, in `ms` by phase."""
        self._rest_ms.add(ms["select"] + ms["other"])
        if not self._levels_drafted:
            return
        self._level_ms.add(ms["propose"] / self._levels_drafted)
        if self._kept:
            self._belief.learn(accepted, self._stated_now)

    @property
    def _rest(self) -> float:
        return self._rest_ms.value or 0.0

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
        return (self._level_ms.value or 0.0) < FREE * self._prices(1)

    def _note_worth(self, tree: ForkTree, kept: list[int], reach: list[float]) -> None:
        self._stated_now = sum(reach[n] for n in kept)
        for level in range(1, self._levels_drafted + 1):
            if level > len(self._worth):
                self._worth.append(Running())
                self._nodes.append(Running())
            at_level = [reach[n] for n in kept if tree.depths[n] == level]
            self._worth[level - 1].add(sum(at_level))
            self._nodes[level - 1].add(len(at_level))

    def _paying_depth(self) -> int:
        """The depth with the best expected rate, and now and then one level more."""
        if self._drafting_is_free:
            return MOST_LEVELS
        level_ms = self._level_ms.value
        gain, rows, best, best_rate = 0.0, 1.0, 0, 1 / (self._prices(1) + self._rest)
        for level, (worth, nodes) in enumerate(zip(self._worth, self._nodes), start=1):
            gain += self._belief.value * worth.value
            rows += nodes.value
            rate = (1 + gain) / (level * level_ms + self._prices(round(rows)) + self._rest)
            if rate > best_rate:
                best, best_rate = level, rate
        known = len(self._worth)
        if best == known or self._rounds % LOOK_DEEPER == 0:
            return best + 1
        return max(1, best)


def reaches(tree: ForkTree) -> list[float]:
    """Product of draft probabilities down to each node; a node without one counts as a coin toss."""
    reach = [1.0]
    for node in range(1, len(tree)):
        p = tree.draft_p[node]
        reach.append(reach[tree.parents[node]] * (0.5 if p is None else p))
    return reach
