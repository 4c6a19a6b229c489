"""ShapeControl: how many drafted tokens a round of fixed shape verifies.

As control.py, for rounds whose tree is cut on the device: the choice is between a few sizes, made
before the draft, from what rounds of each size took and what the n likeliest nodes have been worth.
"""

from __future__ import annotations

from .estimates import Belief, Running
from .tree import ForkTree

#: Sizes a round may have; 0 is one token a pass.
SIZES = (0, 4, 8, 16, 32, 64)
#: Rounds of rest after the first failed look, and at most.
FIRST_REST, LONGEST_REST = 8, 64


def sizes_up_to(most: int) -> list[int]:
    """The sizes a tree of `most` nodes can be cut to."""
    return [size for size in SIZES if size < most] + [most]


class ShapeControl:
    """One run's controller over `sizes`, ascending from 0."""

    def __init__(self, sizes: list[int]):
        self._sizes = sizes
        self._ms = {size: Running() for size in sizes}
        self._worth: list[Running] = []  # of the likeliest node, the next one, ...
        self._belief = Belief()
        self._resting = self._next_rest = 0
        self.turned_down: str | None = None

    def size(self) -> int:
        """How many nodes to verify in this round."""
        self.turned_down = None
        untimed = [size for size in self._sizes if self._ms[size].seen < 2]
        if untimed:
            return untimed[-1]
        if self._resting:
            self._resting -= 1
            self.turned_down = "speculation turned down: no draft has been worth its cost lately"
            return 0
        best = max(self._sizes, key=self._rate)
        if best == 0:
            self._next_rest = min(LONGEST_REST, 2 * self._next_rest or FIRST_REST)
            self._resting = self._next_rest
            return self._sizes[1]  # one more look, then a rest
        self._next_rest = 0
        return best

    def learn(self, size: int, tree: ForkTree, accepted: int, ms: float) -> None:
        """A round of this size took `ms` milliseconds and accepted so many tokens of the tree."""
        self._ms[size].add(ms)
        if not size:
            return
        worth = sorted(tree.reaches()[1:], reverse=True)
        for rank, value in enumerate(worth):
            if rank == len(self._worth):
                self._worth.append(Running())
            self._worth[rank].add(value)
        self._belief.learn(accepted, sum(worth))

    def _rate(self, size: int) -> float:
        gain = self._belief.value * sum(worth.value for worth in self._worth[:size])
        return (1 + gain) / self._ms[size].value
