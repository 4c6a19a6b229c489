"""ModelDesk: loads models in the background and lends each engine to one run at a time."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Literal

from spork.errors import ModelError

from .settings import Settings
from .words import message

log = logging.getLogger(__name__)

#: A model that could not be had is tried again when asked for after this long: networks come back.
RETRY_S = 60.0

Progress = Callable[[str, float | None], None]


@dataclass(frozen=True)
class ModelStatus:
    """How far a model is, in words the page shows."""

    name: str
    state: Literal["waiting", "loading", "ready", "failed"] = "waiting"
    message: str = ""
    fraction: float | None = None
    device: str = ""
    dtype: str = ""
    reference: float | None = None


@dataclass
class _Shelf:
    """The copies of one model."""

    status: ModelStatus
    idle: list[Any] = field(default_factory=list)
    copies: int = 0
    loading: bool = False
    failed_at: float = 0.0


def load_engine(name: str, settings: Settings, progress: Progress) -> Any:
    """Load a model and time greedy decoding on it. Raises ModelError."""
    from spork.engine import Engine
    from spork.models import load_model

    loaded = load_model(name, settings.device, settings.dtype, progress, settings.quantize)
    draft = load_model(settings.draft_model, str(loaded.device), settings.dtype, progress) if settings.draft_model else None
    engine = Engine(loaded, draft)
    progress(message("warming_up"), None)
    engine.warm_up()
    return engine


class ModelDesk:
    """Every model on offer. Safe to use from many threads; nothing here waits while holding a lock."""

    def __init__(self, settings: Settings, names: tuple[str, ...], load: Callable[..., Any] = load_engine):
        self._settings = settings
        self._load = load
        self._changed = threading.Condition()
        self._shelves = {name: _Shelf(ModelStatus(name)) for name in names}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._shelves)

    @property
    def default(self) -> str:
        return self.names[0]

    def status(self, name: str) -> ModelStatus:
        with self._changed:
            return self._shelves[name].status

    def start(self, name: str) -> None:
        """Begin loading a model unless that is done or under way."""
        with self._changed:
            shelf = self._shelves[name]
            if shelf.copies == 0 and not shelf.loading:
                self._begin_load(shelf)

    def borrow(self, name: str) -> Any | None:
        """An idle engine, or None while there is none yet; raises ModelError when it cannot be had.

        Asking starts the load. Hand the engine back with `give_back`.
        """
        with self._changed:
            shelf = self._shelves[name]
            if shelf.idle:
                return shelf.idle.pop()
            if shelf.status.state == "failed" and time.monotonic() - shelf.failed_at < RETRY_S:
                raise ModelError(shelf.status.message)
            if not shelf.loading and shelf.copies < self._settings.max_runs:
                self._begin_load(shelf)
            return None

    def give_back(self, name: str, engine: Any) -> None:
        with self._changed:
            self._shelves[name].idle.append(engine)
            self._changed.notify_all()

    def wait(self, timeout: float) -> None:
        """Return when something changed, or after `timeout` seconds."""
        with self._changed:
            self._changed.wait(timeout)

    def _begin_load(self, shelf: _Shelf) -> None:
        """Start loading one more copy; the lock is held."""
        shelf.loading = True
        if shelf.copies == 0:
            shelf.status = ModelStatus(shelf.status.name, "loading", message("loading_model"))
        threading.Thread(target=self._load_one, args=(shelf,), name="spork-load", daemon=True).start()

    def _load_one(self, shelf: _Shelf) -> None:
        name = shelf.status.name

        def progress(message: str, fraction: float | None) -> None:
            with self._changed:
                if shelf.copies == 0:  # nobody is woken: a download reports many times a second
                    shelf.status = replace(shelf.status, message=message, fraction=fraction)

        try:
            engine, status = self._loaded(name, progress)
        except Exception as error:  # the thread must always report: somebody waits for it
            engine = None
            words = str(error)
            if not isinstance(error, ModelError):
                log.exception("loading %s failed", name)
                words = message("load_failed", name=name, error=type(error).__name__)
            status = ModelStatus(name, "failed", words)
        with self._changed:
            shelf.loading = False
            shelf.failed_at = time.monotonic()
            if engine is not None:
                shelf.copies += 1
                shelf.idle.append(engine)
            if engine is not None or shelf.copies == 0:
                shelf.status = status
            self._changed.notify_all()

    def _loaded(self, name: str, progress: Progress) -> tuple[Any, ModelStatus]:
        engine = self._load(name, self._settings, progress)
        loaded, reference = engine.loaded, engine.reference
        rate = reference.get("tokens_per_s") if reference else None
        return engine, ModelStatus(name, "ready", "", 1.0, str(loaded.device), loaded.dtype_name, rate)
