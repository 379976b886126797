"""What is said when a cluster does not answer, or answers no. Nothing of it may look like "none found"."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from holmes.kube.cluster import Gap, LogWindow, Page, Table
from holmes.kube.kubeconfig import ExecSpec
from holmes.kube.live import LiveCluster

pytestmark = pytest.mark.anyio
Connect = Callable[..., AbstractAsyncContextManager[LiveCluster]]
PODS = "/api/v1/namespaces/prod/pods"
POD = f"{PODS}/web"


async def all_of(cluster: LiveCluster, *args: Any, **more: Any) -> list[Page | Gap]:
    return [page async for page in cluster.list(*args, **more)]


async def one_gap(cluster: LiveCluster, kind: str = "Pod", name: str = "web") -> Gap:
    found = await cluster.get(kind, name)
    assert isinstance(found, Gap), found
    return found


def names(pages: list[Page | Gap]) -> list[str]:
    return [item["metadata"]["name"] for page in pages if isinstance(page, Page) for item in page.items]


class TestUnauthorized:
    @pytest.fixture(autouse=True)
    def refusing(self, api: Any) -> None:
        api.refuse(POD, 401, "Unauthorized", "Unauthorized")

    async def test_a_token_that_has_expired(self, connect: Connect) -> None:
        claims = base64.urlsafe_b64encode(json.dumps({"exp": 1600000000}).encode()).decode().rstrip("=")
        async with connect(token=f"head.{claims}.sign") as cluster:
            found = await one_gap(cluster)
        assert (found.what, found.reason) == ("Pod prod/web", "unauthorized")
        assert "the token of user jane of /home/jane/.kube/config (context test), which expired 6y" in found.message
        assert "get a new one" in found.message

    @pytest.mark.parametrize("token", ["opaque", "a.b.c", f"a.{base64.urlsafe_b64encode(b'[]').decode()}.c"])
    async def test_a_token_that_says_nothing_of_its_end(self, connect: Connect, token: str) -> None:
        async with connect(token=token) as cluster:
            assert "has expired or is not known there" in (await one_gap(cluster)).message

    async def test_no_credentials_at_all(self, connect: Connect) -> None:
        async with connect() as cluster:
            assert "wants credentials" in (await one_gap(cluster)).message

    async def test_an_exec_plugin_is_run_once_more_and_then_named(self, connect: Connect, api: Any) -> None:
        answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t"}}
        spec = ExecSpec("/bin/echo", (json.dumps(answer),), api_version="client.authentication.k8s.io/v1")
        async with connect(exec=spec) as cluster:
            found = await one_gap(cluster)
        assert "refuses what /bin/echo gave for user jane" in found.message
        assert [asked.headers["authorization"] for asked in api.asked] == ["Bearer t", "Bearer t"]


async def test_a_renewed_token_goes_through(connect: Connect, api: Any, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("old")

    def answer(asked: Any) -> Any:
        if asked.headers["authorization"] == "Bearer old":
            (tmp_path / "token").write_text("new")
            return 401, {}, {}
        return 200, {"kind": "Pod", "metadata": {"name": "web"}}, {}

    api.answer(POD, answer)
    async with connect(token_file=str(tmp_path / "token")) as cluster:
        assert isinstance(await cluster.get("Pod", "web"), dict)


class TestForbidden:
    MESSAGE = 'pods is forbidden: User "jane" cannot list resource "pods" in API group "" at the cluster scope'

    async def test_the_servers_words_and_what_to_do(self, connect: Connect, api: Any) -> None:
        api.refuse(POD, 403, "Forbidden", 'pods "web" is forbidden: User "jane" cannot get resource "pods"')
        async with connect() as cluster:
            found = await one_gap(cluster)
        assert found.reason == "forbidden"
        assert 'User "jane" cannot get resource "pods"' in found.message
        assert "kubectl auth can-i --list --context test" in found.message

    async def test_anonymous_means_that_no_credentials_arrived(self, connect: Connect, api: Any) -> None:
        api.refuse(POD, 403, "Forbidden", 'pods "web" is forbidden: User "system:anonymous" cannot get ...')
        async with connect() as cluster:
            assert "no credentials reached the API server; log in" in (await one_gap(cluster)).message

    async def test_pods_but_not_events(self, connect: Connect, api: Any) -> None:
        api.on(PODS, {"kind": "PodList", "items": [{"metadata": {"name": "web", "namespace": "prod"}}]})
        api.refuse("/api/v1/namespaces/prod/events", 403, "Forbidden", "events is forbidden")
        async with connect() as cluster:
            assert names(await all_of(cluster, "pods", "prod")) == ["web"]
            (found,) = await all_of(cluster, "events", "prod")
        assert isinstance(found, Gap)
        assert (found.what, found.reason) == ("events in namespace prod", "forbidden")

    @pytest.fixture
    def two_namespaces(self, api: Any) -> None:
        """Pods may be read in prod and shop, not in kube-system, and not everywhere at once."""
        api.refuse("/api/v1/pods", 403, "Forbidden", self.MESSAGE)
        api.refuse("/api/v1/namespaces/kube-system/pods", 403, "Forbidden", "no")
        listed = [{"metadata": {"name": name}} for name in ("kube-system", "prod", "shop")]
        api.on("/api/v1/namespaces", {"kind": "NamespaceList", "items": listed})
        for namespace in ("prod", "shop"):
            item = {"metadata": {"name": f"{namespace}-1", "namespace": namespace}}
            api.on(f"/api/v1/namespaces/{namespace}/pods", {"kind": "PodList", "items": [item]})

    async def test_all_namespaces_falls_back_to_the_permitted_ones_and_says_so(
        self, connect: Connect, two_namespaces: None, api: Any
    ) -> None:
        async with connect() as cluster:
            pages = await all_of(cluster, "pods", None, selector="app=web")
        assert names(pages) == ["prod-1", "shop-1"]
        last = pages[-1]
        assert isinstance(last, Gap)
        assert (last.what, last.reason) == ("pods in all namespaces", "forbidden")
        assert self.MESSAGE in last.message
        assert "It may be read in: prod, shop; not in: kube-system" in last.message
        assert "were not tried" not in last.message
        assert api.asked[-1].query["labelSelector"] == "app=web"

    async def test_without_a_list_of_namespaces_the_contexts_own_is_tried(
        self, connect: Connect, two_namespaces: None, api: Any
    ) -> None:
        api.refuse("/api/v1/namespaces", 403, "Forbidden", "namespaces is forbidden")
        async with connect() as cluster:
            pages = await all_of(cluster, "pods")
        assert names(pages) == ["prod-1"]
        assert isinstance(pages[-1], Gap)
        assert "other namespaces were not tried" in pages[-1].message

    async def test_nothing_permitted_is_a_gap_alone(self, connect: Connect, api: Any) -> None:
        for path in ("/api/v1/pods", "/api/v1/namespaces", PODS):
            api.refuse(path, 403, "Forbidden", "no")
        async with connect() as cluster:
            (found,) = await all_of(cluster, "pods")
        assert isinstance(found, Gap)
        assert "It may be read in no namespace" in found.message

    async def test_half_a_table_is_none_but_names_the_permitted_namespaces(
        self, connect: Connect, two_namespaces: None
    ) -> None:
        async with connect() as cluster:
            found = await cluster.table("pods")
        assert isinstance(found, Gap)
        assert "It may be read in: prod, shop" in found.message


class TestMissing:
    async def test_an_object(self, connect: Connect, api: Any) -> None:
        api.refuse(POD, 404, "NotFound", 'pods "web" not found', details={"name": "web", "kind": "pods"})
        async with connect() as cluster:
            found = await one_gap(cluster)
        assert (found.reason, found.message) == ("not_found", 'pods "web" not found')

    async def test_an_unknown_kind_names_near_ones(self, connect: Connect, api: Any) -> None:
        resource = {"resource": "certificates", "responseKind": {"kind": "Certificate"}, "scope": "Namespaced"}
        item = {"metadata": {"name": "cert-manager.io"}, "versions": [{"version": "v1", "resources": [resource]}]}
        api.on("/api", {"kind": "APIGroupDiscoveryList", "items": []})
        api.on("/apis", {"kind": "APIGroupDiscoveryList", "items": [item]})
        async with connect() as cluster:
            found = await one_gap(cluster, "certificat")
            other = await one_gap(cluster, "rollouts")
        assert found.what == "resource type certificat"
        assert "did you mean certificates?" in found.message
        assert "CustomResourceDefinition missing?" in other.message

    async def test_a_kind_that_the_server_has_not(self, connect: Connect) -> None:
        async with connect() as cluster:
            found = await one_gap(cluster, "PodDisruptionBudget", "web")
        assert found.reason == "not_found"
        assert "no such resource type" in found.message

    @pytest.mark.parametrize("name", ["..", "a/b", "a%2fb", "../secrets/x"])
    async def test_names_that_would_change_the_path_are_not_asked_for(
        self, connect: Connect, api: Any, name: str
    ) -> None:
        async with connect() as cluster:
            assert "no object can have such a name" in (await one_gap(cluster, name=name)).message
            assert isinstance(await cluster.logs(name, "prod", LogWindow(container="c")), Gap)
        assert api.asked == []


class TestExpiredList:
    """410 in the middle of a long list: the snapshot that the pages come from was thrown away."""

    def page(self, *pods: str, token: str = "") -> Any:
        items = [{"metadata": {"name": name, "namespace": "prod"}} for name in pods]
        return 200, {"kind": "PodList", "metadata": {"continue": token}, "items": items}, {}

    def expired(self, token: str = "") -> Any:
        body = {"kind": "Status", "reason": "Expired", "message": "The provided continue parameter is too old"}
        return 410, {**body, "code": 410, "metadata": {"continue": token} if token else {}}, {}

    def answering(self, api: Any, replies: dict[str, list[Any]]) -> None:
        api.answer(PODS, lambda asked: replies[asked.query.get("continue", "")].pop(0))

    async def test_it_goes_on_where_the_server_says(self, connect: Connect, api: Any) -> None:
        self.answering(api, {"": [self.page("a", token="1")], "1": [self.expired("2")], "2": [self.page("b")]})
        async with connect() as cluster:
            pages = await all_of(cluster, "pods", "prod")
        assert names(pages) == ["a", "b"]

    async def test_it_starts_again_without_giving_anything_twice(self, connect: Connect, api: Any) -> None:
        again = [self.page("a", token="1"), self.page("a", token="3")]
        self.answering(api, {"": again, "1": [self.expired()], "3": [self.page("b")]})
        async with connect() as cluster:
            assert names(await all_of(cluster, "pods", "prod")) == ["a", "b"]

    async def test_the_second_time_is_a_gap(self, connect: Connect, api: Any) -> None:
        self.answering(api, {"": [self.page("a", token="1")], "1": [self.expired("2")], "2": [self.expired("3")]})
        async with connect() as cluster:
            pages = await all_of(cluster, "pods", "prod")
        assert names(pages) == ["a"]
        assert isinstance(pages[-1], Gap)
        assert "too old" in pages[-1].message


class TestUnreachable:
    async def test_nobody_listens(self, connect: Connect) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
            async with connect(server=f"http://127.0.0.1:{port}") as cluster:
                found = await one_gap(cluster)
        assert found.reason == "unreachable"
        assert f"127.0.0.1:{port}: connection refused" in found.message
        assert "check the server of cluster test-cluster in /home/jane/.kube/config" in found.message

    async def test_a_server_that_never_answers(self, connect: Connect) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            place = f"127.0.0.1:{silent.getsockname()[1]}"
            async with connect(server=f"http://{place}", timeout=0.1) as cluster:
                found = await one_gap(cluster)
        assert found.reason == "unreachable"
        assert f"{place}: no answer within 0.1 s" in found.message

    async def test_a_name_that_does_not_exist(self, connect: Connect) -> None:
        async with connect(server="http://no-such-host.invalid:1") as cluster:
            assert "no-such-host.invalid:1 cannot be resolved; check the VPN" in (await one_gap(cluster)).message

    @pytest.mark.parametrize("server", ["https://[nonsense", "http://host:port", f"http://{'a' * 70}.test"])
    async def test_a_server_that_cannot_be_an_address(self, connect: Connect, server: str) -> None:
        async with connect(server=server) as cluster:
            found = await one_gap(cluster)
        assert found.reason in ("error", "unreachable")
        assert "/home/jane/.kube/config" in found.message

    async def test_a_login_page(self, connect: Connect, api: Any) -> None:
        api.on(POD, "<html>Sign in</html>", headers={"Content-Type": "text/html; charset=utf-8"})
        api.on(f"{PODS}/other", "", 302, {"Location": "https://login.example.com/"})
        async with connect() as cluster:
            page, redirect = await one_gap(cluster), await one_gap(cluster, name="other")
        assert "a proxy or login page, not an API server" in page.message
        assert "is sent on to https://login.example.com/, a login page" in redirect.message
        assert page.reason == redirect.reason == "unauthorized"

    async def test_a_busy_server_is_asked_again_as_it_says(self, connect: Connect, api: Any) -> None:
        replies = [(429, {}, {"Retry-After": "0"}), (503, {}, {"Retry-After": "0"}), (200, {"kind": "Pod"}, {})]
        api.answer(POD, lambda asked: replies.pop(0))
        async with connect() as cluster:
            assert await cluster.get("Pod", "web") == {"kind": "Pod"}

    async def test_a_server_that_stays_broken(self, connect: Connect, api: Any) -> None:
        api.refuse(POD, 500, "InternalError", "etcdserver: leader changed")
        async with connect() as cluster:
            found = await one_gap(cluster)
        assert "answers 500: etcdserver: leader changed; try again later" in found.message
        assert len(api.asked) == 1

    async def test_a_proxy_that_is_not_there(self, connect: Connect, api: Any) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            proxy = f"http://127.0.0.1:{free.getsockname()[1]}"
            async with connect(proxy_url=proxy) as cluster:
                assert (await one_gap(cluster)).reason == "unreachable"
        assert api.asked == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for the name kube.test, with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=kube.test", "-addext", "subjectAltName=DNS:kube.test"]
    subprocess.run([*new, *names, "-keyout", path, "-out", path.with_suffix(".crt")], check=True, capture_output=True)
    path.write_text(path.read_text() + path.with_suffix(".crt").read_text())
    return path


class TestTls:
    @pytest.fixture
    def secure(self, api: Any, certificate: Path) -> Iterator[Any]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        api.server.socket = context.wrap_socket(api.server.socket, server_side=True, do_handshake_on_connect=False)
        api.scheme = "https"
        api.on(POD, {"kind": "Pod"})
        return api

    async def test_a_certificate_of_an_unknown_authority(self, connect: Connect, secure: Any) -> None:
        async with connect() as cluster:
            found = await one_gap(cluster)
        assert found.reason == "unreachable"
        assert "is not accepted: self" in found.message
        assert "check certificate-authority" in found.message

    async def test_a_certificate_for_another_name(self, connect: Connect, secure: Any, certificate: Path) -> None:
        async with connect(ca=certificate.with_suffix(".crt").read_text()) as cluster:
            found = await one_gap(cluster)
        assert "IP address mismatch" in found.message

    async def test_the_name_can_be_given(self, connect: Connect, secure: Any, certificate: Path) -> None:
        authority = f"# Autorität\n{certificate.with_suffix('.crt').read_text()}"
        async with connect(ca=authority, tls_server_name="kube.test") as cluster:
            assert await cluster.get("Pod", "web") == {"kind": "Pod"}

    async def test_checking_can_be_turned_off(self, connect: Connect, secure: Any) -> None:
        async with connect(insecure=True) as cluster:
            assert await cluster.get("Pod", "web") == {"kind": "Pod"}

    async def test_a_client_certificate_that_does_not_fit_its_key(
        self, connect: Connect, secure: Any, certificate: Path
    ) -> None:
        async with connect(insecure=True, client_certificate="nonsense", client_key="nonsense") as cluster:
            found = await one_gap(cluster)
        assert found.reason == "error"
        assert "client certificate and key of user jane" in found.message

    async def test_a_server_without_tls(self, connect: Connect, api: Any) -> None:
        async with connect(server=api.url.replace("http://", "https://"), insecure=True) as cluster:
            assert "does not speak TLS" in (await one_gap(cluster)).message


async def test_an_api_that_makes_no_tables(connect: Connect, api: Any) -> None:
    api.on(PODS, {"kind": "PodList", "items": []})
    async with connect() as cluster:
        found = await cluster.table("pods", "prod")
    assert not isinstance(found, Table)
    assert found.reason == "unsupported"


class TestLogs:
    def pod(self, api: Any, *containers: str, **annotations: str) -> None:
        spec = {"containers": [{"name": name} for name in containers]}
        marks = {key.replace("_", "/", 1).replace("_", "-"): value for key, value in annotations.items()}
        api.on(POD, {"kind": "Pod", "metadata": {"name": "web", "annotations": marks}, "spec": spec})

    @pytest.mark.parametrize(
        ("message", "words"),
        [
            ('previous terminated container "app" in pod "web" not found', "has not been restarted"),
            ('container "app" in pod "web" is waiting to start: ContainerCreating', "it has written nothing yet"),
            ("container nope is not valid for pod web", "it has: app"),
        ],
    )
    async def test_no_log_says_why(self, connect: Connect, api: Any, message: str, words: str) -> None:
        self.pod(api, "app")
        api.refuse(f"{POD}/log", 400, "BadRequest", message)
        async with connect() as cluster:
            found = await cluster.logs("web", "prod", LogWindow(previous=True))
        assert isinstance(found, Gap)
        assert (found.what, found.reason) == ("logs of prod/web, container app, previous instance", "not_found")
        assert message in found.message and words in found.message

    async def test_a_log_that_the_node_lost(self, connect: Connect, api: Any) -> None:
        self.pod(api, "app")
        api.on(f"{POD}/log", "unable to retrieve container logs for containerd://0123")
        async with connect() as cluster:
            found = await cluster.logs("web", "prod", LogWindow())
        assert isinstance(found, Gap)
        assert "the node no longer has them" in found.message

    async def test_a_pod_that_does_not_exist(self, connect: Connect, api: Any) -> None:
        api.refuse(POD, 404, "NotFound", 'pods "web" not found', details={"name": "web"})
        async with connect() as cluster:
            found = await cluster.logs("web", "prod", LogWindow())
        assert isinstance(found, Gap)
        assert (found.what, found.reason) == ("Pod prod/web", "not_found")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("api/v1/pods", "starts with /"),
        ("//evil.example.com/api", "starts with /"),
        ("https://evil.example.com/", "starts with /"),
        ("/api/v1/../../x", "starts with /"),
        ("/api/v1/namespaces/a/pods/b/%2e%2e", "starts with /"),
        ("/api/v1/namespaces/a/pods/b/exec?command=id", "exec does more than read"),
        ("/api/v1/namespaces/a/services/b/proxy/admin", "proxy does more than read"),
        ("/api/v1/nodes/n/proxy/run", "proxy does more than read"),
        ("/api/v1/namespaces/a/pods/b/portforward", "portforward does more than read"),
        ("/api/v1/pods?watch=1", "watching never ends"),
        ("/api/v1/watch/pods", "watching never ends"),
        ("/api/v1/namespaces/a/pods/b/log?follow=true", "watching never ends"),
    ],
)
async def test_raw_paths_that_do_more_than_read_are_not_asked_for(
    connect: Connect, api: Any, path: str, words: str
) -> None:
    async with connect() as cluster:
        found = await cluster.raw(path)
    assert isinstance(found, Gap)
    assert found.reason == "unsupported"
    assert words in found.message
    assert api.asked == []


def test_the_import_is_light() -> None:
    """Only what every request needs; the HTTP client itself is imported with the first one."""
    heavy = "{'httpx2', 'jinja2', 'rich', 'pydantic'}"
    code = f"import sys, holmes.kube.clusters; print(sorted({heavy} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
