"""`holmes snapshot`: what is saved, what is never saved, and what is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holmes.kube.snapshot_store import SCHEMA
from kube.conftest import FakeApi
from snapshots_cli.conftest import SERVED, TOKEN
from support.command import Command
from support.shop import CATALOG


def everything(folder: Path) -> str:
    return "".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_cluster_is_saved_and_told_of(holmes: Command, kubeconfig: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "saved"
    outcome = holmes("snapshot", "create", folder, "--kubeconfig", kubeconfig)
    assert outcome.code == 0, outcome
    assert f"Saved to {folder}" in outcome.out
    assert "fake, Kubernetes v1.34.0" in outcome.out
    assert "namespaces: all" in outcome.out
    assert f"holmes scan --snapshot {folder}" in outcome.out
    assert {path.name for path in folder.iterdir()} == {"snapshot.json", "kinds.json", "objects", "tables", "logs"}
    assert (folder / f"logs/shop/{CATALOG}/app.log").is_file()
    assert folder.stat().st_mode & 0o077 == 0
    assert holmes("scan", "--snapshot", folder).code in (0, 1)


def test_secrets_are_never_saved(holmes: Command, kubeconfig: Path, tmp_path: Path) -> None:
    holmes("snapshot", "create", tmp_path / "saved", "--kubeconfig", kubeconfig)
    text = everything(tmp_path / "saved")
    assert '"name": "plain"' in text, "that there is a Secret is no secret"
    for secret in ("aHVudGVyMg", "hunter2", "correct-horse", TOKEN):
        assert secret not in text
    assert "[MASKED:" in text
    assert "cannot push with" in text


def test_own_credentials_are_never_saved(
    holmes: Command, api: FakeApi, kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAFANA_PASSWORD", "simple-words-here")
    api.on(f"/api/v1/namespaces/shop/pods/{CATALOG}/log", "2025-06-01T11:59:00Z login as simple-words-here\n")
    holmes("snapshot", "create", tmp_path / "saved", "--kubeconfig", kubeconfig)
    assert "login as [MASKED:" in (tmp_path / f"saved/logs/shop/{CATALOG}/app.log").read_text()


def test_one_namespace(holmes: Command, kubeconfig: Path, tmp_path: Path) -> None:
    outcome = holmes("snapshot", "create", tmp_path / "saved", "--namespace", "shop", "--kubeconfig", kubeconfig)
    assert "namespaces: shop" in outcome.out
    assert sorted(path.name for path in (tmp_path / "saved/objects").iterdir()) == ["_cluster", "shop"]
    elsewhere = holmes("scan", "--snapshot", tmp_path / "saved", "--namespace", "prod")
    assert elsewhere.code == 5
    assert "this snapshot holds namespace shop only" in elsewhere.out


def test_a_namespace_that_does_not_exist(holmes: Command, kubeconfig: Path, tmp_path: Path) -> None:
    outcome = holmes("snapshot", "create", tmp_path / "saved", "--namespace", "shopp", "--kubeconfig", kubeconfig)
    assert outcome.code == 5
    assert "did you mean shop?" in outcome.err
    assert not (tmp_path / "saved").exists()


def test_what_may_not_be_read_is_a_gap(holmes: Command, api: FakeApi, kubeconfig: Path, tmp_path: Path) -> None:
    api.refuse("/api/v1/secrets", 403, "Forbidden", 'User "jane" cannot list resource "secrets"')
    for namespace in ("shop", "prod", "default", "empty"):
        api.refuse(f"/api/v1/namespaces/{namespace}/secrets", 403, "Forbidden", "no")
    outcome = holmes("snapshot", "create", tmp_path / "saved", "--kubeconfig", kubeconfig)
    assert outcome.code == 0
    assert "not saved:" in outcome.out
    assert 'User "jane" cannot list resource "secrets"' in outcome.out
    shown = json.loads(holmes("snapshot", "show", tmp_path / "saved", "--json").out)
    assert [gap["reason"] for gap in shown["gaps"]] == ["forbidden"]


def test_nothing_may_be_read(holmes: Command, api: FakeApi, kubeconfig: Path, tmp_path: Path) -> None:
    for kind, plural, path, _ in SERVED.values():
        api.refuse(path, 403, "Forbidden", f'User "jane" cannot list resource "{plural}" ({kind})')
        api.refuse(f"/api/v1/namespaces/shop/{plural}", 403, "Forbidden", "no")
    outcome = holmes("snapshot", "create", tmp_path / "saved", "--kubeconfig", kubeconfig)
    assert outcome.code == 5
    assert "nothing could be saved" in outcome.err
    assert 'cannot list resource "pods"' in outcome.err
    assert not (tmp_path / "saved").exists()


def test_no_cluster(holmes: Command, tmp_path: Path) -> None:
    outcome = holmes("snapshot", "create", tmp_path / "saved")
    assert outcome.code == 5
    assert "--kubeconfig" in outcome.err
    assert not (tmp_path / "saved").exists()


def test_other_peoples_folders_are_left_alone(holmes: Command, kubeconfig: Path, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "cat.jpg").write_text("meow")
    outcome = holmes("snapshot", "create", folder, "--kubeconfig", kubeconfig)
    assert outcome.code == 2
    assert str(folder) in outcome.err and "name a new folder" in outcome.err
    assert [path.name for path in folder.iterdir()] == ["cat.jpg"]
    file = tmp_path / "kubeconfig"
    assert holmes("snapshot", "create", file, "--kubeconfig", kubeconfig).code == 2


def test_an_empty_folder_will_do(holmes: Command, kubeconfig: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert holmes("snapshot", "create", tmp_path / "empty", "--kubeconfig", kubeconfig).code == 0
    assert (tmp_path / "empty/snapshot.json").is_file()


def test_an_earlier_snapshot_is_replaced_whole(holmes: Command, api: FakeApi, kubeconfig: Path, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    holmes("snapshot", "create", folder, "--kubeconfig", kubeconfig)
    assert (folder / "objects/prod/pods.json").is_file()
    (folder / ".saving-1").mkdir()  # of a capture that was killed
    assert holmes("snapshot", "create", folder, "--namespace", "shop", "--kubeconfig", kubeconfig).code == 0
    assert not (folder / "objects/prod").exists()
    assert not list(folder.glob(".saving-*"))


def test_an_earlier_snapshot_stays_when_the_new_one_fails(
    holmes: Command, api: FakeApi, kubeconfig: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "saved"
    holmes("snapshot", "create", folder, "--kubeconfig", kubeconfig)
    before = everything(folder)
    api.refuse("/api", 503, "ServiceUnavailable", "the server is going down")
    assert holmes("snapshot", "create", folder, "--kubeconfig", kubeconfig).code == 5
    assert everything(folder) == before


def test_show(holmes: Command, kubeconfig: Path, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    holmes("snapshot", "create", folder, "--kubeconfig", kubeconfig)
    outcome = holmes("snapshot", "show", folder)
    assert outcome.code == 0
    for part in ("cluster:    fake", "context:    fake", "UTC", "4  pods", "4  namespaces", "2  secrets"):
        assert part in outcome.out
    data = json.loads(holmes("snapshot", "show", folder, "-o", "json").out)
    assert set(data) == {
        "folder", "captured_at", "cluster", "context", "version", "namespaces", "objects", "logs", "bytes", "gaps",
    }  # fmt: skip
    assert data["objects"] == {"pods": 4, "namespaces": 4, "secrets": 2}
    assert data["namespaces"] is None
    assert data["bytes"] == sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_show_of_what_is_no_snapshot(holmes: Command, tmp_path: Path) -> None:
    (tmp_path / "later").mkdir()
    (tmp_path / "later/snapshot.json").write_text(json.dumps({"schema": "holmes.snapshot/v9"}))
    for folder, said in ((tmp_path / "none", "no such folder"), (tmp_path, "missing"), (tmp_path / "later", SCHEMA)):
        outcome = holmes("snapshot", "show", folder)
        assert outcome.code == 2
        assert said in outcome.err
        assert "holmes snapshot create" in outcome.err
