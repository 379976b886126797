"""Which files a command may read: inside the read roots, and never where secrets live."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from holmes.tools.policy.resolve import Argument
from holmes.tools.policy.settings import PolicySettings, Ruling, ask, deny

MOST_FILES = 1000  # that one wildcard may stand for

# In anybody's home directory.
_HOME_SECRETS = (
    r"\.ssh|\.aws|\.kube|\.azure|\.gnupg|\.oci|\.holmes|\.password-store|\.vault-token|\.netrc|\.pgpass|\.my\.cnf"
    r"|\.mylogin\.cnf|\.npmrc|\.pypirc|\.s3cfg|\.boto|\.git-credentials|\.docker/config\.json|\.cargo/credentials.*"
    r"|\.terraform\.d/credentials.*|\.config/(gcloud|gh|git/credentials|helm|argocd|rclone|doctl|hub|sops)"
    r"|\.local/share/keyrings|Library/Keychains|\.(bash|zsh|python|psql|mysql|rediscli)_history"
)
_SYSTEM_SECRETS = (
    r"/etc/g?shadow-?|/etc/sudoers(\.d)?|/etc/ssl/private|/etc/ssh/ssh_host_[^/]*_key|/etc/kubernetes|/etc/rancher"
    r"|/var/lib/(kubelet|rancher|kubernetes|etcd)|(/var)?/run/secrets|/dev/(k?mem|port|tcp|udp|sd[^/]*|nvme[^/]*|vd[^/]*)"
    r"|/proc/kcore|/proc/[^/]+/(task/[^/]+/)?(environ|mem|root|cwd|fd|fdinfo|map_files|auxv)"
)
# Wherever they are, as wildcards.
SECRET_FILES = (
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"),
    *(".env", ".env.*", ".git-credentials", ".htpasswd", ".netrc", ".pgpass", ".vault-token", "credentials.json"),
    *("service-account*.json", "kubeconfig", "*.kubeconfig", "*[-_]kubeconfig", "*kubeconfig.y*ml", "*kubeconfig.json"),
)
SECRET_FOLDERS = (".ssh", ".aws", ".kube", ".azure", ".gnupg")
_EXAMPLES = re.compile(r"(.*/)?\.env\.(example|sample|template|dist)")
# Facts about the machine that are no secret and that one looks at first.
_PUBLIC = re.compile(
    r"/etc/(os-release|hostname|hosts|resolv\.conf|timezone|localtime|issue|lsb-release|debian_version|fstab)"
    r"|/usr/lib/os-release|/dev/(null|stdin|fd/0)"
    r"|/proc/(cpuinfo|meminfo|loadavg|uptime|version|stat|mounts|vmstat|diskstats|swaps|interrupts|slabinfo|buddyinfo)"
    r"|/proc/(net|pressure|sys)/.*"
    r"|/proc/(self|[0-9]+)/(status|limits|stat|statm|cgroup|io|sched|oom_score|oom_score_adj|mounts|mountinfo|net/.*)"
    r"|/sys/(fs/cgroup|class/net|block|devices/system)(/.*)?"
)
_GLOB_START = re.compile(r"[*?\[]")


@cache
def _secrets() -> re.Pattern[str]:
    homes = rf"/(root|home/[^/]+|Users/[^/]+|var/root)/({_HOME_SECRETS})"
    names = "|".join(fnmatch.translate(name) for name in SECRET_FILES)
    return re.compile(rf"({homes}|{_SYSTEM_SECRETS})(/.*)?|.*/({names})", re.IGNORECASE | re.DOTALL)


@cache
def _home_secrets() -> re.Pattern[str]:
    return re.compile(rf"({_HOME_SECRETS})(/.*)?", re.IGNORECASE | re.DOTALL)


def absolute(path: str, settings: PolicySettings) -> str:
    """The path from the root, without ``..`` and doubled slashes; links are not followed."""
    return os.path.normpath("/" + str(Path(settings.cwd, path)).lstrip("/"))


def is_secret(path: str, settings: PolicySettings) -> bool:
    """Whether an absolute path is, or lies in, a place of secrets. A read root inside such a place is readable."""
    home = settings.home.rstrip("/")
    own = any(_inside(path, secret) for secret in settings.secret_paths)
    usual = _secrets().fullmatch(path) is not None and not _EXAMPLES.fullmatch(path)
    at_home = (
        bool(home) and path.startswith(home + "/") and _home_secrets().fullmatch(path[len(home) + 1 :]) is not None
    )
    if not (own or usual or at_home):
        return False
    if own and not usual:
        return not any(
            _inside(path, root)
            for root in settings.read_roots
            for secret in settings.secret_paths
            if _below(root, secret)
        )
    return True


def judge_path(path: str, settings: PolicySettings, *, tree: bool = False) -> Ruling | None:
    """What speaks against reading a file, or everything below a folder (``tree``)."""
    plain = absolute(path, settings)
    try:
        real = os.path.realpath(plain)
    except OSError:  # a link that we may not follow
        real = ""
    if is_secret(plain, settings) or is_secret(real, settings):
        return deny(f"{path} holds secrets", "secret path")
    if _PUBLIC.fullmatch(plain) and (plain == real or plain.startswith(("/etc/", "/proc/", "/sys/", "/dev/"))):
        return None
    roots = [os.path.realpath(root) for root in settings.read_roots]
    if not any(_inside(real, root) for root in roots):
        return ask(f"{path} is outside the folders that may be read (read_roots)", "read roots")
    if tree and (hidden := _secret_below(real, settings)):
        return ask(f"{path} contains {hidden}, which holds secrets", "secret path")
    return None


def judge_file(argument: Argument, settings: PolicySettings, *, tree: bool = False) -> tuple[Ruling | None, list[str]]:
    """What speaks against an argument that names a file, and what its wildcards stand for ([] for none)."""
    if argument.stream or argument.text == "-":
        return None, []
    if not argument.known:
        return ask("which file it reads is known only when it runs", "read roots"), []
    if argument.pattern is None:
        return judge_path(argument.text, settings, tree=tree), []
    start = _GLOB_START.split(argument.text)[0]
    base = judge_path(start.rpartition("/")[0] or ("/" if start.startswith("/") else "."), settings)
    if base is not None:
        return base, []
    matches = sorted(islice(_matches(argument.pattern, settings), MOST_FILES + 1))
    if len(matches) > MOST_FILES:
        return ask(f"{argument.text} stands for more than {MOST_FILES} files", "read roots"), []
    for path in matches:
        if (ruling := judge_path(path, settings, tree=tree)) is not None:
            return ruling, []
    return None, [f"./{path}" if path.startswith("-") else path for path in matches]


def is_folder(argument: Argument, settings: PolicySettings) -> bool:
    """Whether an argument names a folder, by itself or by its wildcards."""
    if not argument.known:
        return False
    matches = _matches(argument.pattern, settings) if argument.pattern is not None else [argument.text]
    return any(Path(settings.cwd, path).is_dir() for path in islice(matches, MOST_FILES))


def mentions_secret(argument: Argument, settings: PolicySettings) -> bool:
    """Whether an argument of a command that is not understood names a place of secrets."""
    text = argument.text
    for piece in {text, *(text.rpartition(mark)[2] for mark in "=:@")}:
        if "/" in piece or piece.startswith("."):
            path = absolute(piece.replace("\0", ""), settings)
            if is_secret(path, settings):
                return True
    return False


def _matches(pattern: str, settings: PolicySettings) -> Iterator[str]:
    return glob.iglob(pattern, root_dir=settings.cwd)  # noqa: PTH207 - skips dot files as the shell does


def _inside(path: str, root: str) -> bool:
    root = root.rstrip("/")
    return path == root or path.startswith(root + "/") or not root


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _secret_below(folder: str, settings: PolicySettings) -> str:
    """A place of secrets that exists below a folder; only the known places are looked for."""
    home = settings.home.rstrip("/")
    places = [f"{home}/{name}" for name in (".ssh", ".aws", ".kube", ".azure", ".gnupg", ".docker", ".config/gcloud")]
    for place in [
        *places,
        *settings.secret_paths,
        "/etc/shadow",
        "/run/secrets",
        "/var/run/secrets",
        "/etc/kubernetes",
    ]:
        if _below(place, folder) and Path(place).exists():
            return place
    return ""
