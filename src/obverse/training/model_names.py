"""The names in a model's folder: what training writes there, and what of it may be somebody else's."""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path

from obverse.inputs import FILE_NAME
from obverse.training.checkpoints import STATE

CHECKPOINTS = "checkpoints"
LOG = "training.jsonl"
FRESH = ".new-model"
LOCK = ".lock"

_CONFIGS = "adapter|config_sentence_transformers|generation|preprocessor|processor|router|tokenizer"
_WRITTEN = re.compile(
    rf"README\.md|modules\.json|config\.json|config_sentence_transformers\.json|sentence_\w+_config\.json|"
    rf"(?:{_CONFIGS})_config\.json|(?:adapter_)?model[\w.-]*\.(?:safetensors|bin|index\.json)|pytorch_model[\w.-]*|"
    r"tokenizer\.\w+|vocab\.\w+|merges\.txt|special_tokens_map\.json|added_tokens\.json|chat_template\.\w+|"
    r"(?:sentencepiece|spiece)[\w.]*\.model|\d+_[A-Z]\w*|training\.jsonl|training\.made\.json|\.new-model"
)
_SIDE = re.compile(r"(?:query|document)_\d+_\w+")
_OF_RUN = re.compile(r"checkpoint-\d+|best|watch\.json|\.(?:watch\.json|training\.jsonl)\..*\.part")


def is_side(name: str) -> bool:
    """Whether a name is that of a module of one side of an asymmetric model, such as ``query_0_Transformer``."""
    return _SIDE.fullmatch(name) is not None


def foreign_parts(out: Path) -> list[str]:
    """Returns what stands in a folder under names that a model writes, if nothing says that it came from training.

    A model's ``obverse.json`` is the first of its files to be moved there, so without it none of them is ours.
    """
    if not out.is_dir() or (out / FILE_NAME).is_file():
        return []
    ours = {FRESH} if is_of_run(out / CHECKPOINTS) else set()
    found = [
        name
        for name in sorted(path.name for path in out.iterdir())
        if name not in ours and (_WRITTEN.fullmatch(name) or is_side(name))
    ]
    return [*found, *([LOCK] if _is_other_lock(out / LOCK) else [])]


def _is_other_lock(path: Path) -> bool:
    """Whether a file of the lock's name holds anything but the number of a process."""
    if not path.is_file():
        return path.exists()
    with path.open("rb") as stream:
        return re.fullmatch(rb"\d*\n?", stream.read(64)) is None


def is_of_run(home: Path) -> bool:
    """Whether a folder of checkpoints is a run's: it has the run's log, or a checkpoint that says whose it is.

    The log is there from before the first checkpoint until all of them are removed.
    """
    return (home / LOG).is_file() or any(home.glob(f"checkpoint-*/{STATE}"))


def is_foreign_home(home: Path) -> bool:
    """Whether what stands where checkpoints go holds something and no sign of a run."""
    if not home.is_dir():
        return home.exists()
    return any(home.iterdir()) and not is_of_run(home)


def remove_run(home: Path) -> None:
    """Removes a run's checkpoints and log, the log last: killed in between, what is left is still known as a run's.

    What else somebody has put there stays, and the folder with it.
    """
    for path in sorted(home.iterdir()) if home.is_dir() else ():
        if not _OF_RUN.fullmatch(path.name):
            continue
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    (home / LOG).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # it holds something, or is none
        home.rmdir()
