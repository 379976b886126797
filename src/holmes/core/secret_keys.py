"""Does a key name a secret, and does the value beside it look like one?"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple


class Level(IntEnum):
    """How surely a key names a secret, and with it how much the value has to show."""

    NONE = 0  # never: password_file, secretName, token_ttl, max_tokens
    WEAK = 1  # key, tokenFoo: the value is long and random
    MEDIUM = 2  # session_key, credentials: the value looks random
    STRONG = 3  # token, client_secret, api_key: anything but plain names
    PASSWORD = 4  # anything but words that say that there is none


class KeyVerdict(NamedTuple):
    """What a key says; ``bare`` is a key of one word ("secret", "token"), which often stands before a name."""

    level: Level
    kind: str
    bare: bool


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PASSWORD = re.compile(
    r"(?:password|passwd|passphrase|passcode|pwd|contrase(?:na|a)?|senha|kennwort|passwort)s?$"
    r"|^(?:pass|pw)$|^(?:db|user|root|key|store|my|ftp|smtp|admin|bind|ldap|mail|proxy|auth)(?:pass|pw)$"
)
_STRONG = re.compile(
    r"(?:secret|token)s?$|^(?:bearer|jwt|authtoken)$"
    r"|^(?:x?api|access|secret|private|priv|auth|account|signing|encryption|sharedaccess|subscription)key$"
)
_MEDIUM = _words(
    "credential credentials cred creds auth authorization sas hmac pat cookie otp dsn signature sessionid jsessionid "
    "phpsessid sessid"
)
_STRONG_KEYS = _words("api apis secret private priv access auth account signing sign encryption encrypt sas")
_MEDIUM_KEYS = _words(
    "master shared client service svc admin app application consumer license licence db database storage subscription "
    "function host integration ingest ingestion write read project deploy ssh gpg jwt hmac session cookie crypt crypto "
    "cipher aes rsa ibm cos cloudant softlayer sl cl datadog dd relic stripe sendgrid openai anthropic google maps aws "
    "azure gcp github root user webhook bot routing integration license token password insert events server"
)
_NO_KEYS = _words(
    "primary foreign partition sort cache public object map label annotation index unique composite translation "
    "message config hot dedup dedupe deduplication idempotency redis bucket row shard metric event registry "
    "resource feature flag group sub data lookup selector topology join hash"
)
_NO_TOKENS = _words(
    "next page continue continuation pagination max min stop eos bos pad unk sep cls special first per num total "
    "prompt completion input output unexpected invalid expected sync resume cancel lock fencing reasoning cached"
)
_NO_SECRETS = _words("pull image existing")
# What may follow the word and leave its meaning: DB_PASSWORD_PROD, tokenValue, secret_key_base.
_NEUTRAL = _words(
    "value val data b64 base64 enc encoded string str text txt plain plaintext raw prod production dev development "
    "stage staging test testing old new current previous primary secondary backup default main live sandbox admin root "
    "master confirm confirmation again repeat arg param header env var base s hash md5 sha256 sha1 write read db"
)
# What may follow the word and take it away: the value is about the secret, not the secret.
_ABOUT = _words(
    "name names ref refs ttl file files path paths dir folder type types url urls uri endpoint endpoints count counts "
    "version versions expiry expires expire expiration expiring expired exp policy policies review reviews request "
    "requests length len size limit limits enabled enable disabled required optional provider class store namespace "
    "field fields prefix suffix pattern format mode status state error errors reset manager seconds minutes hours time "
    "timeout at age created updated rotated rotation source audience issuer scope scopes usage usages used index alg "
    "algorithm encoding projected controller service server client host port user username group mount mounts "
    "annotation annotations label labels budget window bucket limiter max min total per rate id ids spec kind info "
    "authentication auth accounts account change changed last valid validity check hint help"
)

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_KINDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"aws.*session|session_?token|security_token", "aws-session-token"),
        (r"aws.*(?:secret|key)|secret_access_key", "aws-secret-key"),
        (r"account_key|shared_access|storage_key|azure.*key|subscription_key", "azure-key"),
        (r"gcp|google.*key", "gcp-api-key"),
        (r"datadog|^dd_", "datadog-key"),
        (r"new_?relic", "new-relic-key"),
        (r"pager_?duty|routing_key|integration_key", "pagerduty-key"),
        (r"ibm|cloudant|soft_?layer|^sl_", "ibm-key"),
        (r"private_?key|client_key|priv_key", "private-key"),
        (r"api_?key|app_?key|application_key", "api-key"),
        (r"token|bearer|jwt", "token"),
        (r"pass|pwd|pw$|contrase|senha|kennwort", "password"),
        (r"secret", "secret"),
        (r"cookie|sess", "session"),
        (r"cred|auth", "credentials"),
    )
)


def classify(key: str) -> KeyVerdict:
    """What a key names, whatever its spelling: ``DB_PASSWORD``, ``clientSecret``, ``x-api-key``."""
    name = re.sub("[^a-z0-9]+", "_", _CAMEL.sub("_", key).lower().replace("ñ", "n")).strip("_")
    segments = [segment for segment in name.split("_") if segment]
    level = _level(segments)
    if level is Level.NONE:
        return KeyVerdict(Level.NONE, "", False)
    kind = next((kind for pattern, kind in _KINDS if pattern.search(name)), "key")
    return KeyVerdict(level, kind, len(segments) == 1)


def _level(segments: list[str]) -> Level:
    known_tail = True
    for position in range(len(segments) - 1, -1, -1):
        segment = segments[position]
        before = segments[position - 1] if position else ""
        level = _word_level(segment, before)
        if level is not None:
            if segment == "id" or level is Level.NONE:
                return level
            return level if known_tail else min(level, Level.WEAK)
        if segment in _ABOUT:
            return Level.NONE
        if segment not in _NEUTRAL and not segment.isdigit():
            known_tail = False
    return Level.NONE


def _word_level(segment: str, before: str) -> Level | None:
    """The level of one word of a key, None when it is no word for a secret."""
    if _PASSWORD.search(segment):
        return Level.PASSWORD
    if _STRONG.search(segment):
        counter_examples = _NO_TOKENS if segment.startswith("token") else _NO_SECRETS
        return Level.NONE if before in counter_examples else Level.STRONG
    if segment == "id" and before == "secret":  # Vault's AppRole
        return Level.MEDIUM
    if segment in ("key", "keys"):
        if before in _STRONG_KEYS:
            return Level.STRONG
        if before in _NO_KEYS:
            return Level.NONE
        return Level.MEDIUM if before in _MEDIUM_KEYS else Level.WEAK
    if segment in _MEDIUM:
        return Level.MEDIUM
    return None


_LONG = 256  # characters; no name, reference or placeholder is longer

_NO_VALUE = _words(
    "null nil none undefined true false yes no on off unset empty missing required optional invalid incorrect wrong "
    "hidden redacted masked secret password passwd token string str text expired unknown changed failed denied ok set "
    "not-set n/a na enabled disabled default never always auto automatic prompt ask disallowed allowed bool boolean "
    "integer number object array file env pwd return raise throw new await function lambda "
    "basic bearer jwt oidc oauth2 sensitive omitted removed filtered todo tbd"
)
_NO_SECRET = re.compile(
    r"""(?:
      \$\{[^}]*\}? | \$\([^)]*\)? | \$[A-Z_][A-Z0-9_]*(?:/.*)? | \$[a-z_]+(?:[:/].*)?
    | \#\{[^}]*\} | %[A-Za-z_]+% | %[sdvq] | \{\{.*\}\}? | \{[A-Za-z_]*\}
    | <[^<>]*>? | \[[A-Za-z ]*\]? | [*•.x?#_-]+ | X{3,} | [|>][+-]?\d? | [&*!][a-z_-]+(?:/\w+)? | 0x[0-9a-f]{1,16}
    | (?:vault|op|ssm|arn|awssm|gcpsm|azkv|keyvault|secretsmanager|sops|env|file|projects|ref\+\w+|resolve)[:/].*
    | \{\{?resolve:.* | ENC\[.* | AQICAH.* | kms:.*
    | (?:~|\.{1,2})?(?:/[A-Za-z.@_][A-Za-z.@_-]*[0-9]{0,3}(?:[._-][A-Za-z0-9]{1,12})*)+/? | [A-Z]:\\.*
    | (?:os|process|self|this|config|cfg|conf|settings|args|var|local|module|env|ENV|System|req|request|ctx|params
        |options|opts|props|secrets|inputs|steps|values|\.?Values|cls|app|data)[.\[].*
    | [A-Za-z_][\w.]{2,}\([^()]*\)+
    )""",
    re.VERBOSE,
)
_NOT_RANDOM = re.compile(
    r"""(?:
      [+-]?\d[\d.,:_/-]*(?:[kKMGTPE]i?[Bb]?|B|[num]?s|[mhdw%])? | (?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h|d|w))+
    | \d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)? | v?\d+(?:\.\d+)+[\w.+-]* | [a-z][a-z0-9+.-]*://.*
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+ | sha(?:1|256|384|512)[:-].*
    | (?:[\w-]+\.)+(?:com|net|org|io|local|svc|cluster|internal)(?::\d+)?
    )""",
    re.VERBOSE,
)
_GRAMMAR = _words(
    "is are was be been must should can cannot not no has have the a an to of for in at by with from or and this"
)
_OBVIOUS = re.compile(r"(?=[^0-9]*[0-9])(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[A-Za-z0-9_]{20,}")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]{16,}")
# A word with at most a short number: web, Running, db01, v2, x86.
_WORD = re.compile(r"[A-Za-z]?[a-z]{0,15}\d{0,3}|[A-Z]{1,12}\d{0,3}|[a-z]*(?:[A-Z][a-z]{2,15})+\d{0,2}|\d{1,4}[a-z]?")
_MIXED = re.compile(r"[0-9!@#$%^&*+=~?]")
_DIGIT = re.compile(r"[0-9]")
_SEPARATORS = re.compile(r"[-_./:@ ,=|]+")


def is_sentence(value: str) -> bool:
    """Words with a grammar: "This field is required"."""
    if value.count(" ") < 2:
        return False
    words = value.lower().split()
    return len(words) > 8 or not _GRAMMAR.isdisjoint(words)


def is_mixed(value: str) -> bool:
    """Letters with digits or with the special characters of passwords, in one word."""
    return " " not in value and bool(_MIXED.search(value)) and value.upper() != value.lower()


def is_random(value: str, least: int = 8) -> bool:
    """Looks as if a program had made it; hex and UUIDs count, names and generated names of objects do not."""
    value = value[:_LONG]
    if len(value) < least or " " in value or "$(" in value or "${" in value or _NOT_RANDOM.fullmatch(value):
        return False
    if _HEX.fullmatch(value) or _UUID.fullmatch(value):
        return True
    parts = _SEPARATORS.split(value)
    words = sum(1 for part in parts if _WORD.fullmatch(part))
    if words == len(parts) or (len(parts) > 2 and 2 * words > len(parts) and len(max(parts, key=len)) < 16):
        return False  # db-credentials, web-7d4b9c6f5d-x2x7z
    classes = (value != value.lower()) + (value != value.upper()) + bool(_DIGIT.search(value)) + (not value.isalnum())
    different = len(set(value))
    return different >= min(8, len(value) // 2 + 1) if classes > 1 else different >= 10 and len(value) >= 20


def is_secret(verdict: KeyVerdict, value: str, *, named: bool, prose: bool) -> bool:
    """Whether the value beside a key is one to hide.

    ``named``: the key is an environment variable's, whose values are values and not names of something; ``prose``:
    key and value may be words of a sentence ("invalid token: expected ...").
    """
    level = verdict.level
    if level is Level.NONE or not value or "[MASKED:" in value or "***" in value:
        return False
    if level >= Level.STRONG and _OBVIOUS.fullmatch(value):
        return True
    if len(value) < _LONG and (value.lower() in _NO_VALUE or _NO_SECRET.fullmatch(value)):
        return False
    if prose:
        if level >= Level.STRONG and len(value) >= 6 and is_mixed(value):
            return not _NOT_RANDOM.fullmatch(value)
        return level >= Level.MEDIUM and is_random(value)
    if level is Level.PASSWORD:
        return len(value) >= 3 and not is_sentence(value)
    if level is Level.STRONG:
        return _is_strong_secret(verdict, value, named)
    if level is Level.MEDIUM:
        return is_random(value)
    return is_random(value, 16) and not _UUID.fullmatch(value) and not _HEX.fullmatch(value) and is_mixed(value)


def _is_strong_secret(verdict: KeyVerdict, value: str, named: bool) -> bool:
    if len(value) < 4 or value.count(" ") > 1 or is_sentence(value):
        return False
    if named:
        return len(value) >= 6 or not value.isdigit()
    if len(value) > _LONG:
        return True
    if _NOT_RANDOM.fullmatch(value):
        return False
    parts = _SEPARATORS.split(value)
    if all(_WORD.fullmatch(part) for part in parts):  # db-credentials, tls.key, prod/web
        return len(parts) == 1 and not verdict.bare and is_mixed(value)
    return len(value) >= 6
