"""The clusters of a run: several contexts side by side, and the kubeconfig that children get."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holmes.core.http import DefaultHttp
from holmes.core.process import ChildProcess
from holmes.kube.cluster import Gap
from holmes.kube.clusters import LiveClusters
from holmes.kube.kubeconfig import Connection, load_connection
from holmes.kube.live import LiveCluster

pytestmark = pytest.mark.anyio
Write = Callable[..., Path]


@asynccontextmanager
async def clusters_of(path: Path | str, context: str = "", **env: str) -> AsyncIterator[LiveClusters]:
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **env}
    clusters = LiveClusters(env, DefaultHttp({}), ChildProcess(), str(path), context)
    try:
        yield clusters
    finally:
        await clusters.close()


@pytest.fixture
def other_api(api: Any) -> Iterator[Any]:
    server = type(api)()
    yield server
    server.close()


async def pod(clusters: LiveClusters, context: str = "") -> str:
    cluster = await clusters.get(context)
    assert isinstance(cluster, LiveCluster), cluster
    found = await cluster.get("pod", "web")
    assert isinstance(found, dict), found
    return str(found["uid"])


async def test_two_contexts_have_their_own_data(write_kubeconfig: Write, api: Any, other_api: Any) -> None:
    for server, uid in ((api, "one"), (other_api, "two")):
        server.on("/api/v1/namespaces/default/pods/web", {"kind": "Pod", "uid": uid})
    path = write_kubeconfig(one=(api.url, {"token": "t-1"}, {}), two=(other_api.url, {"token": "t-2"}, {}))
    async with clusters_of(path, "two") as clusters:
        assert [await pod(clusters, context) for context in ("", "one", "two")] == ["two", "one", "two"]
        assert await clusters.get("two") is await clusters.get("")
    assert [asked.headers["authorization"] for asked in api.asked] == ["Bearer t-1"]
    assert {asked.headers["authorization"] for asked in other_api.asked} == {"Bearer t-2"}


async def test_getting_a_cluster_asks_nothing(write_kubeconfig: Write, api: Any) -> None:
    async with clusters_of(write_kubeconfig(current="one", one=(api.url, {}, {"namespace": "shop"}))) as clusters:
        cluster = await clusters.get()
    assert isinstance(cluster, LiveCluster)
    assert (cluster.name, cluster.context, cluster.namespace) == ("one-cluster", "one", "shop")
    assert api.asked == []


async def test_a_gap_is_looked_up_again(write_kubeconfig: Write, api: Any) -> None:
    path = write_kubeconfig(one=(api.url, {}, {}))
    async with clusters_of(path) as clusters:
        assert isinstance(await clusters.get(), Gap)
        write_kubeconfig(current="one", one=(api.url, {}, {}))
        assert isinstance(await clusters.get(), LiveCluster)


async def test_no_kubeconfig_is_a_gap_for_children_too(tmp_path: Path) -> None:
    async with clusters_of("") as clusters:
        assert isinstance(await clusters.get(), Gap)
        assert isinstance(await clusters.child_kubeconfig(tmp_path / "run"), Gap)
    assert not (tmp_path / "run").exists()


async def child(clusters: LiveClusters, folder: Path) -> Connection:
    path = await clusters.child_kubeconfig(folder)
    assert isinstance(path, Path), path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [item.name for item in folder.iterdir()] == ["kubeconfig"]
    found = load_connection({}, str(path))
    assert isinstance(found, Connection), found
    return found


async def test_children_get_one_context_and_the_token_of_our_own_plugin_run(
    tmp_path: Path, write_kubeconfig: Write
) -> None:
    script = tmp_path / "login"
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "from-exec"},
    }
    script.write_text(f"#!/bin/sh\necho run >> {tmp_path}/runs\necho '{json.dumps(answer)}'\n")
    script.chmod(0o755)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login"}}
    cluster = {"server": "https://x:6443", "tls-server-name": "kube", "proxy-url": "http://proxy:1"}
    path = write_kubeconfig(current="other", prod=(cluster, user, {"namespace": "shop"}), other=("https://y", {}, {}))
    async with clusters_of(path, "prod") as clusters:
        found = await child(clusters, tmp_path / "run")
        assert await child(clusters, tmp_path / "run") == found
    assert (found.context, found.namespace, found.server) == ("prod", "shop", "https://x:6443")
    assert (found.token, found.exec) == ("from-exec", None)
    assert (found.tls_server_name, found.proxy_url) == ("kube", "http://proxy:1")
    assert (tmp_path / "runs").read_text() == "run\n"


async def test_children_get_a_new_token_when_the_old_one_ends(tmp_path: Path, write_kubeconfig: Write) -> None:
    script = tmp_path / "login"
    start = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'
    # Each run gives another token, and all of them have ended already.
    script.write_text(
        f"#!/bin/sh\nprintf '%s%s%s' '{start}' $$ '\",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"}}}}'\n"
    )
    script.chmod(0o755)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(script)}}
    async with clusters_of(write_kubeconfig(current="a", a=("https://x", user, {}))) as clusters:
        first, second = await child(clusters, tmp_path / "run"), await child(clusters, tmp_path / "run")
    assert first.token != second.token


@pytest.mark.parametrize(
    "user",
    [
        {"token": "t"},
        {"username": "u", "password": "p"},
        {"client-certificate-data": "Q0VSVA==", "client-key-data": "S0VZ"},
        {"token": "t", "as": "admin", "as-groups": ["a", "b"], "as-user-extra": {"example.com/why": ["x"]}},
        {"tokenFile": "{folder}/token"},
    ],
)
async def test_children_are_who_we_are(tmp_path: Path, write_kubeconfig: Write, user: dict[str, Any]) -> None:
    (tmp_path / "token").write_text("mounted")
    user = {key: value.format(folder=tmp_path) if isinstance(value, str) else value for key, value in user.items()}
    path = write_kubeconfig(current="a", a=({"server": "https://x", "insecure-skip-tls-verify": True}, user, {}))
    ours = load_connection({}, str(path))
    assert isinstance(ours, Connection)
    async with clusters_of(path) as clusters:
        theirs = await child(clusters, tmp_path / "run")
    for field in (
        "insecure",
        "token",
        "token_file",
        "username",
        "password",
        "client_certificate",
        "client_key",
        "impersonate",
    ):
        assert getattr(theirs, field) == getattr(ours, field), field


async def test_failing_credentials_are_a_gap_for_children(tmp_path: Path, write_kubeconfig: Write) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-login-program"}}
    async with clusters_of(write_kubeconfig(current="a", a=("https://x", user, {}))) as clusters:
        found = await clusters.child_kubeconfig(tmp_path / "run")
    assert isinstance(found, Gap)
    assert "no-such-login-program is not installed" in found.message
