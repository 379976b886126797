"""Which kubeconfig counts, what a context becomes, and what is said when something is wrong with it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holmes.kube.cluster import Gap
from holmes.kube.kubeconfig import Connection, Kubeconfig, find, load_connection

Write = Callable[..., Path]
PEM = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
NOWHERE = Path("/nonexistent")


def load(env: dict[str, str], kubeconfig: str = "", context: str = "") -> Connection | Gap:
    return load_connection(env, kubeconfig, context, NOWHERE)


def good(env: dict[str, str], kubeconfig: str = "", context: str = "") -> Connection:
    found = load(env, kubeconfig, context)
    assert isinstance(found, Connection), found
    return found


def gap(env: dict[str, str], kubeconfig: str = "", context: str = "") -> Gap:
    found = load(env, kubeconfig, context)
    assert isinstance(found, Gap), found
    return found


def test_the_option_comes_before_the_variable_and_the_home_folder(tmp_path: Path, write_kubeconfig: Write) -> None:
    write_kubeconfig(".kube/config", "a", a=("https://home", {}, {}))
    listed = write_kubeconfig("listed", "b", b=("https://listed", {}, {}))
    option = write_kubeconfig("option", "c", c=("https://option", {}, {}))
    env = {"HOME": str(tmp_path)}
    assert good(env).server == "https://home"
    assert good({**env, "KUBECONFIG": str(listed)}).server == "https://listed"
    assert good({**env, "KUBECONFIG": str(listed)}, str(option)).server == "https://option"
    assert good(env, "~/option").server == "https://option"


def test_the_process_environment_is_not_read(
    tmp_path: Path, write_kubeconfig: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig("real", "a", a=("https://real", {}, {}))))
    assert gap({"HOME": str(tmp_path)}).reason == "not_found"


def test_the_first_file_that_has_a_name_wins(tmp_path: Path, write_kubeconfig: Write) -> None:
    first = write_kubeconfig("1", "", a=("https://first", {"token": "one"}, {}))
    second = write_kubeconfig("2", "b", a=("https://second", {"token": "two"}, {}), b=("https://b", {}, {}))
    third = write_kubeconfig("3", "a")
    env = {"KUBECONFIG": f"{first}:{tmp_path / 'missing'}::{second}:{third}"}
    assert good(env).context == "b"
    assert (good(env, context="a").server, good(env, context="a").token) == ("https://first", "one")
    found = find(env)
    assert isinstance(found, Kubeconfig)
    assert found.contexts == ("a", "b")


def test_everything_that_a_context_can_say(tmp_path: Path, write_kubeconfig: Write) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "client.pem").write_text(PEM)
    cluster = {
        "server": "https://x:6443/k8s/",
        "certificate-authority-data": base64.b64encode(PEM.encode()).decode(),
        "tls-server-name": "kube",
        "proxy-url": "http://proxy:3128",
        "insecure-skip-tls-verify": False,
    }
    user = {
        "client-certificate": "client.pem",
        "client-key-data": base64.b64encode(b"KEY").decode(),
        "username": "u",
        "password": "p",
        "tokenFile": "token",
        "as": "admin",
        "as-groups": ["g1", "g2"],
        "as-user-extra": {"why": ["x"]},
    }
    path = write_kubeconfig("sub/config", "a", a=(cluster, user, {"namespace": "prod"}))
    assert good({}, str(path)) == Connection(
        context="a",
        cluster="a-cluster",
        user="a-user",
        namespace="prod",
        server="https://x:6443/k8s",
        source=str(path),
        ca=PEM,
        tls_server_name="kube",
        proxy_url="http://proxy:3128",
        client_certificate=PEM,
        client_key="KEY",
        username="u",
        password="p",
        token_file=str(tmp_path / "sub" / "token"),
        impersonate=(
            ("Impersonate-User", "admin"),
            ("Impersonate-Group", "g1"),
            ("Impersonate-Group", "g2"),
            ("Impersonate-Extra-why", "x"),
        ),
    )


def test_secrets_of_a_connection_do_not_show() -> None:
    connection = Connection(
        "c", "c", "u", "default", "https://x", "f", token="tok-1", password="pass-1", client_key="key-1"
    )
    assert not any(secret in repr(connection) for secret in ("tok-1", "pass-1", "key-1"))


@pytest.mark.parametrize(
    ("command", "found"), [("aws", "aws"), ("./bin/login", "{folder}/bin/login"), ("/bin/x", "/bin/x")]
)
def test_a_relative_exec_command_starts_at_the_kubeconfigs_folder(
    tmp_path: Path, write_kubeconfig: Write, command: str, found: str
) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": command, "args": ["a", 1]}}
    spec = good({}, str(write_kubeconfig("config", "a", a=("https://x", user, {})))).exec
    assert spec is not None
    assert spec.command == found.format(folder=tmp_path)
    assert spec.args == ("a", "1")


def test_inside_a_pod_the_service_account_counts(tmp_path: Path) -> None:
    for name, text in {"token": "t", "ca.crt": PEM, "namespace": "shop\n"}.items():
        (tmp_path / name).write_text(text)
    env = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443", "HOME": "/nonexistent"}
    found = load_connection(env, service_account=tmp_path)
    assert isinstance(found, Connection)
    assert (found.server, found.namespace, found.ca) == ("https://[fd00::1]:443", "shop", PEM)
    assert found.token_file == str(tmp_path / "token")
    assert isinstance(load_connection(env, context="prod", service_account=tmp_path), Gap)


class TestGaps:
    def test_no_kubeconfig_at_all(self, tmp_path: Path) -> None:
        found = gap({"HOME": str(tmp_path)})
        assert found.reason == "not_found"
        assert f"{tmp_path}/.kube/config does not exist" in found.message
        assert "--kubeconfig" in found.message and "KUBECONFIG" in found.message

    def test_the_named_file_is_missing(self) -> None:
        assert gap({}, "/nonexistent/kc").message == "/nonexistent/kc does not exist; check --kubeconfig"
        assert "/nonexistent/kc (from KUBECONFIG) does not exist" in gap({"KUBECONFIG": "/nonexistent/kc"}).message

    def test_no_current_context_lists_the_contexts(self, write_kubeconfig: Write) -> None:
        path = write_kubeconfig("config", "", staging=("https://x", {}, {}), prod=("https://y", {}, {}))
        assert gap({}, str(path)).message == f"{path} has no current-context; choose one with --context: staging, prod"

    @pytest.mark.parametrize(("asked", "near"), [("prd-eu", "prod-eu"), ("eu", "prod-eu"), ("PROD-EU", "prod-eu")])
    def test_an_unknown_context_names_near_ones(self, write_kubeconfig: Write, asked: str, near: str) -> None:
        path = write_kubeconfig("config", "", **{"prod-eu": ("https://x", {}, {}), "kind": ("https://y", {}, {})})
        found = gap({}, str(path), asked)
        assert found.reason == "not_found"
        assert found.what == f"context {asked}"
        assert f"did you mean {near}?" in found.message

    def test_an_unknown_context_lists_all_when_none_is_near(self, write_kubeconfig: Write) -> None:
        path = write_kubeconfig("config", "", staging=("https://x", {}, {}))
        assert "it has: staging" in gap({}, str(path), "zzz").message

    def test_a_context_that_names_what_does_not_exist(self, write_kubeconfig: Write) -> None:
        path = write_kubeconfig(
            "config", "a", a=("https://x", {}, {"cluster": "gone"}), b=("https://y", {}, {"user": "nobody"})
        )
        assert (
            "names the cluster gone, which does not exist (known: a-cluster, b-cluster)" in gap({}, str(path)).message
        )
        assert "names the user nobody, which does not exist" in gap({}, str(path), "b").message

    @pytest.mark.parametrize(
        ("text", "line", "words"),
        [
            ("apiVersion: v1\nclusters:\n- name: [\n", 4, "not valid YAML"),
            ("clusters:\n\t- name: a\n", 2, "no tabs"),
            ("- a\n", 1, "not a kubeconfig"),
            ("clusters:\n  name: a\n", 1, "clusters must be a list"),
            ("users:\n- name: a\n- user: {}\n", 3, "needs a name"),
        ],
    )
    def test_a_broken_file_is_shown_with_its_line(self, tmp_path: Path, text: str, line: int, words: str) -> None:
        path = tmp_path / "config"
        path.write_text(text)
        found = gap({}, str(path))
        assert found.reason == "error"
        assert found.message.startswith(f"{path}:{line}: ")
        assert words in found.message

    @pytest.mark.parametrize(
        ("user", "words"),
        [
            ({"client-certificate": "gone.pem"}, "gone.pem cannot be read: No such file or directory"),
            ({"client-certificate-data": "%%%"}, "client-certificate-data is not base64 of PEM text"),
            ({"auth-provider": {"name": "gcp"}}, "auth-provider gcp was removed from Kubernetes 1.26"),
            ({"exec": {"args": ["x"]}}, "exec needs a command"),
        ],
    )
    def test_credentials_that_cannot_be_used(self, write_kubeconfig: Write, user: dict[str, Any], words: str) -> None:
        path = write_kubeconfig("config", "a", a=("https://x", user, {}))
        found = gap({}, str(path))
        assert words in found.message
        assert found.message.startswith(f"{path}:1: ")

    def test_a_server_that_is_no_url(self, write_kubeconfig: Write) -> None:
        assert "must be an http(s) URL" in gap({}, str(write_kubeconfig("config", "a", a=("x:6443", {}, {})))).message
