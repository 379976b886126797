"""The configuration of the bash toolset, and the policy that it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from holmes.tools.policy.settings import PolicySettings

# Variables that commands may use by name; their values are no secrets.
_KNOWN = ("HOME", "USER", "LOGNAME", "LANG", "TZ")
# Variables that name files or folders of credentials.
_CREDENTIALS = ("KUBECONFIG", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "CLOUDSDK_CONFIG", "AZURE_CONFIG_DIR")
_LISTS = ("allow", "deny", "read_roots", "pass_env")


@dataclass(frozen=True, slots=True)
class BashConfig:
    """``toolsets.bash.config``. ``read_roots`` None means the working directory, /var/log and the result store."""

    cwd: str
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    builtin_allowlist: Literal["core", "extended", "none"] = "core"
    read_roots: tuple[str, ...] | None = None
    pass_env: tuple[str, ...] = ()

    def policy(self, env: Mapping[str, str]) -> PolicySettings:
        """The policy's settings in an environment."""
        from holmes.core.env import holmes_home
        from holmes.tools.policy.settings import PolicySettings

        home = env.get("HOME", "")
        state = holmes_home(env)
        roots = self.read_roots
        if roots is None:
            # The root directory as working directory (usual in containers) would open everything.
            roots = (*([] if self.cwd == "/" else [self.cwd]), "/var/log", str(state / "runs"))
        named = (path for name in _CREDENTIALS for path in env.get(name, "").split(":") if path)
        return PolicySettings(
            cwd=self.cwd,
            home=home,
            read_roots=roots,
            secret_paths=(str(state), *(str(Path(self.cwd, path)) for path in named)),
            allow=self.allow,
            deny=self.deny,
            builtin_allowlist=self.builtin_allowlist,
            env={name: env[name] for name in _KNOWN if name in env} | {"PWD": self.cwd},
        )


def read_config(config: Mapping[str, Any]) -> BashConfig:
    """Check the raw values; ValueError says what is wrong with which key."""
    known = (*_LISTS, "builtin_allowlist")
    if unknown := [key for key in config if key not in known]:
        raise ValueError(f"config: unknown key {', '.join(map(str, unknown))}; known: {', '.join(known)}")
    for key in _LISTS:
        value = config.get(key)
        if value is not None and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            raise ValueError(f"config: {key}: expected a list of texts")
    builtin = config.get("builtin_allowlist", "core")
    if builtin not in ("core", "extended", "none"):
        raise ValueError("config: builtin_allowlist: expected core, extended or none")
    cwd = Path.cwd()
    roots = config.get("read_roots")
    return BashConfig(
        str(cwd),
        tuple(config.get("allow") or ()),
        tuple(config.get("deny") or ()),
        builtin,
        None if roots is None else tuple(str(cwd / Path(root).expanduser()) for root in roots),
        tuple(config.get("pass_env") or ()),
    )
