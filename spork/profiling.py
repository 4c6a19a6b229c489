"""A torch profiler trace of a run, for chrome://tracing or Perfetto."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Iterator

from .errors import SporkError


def profiled(path: str | None) -> AbstractContextManager[None]:
    """A context that profiles what runs inside and writes it to `path`; one that does nothing for None.

    Raises SporkError at once for a place that cannot be written.
    """
    if path is None:
        return nullcontext()
    folder = Path(path).parent
    if Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise SporkError(f"cannot write the profile to {path}: it is a folder, or lies in one that cannot be written")
    return _profile(path)


@contextmanager
def _profile(path: str) -> Iterator[None]:
    import torch
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * torch.cuda.is_available()
    with profile(activities=activities) as profiler:
        yield
    profiler.export_chrome_trace(path)
