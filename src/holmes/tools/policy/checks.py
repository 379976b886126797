"""Rules of single programs that no table can say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from holmes.tools.policy.match import Call
from holmes.tools.policy.paths import absolute, is_secret
from holmes.tools.policy.resolve import GAP
from holmes.tools.policy.verbs import check_verbs
from holmes.tools.policy.wrappers import check_env, check_find, check_shell, check_xargs

_SECRET = re.compile(r"secrets?([./].*)?", re.IGNORECASE)
_PS_PLAIN = frozenset("AadefFlLmMjyZwncHVNTx")
_PS_VALUES = frozenset("oOpuUgGCtsqk")
_PS_LONG = re.compile(
    r"--(sort|no-headers?|no-heading|headers?|forest|pid|ppid|user|User|group|Group|format|cols|columns|width|rows|lines"
    r"|cumulative|info|version|help|tty|sid|quick-pid|deselect|context)(=[^\0]*)?"
)


def check_kubernetes(call: Call) -> None:
    """Secrets may be listed, never shown."""
    args = [word.text for _, word in call.args]
    outputs = [word.text for word in call.given("-o", "--output")]
    full = any(output not in ("", "wide", "name") for output in outputs) or bool(call.given("--template"))
    kinds = [kind.strip() for kind in args[0].split(",")] if args else []
    kinds += [text for text in args[1:] if "/" in text]
    if any(_SECRET.fullmatch(kind) for kind in kinds):
        if full:
            call.deny(f"{call.name} shows the values of Secrets", "secret-bearing read")
        elif call.given("--sort-by", "--for", "-L", "--label-columns") or any(GAP in text for text in args):
            call.ask(f"{call.name} looks into Secrets", "secret-bearing read")
    typed = "/" in "".join(args[:1])
    unknown = args[:1] + [text for text in args[1:] if typed]
    if full and any(GAP in text.partition("/")[0] for text in unknown):
        call.ask("whether it shows Secrets is known only when it runs", "secret-bearing read")


def check_git(call: Call) -> None:
    """git diff outside a repository compares any two files."""
    for place, word in call.args:
        text = word.text
        name = text.rpartition(":")[2]
        if not word.known and call.path[:1] == ("diff",):
            call.ask("which files git compares is known only when it runs", "read roots")
        elif text.startswith(("/", "~", "..")) or "/../" in text:
            call.file(place, word)
        elif is_secret(absolute(name, call.settings), call.settings):
            call.deny(f"{name} holds secrets", "secret path")


def check_curl(call: Call) -> None:
    """There has to be a URL."""
    if not call.args and not call.given("--url", "-V", "--version"):
        call.ask("curl without a URL", "url")


def check_jq(call: Call) -> None:
    """Whatever path it was called by, it is the jq of Holmes."""
    call.insert[0] = ["jq"]


def check_ps(call: Call) -> None:
    """Three ways to write its flags; the letter e without a dash shows the environment of processes."""
    follows = False  # the word before takes a value
    for _, word in call.args:
        text = word.text
        if follows or re.fullmatch(r"[0-9, ]+", text):
            follows = False
            if re.search(r"environ", text) or not word.known:
                call.ask("ps shows the environment of processes", "environment")
        elif text.startswith("--"):
            if not _PS_LONG.fullmatch(text):
                call.ask(f"ps {text} is not a known flag", "ps flags")
        elif text.startswith("-"):
            letters = text[1:]
            if letters in ("aux", "auxw", "auxww", "auxf"):
                continue
            if not (letters and set(letters[:-1]) <= _PS_PLAIN and letters[-1] in _PS_PLAIN | _PS_VALUES):
                call.ask(f"ps {text} is not a known flag", "ps flags")
            follows = letters[-1:] in _PS_VALUES
        elif "e" in text:
            call.deny("ps e shows the environment of processes", "environment")
        elif not re.fullmatch(r"[auxfwljsvcgnhmrTX]*[oOpUkt]?", text):
            call.ask(f"ps {text.replace(GAP, '…')} is not a known flag", "ps flags")
        else:
            follows = text[-1:] in "oOpUkt"


def check_date(call: Call) -> None:
    """An argument without + sets the clock."""
    for _, word in call.args:
        if not word.text.startswith("+"):
            call.deny("date sets the clock", "date")


def check_hostname(call: Call) -> None:
    """An argument is a new name."""
    if call.args:
        call.deny("hostname sets the name", "hostname")


def check_printf(call: Call) -> None:
    """printf -v sets a variable, and can run code in its index."""
    if call.args and (not call.args[0][1].known or call.args[0][1].text.startswith("-")):
        call.ask("the format of printf must be a plain text", "printf")


def check_test(call: Call) -> None:
    """Operators must be written out: -v and -R can run code, and two unknown words could be such a pair."""
    call.several.clear()
    operators = _words(call, "operators")
    unknown = False
    for _, word in call.args:
        if not word.known and unknown:
            call.ask("two words that are known only when it runs", "test")
        unknown = not word.known
        if re.fullmatch(r"-[A-Za-z]+", word.text) and word.text not in operators:
            call.ask(f"test {word.text} is not understood", "test")


def check_ip(call: Call) -> None:
    """Objects may be shown, nothing may be changed."""
    words = [word.text for _, word in call.args]
    while words and words[0] in _words(call, "flags"):
        words.pop(0)
    if not words or words[0] not in _words(call, "objects"):
        call.ask(f"ip {words[0] if words else ''} is not a known read", "ip object")
    elif words[1:] and words[1] not in _words(call, "verbs"):
        call.ask(f"ip {words[0]} {words[1].replace(GAP, '…')} is not a known read", "ip verb")
    elif any(word.startswith("-") for word in words[1:]):
        call.ask("ip with flags behind its verb is not understood", "ip flags")


def check_nslookup(call: Call) -> None:
    """Without a name it reads commands."""
    if not call.args or call.args[0][1].text == "-":
        call.ask("nslookup without a name reads commands", "nslookup")


def check_redis(call: Call) -> None:
    """Reads by their names."""
    words = [word.text.upper() for _, word in call.args]
    if not words:
        if not call.given("--stat", "--bigkeys", "--memkeys", "--latency", "--latency-history", "--scan", "--version"):
            call.ask("redis-cli without a command reads commands", "redis command")
    elif words[0] not in _words(call, "reads") and " ".join(words[:2]) not in call.level.data["pairs"]:
        call.ask(f"redis-cli {words[0].replace(GAP, '…')} is not a known read", "redis command")


def _words(call: Call, table: str) -> list[str]:
    words: list[str] = call.level.data[table].split()
    return words


CHECKS: Mapping[str, Callable[[Call], None]] = {
    "kubernetes": check_kubernetes,
    "git": check_git,
    "curl": check_curl,
    "find": check_find,
    "jq": check_jq,
    "ps": check_ps,
    "date": check_date,
    "hostname": check_hostname,
    "printf": check_printf,
    "test": check_test,
    "ip": check_ip,
    "nslookup": check_nslookup,
    "redis": check_redis,
    "xargs": check_xargs,
    "env": check_env,
    "shell": check_shell,
    "verbs": check_verbs,
}
