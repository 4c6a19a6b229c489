"""Rows: tensors' rows kept by node, given back without copying where they lie together.

A row of logits is as wide as the vocabulary; copying a tree's worth of them several times a round
costs as much as a layer of the model.
"""

from __future__ import annotations

from typing import Iterable, Sequence

import torch


class Rows:
    """Row i of some tensor [n, ...] for each node."""

    def __init__(self) -> None:
        self._place: dict[int, tuple[torch.Tensor, int]] = {}

    def __contains__(self, node: int) -> bool:
        return node in self._place

    def put(self, nodes: Iterable[int | None], rows: torch.Tensor) -> None:
        """`rows[i]` is that of the i-th node; None marks a row that belongs to none."""
        for i, node in enumerate(nodes):
            if node is not None:
                self._place[node] = (rows, i)

    def get(self, nodes: Sequence[int]) -> torch.Tensor:
        """[n, ...]: a view where the nodes' rows lie together in this order, else a copy."""
        places = [self._place[node] for node in nodes]
        whole, first = places[0]
        if all(rows is whole and i == first + k for k, (rows, i) in enumerate(places)):
            return whole[first : first + len(places)]
        return torch.stack([rows[i] for rows, i in places])

    def row(self, node: int) -> torch.Tensor | None:
        """The row of one node, or None where there is none."""
        if node not in self._place:
            return None
        rows, i = self._place[node]
        return rows[i]

    def renumber(self, new: dict[int, int]) -> None:
        """Nodes get new numbers; those without one are forgotten."""
        self._place = {new[node]: place for node, place in self._place.items() if node in new}
