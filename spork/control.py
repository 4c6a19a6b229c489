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
and a doubtful one ends at once. An account of what drafts have really won and lost (account.py) stops a
drafter that does not pay: drafting rests, and is tried again as far as the account allows.
"""

from __future__ import annotations

from typing import Sequence

from .account import Account
from .estimates import Belief, LowestOfLast, Running
from .prices import DraftPrice, PriceList
from .tree import ROOT, ForkTree

#: A round is charged at most so many times what it was expected to take: a hiccup of the machine is not the drafts' fault.
MOST_CHARGED = 2.0
#: Where only plain rounds can tell what a pass costs now: how many come first, after how many drafted ones the
#: next, at first and at most, and how many of the last ones count.
PLAIN_FIRST, PLAIN_AGAIN, PLAIN_SELDOM, PLAIN_KEPT = 2, 4, 16, 3
#: Weight of a pass in the mean that tells how busy the machine is: it forgets fast, or one slow moment would excuse many drafts.
PACE_MEMORY = 0.3
#: Drafting below this share of a pass is free: it never rests, trimming decides alone.
FREE = 0.01
#: A tree is drafted one level deeper than pays this often, to see whether it does now.
LOOK_DEEPER = 16
#: Before any was seen: reach of a level's kept nodes for each unit of the level above, and how many are kept.
FIRST_SHARE, FIRST_KEPT = 0.6, 2.0


class Control:
    """One run's controller. `prices` are this machine's, `drafting` what drafts were timed at.

    `in_parts` says that verifying goes on from passes that drafting began, so that what it takes is no pass's price.
    """

    def __init__(self, prices: PriceList, drafting: DraftPrice | None = None, in_parts: bool = False):
        self._prices, self._in_parts = prices, in_parts
        #: What passes take now beside what they were timed at: the machine may be busier, or the text longer.
        self._pace = LowestOfLast(PLAIN_KEPT) if in_parts else Running(PACE_MEMORY)
        self._drafted_since_plain, self._plain_after = 0, PLAIN_AGAIN
        #: Drafting, likewise; never timed, it counts as free until it was seen.
        self._drafting_price = drafting or DraftPrice(1.0, 1.0)
        self._drafting_pace = Running()
        self._drafting_pace_before = 1.0 if drafting is not None else 0.0
        self._rest_ms = Running()
        #: Reach of a level's kept nodes for each unit of reach drafted above them, and how many were kept.
        self._share, self._nodes_kept = Running(), Running()
        self._belief = Belief()
        self._account = Account()
        self._rounds = 0
        self._why: str | None = None
        self._drafting = self._looked_deeper = False
        self._levels_drafted = self._kept = 0
        self._asked = False  # after a drafted level, in this round
        self._reaches: list[float] = []  # of all nodes drafted in this round, so far
        self._stated_now = 0.0  # tokens the kept nodes of this round promise

    @property
    def turned_down(self) -> str | None:
        """Why this round does not speculate, for the person; None where it does."""
        return self._why if not self._kept else None

    def plan(self, depth: int) -> int:
        """Levels that this round may draft, of `depth` at most; 0 is a plain round."""
        self._rounds += 1
        self._kept, self._levels_drafted, self._asked = 0, 1, False
        self._reaches, self._looked_deeper = [], False
        self._account.round()
        self._why = self._why_not() if depth > 0 else None
        self._drafting = depth > 0 and self._why is None
        return depth if self._drafting else 0

    def _why_not(self) -> str | None:
        if self._in_parts and self._plain_is_due():
            return "a plain round, to know what one takes now"
        if self._drafting_is_free or not self._account.overdrawn:
            return None
        return (
            f"speculation turned down for {self._account.rounds_of_rest} rounds: lately drafts have taken more "
            "time than the tokens they won would have, so they do not pay here"
        )

    def _plain_is_due(self) -> bool:
        if self._pace.seen < PLAIN_FIRST:
            return True
        if self._drafted_since_plain < self._plain_after:
            return False
        self._plain_after = min(PLAIN_SELDOM, 2 * self._plain_after)
        return True

    def deepen(self, reaches: Sequence[float]) -> bool:
        """Whether one more level pays; `reaches` are those of the last drafted level's nodes that it would go on from."""
        self._asked = True
        self._reaches.extend(reaches)
        wanted = self._drafting_is_free or self._one_more_pays(sum(reaches)) or self._look_deeper()
        self._levels_drafted += wanted
        return wanted

    def _one_more_pays(self, reach_above: float) -> bool:
        gain, count = self._most_worth_verifying(sorted(self._reaches, reverse=True))
        now = self._round_ms(count)
        more = self._belief.value * reach_above * _or(self._share.value, FIRST_SHARE)
        then = self._round_ms(count + round(_or(self._nodes_kept.value, FIRST_KEPT)), self._levels_drafted + 1)
        return (1 + gain + more) / then > (1 + gain) / now

    def _look_deeper(self) -> bool:
        """Once in every LOOK_DEEPER-th round."""
        if self._rounds % LOOK_DEEPER or self._looked_deeper:
            return False
        self._looked_deeper = True
        return True

    def paying(self, tree: ForkTree) -> list[int]:
        """The drafted nodes that pay for their rows, possibly none, parents included."""
        if not self._drafting:
            return []
        if not self._asked:
            self._levels_drafted = max(1, tree.depth)
        reach = tree.reaches()
        order = sorted(range(1, len(tree)), key=lambda n: (-reach[n], n))
        _, count = self._most_worth_verifying([reach[n] for n in order])
        kept = order[:count]
        self._kept = count
        if order and not kept:
            self._why = "no draft was likely enough to be worth a row of the pass"
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

    def _round_ms(self, nodes: int, levels: int | None = None) -> float:
        """What a round that drafts so many levels, by default those drafted so far, and verifies so many nodes takes now."""
        return self._draft_ms(levels or self._levels_drafted) + self._pass_ms(nodes + 1) + self._rest

    def learn(self, accepted: int, ms: dict[str, float]) -> None:
        """The round is over: `accepted` drafted tokens were committed, in `ms` by phase."""
        self._rest_ms.add(ms["select"] + ms["other"])
        self._drafted_since_plain = self._drafted_since_plain + 1 if self._drafting else 0
        if not (self._drafting and self._in_parts):
            self._pace.add(ms["verify"] / self._prices(self._kept + 1))
        if not self._drafting:
            return
        self._drafting_pace.add(ms["propose"] / max(1e-6, self._drafting_price(self._levels_drafted)))
        charged = min(sum(ms.values()), MOST_CHARGED * self._round_ms(self._kept))
        self._account.drafted(1 + accepted, charged / (self._pass_ms(1) + self._rest))
        if self._kept:
            self._belief.learn(accepted, self._stated_now)

    def _draft_ms(self, levels: int) -> float:
        """What drafting so many levels takes now."""
        return _or(self._drafting_pace.value, self._drafting_pace_before) * self._drafting_price(levels)

    def _pass_ms(self, rows: int) -> float:
        """What a pass over so many rows takes now."""
        return _or(self._pace.value, 1.0) * self._prices(rows)

    @property
    def _rest(self) -> float:
        return self._rest_ms.value or 0.0

    @property
    def _drafting_is_free(self) -> bool:
        return self._draft_ms(1) < FREE * self._pass_ms(1)

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
