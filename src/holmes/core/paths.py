"""Folders and files that only their owner can read."""

from __future__ import annotations

import os
from pathlib import Path

from holmes.core.errors import StoreError

REMEDY = "set HOLMES_HOME to a folder that you can write to, or use --no-history to keep nothing"


def private_folder(path: Path) -> Path:
    """The folder, made with its missing parents (0700) when it is not there; StoreError when it cannot be used.

    A folder that exists keeps its mode: HOLMES_HOME may be any folder of the user's.
    """
    try:
        for part in reversed([path, *path.parents]):
            if not part.exists():
                part.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the folder cannot be made: {error.strerror}", where=str(path), remedy=REMEDY) from error
    if not path.is_dir():
        raise StoreError("this is a file, a folder is needed here", where=str(path), remedy=REMEDY)
    if not os.access(path, os.W_OK | os.X_OK):
        raise StoreError("the folder is not writable", where=str(path), remedy=REMEDY)
    return path


def private_file(path: Path) -> Path:
    """The file, made empty when it is not there, with mode 0600 in any case; StoreError when it cannot be written."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(descriptor).st_mode & 0o077:
                os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StoreError(f"cannot be written: {error.strerror}", where=str(path), remedy=REMEDY) from error
    return path
