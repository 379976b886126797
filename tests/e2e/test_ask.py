"""``holmes ask`` on a real cluster: broken workloads side by side, a scripted model behind a real socket.

The script chooses the tools; what they give comes from the cluster; the test looks at both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.openai_server import OpenAIServer
from support.subprocesses import holmes

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


@dataclass(frozen=True)
class Case:
    """A fault, a question, the calls that a model would make, and what the cluster must say."""

    fault: str
    question: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    decisive: str  # a regular expression: the line that settles it, in a tool's result
    opening: str  # the same in the opening evidence
    ready: tuple[str, str] = ("", "")  # jsonpath of the pod's status, and its value


WAITING = "{.status.containerStatuses[0].state.waiting.reason}"
RUNNING = "{.status.phase}"
CASES = (
    Case(
        "crash-loop",
        "Why does crash-loop in namespace NS keep restarting?",
        (("fetch_pod_logs", {"pod_name": "crash-loop", "namespace": "NS", "previous": True}),),
        r"required environment variable DATABASE_URL is not set",
        r"DATABASE_URL is not set",
        (WAITING, "CrashLoopBackOff"),
    ),
    Case(
        "oom-killed",
        "NS 里的 oom-killed 为什么一直重启？",
        (("kubectl_describe", {"kind": "pod", "name": "oom-killed", "namespace": "NS"}),),
        r"OOMKilled",
        r"OOMKilled",
        (WAITING, "CrashLoopBackOff"),
    ),
    Case(
        "image-pull-bad-tag",
        "image-pull-bad-tag does not start in NS, what is wrong?",
        (
            (
                "kubectl_events",
                {"resource_type": "deployment", "resource_name": "image-pull-bad-tag", "namespace": "NS"},
            ),
        ),
        r"demo/faulty:1\.O.*not found",
        r"demo/faulty:1\.O",
        (WAITING, "ImagePullBackOff"),
    ),
    Case(
        "pending-cpu",
        "Why is pending-cpu in NS pending?",
        (
            (
                "bash",
                {"command": "kubectl get events -n NS | grep FailedScheduling", "suggested_prefixes": ["kubectl get"]},
            ),
        ),
        r"Insufficient cpu",
        r"cpu",
        (RUNNING, "Pending"),
    ),
    Case(
        "readiness-failing",
        "readiness-failing in NS gets no traffic, why?",
        (
            ("kubectl_get_by_kind_in_namespace", {"kind": "pods", "namespace": "NS"}),
            ("kubectl_events", {"kind": "deployment", "name": "readiness-failing", "namespace": "NS"}),
        ),
        r"Readiness probe failed",
        r"readiness",
        (RUNNING, "Running"),
    ),
    Case(
        "missing-configmap",
        "missing-configmap in NS is stuck, why?",
        (("kubectl_get_yaml", {"kind": "pod", "name": "missing-configmap", "namespace": "NS"}),),
        r'configmap "app-config" not found',
        r"app-config",
        (WAITING, "CreateContainerConfigError"),
    ),
    Case(
        "service-selector-mismatch",
        "The frontend in NS cannot reach the backend service. Why?",
        (
            ("kubectl_describe", {"kind": "service", "name": "backend", "namespace": "NS"}),
            ("kubernetes_jq_query", {"kind": "services", "namespace": "NS", "jq_expr": ".items[].spec.selector.app"}),
        ),
        r"back-end",
        r"app=back-end",
        (RUNNING, "Running"),
    ),
    Case(
        "healthy",
        "Is the deployment healthy in NS all right?",
        (("kubernetes_count", {"kind": "pods", "namespace": "NS", "label_selector": "app=healthy"}),),
        r"\b2\b",
        r"2 of 2 pods ready",
        (RUNNING, "Running"),
    ),
)


@pytest.fixture(scope="module")
def broken(apply_fault: Callable[[str], None], namespace: str, kubectl: Callable[..., str]) -> str:
    """The namespace with all cases in it, each in the state that its question is about."""
    for case in CASES:
        apply_fault(case.fault)
    for case in CASES:
        label = "backend" if case.fault == "service-selector-mismatch" else case.fault
        path, value = case.ready
        kubectl(
            "wait", "pod", "-n", namespace, "-l", f"app={label}", f"--for=jsonpath={path}={value}", "--timeout=90s",
            seconds=100,
        )  # fmt: skip
    return namespace


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.fault)
def test_the_answer_rests_on_what_the_cluster_says(
    case: Case, broken: str, kubeconfig: str, path_with_kubectl: str, tmp_path: Path
) -> None:
    def conclude(body: dict[str, Any]) -> dict[str, Any]:
        results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        found = next((text for text in results if re.search(case.decisive, text)), None)
        quote = re.search(case.decisive, found or "")
        reference = re.match(r"\[(E\d+) ", found or "")
        if quote is None or reference is None:
            return {"content": f"No result has {case.decisive}: {results}"}
        return {"content": f"## Root cause\nIt says `{quote.group()}` [{reference.group(1)}].\nConfidence: high"}

    calls = [{"name": name, "arguments": _here(arguments, broken)} for name, arguments in case.calls]
    with OpenAIServer([{"calls": calls}, conclude]) as server:
        done = holmes(
            "ask", case.question.replace("NS", broken), "-n", "-o", "json", "--model", "openai/scripted",
            home=tmp_path,
            env={
                "KUBECONFIG": kubeconfig,
                "PATH": path_with_kubectl,
                "OPENAI_BASE_URL": server.url,
                "OPENAI_API_KEY": server.key,
            },
        )  # fmt: skip
        bodies = server.bodies
    assert done.code == 0, done.err
    report = done.json
    assert report["status"] == "answered"
    assert report["confidence"] == "high"
    cited = [item for item in report["evidence"] if item["cited"]]
    assert cited, report["answer"]
    assert all(quote["found"] for item in cited for quote in item["quote_checks"])
    assert re.search(case.opening, bodies[0]["messages"][-1]["content"], re.I)


def _here(value: Any, namespace: str) -> Any:
    if isinstance(value, str):
        return value.replace("NS", namespace)
    if isinstance(value, dict):
        return {key: _here(item, namespace) for key, item in value.items()}
    return value


def test_the_readers_own_kubeconfig_is_not_used(kubeconfig: str, tmp_path: Path) -> None:
    """Without KUBECONFIG the command finds no cluster: nothing of the caller leaks into the tests."""
    with OpenAIServer([{"content": "There is no cluster to look at."}]) as server:
        env = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": server.key}
        done = holmes("ask", "what is wrong?", "-n", "--model", "openai/scripted", home=tmp_path, env=env)
        body = server.bodies[0]
    assert done.code == 0, done.err
    assert "kubernetes/core" in body["messages"][0]["content"]
    assert not any(tool["function"]["name"] == "kubectl_get" for tool in body["tools"])
