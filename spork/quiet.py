"""Loading without transformers' own bars and warnings, and with its settings put back after."""

from __future__ import annotations

import logging as python_logging
import threading
import warnings
from contextlib import contextmanager
from typing import Iterator

#: The settings are the process's, so two loads at once would restore each other's silence.
_ONE_AT_A_TIME = threading.RLock()

# transformers imports torchao where it finds it, and torchao tells of every kernel that is for other machines.
for _name in ("torchao", "torch.utils._pytree"):
    python_logging.getLogger(_name).setLevel(python_logging.ERROR)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' log below errors and its progress bars while the body runs.

    Restored on the way out, errors included. A second thread waits until the first is through.
    """
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars
    from transformers.utils import logging

    with _ONE_AT_A_TIME:
        level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
        hub_bars = not are_progress_bars_disabled()
        logging.set_verbosity_error()
        with warnings.catch_warnings(action="ignore"):  # an environment variable may fix the Hub's bars
            logging.disable_progress_bar()  # switches the Hub's bars off as well
        try:
            yield
        finally:
            logging.set_verbosity(level)
            with warnings.catch_warnings(action="ignore"):
                if bars:
                    logging.enable_progress_bar()
                if bars and not hub_bars:
                    disable_progress_bars()
