"""How these toolsets come from manifests and from the configuration, and TLS with an identity of our own."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from holmes.app.definitions import built_ins, definitions
from holmes.core.config import load_config
from holmes.core.errors import ConfigError
from holmes.core.http import DefaultHttp
from holmes.core.tls import context_with
from holmes.tools.manager import ToolsetManager
from holmes.tools.tool import Services
from holmes.toolsets.connectivity.connectivity import make_connectivity
from holmes.toolsets.internet.internet import make_internet
from support.tool_context import acall, context, services
from support.web_server import PUBLIC, TestNetwork, fixed, page, web_server

pytestmark = pytest.mark.anyio

CONFIG = """
toolsets:
  internet: {config: {allowed_hosts: [docs.example]}}
  connectivity_check: true
  wiki:
    type: http
    description: The wiki
    llm_instructions: "Base URL: {{ env.WIKI }}"
    config:
      endpoints:
        - hosts: [wiki.example]
          auth: {type: bearer, token: "{{ env.TOKEN }}"}
  broken: {type: http, config: {endpoints: [{hosts: ["*"]}]}}
"""


@pytest.mark.parametrize(("folder", "make"), [("internet", make_internet), ("connectivity", make_connectivity)])
def test_manifests_name_what_can_be_made(folder: str, make: object) -> None:
    text = files("holmes.toolsets").joinpath(folder, "manifest.yaml").read_text()
    (entry,) = yaml.safe_load(text)
    module, _, name = entry["factory"].partition(":")
    assert (module, name) == (make.__module__, make.__name__)  # type: ignore[attr-defined]
    assert entry["default"] is False
    with pytest.raises(ValueError, match="known: " + ", ".join(entry["config"])):
        make({"zzzzzz": 1}, services())  # type: ignore[operator]


def test_they_are_off_without_being_configured() -> None:
    found = {each.name: each.enabled for each in built_ins()}
    assert (found["internet"], found["connectivity_check"]) == (False, False)


async def test_the_configuration_makes_them(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG)
    env = {"TOKEN": "t0ken", "WIKI": "http://wiki.example/"}
    config, _ = load_config(path, env, {})
    found, problems = definitions(config, env)
    assert not problems
    async with web_server(fixed({"/x": page("a page", "text/plain")})) as server:
        http = DefaultHttp({}, TestNetwork({"wiki.example": [[PUBLIC]]}, {PUBLIC: server.port}))
        manager = ToolsetManager([each for each in found if each.where], Services(env, *_rest(), http))
        loaded = {each.definition.name: each for each in await manager.open()}
        assert {name: each.health.status for name, each in loaded.items()} == {
            "internet": "enabled",
            "connectivity_check": "enabled",
            "wiki": "enabled",
            "broken": "failed",
        }
        assert "* is no host" in loaded["broken"].health.reason and str(path) in loaded["broken"].health.reason
        bound = {each.tool.name: each.tool for each in manager.bound()}
        assert set(bound) == {"fetch_webpage", "tcp_check", "wiki_request"}
        wiki = loaded["wiki"].toolset
        assert wiki is not None and wiki.instructions == "Base URL: http://wiki.example/"
        result = await acall(bound["wiki_request"], context(http=http), url="http://wiki.example/x")
        assert result.text == "a page"
        assert server.requests[0].headers["authorization"] == "Bearer t0ken"


def _rest() -> tuple[object, object]:
    made = services()
    return made.clusters, made.process


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A self-signed certificate and its key."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    path, key = folder / f"{name}.pem", folder / f"{name}.key"
    subject = ["-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:api.example.com"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command = ["openssl", "req", "-x509", "-days", "2", *curve, "-keyout", key, "-out", path, *subject]
    subprocess.run(command, check=True, capture_output=True)
    return path, key


async def test_an_identity_of_our_own_and_an_own_authority(tmp_path: Path) -> None:
    import asyncio

    from holmes.tools.toolset_definition import ToolsetDefinition
    from holmes.toolsets.http.http import make_http

    server_pem, server_key = certificate(tmp_path, "server")
    client_pem, client_key = certificate(tmp_path, "client")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(server_pem, server_key)
    tls.load_verify_locations(client_pem)
    tls.verify_mode = ssl.CERT_REQUIRED

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(page("welcome", "text/plain"))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        network = TestNetwork({"api.example.com": [[PUBLIC]]}, {PUBLIC: server.sockets[0].getsockname()[1]})
        endpoints = [{"hosts": ["https://api.example.com"]}]
        identity = {"ca_cert": str(server_pem), "client_cert": str(client_pem), "client_key": str(client_key)}
        answers = []
        for more in (identity, {**identity, "verify_ssl": False, "ca_cert": ""}, {}):
            found = ToolsetDefinition("api", "f:1", "http", config={"endpoints": endpoints, **more})
            (tool,) = make_http(found, services()).tools()
            answers.append(await acall(tool, context(http=DefaultHttp({}, network)), url="https://api.example.com/"))
    assert [each.text for each in answers[:2]] == ["welcome", "welcome"]
    assert "its certificate is not trusted" in answers[2].error


def test_files_that_are_no_certificates_are_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("nothing")
    for ca, identity in ((str(bad), ""), ("", str(bad)), ("", str(tmp_path / "gone.pem"))):
        with pytest.raises(ConfigError, match=str(ca or identity)):
            context_with({}, ca, identity, "")
