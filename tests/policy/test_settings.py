"""What a user may set, and files."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holmes.tools.policy.judge import decide, judge
from holmes.tools.policy.settings import PolicySettings

Make = Callable[..., PolicySettings]


def verdict(command: str, settings: PolicySettings) -> str:
    return judge(command, settings).decision


def test_a_prefix_widens_ask_to_allow(settings: Make) -> None:
    policy = settings(allow=("terraform plan", "/opt/tools", "python3 -c"))
    assert verdict("terraform plan -out=x", policy) == "allow"
    assert verdict("terraform plan | grep x", policy) == "allow"
    assert verdict("timeout 5 terraform plan", policy) == "allow"
    assert verdict("/opt/tools/show all", policy) == "allow"
    assert verdict("terraform apply", policy) == "ask"
    assert verdict("terraform planner", policy) == "ask"
    assert verdict("/opt/tools/../../bin/sh x", policy) == "ask"
    assert verdict("terraform plan > out", policy) == "ask"
    assert verdict("terraform plan $(cat x)", policy) == "ask"
    assert verdict("terraform plan; rm x", policy) == "ask"


def test_a_prefix_never_widens_deny(settings: Make) -> None:
    policy = settings(allow=("kubectl", "cat", "env", "sed", "python3"))
    for command in (
        "kubectl get secret -o yaml",
        "kubectl --as=admin get pods",
        "cat /etc/shadow",
        "env",
        "sed -i s/a/b/ x",
        "python3 /etc/shadow",
        "KUBECONFIG=/tmp/x kubectl get pods",
    ):
        assert verdict(command, policy) == "deny", command


def test_deny_beats_everything(settings: Make) -> None:
    policy = settings(allow=("kubectl",), deny=("kubectl get configmap", "kubectl logs --previous", "helm"))
    for command in (
        "kubectl get configmap x",
        "kubectl get configmaps",
        "kubectl -n prod get configmap",
        "kubectl get pods,configmaps -o yaml",
        "kubectl get configmap/x",
        "/usr/bin/kubectl get configmap",
        "kubectl logs x --previous",
        "helm list",
        "timeout 5 helm list",
        "echo $(helm list)",
        "bash -c 'helm list'",
        "kubectl get pods | xargs helm status",
        "helm list )",
    ):
        assert verdict(command, policy) == "deny", command
    assert verdict("kubectl get pods", policy) == "allow"
    assert verdict("kubectl logs x", policy) == "allow"


def test_the_builtin_list_can_be_switched_off(settings: Make) -> None:
    policy = settings(builtin_allowlist="none", allow=("kubectl get pods",))
    assert verdict("kubectl get pods -A", policy) == "allow"
    assert verdict("kubectl get nodes", policy) == "ask"
    assert verdict("kubectl get secret -o yaml", policy) == "deny"


def test_the_verdict_suggests_prefixes(settings: Make) -> None:
    assert judge("kubectl rollout restart deploy x", settings()).prefixes == ("kubectl rollout",)
    assert judge("rm x && touch y", settings()).prefixes == ("rm", "touch")
    assert judge("cat /etc/shadow", settings()).prefixes == ()


def test_files_inside_the_read_roots_only(settings: Make, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "x").write_text("x")
    work = Path(settings().cwd)
    (work / "in").write_text("x")
    (work / "link").symlink_to(other / "x")
    (work / "linked").symlink_to(other)
    inside = PolicySettings(cwd=str(work), home="/nonexistent", read_roots=(str(work),))
    both = PolicySettings(cwd=str(work), home="/nonexistent", read_roots=(str(work), str(other)))
    assert verdict("cat in", inside) == "allow"
    for command in ("cat link", "cat linked/x", "cat ../other/x", f"cat {other}/x", "ls linked", "cat l*", "cat */x"):
        assert verdict(command, inside) == "ask", command
        assert verdict(command, both) == "allow", command


def test_wildcards_are_replaced_by_the_policy(settings: Make, tmp_path: Path) -> None:
    policy = settings()
    for name in ("a.log", "b c.log", "-n.log", ".hidden.log"):
        Path(policy.cwd, name).write_text("x\n")
    script = decide("cat *.log", policy).script
    assert script.splitlines()[-1] == "cat ./-n.log a.log 'b c.log'"
    assert decide("cat nothing*.log", policy).script.splitlines()[-1] == "cat 'nothing*.log'"
    Path(policy.cwd, "id_rsa").write_text("x")
    assert verdict("cat id*", policy) == "deny"
    assert verdict("cat *", policy) == "deny"


def test_reading_a_folder_leaves_secrets_out(settings: Make) -> None:
    policy = settings()
    for name in ("a.txt", ".env", "tls.key", "id_rsa", "x.kubeconfig"):
        Path(policy.cwd, name).write_text("found\n")
    Path(policy.cwd, ".ssh").mkdir()
    Path(policy.cwd, ".ssh/config").write_text("found\n")
    for command in ("grep -r found .", "grep -r found", "grep -rn -e found ."):
        script = decide(command, policy).script
        end = subprocess.run(["bash", "-c", script], cwd=policy.cwd, capture_output=True, text=True)
        assert "a.txt" in end.stdout
        assert len(end.stdout.splitlines()) == 1, (command, end.stdout)


def test_a_folder_with_known_secrets_asks(settings: Make) -> None:
    policy = settings()
    home = Path(policy.home)
    (home / ".aws").mkdir()
    at_home = PolicySettings(cwd=str(home), home=str(home), read_roots=(str(home),))
    assert verdict("grep -r x .", at_home) == "ask"
    assert verdict("cat notes.txt", at_home) == "allow"
    assert verdict("cat .aws/credentials", at_home) == "deny"
    assert verdict("ls", at_home) == "allow"


def test_own_secret_paths_and_a_readable_part_of_them(settings: Make, tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "runs").mkdir(parents=True)
    policy = settings(secret_paths=(str(state),), read_roots=(str(state / "runs"),))
    assert verdict(f"cat {state}/journal.db", policy) == "deny"
    assert verdict(f"ls {state}", policy) == "deny"
    assert verdict(f"cat {state}/runs/r1/E1", policy) == "allow"


def test_the_root_folder_as_read_root(settings: Make) -> None:
    policy = settings(read_roots=("/",))
    assert verdict("cat /etc/passwd", policy) == "allow"
    assert verdict("cat /etc/shadow", policy) == "deny"


def test_sql_goes_through_the_seam(settings: Make) -> None:
    policy = settings(sql_reads=lambda sql: sql.lower().startswith("select"))
    assert verdict("psql -d app -c 'select 1'", policy) == "allow"
    assert verdict("mysql -e 'select 1' app", policy) == "allow"
    assert verdict("psql -c 'drop table x'", policy) == "ask"
    assert verdict(r"psql -c 'select 1 \g |id'", policy) == "ask"
    assert verdict(r"mysql -e 'select 1 \! id'", policy) == "ask"
    assert verdict("psql -c \"select '$x'\"", policy) == "ask"
    assert verdict("psql -c 'select 1' -h evil", policy) == "ask"


def test_configured_hosts(settings: Make) -> None:
    policy = settings(hosts=frozenset(["grafana.example.com", "10.0.0.7"]))
    assert verdict("curl https://grafana.example.com/api/health", policy) == "allow"
    assert verdict("curl http://10.0.0.7:9090/-/healthy", policy) == "allow"
    assert verdict("curl https://grafana.example.com.evil.example/", policy) == "ask"
    assert verdict("curl https://evil.example/?grafana.example.com", policy) == "ask"
    assert verdict("curl https://grafana.example.com@evil.example/", policy) == "deny"


def test_known_variables_are_replaced(settings: Make) -> None:
    policy = settings()
    assert decide("ls $PWD", policy).script.endswith(f"ls {policy.cwd}")
    assert verdict("cat $HOME/.ssh/id_rsa", policy) == "deny"
    assert verdict("echo $OPENAI_API_KEY", policy) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   ",
        "# only a comment",
        "echo " + "x" * 30_000,
        "echo \0",
        "echo \ud800",
        "$(" * 200 + "ls" + ")" * 200,
        "((((((((((" * 20,
        "a" + " && a" * 500,
        "for a in 1 2 3 4 5 6 7 8 9; do for b in 1 2 3 4 5 6 7 8 9; do for c in 1 2 3 4 5 6 7 8 9; do "
        "for d in 1 2 3 4 5 6 7 8 9; do echo $a$b$c$d; done; done; done; done",
        "get secret " * 1500 + "(",
    ],
)
def test_odd_texts_ask_quickly(command: str, settings: Make) -> None:
    assert verdict(command, settings()) == "ask"
