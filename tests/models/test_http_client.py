"""Connections: proxies and certificate authorities come from the environment that was given, and from no other."""

from __future__ import annotations

import base64
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest

from holmes.core.errors import ConfigError, ModelRefused, ModelUnavailable
from holmes.core.http import DefaultHttp, proxy_patterns
from holmes.core.messages import Message
from holmes.llm.base import Request
from holmes.llm.default import DefaultLLM, Retry
from holmes.llm.models import ModelEntry

pytestmark = pytest.mark.anyio


class Echo(BaseHTTPRequestHandler):
    """Says what it was asked for; a proxy is asked for a whole URL."""

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        body = f"{self.path} {self.headers['Host']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def server(context: ssl.SSLContext | None = None) -> Iterator[int]:
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    httpd.daemon_threads = True
    if context:
        httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield httpd.server_address[1]
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


async def get(env: dict[str, str], url: str) -> str:
    async with DefaultHttp(env).client() as client:
        return (await client.get(url)).text


async def test_a_proxy_of_the_given_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # of the process: must not matter
    with server() as proxy, server() as direct:
        own, there = f"http://127.0.0.1:{proxy}", f"http://127.0.0.1:{direct}/x"
        assert await get({"HTTP_PROXY": own}, "http://models.example/v1") == ("http://models.example/v1 models.example")
        assert await get({"all_proxy": f"127.0.0.1:{proxy}"}, there) == f"{there} 127.0.0.1:{direct}"
        assert (await get({"HTTP_PROXY": own, "NO_PROXY": "127.0.0.0/8"}, there)).startswith("/x")
        assert (await get({"HTTPS_PROXY": own}, there)).startswith("/x")
        assert (await get({}, there)).startswith("/x")


@pytest.mark.parametrize(
    ("no_proxy", "url", "proxied"),
    [
        ("example.com", "http://example.com", False),
        ("example.com", "http://a.example.com", False),
        (".example.com", "http://a.example.com", False),
        ("*.example.com", "http://a.example.com", False),
        ("example.com", "http://myexample.com", True),
        ("example.com:8080", "http://example.com:8080", False),
        ("example.com:8080", "http://example.com", True),
        ("localhost", "http://localhost:1234", False),
        ("127.0.0.1, ::1", "http://[::1]:80", False),
        ("[::1]", "http://[::1]:80", False),
        ("10.0.0.0/8", "http://10.9.8.7", False),
        ("10.0.0.0/8", "http://11.0.0.1", True),
        ("*", "http://anything", False),
        ("", "http://anything", True),
        ("a/b, ,", "http://anything", True),
    ],
)
async def test_no_proxy(no_proxy: str, url: str, proxied: bool) -> None:
    async with DefaultHttp({"HTTP_PROXY": "http://p:1", "NO_PROXY": no_proxy}).client() as client:
        transport = client._transport_for_url(httpx2.URL(url))
        assert (transport is not client._transport) is proxied


def test_small_letters_win() -> None:
    assert proxy_patterns({"HTTP_PROXY": "http://a", "http_proxy": "http://b"}) == {"http://": "http://b"}
    assert proxy_patterns({"NO_PROXY": "x"}) == {}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1 with its key, made by openssl."""
    import shutil
    import subprocess

    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", path.with_suffix(".key"), "-out", path]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run(
        ["openssl", "req", "-x509", "-days", "2", *key, *files, *subject],
        check=True,
        capture_output=True,
    )
    return path


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    return context


async def test_own_authorities_are_trusted(certificate: Path, tls: ssl.SSLContext) -> None:
    encoded = base64.encodebytes(certificate.read_bytes()).decode()  # with line breaks, as people paste it
    with server(tls) as port:
        url = f"https://127.0.0.1:{port}/x"
        for env in ({"SSL_CERT_FILE": str(certificate)}, {"CERTIFICATE": encoded}):
            assert (await get(env, url)).startswith("/x")
        with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await get({}, url)
        async with DefaultHttp({}).client(verify=False) as client:
            assert (await client.get(url)).status_code == 200


async def test_a_model_behind_an_unknown_authority_says_what_to_do(tls: ssl.SSLContext) -> None:
    with server(tls) as port:
        entry = ModelEntry("openai/x", api_base=f"https://127.0.0.1:{port}/v1")
        llm = DefaultLLM(entry, DefaultHttp({}), {}, retry=Retry(1))
        with pytest.raises(ModelUnavailable, match=f"certificate of 127.0.0.1:{port} is not trusted") as caught:
            await llm.complete(Request([Message("user", "q")]))
        await llm.close()
    assert "SSL_CERT_FILE" in caught.value.remedy


@pytest.mark.parametrize(
    ("env", "words"),
    [({"CERTIFICATE": "!"}, "CERTIFICATE"), ({"SSL_CERT_FILE": "/nowhere.pem"}, "SSL_CERT_FILE: /nowhere.pem")],
)
async def test_a_bad_variable_is_named(env: dict[str, str], words: str, tls: ssl.SSLContext) -> None:
    with server(tls) as port:
        with pytest.raises(ConfigError, match=words):
            await get(env, f"https://127.0.0.1:{port}/")
        llm = DefaultLLM(ModelEntry("openai/x", api_base=f"https://127.0.0.1:{port}"), DefaultHttp(env), {})
        with pytest.raises(ModelRefused, match=words):
            await llm.complete(Request([Message("user", "q")]))
        await llm.close()


async def test_authorities_are_loaded_once_and_only_for_tls(
    certificate: Path, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[object] = []
    create = ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", lambda **more: loaded.append(more) or create(**more))
    http = DefaultHttp({"SSL_CERT_FILE": str(certificate)})
    with server() as plain, server(tls) as secure:
        async with http.client() as client:
            await client.get(f"http://127.0.0.1:{plain}/")
            assert loaded == []
            await client.get(f"https://127.0.0.1:{secure}/")
        async with http.client() as other:
            await other.get(f"https://127.0.0.1:{secure}/")
    assert len(loaded) == 1
