"""What ``holmes config init`` does: three questions, a commented file, and a live test of it."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import typer

from holmes.cli.config_file import Settings, config_text, write_config
from holmes.cli.doctor import print_line
from holmes.cli.terminal import is_interactive
from holmes.core.config import Config
from holmes.core.env import environment, holmes_home
from holmes.core.errors import HolmesError, UsageError
from holmes.kube.cluster import Gap
from holmes.kube.kubeconfig import Kubeconfig, find
from holmes.llm.choice import OFFLINE, choose
from holmes.llm.models import ModelEntry

_TRIED = ("configuration", "model", "cluster")  # of the checks of ``holmes doctor``, in its order
_ADDRESS = re.compile(r"(https?://\S+|[\w.-]+:\d+\S*)(?:\s+(\S+))?")
_SHOWN = 20  # contexts listed


def run_init(
    path: Path | None,
    model: str | None,
    api_key: str | None,
    api_base: str | None,
    context: str | None,
    kubeconfig: Path | None,
    yes: bool,
) -> int:
    """Make the file and try it; the exit code. UsageError for what cannot be used, before anything is written."""
    env = environment()
    file = (path.expanduser() if path else holmes_home(env) / "config.yaml").absolute()
    asks = is_interactive() and not yes
    _may_replace(file, asks, yes)
    questions = Questions(env, asks)
    name, base, entry = questions.model(model, api_base)
    key, variable = questions.key(api_key, entry)
    chosen = questions.context(context, kubeconfig)
    old = write_config(file, config_text(Settings(name, base, key, variable, chosen, kubeconfig)))
    print(f"Written: {file}" + (f" (the one before is {old.name} now)" if old else ""))
    if env.get("MODEL", name) != name:
        print(f"MODEL is set to {env['MODEL']} and beats the file.")
    return asyncio.run(_try(file, env))


@dataclass(frozen=True, slots=True)
class Questions:
    """Asks what was not given; without somebody to ask, the defaults count."""

    env: Mapping[str, str]
    asks: bool

    def model(self, model: str | None, base: str | None) -> tuple[str, str, ModelEntry | None]:
        """Name and base URL as they are to be written, and the entry that they stand for (None is offline)."""
        if model or base:
            return self._judged(model or "", base or "")
        if not self.asks:
            return self._read(self._default_model())
        print("1/3 Which model? PROVIDER/NAME, the base URL of your own server (and a model's name), or offline.")
        while True:
            try:
                return self._read(typer.prompt("    Model", default=self._default_model()).strip())
            except HolmesError as error:
                print(f"    {error}")

    def _read(self, answer: str) -> tuple[str, str, ModelEntry | None]:
        own = _ADDRESS.fullmatch(answer)
        return self._judged((own[2] or "") if own else answer, _url(own[1]) if own else "")

    def _judged(self, name: str, base: str) -> tuple[str, str, ModelEntry | None]:
        if base and not base.startswith(("http://", "https://")):
            raise UsageError(f"{base} is no base URL", remedy="write it with http:// or https://")
        entry = choose(Config(model=name, api_base=base), self.env).entry
        if entry and not entry.api_base and not entry.provider.base(self.env) and entry.provider.wire == "openai":
            raise UsageError(f"{name} needs a base URL", remedy="give it with --api-base, or when asked: URL NAME")
        return name, base, entry

    def _default_model(self) -> str:
        if self.env.get("MODEL"):
            return self.env["MODEL"]
        entry = choose(Config(), self.env).entry
        if entry is None:
            return OFFLINE
        return entry.name if entry.name_on_wire else entry.api_base  # a server whose first model is taken

    def key(self, given: str | None, entry: ModelEntry | None) -> tuple[str, str]:
        """The key as it is to be written (a reference to a variable that holds it), and the variable it belongs in."""
        if entry is None or entry.alias:
            return "", ""
        names = entry.provider.key_names
        variable = next((name for name in names if self.env.get(name)), "")
        if given and (holder := next((name for name, value in self.env.items() if value == given), "")):
            return f"{{{{ env.{holder} }}}}", holder
        if given and variable:
            raise UsageError(
                f"{variable} is set, and --api-key is another key",
                remedy=f"leave --api-key out, or unset {variable}: no key is written out that can come from there",
            )
        if variable:
            own = bool(entry.api_base) or entry.provider.local  # such a server may need none, and the variable counts
            return ("" if own else f"{{{{ env.{variable} }}}}"), variable
        if not given and self.asks and names:
            empty = "there is none" if entry.api_base or entry.provider.local else f"you will set {names[0]}"
            print(f"2/3 Its key? It is not shown while you type. Empty: {empty}.")
            given = typer.prompt("    Key", default="", hide_input=True, show_default=False).strip()
        return given or "", names[0] if names else ""

    def context(self, given: str | None, kubeconfig: Path | None) -> str:
        """The context to write; "" follows the current one."""
        found = find(self.env, str(kubeconfig or ""))
        if isinstance(found, Gap):
            if given or kubeconfig:
                raise UsageError(f"{found.what}: {found.message}")
            print(f"No cluster: {found.message}")
            return ""
        if given is not None:
            if given not in found.contexts:
                gap = found.connection(given)
                raise UsageError(str(gap))
            return given
        return self._asked_context(found) if self.asks and found.contexts else ""

    def _asked_context(self, found: Kubeconfig) -> str:
        print("3/3 Which cluster? A context of your kubeconfig, by number or name.")
        for number, name in enumerate(found.contexts[:_SHOWN], 1):
            print(f"    {number}. {name}{' (current)' if name == found.current else ''}")
        if len(found.contexts) > _SHOWN:
            print(f"    ... and {len(found.contexts) - _SHOWN} more")
        follow = "whichever is current"
        while True:
            answer = typer.prompt("    Context", default=follow).strip()
            if answer == follow:
                return ""
            if answer in found.contexts:
                return str(answer)
            if answer.isdecimal() and 1 <= int(answer) <= len(found.contexts):
                return found.contexts[int(answer) - 1]
            print(f"    {found.connection(answer)}")


def _may_replace(file: Path, asks: bool, yes: bool) -> None:
    if file.is_dir():
        raise UsageError("this is a folder", where=str(file), remedy="name a file")
    if not os.path.lexists(file) or yes:
        return
    if not asks:
        raise UsageError("is there already", where=str(file), remedy="--yes replaces it, --config FILE writes another")
    if not typer.confirm(f"{file} is there already. Replace it?", default=False):
        raise UsageError("nothing was changed", remedy="--config FILE writes another file")


def _url(address: str) -> str:
    return address if "://" in address else f"http://{address}"


async def _try(file: Path, env: Mapping[str, str]) -> int:
    """Ask the model one word and list the cluster's pods, as ``holmes doctor`` does; the exit code."""
    from contextlib import aclosing

    from holmes.app.checkup import checkup

    fine = True
    async with aclosing(checkup(file, env, {}, ask_model=True)) as lines:
        async for line in lines:
            if line.what in _TRIED:
                print_line(line)
                fine = fine and line.state != "broken"
            if line.what == _TRIED[-1]:
                break
    if not fine:
        print("Something does not work yet; correct it and run: holmes doctor", file=sys.stderr)
        return 1
    print('Ask something: holmes ask "is anything wrong in my cluster?"')
    return 0
