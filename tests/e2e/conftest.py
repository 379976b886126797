"""The real cluster of the end-to-end tests.

HOLMES_E2E_CLUSTER names a folder with ``up``, ``down`` and ``faults/``: a cluster is started for the session and ended
with it. With HOLMES_E2E_KUBECONFIG as well, that running cluster is used, and neither started nor ended.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

_UP_SECONDS = 240


@pytest.fixture(scope="session")
def cluster_folder() -> Path:
    """The folder with ``up``, ``down`` and ``faults``."""
    folder = os.environ.get("HOLMES_E2E_CLUSTER")
    if folder:
        return Path(folder)
    reason = "HOLMES_E2E_CLUSTER is not set: it names the folder of a cluster with up, down and faults/"
    if os.environ.get("HOLMES_E2E_REQUIRED"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def kubeconfig(cluster_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Path of an administrator's kubeconfig."""
    running = os.environ.get("HOLMES_E2E_KUBECONFIG")
    if running:
        yield running
        return
    folder = tmp_path_factory.mktemp("cluster")
    try:
        command = [str(cluster_folder / "up"), str(folder)]
        up = subprocess.run(command, capture_output=True, text=True, timeout=_UP_SECONDS)
        assert up.returncode == 0, f"the cluster did not start:\n{up.stderr[-3000:]}"
        yield up.stdout.strip().splitlines()[-1]
    finally:
        subprocess.run([str(cluster_folder / "down"), str(folder)], check=True, timeout=_UP_SECONDS)


Kubectl = Callable[..., str]


@pytest.fixture(scope="session")
def path_with_kubectl(kubeconfig: str) -> str:
    """PATH with the cluster's own kubectl in front, where it brings one."""
    own = Path(kubeconfig).parent / "bin"
    path = f"{own}:{os.environ['PATH']}" if (own / "kubectl").exists() else os.environ["PATH"]
    assert shutil.which("kubectl", path=path), "kubectl is neither beside the kubeconfig nor on PATH"
    return path


@pytest.fixture(scope="session")
def kubectl(kubeconfig: str, path_with_kubectl: str) -> Kubectl:
    """Runs the real kubectl as the administrator and gives its output."""
    program = shutil.which("kubectl", path=path_with_kubectl) or "kubectl"

    def run(*arguments: str, stdin: str = "", environment: dict[str, str] | None = None, seconds: float = 60.0) -> str:
        env = environment if environment is not None else {**os.environ, "KUBECONFIG": kubeconfig}
        done = subprocess.run(
            [program, *arguments], env=env, input=stdin, capture_output=True, text=True, timeout=seconds
        )
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="module")
def namespace(kubectl: Kubectl) -> Iterator[str]:
    """A namespace of the module's own."""
    name = f"holmes-e2e-{uuid4().hex[:6]}"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def apply_fault(kubectl: Kubectl, cluster_folder: Path, namespace: str) -> Callable[[str], None]:
    """Applies one of the cluster's faults (``oom-killed``) in the module's namespace instead of ``demo``."""

    def apply(fault: str) -> None:
        text = (cluster_folder / "faults" / f"{fault}.yaml").read_text()
        here = text.replace("namespace: demo", f"namespace: {namespace}").replace(".demo.svc", f".{namespace}.svc")
        kubectl("apply", "-f", "-", stdin=here)

    return apply
