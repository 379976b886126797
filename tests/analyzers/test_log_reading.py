"""The ends of logs: the decisive line, stack traces, levels, and whom a program could not reach."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holmes.analyzers.base import Facts
from holmes.analyzers.log_reading import decisive_line, is_error, level_of, stack_trace
from holmes.analyzers.upstreams import failed_calls, target_of
from holmes.core.findings import ObjectRef

GO = """panic: assignment to entry in nil map

goroutine 1 [running]:
runtime.gopanic({0x1, 0x2})
\t/usr/local/go/src/runtime/panic.go:770 +0x132
main.(*Cart).add(...)
\t/src/shop/cart.go:41
main.main()
\t/src/shop/main.go:12 +0x1d"""
PYTHON = """INFO starting
Traceback (most recent call last):
  File "/app/main.py", line 12, in <module>
    main()
  File "/app/db.py", line 8, in connect
    raise OperationalError("no route")
psycopg2.OperationalError: no route"""
JAVA = """Exception in thread "main" java.lang.IllegalStateException: no datasource
\tat com.shop.Main.start(Main.java:31)
\tat com.shop.Main.main(Main.java:9)"""
NODE = """/app/server.js:10
  throw new Error('PORT is not set');
Error: PORT is not set
    at Object.<anonymous> (/app/server.js:10:9)
    at node:internal/main:28:49"""
RUST = "thread 'main' panicked at src/main.rs:4:5:\nindex out of bounds"


@pytest.mark.parametrize(
    ("text", "language", "head", "frame"),
    [
        (GO, "Go", "panic: assignment to entry in nil map", "/src/shop/cart.go:41"),
        (PYTHON, "Python", "psycopg2.OperationalError: no route", "/app/db.py:8"),
        (
            JAVA,
            "Java",
            'Exception in thread "main" java.lang.IllegalStateException: no datasource',
            "com.shop.Main.start(Main.java:31)",
        ),
        (NODE, "JavaScript", "Error: PORT is not set", "Object.<anonymous> (/app/server.js:10:9)"),
        (RUST, "Rust", "thread 'main' panicked at src/main.rs:4:5:", ""),
    ],
)
def test_stack_traces(text: str, language: str, head: str, frame: str) -> None:
    trace = stack_trace(text.splitlines())
    assert trace
    assert (trace.language, trace.head, trace.frame) == (language, head, frame)
    assert trace.line in text


@pytest.mark.parametrize(
    "text", ["", "panic button pressed", "INFO no panic", "Traceback (most recent call last):", "at the end (x.js:1:2)"]
)
def test_no_stack_trace(text: str) -> None:
    assert stack_trace(text.splitlines()) is None


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["INFO starting", "FATAL no config", "INFO bye, error count 0"], "FATAL no config"),
        (["starting", "cannot open /data", "bye"], "cannot open /data"),
        (["starting", "bye", ""], "bye"),
        ([], ""),
        (PYTHON.splitlines(), "psycopg2.OperationalError: no route"),
    ],
)
def test_the_decisive_line(lines: list[str], line: str) -> None:
    assert decisive_line(lines) == line


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ('{"level":"error","msg":"x"}', "error"),
        ('{"severity":"INFO","msg":"error budget"}', "info"),
        ('{"msg":"x"}', ""),
        ("{not json", ""),
        ("I1201 16:21:56.126540 1 server.go:192] failed", "info"),
        ("E1201 16:21:56.126540 1 server.go:192] x", "error"),
        ("time=1 level=warn msg=x", "warning"),
        ("2026-12-01T16:00:00Z ERROR [shop] x", "error"),
        ("[WARN] plugin", "warning"),
        ("error while loading", ""),
    ],
)
def test_levels(line: str, level: str) -> None:
    assert level_of(line) == level


def test_errors_by_level_or_words() -> None:
    assert is_error("error while loading shared libraries")
    assert is_error("2026 ERROR x")
    assert not is_error("2026 INFO 0 errors, 0 failed")
    assert not is_error("WARN failed once, trying again")


SHOP = """
- {kind: Namespace, metadata: {name: shop}}
- {kind: Namespace, metadata: {name: data}}
- {kind: Service, metadata: {name: db, namespace: data}, spec: {clusterIP: 10.96.0.7}}
- {kind: Service, metadata: {name: cart, namespace: shop}, spec: {clusterIP: 10.96.0.8, selector: {app: cart}}}
- {kind: Pod, metadata: {name: cart-1, namespace: shop, labels: {app: cart}}, status: {podIP: 10.244.0.9}}
- {kind: Node, metadata: {name: node-1}, status: {addresses: [{type: InternalIP, address: 10.89.0.2}]}}
"""
CART, DB = ObjectRef("Service", "cart", "shop"), ObjectRef("Service", "db", "data")


@pytest.mark.parametrize(
    ("line", "about"),
    [
        ('Get "http://cart/items": dial tcp 10.96.0.8:80: connect: connection refused', CART),
        ("dial tcp 10.96.0.8:80: connect: connection refused", CART),
        ("dial tcp 10.244.0.9:8080: i/o timeout", CART),
        ("cannot connect to db.data:5432: connection refused", DB),
        ("could not connect to postgres://u:p@db.data.svc.cluster.local:5432/x: timed out", DB),
        ("lookup db.data.svc on 10.96.0.10:53: no such host", DB),
        ("psycopg2: could not connect to server at host='db.data' port=5432: connection refused", DB),
        ('could not translate host name "cart" to address: Name or service not known', CART),
        ("Error: getaddrinfo ENOTFOUND cart", CART),
        ("Error: connect ECONNREFUSED 10.96.0.8:6379", CART),
        ("java.net.UnknownHostException: cart", CART),
        ("lookup db-0.db.data.svc.cluster.local: no such host", DB),
        ("lookup carts on 10.96.0.10:53: no such host", ObjectRef("Service", "carts", "shop")),
        ("scrape https://10.89.0.2:10250/metrics: deadline exceeded", ObjectRef("Node", "node-1")),
        ("http://api.example.com/v1: timed out", None),
    ],
)
def test_who_could_not_be_reached(line: str, about: ObjectRef | None, facts_of: Callable[..., Facts]) -> None:
    target = target_of(facts_of(SHOP), "shop", line)
    assert target
    assert target.object == about
    assert len(failed_calls(facts_of(SHOP), "shop", [line])) == 1


@pytest.mark.parametrize(
    "line",
    [
        "2026-12-01T16:14:06 request timed out",
        "errno:110 connection timed out",
        "main.go:120 timed out",
        "http://localhost:8080/healthz: connection refused",
        "127.0.0.1:5432: connection refused",
        "INFO calling http://cart/items, timeout 5s",
        "GET /orders -> 500",
    ],
)
def test_lines_that_name_nobody(line: str, facts_of: Callable[..., Facts]) -> None:
    assert failed_calls(facts_of(SHOP), "shop", [line]) == []


def test_answers_with_an_error_status(facts_of: Callable[..., Facts]) -> None:
    lines = [
        "ERROR GET http://cart/items: unexpected status 500 Internal Server Error",
        "ERROR http://cart/items returned 503",
        "ERROR http://cart/items: HTTP/1.1 502 Bad Gateway",
        "ERROR http://cart/items took 512 ms",
    ]
    (calls,) = failed_calls(facts_of(SHOP), "shop", lines)
    assert calls.failures == {"status": 3}
    assert calls.target.service == CART
