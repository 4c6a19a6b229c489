"""TreeCache: preallocated keys and values, one slot a token, committed prefix first.

The contract: slots `0 .. length-1` hold the committed tokens in order; slots from `length` on are
scratch, written by the passes of the current round in the order the nodes were run. `keep` moves
the chosen nodes' slots behind the prefix and forgets the rest, which costs nothing but a cursor.
Only this file and runner.py know what a transformers cache is.
"""

from __future__ import annotations

from typing import Any, Sequence

import torch
from transformers.cache_utils import Cache, CacheLayerMixin


class TreeLayer(CacheLayerMixin):
    """One layer's keys and values, each [1, kv_heads, capacity, head_dim], written in place."""

    is_compileable = False
    is_sliding = False  # windows are enforced by the mask, never by dropping slots

    def __init__(self, owner: "TreeCache"):
        super().__init__()
        self._owner = owner

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.keys = self._allocate(key_states)
        self.values = self._allocate(value_states)
        self.is_initialized = True
        self._owner.moves += 1

    def _allocate(self, like: torch.Tensor) -> torch.Tensor:
        return like.new_zeros(like.shape[0], like.shape[1], self._owner.capacity, like.shape[3])

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the pass's rows at the owner's cursor; return views of everything up to them."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        if self._owner.fixed is not None:
            slots, visible = self._owner.fixed
            self.keys.index_copy_(2, slots, key_states)
            self.values.index_copy_(2, slots, value_states)
            return self.keys[:, :, :visible], self.values[:, :, :visible]
        start = self._owner.cursor
        end = start + key_states.shape[2]
        self.keys[:, :, start:end] = key_states
        self.values[:, :, start:end] = value_states
        return self.keys[:, :, :end], self.values[:, :, :end]

    def move(self, slots: torch.Tensor, to: int) -> None:
        """Copy `slots` to consecutive places from `to` on. Gathers first, so overlap is safe."""
        if self.is_initialized:
            slots = slots.to(self.keys.device)
            end = to + len(slots)
            self.keys[:, :, to:end] = self.keys.index_select(2, slots)
            self.values[:, :, to:end] = self.values.index_select(2, slots)

    def grow(self, capacity: int) -> None:
        if self.is_initialized and self.keys.shape[2] < capacity:
            old_keys, old_values, used = self.keys, self.values, self._owner.cursor
            self.keys, self.values = self._allocate(old_keys), self._allocate(old_values)
            self._owner.moves += 1
            self.keys[:, :, :used] = old_keys[:, :, :used]
            self.values[:, :, :used] = old_values[:, :, :used]

    def get_seq_length(self, *args: Any) -> int:
        return self._owner.cursor

    def get_mask_sizes(self, query: Any) -> tuple[int, int]:
        rows = query if isinstance(query, int) else query.shape[0]
        return self._owner.cursor + rows, 0

    # The name of this method differs between the transformers releases we support.
    def get_max_length(self) -> int:
        return self._owner.capacity

    get_max_cache_shape = get_max_length


class TreeCache(Cache):
    """The whole model's cache. `length` committed slots, `cursor` the next slot to write."""

    def __init__(self, layers: int):
        self.capacity = 0
        self.length = 0
        self.cursor = 0
        #: How often the memory has moved: what remembers its address is then out of date.
        self.moves = 0
        #: For a pass of fixed shape: the slots its rows are written to [rows], on the device, and how
        #: many slots attention reads.
        self.fixed: tuple[torch.Tensor, int] | None = None
        super().__init__(layers=[TreeLayer(self) for _ in range(layers)])

    def reserve(self, capacity: int) -> None:
        """Make room for `capacity` slots in all; keeps what is written."""
        if capacity > self.capacity:
            self.capacity = capacity
            for layer in self.layers:
                layer.grow(capacity)

    def clear(self) -> None:
        """Forget every token; the memory stays for the next run."""
        self.length = self.cursor = 0

    def release(self) -> None:
        """Forget every token and give the memory back."""
        self.clear()
        self.capacity = 0
        for layer in self.layers:
            layer.keys = layer.values = None
            layer.is_initialized = False

    def commit(self, count: int) -> None:
        """The first `count` scratch slots are committed where they stand."""
        self.length += count

    def keep(self, slots: Sequence[int]) -> None:
        """Commit exactly these scratch slots, in this order, and drop every other one."""
        self._gather(self.length, slots)
        self.length += len(slots)
        self.cursor = self.length

    def rewind(self, start: int, slots: Sequence[int]) -> None:
        """Gather these scratch slots from `start` on, still scratch; the next pass writes over them."""
        self._gather(start, slots)
        self.cursor = start

    def _gather(self, start: int, slots: Sequence[int]) -> None:
        if list(slots) != list(range(start, start + len(slots))):
            index = torch.tensor(slots, dtype=torch.long)
            for layer in self.layers:
                layer.move(index, start)

    def copy_slots(self, source: torch.Tensor, target: torch.Tensor) -> None:
        """Copy keys and values between slots [n] named on the device; the host need not know which."""
        for layer in self.layers:
            layer.keys.index_copy_(2, target, layer.keys.index_select(2, source))
            layer.values.index_copy_(2, target, layer.values.index_select(2, source))

    def memory_bytes(self) -> int:
        return sum(
            t.numel() * t.element_size()
            for layer in self.layers if layer.is_initialized
            for t in (layer.keys, layer.values)
        )
