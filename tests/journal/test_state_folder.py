"""The state folder: private, and clear about what is in its way."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from holmes.core.errors import StoreError
from holmes.core.paths import private_file, private_folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folders_are_made_for_the_owner_alone(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "home" / "cache")
    assert mode(folder) == mode(folder.parent) == 0o700


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    folder.chmod(0o755)
    assert mode(private_folder(folder)) == 0o755


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("x")
    with pytest.raises(StoreError, match="this is a file") as caught:
        private_folder(tmp_path / "home")
    assert caught.value.where == str(tmp_path / "home")
    assert "HOLMES_HOME" in caught.value.remedy


def test_a_file_in_place_of_a_parent(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("x")
    with pytest.raises(StoreError, match="cannot be made: Not a directory"):
        private_folder(tmp_path / "home" / "cache")


def test_a_folder_without_write_permission(user_folder: Path, as_user: Callable[..., list[str]]) -> None:
    user_folder.chmod(0o555)

    def work(report: Callable[[str], None]) -> None:
        for path in (user_folder, user_folder / "new"):
            try:
                private_folder(path)
            except StoreError as error:
                report(f"{error.where.removeprefix(str(user_folder))}: {error.message}")

    assert as_user(work) == [": the folder is not writable", "/new: the folder cannot be made: Permission denied"]


def test_files_are_made_and_kept_for_the_owner_alone(tmp_path: Path) -> None:
    new = private_file(tmp_path / "new")
    open_to_all = tmp_path / "old"
    open_to_all.write_text("kept")
    open_to_all.chmod(0o644)
    assert mode(private_file(open_to_all)) == mode(new) == 0o600
    assert open_to_all.read_text() == "kept"
