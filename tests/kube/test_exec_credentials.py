"""Exec plugins: what they get, what they give, when they run again, and what is said when they fail."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from holmes.core.process import ChildProcess
from holmes.kube.cluster import Gap
from holmes.kube.exec_credentials import Credentials, CredentialSource
from holmes.kube.kubeconfig import Connection, ExecSpec

pytestmark = pytest.mark.anyio
V1 = "client.authentication.k8s.io/v1"
ENV = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-model", "AWS_PROFILE": "ops"}

PLUGIN = """#!{python}
import json, os, pathlib, sys
folder = pathlib.Path({folder!r})
runs = len(list(folder.glob("run-*")))
(folder / f"run-{{runs}}").write_text(json.dumps(dict(os.environ)))
status = json.loads((folder / "status").read_text())
if "exit" in status:
    print(status["stderr"], file=sys.stderr)
    sys.exit(status["exit"])
status.setdefault("token", f"token-{{runs}}")
print(json.dumps({{"kind": "ExecCredential", "apiVersion": status.pop("apiVersion", {version!r}), "status": status}}))
"""


class Plugin:
    """A real program; ``status`` is what it answers, ``runs`` are the environments that it was run with."""

    def __init__(self, folder: Path, version: str = V1) -> None:
        self.folder = folder
        self.command = folder / "login"
        self.command.write_text(PLUGIN.format(python=sys.executable, folder=str(folder), version=version))
        self.command.chmod(0o755)
        self.says({})

    def says(self, status: dict[str, Any]) -> None:
        (self.folder / "status").write_text(json.dumps(status))

    @property
    def runs(self) -> list[dict[str, str]]:
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("run-*"))]


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


Source = Callable[..., CredentialSource]


@pytest.fixture
def source(plugin: Plugin) -> Source:
    def make(timeout: float = 10.0, **fields: Any) -> CredentialSource:
        spec = ExecSpec(**{"command": str(plugin.command), "api_version": V1, **fields})
        connection = Connection("prod", "c", "u", "default", "https://x:6443", "f", ca="PEM", exec=spec)
        return CredentialSource(connection, ChildProcess(), ENV, timeout)

    return make


async def gap(source: CredentialSource) -> Gap:
    found = await source.get()
    assert isinstance(found, Gap)
    return found


async def token(source: CredentialSource, refused: Credentials | None = None) -> str:
    found = await source.get(refused)
    assert isinstance(found, Credentials), found
    return found.token


def end(seconds: float) -> dict[str, str]:
    return {"expirationTimestamp": (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")}


async def test_it_runs_once_for_many_requests_at_once(plugin: Plugin, source: Source) -> None:
    one = source()
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(token, one)
    assert await token(one) == "token-0"
    assert len(plugin.runs) == 1


async def test_it_runs_again_when_the_credentials_are_about_to_end(plugin: Plugin, source: Source) -> None:
    plugin.says(end(10))
    one = source()
    assert await token(one) == "token-0"
    plugin.says(end(3600))
    assert await token(one) == "token-1"
    assert await token(one) == "token-1"


async def test_it_runs_again_when_the_server_refuses_and_once_for_all_who_were_refused(
    plugin: Plugin, source: Source
) -> None:
    one = source()
    first = await one.get()
    assert isinstance(first, Credentials)
    assert await token(one, refused=first) == "token-1"
    assert await token(one, refused=first) == "token-1"
    assert len(plugin.runs) == 2


async def test_it_gets_the_users_environment_without_the_models_keys(plugin: Plugin, source: Source) -> None:
    await token(source(env=(("AWS_PROFILE", "prod"), ("EXTRA", "1"))))
    seen = plugin.runs[0]
    assert "OPENAI_API_KEY" not in seen
    assert (seen["AWS_PROFILE"], seen["EXTRA"]) == ("prod", "1")
    info = json.loads(seen["KUBERNETES_EXEC_INFO"])
    assert info == {"kind": "ExecCredential", "apiVersion": V1, "spec": {"interactive": False}}


async def test_it_is_told_about_the_cluster_when_it_asks(plugin: Plugin, source: Source) -> None:
    await token(source(provide_cluster_info=True, config={"audience": "x"}))
    info = json.loads(plugin.runs[0]["KUBERNETES_EXEC_INFO"])
    cluster = {"server": "https://x:6443", "certificate-authority-data": "UEVN", "config": {"audience": "x"}}
    assert info["spec"] == {"interactive": False, "cluster": cluster}


async def test_certificates_and_the_older_version(tmp_path: Path, source: Source) -> None:
    older = "client.authentication.k8s.io/v1beta1"
    Plugin(tmp_path, older).says({"token": "", "clientCertificateData": "CERT", "clientKeyData": "KEY"})
    found = await source(api_version=older).get()
    assert isinstance(found, Credentials)
    assert (found.token, found.certificate, found.key) == ("", "CERT", "KEY")
    assert "KEY" not in repr(found)


class TestGaps:
    async def test_a_missing_program(self, source: Source) -> None:
        found = await gap(source(command="no-such-login-program", install_hint="get it from https://example.com"))
        assert found.what == "context prod"
        assert "no-such-login-program is not installed or not on PATH" in found.message
        assert "get it from https://example.com" in found.message

    async def test_a_program_that_fails_says_why_and_what_to_try(self, plugin: Plugin, source: Source) -> None:
        plugin.says({"exit": 3, "stderr": "SSO session expired"})
        found = await gap(source(args=("get-token", "my cluster")))
        assert found.reason == "unauthorized"
        assert "exit code 3" in found.message and "SSO session expired" in found.message
        assert f"{plugin.command} get-token 'my cluster'" in found.message

    async def test_a_failure_is_not_remembered(self, plugin: Plugin, source: Source) -> None:
        plugin.says({"exit": 1, "stderr": ""})
        one = source()
        assert "it wrote no reason" in (await gap(one)).message
        plugin.says({})
        assert await token(one) == "token-1"

    async def test_a_program_that_hangs(self, source: Source) -> None:
        found = await gap(source(timeout=0.2, command="/bin/sleep", args=("30",)))
        assert "gave no credentials within 0.2 s" in found.message

    async def test_output_that_is_no_credential(self, source: Source) -> None:
        assert "wrote no ExecCredential" in (await gap(source(command="/bin/echo", args=("hello",)))).message
        assert "wrote no ExecCredential" in (await gap(source(command="/bin/echo", args=("[]",)))).message

    async def test_another_version_than_the_kubeconfig_says(self, plugin: Plugin, source: Source) -> None:
        plugin.says({"apiVersion": "client.authentication.k8s.io/v1beta1"})
        assert "answers as client.authentication.k8s.io/v1beta1" in (await gap(source())).message

    async def test_neither_token_nor_certificate(self, plugin: Plugin, source: Source) -> None:
        plugin.says({"token": ""})
        assert "neither a token nor a certificate" in (await gap(source())).message

    async def test_versions_that_no_longer_exist(self, plugin: Plugin, source: Source) -> None:
        found = await gap(source(api_version="client.authentication.k8s.io/v1alpha1"))
        assert found.reason == "unsupported"
        assert "v1alpha1" in found.message
        assert plugin.runs == []

    async def test_programs_that_want_a_terminal(self, plugin: Plugin, source: Source) -> None:
        found = await gap(source(interactive_mode="Always"))
        assert found.reason == "unsupported"
        assert plugin.runs == []


async def test_a_token_file_is_read_again_when_its_token_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")
    connection = Connection("c", "c", "u", "default", "https://x", "f", token="fallback", token_file=str(path))
    one = CredentialSource(connection, ChildProcess(), {})
    first = await one.get()
    assert isinstance(first, Credentials) and first.token == "one"
    path.write_text("two\n")
    assert await token(one) == "one"
    assert await token(one, refused=first) == "two"
    path.unlink()
    assert await token(CredentialSource(connection, ChildProcess(), {})) == "fallback"


async def test_a_token_file_that_cannot_be_read(tmp_path: Path) -> None:
    connection = Connection("c", "c", "u", "default", "https://x", "f", token_file=str(tmp_path / "gone"))
    assert "gone cannot be read" in (await gap(CredentialSource(connection, ChildProcess(), {}))).message
