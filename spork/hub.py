"""A model folder from the Hugging Face Hub: the cached copy if it is whole, else a download.

Only data files are fetched, from the top of the repository: never code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .cache import is_disk_full
from .errors import ModelError
from .model_folder import missing_part
from .progress import Progress
from .wording import one_line

#: Seconds the Hub may take to answer the first question, before it counts as unreachable.
ANSWER_SECONDS = 10

_DATA_FILES = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]
_SUBFOLDERS = ["*/*"]


def cached_repo(repo: str) -> Path | None:
    """The folder of a whole copy in the Hub's cache, or None. Asks no network."""
    from huggingface_hub import snapshot_download

    try:
        # Only the patterns that every copy was fetched with, so that a copy without *.bin is whole.
        folder = Path(snapshot_download(repo, local_files_only=True, **_wanted([])))
    except Exception:  # not there, cut short, or damaged: each release has its own exception for it
        return None
    return folder if missing_part(folder) is None else None


def fetch_repo(repo: str, progress: Progress) -> Path:
    """Return the folder of a repository, from the cache if it is there whole, else from the Hub.

    Raises ModelError: unreachable Hub with nothing cached, unknown, private or gated repository,
    a repository without weights, disk full.
    """
    if (folder := cached_repo(repo)) is not None:
        return folder
    from huggingface_hub import HfApi, snapshot_download

    try:
        # One plain question first: it fails at once where a download would retry for minutes.
        files = [file.rfilename for file in HfApi().model_info(repo, timeout=ANSWER_SECONDS).siblings or []]
        folder = Path(snapshot_download(repo, tqdm_class=_bar(repo, progress), **_wanted(files)))
    except Exception as error:  # HTTP errors come from another library in each release of the Hub's
        raise ModelError(_why(repo, error)) from None
    progress(f"fetching {repo}", 1.0)  # files are counted by several threads, and the last word may be lost
    if (lacking := missing_part(folder)) is not None:
        raise ModelError(f"{repo} on the Hub lacks {lacking}; allowed: a causal language model with its tokenizer")
    return folder


def _wanted(files: list[str]) -> dict[str, list[str]]:
    """Which files to fetch: pickled weights only where there are no safetensors."""
    pickled = files and not any(name.endswith(".safetensors") for name in files)
    return {"allow_patterns": _DATA_FILES + ["*.bin"] * bool(pickled), "ignore_patterns": _SUBFOLDERS}


def _bar(repo: str, progress: Progress) -> type:
    """A tqdm class that draws nothing and reports the bytes fetched so far."""
    from tqdm import tqdm

    class Reported(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)  # the Hub's own addition
            super().__init__(*args, **kwargs | {"disable": False, "gui": True})

        def update(self, n: float | None = 1) -> None:
            self.n += n or 0
            if self.unit == "B" and self.total:
                progress(f"fetching {repo}", min(self.n / self.total, 1.0))

        def display(self, *args: Any, **kwargs: Any) -> None:
            pass

        refresh = close = clear = display

    return Reported


def _why(repo: str, error: Exception) -> str:
    names = {cls.__name__ for cls in type(error).__mro__}
    status = getattr(getattr(error, "response", None), "status_code", None)
    if is_disk_full(error):
        return f"cannot fetch {repo}: the disk is full; free some space or set HF_HOME to another folder"
    if "GatedRepoError" in names or status == 403:
        return f"{repo} is gated: accept its terms on the Hub and log in with `hf auth login`, or choose another model"
    if "RepositoryNotFoundError" in names or status in (401, 404):
        return f"the Hub has no public model {repo}; check the name, or log in with `hf auth login` if it is private"
    if status is not None and status < 500:
        return f"the Hub refused {repo}: {one_line(error)}"
    if "HFValidationError" in names:
        return f"{repo!r} is not a Hub id; allowed: org/name"
    return (
        f"{repo} is not in the cache, and the Hugging Face Hub cannot be reached ({one_line(error)}); "
        "go online, or use a model that is on this machine"
    )
