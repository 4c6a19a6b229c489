"""ForkTree: the drafted tokens of one round, as a tree under the root.

Node 0 is the root: the last committed token. Every other node is a drafted token. Nodes are
numbered in the order they were added, so a parent's number is always below its child's. Plain
Python throughout: a tree has at most a hundred nodes and no tensor work is done on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterator, Sequence

ROOT = 0


@dataclass
class ForkTree:
    """Tokens, parents, depths, ranks and draft probabilities, one entry a node.

    `ranks[i]` is the node's place among its siblings as the proposer ordered them (0 is best).
    `draft_p[i]` is the probability the proposer gave it, or None when it has none to give.
    """

    tokens: list[int]
    parents: list[int] = field(default_factory=lambda: [-1])
    depths: list[int] = field(default_factory=lambda: [0])
    ranks: list[int] = field(default_factory=lambda: [0])
    draft_p: list[float | None] = field(default_factory=lambda: [None])
    _children: list[dict[int, int]] = field(default_factory=lambda: [{}], repr=False)

    @classmethod
    def rooted(cls, token: int) -> "ForkTree":
        """A tree that holds only the root token."""
        return cls(tokens=[token])

    def __len__(self) -> int:
        """Nodes including the root."""
        return len(self.tokens)

    def add(self, parent: int, token: int, draft_p: float | None = None) -> int:
        """Add `token` under `parent` and return its node; a child with that token is shared."""
        siblings = self._children[parent]
        if token in siblings:
            return siblings[token]
        node = len(self.tokens)
        self.tokens.append(token)
        self.parents.append(parent)
        self.depths.append(self.depths[parent] + 1)
        self.ranks.append(len(siblings))
        self.draft_p.append(draft_p)
        self._children.append({})
        siblings[token] = node
        return node

    def add_path(self, tokens: Sequence[int], draft_p: Sequence[float | None] | None = None) -> int:
        """Add a chain of tokens under the root, sharing what is there; return its last node."""
        node = ROOT
        for i, token in enumerate(tokens):
            node = self.add(node, token, draft_p[i] if draft_p is not None else None)
        return node

    def keep_only(self, nodes: Sequence[int]) -> None:
        """Drop every node but the root and `nodes`, whose parents must be among them; renumbers."""
        old = [ROOT, *sorted(nodes)]
        new = {node: i for i, node in enumerate(old)}
        kept = ForkTree.rooted(self.tokens[ROOT])
        for node in old[1:]:
            kept.add(new[self.parents[node]], self.tokens[node], self.draft_p[node])
        self.tokens, self.parents, self.depths = kept.tokens, kept.parents, kept.depths
        self.ranks, self.draft_p, self._children = kept.ranks, kept.draft_p, kept._children

    def children(self, node: int) -> list[int]:
        """Child nodes of `node`, best rank first."""
        return list(self._children[node].values())

    def child(self, node: int, token: int) -> int | None:
        """The child of `node` that carries `token`, if there is one."""
        return self._children[node].get(token)

    def path(self, node: int) -> list[int]:
        """Nodes from just below the root to `node`, inclusive; empty for the root."""
        nodes = []
        while node != ROOT:
            nodes.append(node)
            node = self.parents[node]
        return nodes[::-1]

    def path_tokens(self, node: int) -> list[int]:
        return [self.tokens[n] for n in self.path(node)]

    def leaves(self) -> list[int]:
        return [n for n in range(len(self)) if n != ROOT and not self._children[n]]

    def subtree(self, node: int) -> list[int]:
        """`node` and everything below it, parents before children."""
        nodes = [node]
        for n in nodes:
            nodes.extend(self.children(n))
        return nodes

    def deepest_path(self, node: int) -> list[int]:
        """The path through `node` to the deepest node below it, the earliest added among equals."""
        return self.path(max(self.subtree(node), key=lambda n: (self.depths[n], -n)))

    def forks(self) -> Iterator[int]:
        """The forks: children of the root, best rank first."""
        return iter(self.children(ROOT))

    def reaches(self) -> list[float]:
        """Product of draft probabilities down to each node; a node without one counts as a coin toss."""
        reach = [1.0]
        for node in range(1, len(self)):
            p = self.draft_p[node]
            reach.append(reach[self.parents[node]] * (0.5 if p is None else p))
        return reach

    @property
    def depth(self) -> int:
        """Drafted tokens on the longest path."""
        return max(self.depths)
