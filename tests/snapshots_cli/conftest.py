"""A command line, and an API server with a small cluster behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kube.conftest import FakeApi
from support.command import Command, command_in
from support.shop import CATALOG, obj, objects

TOKEN = "ghp_" + "a1B2c3D4e5" * 4
SERVED = {
    "pods": ("Pod", "pods", "/api/v1/pods", True),
    "namespaces": ("Namespace", "namespaces", "/api/v1/namespaces", False),
    "secrets": ("Secret", "secrets", "/api/v1/secrets", True),
}


@pytest.fixture
def holmes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return command_in(tmp_path / "home", monkeypatch, capsys)


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """Serves pods, namespaces and secrets; a pod's log and variables hold a token."""
    server = FakeApi()
    kinds = [
        {
            "resource": plural,
            "singularResource": kind.lower(),
            "responseKind": {"group": "", "version": "v1", "kind": kind},
            "scope": "Namespaced" if namespaced else "Cluster",
            "verbs": ["get", "list"],
        }
        for kind, plural, _, namespaced in SERVED.values()
    ]
    core = {"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": kinds}]}
    server.on("/api", {"kind": "APIGroupDiscoveryList", "items": [core]})
    server.on("/apis", {"kind": "APIGroupDiscoveryList", "items": []})
    server.on("/version", {"gitVersion": "v1.34.0"})
    everything = objects()
    for item in everything:
        if item["metadata"]["name"] == CATALOG and item["kind"] == "Pod":
            item["spec"]["containers"][0]["env"] = [{"name": "GITHUB_TOKEN", "value": TOKEN}]
    everything.append(obj("Secret", "plain", "shop", stringData={"password": "correct-horse"}))
    for kind, plural, path, namespaced in SERVED.values():
        items = [item for item in everything if item["kind"] == kind]
        serve(server, path, items)
        for item in items:
            place = f"/namespaces/{item['metadata']['namespace']}" if namespaced else ""
            server.on(f"/api/v1{place}/{plural}/{item['metadata']['name']}", item)
        if namespaced:
            inside = [item for item in items if item["metadata"]["namespace"] == "shop"]
            serve(server, f"/api/v1/namespaces/shop/{plural}", inside)
    for item in everything:
        if item["kind"] == "Pod":
            metadata = item["metadata"]
            log = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/log"
            server.on(log, f"2025-06-01T11:59:00Z cannot push with {TOKEN}: refused\n")
    yield server
    server.close()


def serve(server: FakeApi, path: str, items: list[dict[str, Any]]) -> None:
    """A list, as objects or as the table that is asked for."""

    def answer(asked: Any) -> tuple[int, Any, dict[str, str]]:
        if "as=Table" in asked.headers["accept"]:
            rows = [{"cells": [item["metadata"]["name"]], "object": {"metadata": item["metadata"]}} for item in items]
            return 200, {"kind": "Table", "columnDefinitions": [{"name": "Name", "priority": 0}], "rows": rows}, {}
        return 200, {"kind": "List", "metadata": {}, "items": items}, {}

    server.answer(path, answer)


@pytest.fixture
def kubeconfig(tmp_path: Path, api: FakeApi) -> Path:
    """A kubeconfig for the API server."""
    path = tmp_path / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "fake", "cluster": {"server": api.url}}],
        "users": [{"name": "jane", "user": {"token": "t"}}],
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "jane", "namespace": "shop"}}],
        "current-context": "fake",
    }
    path.write_text(json.dumps(config))
    return path
