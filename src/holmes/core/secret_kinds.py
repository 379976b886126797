"""The kinds of secrets that masking knows, as data.

Secrets that show themselves, wherever they stand:

* clouds: aws-access-key-id, aws-secret-key, aws-session-token, aws-signature, bedrock-key, gcp-api-key,
  gcp-oauth-token, gcp-client-secret, azure-client-secret, azure-key, azure-sas, digitalocean-token, heroku-key,
  alibaba-key-id, ibm-key, flyio-token, cloudflare-ca-key, databricks-token, planetscale-token, supabase-token,
  neon-password, aiven-password
* code and builds: github-token, gitlab-token, atlassian-token, npm-token, pypi-token, rubygems-token, nuget-key,
  docker-token, artifactory-token, circleci-token, buildkite-token, pulumi-token, terraform-token, sourcegraph-token,
  postman-key, linear-token, figma-token, notion-token, airtable-token
* models: openai-key, anthropic-key, huggingface-token, groq-key, xai-key, perplexity-key, replicate-token
* monitoring: grafana-token, grafana-key, sentry-token, sentry-dsn, new-relic-key, datadog-key, pagerduty-key,
  dynatrace-token
* messages and money: slack-token, slack-webhook, discord-token, discord-webhook, teams-webhook, telegram-token,
  twilio-key, sendgrid-key, mailgun-key, mailchimp-key, brevo-key, stripe-key, stripe-webhook-secret, square-token,
  shopify-token
* secret stores and networks: vault-token, doppler-token, onepassword-token, age-key, tailscale-key, launchdarkly-key
* formats: jwt, private-key (PEM over many lines, escaped or in base64; PuTTY), password-hash (crypt, bcrypt, argon2)

Secrets that their place shows:

* password, secret, token, api-key, credentials, cookie, session: values beside such a key in YAML, JSON, env dumps,
  query strings, connection strings, headers, command lines, XML, source code, and Kubernetes ``env`` lists
* url-password, basic-auth, bearer-token, authorization, cookie
* kubernetes-secret: values of ``data`` and ``stringData`` of a Secret, in YAML or JSON, last-applied included
* own-credential: values of our own credential variables; encoded-secret: base64 of any of these

Facts about formats are from their vendors' documentation. A Token is ``prefix`` and at least ``least`` characters of
``charset``; one that a line break cut in two is still found. A Shape is any other form. Patterns are in the common
subset of RE2 and Python's re, over bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Token:
    """A secret that begins with a fixed prefix."""

    kind: str
    prefix: str
    charset: str
    least: int
    random: bool = False  # the prefix is too common: what follows must look random


@dataclass(frozen=True, slots=True)
class Shape:
    """A secret of any other form; group ``s`` is the secret when it is not all of the match.

    ``check`` says what else must hold: it looks random, it is base64 of a pair ``user:password``, it begins with
    base64 of a JSON object. A form that begins like any word names a rarer part of it, the ``mark``, by which it is
    searched: it keeps the automaton small.
    """

    kind: str
    pattern: str
    check: Literal["", "random", "pair", "json"] = ""
    mark: str = ""


_AN = "[A-Za-z0-9]"
_URL = "[A-Za-z0-9_-]"
_B64 = "[A-Za-z0-9+/=]"
_HEX = "[0-9a-f]"

TOKENS: tuple[Token, ...] = (
    Token("aws-access-key-id", r"(?:AKIA|ASIA|ABIA|ACCA)", "[A-Z0-9]", 16),
    Token("aws-session-token", r"(?:FwoGZXIvYXdz|IQoJb3JpZ2lu)", "[A-Za-z0-9+/=%]", 60),
    Token("bedrock-key", r"\bABSK", _B64, 60),
    Token("gcp-api-key", r"AIza", _URL, 35),
    Token("gcp-oauth-token", r"\bya29\.", "[A-Za-z0-9_.-]", 20),
    Token("gcp-oauth-token", r"\b1//0", _URL, 30),
    Token("gcp-client-secret", r"GOCSPX-", _URL, 20),
    Token("alibaba-key-id", r"\bLTAI", _AN, 12, random=True),
    Token("digitalocean-token", r"\bdo[opr]_v1_", _HEX, 64),
    Token("heroku-key", r"\bHRKU-", _URL, 30),
    Token("flyio-token", r"\bfm[12][a-z]?_", "[A-Za-z0-9+/=_-]", 40),
    Token("cloudflare-ca-key", r"\bv1\.0-", "[0-9a-f-]", 100),
    Token("databricks-token", r"\bdapi", _HEX, 32),
    Token("planetscale-token", r"\bpscale_(?:tkn|pw|oauth)_", "[A-Za-z0-9_.-]", 30),
    Token("supabase-token", r"\bsb(?:p|_secret)_", _URL, 30),
    Token("neon-password", r"\bnpg_", _AN, 12),
    Token("aiven-password", r"\bAVNS_", _URL, 18),
    Token("github-token", r"gh[pousr]_", "[A-Za-z0-9_]", 36),
    Token("github-token", r"github_pat_", r"[A-Za-z0-9_]", 22),
    Token("gitlab-token", r"gl(?:pat|dt|ptt|ft|oas|rt|rtr|cbt|imt|soat|agent|ffct|wt)-", r"[A-Za-z0-9_.=-]", 20),
    Token("gitlab-token", r"GR1348941", _URL, 20),
    Token("atlassian-token", r"\bA[TC][AC]TT3", "[A-Za-z0-9_=-]", 40),
    Token("atlassian-token", r"\bATBB", _AN, 28),
    Token("npm-token", r"\bnpm_", _AN, 36),
    Token("pypi-token", r"\bpypi-Ag[A-Z]", _URL, 50),
    Token("rubygems-token", r"\brubygems_", _HEX, 48),
    Token("nuget-key", r"\boy2", "[a-z0-9]", 43),
    Token("docker-token", r"\bdckr_[op]at_", _URL, 20),
    Token("artifactory-token", r"\bAKC", _AN, 10, random=True),
    Token("artifactory-token", r"\bAP[0-9A-F]", _AN, 8, random=True),
    Token("circleci-token", r"\bCCIP(?:AT|RJ)_", "[A-Za-z0-9_]", 40),
    Token("buildkite-token", r"\bbk[a-z]a_", _AN, 32),
    Token("pulumi-token", r"\bpul-", _HEX, 40),
    Token("sourcegraph-token", r"\bsgp_", "[A-Za-z0-9_]", 40),
    Token("postman-key", r"\bPMAK-", "[0-9a-f-]", 50),
    Token("linear-token", r"\blin_(?:api|oauth)_", _AN, 32),
    Token("figma-token", r"\bfig[dou]_", _URL, 32),
    Token("notion-token", r"\b(?:ntn|secret)_", _AN, 40),
    Token("anthropic-key", r"\bsk-ant-", _URL, 20),
    Token("openai-key", r"\bsk-(?:proj|svcacct|admin|None|or-v1)-", _URL, 20),
    Token("openai-key", r"\bsk-", _URL, 32, random=True),
    Token("huggingface-token", r"\b(?:hf|api_org)_", _AN, 30),
    Token("groq-key", r"\bgsk_", _AN, 40),
    Token("xai-key", r"\bxai-", _AN, 60),
    Token("perplexity-key", r"\bpplx-", _AN, 40),
    Token("replicate-token", r"\br8_", _AN, 30),
    Token("grafana-token", r"\bglsa_", "[A-Za-z0-9_]", 32),
    Token("grafana-token", r"\bglc_", _B64, 32),
    Token("grafana-key", r"\beyJrIjoi", _B64, 40),
    Token("sentry-token", r"\bsntry[su]_", "[A-Za-z0-9+/=_-]", 40),
    Token("new-relic-key", r"\bNR(?:AK|II|IQ|RA|AA|JS|BR)-", _URL, 19),
    Token("pagerduty-key", r"\bpd(?:us|eu)\+_", _URL, 16),
    Token("slack-token", r"\bxox[a-z]-", "[A-Za-z0-9-]", 10),
    Token("slack-token", r"\bxoxe\.xox[bp]-", "[A-Za-z0-9-]", 20),
    Token("slack-token", r"\bxapp-", "[A-Za-z0-9-]", 20),
    Token("discord-token", r"\bmfa\.", _URL, 60),
    Token("stripe-key", r"\b[sr]k_(?:live|test)_", _AN, 16),
    Token("stripe-webhook-secret", r"\bwhsec_", _B64, 24),
    Token("square-token", r"\bsq0[a-z]{3}-", _URL, 22),
    Token("square-token", r"\bEAAA", _URL, 60, random=True),
    Token("shopify-token", r"\bshp(?:at|ca|pa|ss)_", "[0-9a-fA-F]", 32),
    Token("brevo-key", r"\bxkeysib-", "[A-Za-z0-9-]", 60),
    Token("vault-token", r"\bhv[sbr]\.", _URL, 20),
    Token("doppler-token", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.", "[A-Za-z0-9_.-]", 36),
    Token("onepassword-token", r"\bops_eyJ", _B64, 60),
    Token("age-key", r"\bAGE-SECRET-KEY-1", "[A-Z0-9]", 40),
    Token("tailscale-key", r"\btskey-", _URL, 20),
    Token("launchdarkly-key", r"\b(?:sdk|mob)-[0-9a-f]{8}-", "[0-9a-f-]", 27),
    Token("private-key", r"\bPuTTY-User-Key-File-", r"[ -~\n]", 100),
)

# Words that texts with secrets have: base64 of text is looked into when base64 of one of these is in it.
TELLING: tuple[str, ...] = (
    *("password", "Password", "PASSWORD", "passwd", "PASSWD", "secret", "Secret", "SECRET", "token", "Token", "TOKEN"),
    *("api_key", "apikey", "apiKey", "api-key", "API_KEY", "access_key", "ACCESS_KEY", "accessKey", "PRIVATE KEY"),
    *("AKIA", "ASIA", "AIza", "ghp_", "ghs_", "github_pat", "glpat-", "xoxb-", "xoxp-", "sk-ant-", "sk_live", "npm_"),
    *(
        "postgres",
        "mysql:",
        "mongodb",
        "redis:",
        "amqp",
        "jdbc:",
        "https:",
        "http://",
        "AccountKey",
        "Bearer ",
        "auths",
    ),
    *("client-key-data", "credential", "PASS=", "pass:"),
)

SHAPES: tuple[Shape, ...] = (
    Shape("jwt", r"\beyJ[A-Za-z0-9_=-]{5,}\.[A-Za-z0-9_=-]{6,}(?:\.[A-Za-z0-9_.+/=-]*)?", "json"),
    Shape("slack-token", r"(?i:\bxox[a-z]-(?:[0-9]+-)+[a-z0-9]+)"),
    Shape("slack-webhook", r"hooks\.slack\.com/(?P<s>(?:services|workflows|triggers)/[A-Za-z0-9/_+-]{16,})"),
    Shape("discord-webhook", r"discord(?:app)?\.com/api/webhooks/(?P<s>[0-9]{6,}/[A-Za-z0-9_-]{30,})"),
    Shape("teams-webhook", r"\.webhook\.office\.com/webhookb2/(?P<s>[A-Za-z0-9@/-]{40,})"),
    Shape("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    Shape(
        "discord-token",
        r"\b[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}",
        mark=r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{9}",
    ),
    Shape("telegram-token", r"\b[0-9]{8,10}:[A-Za-z0-9_-]{35}", "random", mark="[0-9]{6}:[A-Za-z0-9_-]{9}"),
    Shape("twilio-key", r"\b(?:SK|AC)[0-9a-z]{32}\b", "random"),
    Shape("mailgun-key", r"\bkey-[0-9a-f]{32}\b"),
    Shape("mailchimp-key", r"\b[0-9a-z]{32}-us[0-9]{1,2}\b", "random", mark=r"-us[0-9]{1,2}\b"),
    Shape("new-relic-key", r"\b[0-9a-zA-Z]{36,40}NRAL\b", mark=r"NRAL\b"),
    Shape("pagerduty-key", r"\bu\+[A-Za-z0-9_+-]{18}\b"),
    Shape("vault-token", r"\bs\.[A-Za-z0-9]{24}\b", "random"),
    Shape("terraform-token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}", mark=r"\.atlasv1\."),
    Shape("dynatrace-token", r"\bdt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    Shape("airtable-token", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    Shape("azure-client-secret", r"\b[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", mark="[0-9]Q~"),
    Shape("azure-sas", r"[?&;]sig=(?P<s>[A-Za-z0-9%+/=_-]{32,})"),
    Shape("aws-signature", r"X-Amz-Signature=(?P<s>[0-9a-f]{64})"),
    Shape("sentry-dsn", r"://(?P<s>[0-9a-f]{32}(?::[0-9a-f]{32})?)@[A-Za-z0-9.-]+(?::[0-9]+)?/"),
    Shape("url-password", r"://[^\x00-\x20/@:\"'`<>\\]*:(?P<s>[^\x00-\x20/\"'`<>\\]+)@"),
    Shape("url-password", r"://(?P<s>[A-Za-z0-9_.~%-]{20,})@[A-Za-z0-9]", "random"),
    Shape("url-password", r"\b[A-Za-z0-9_.-]+:(?P<s>[^\x00-\x20@/\"'`<>\\]+)@(?:tcp|unix)\(", mark=r"@(?:tcp|unix)\("),
    Shape("url-password", r"\bthin:[A-Za-z0-9_.$#-]+/(?P<s>[^\x00-\x20@/\"'`<>\\]+)@"),
    Shape(
        "password-hash",
        r"\$(?:1|2[abxy]?|5|6|7|y|gy|apr1|sha1|argon2[a-z]{1,2}|scrypt)\$(?P<s>[./A-Za-z0-9$=,+_-]{20,})",
    ),
    Shape("password-hash", r"(?:SCRAM-SHA-256|pbkdf2_sha256|\{SSHA\})\$?(?P<s>[A-Za-z0-9+/=$:.,_-]{20,})"),
    Shape("basic-auth", r"(?i:\bbasic[ ]+)(?P<s>[A-Za-z0-9+/_-]{6,}={0,2})", "pair"),
    Shape(
        "authorization",
        r"(?i:authorization)[\"'\\]*[ ]*[:=][ ]*[\[\"'\\]*[A-Za-z0-9-]+[ ]+(?P<s>[^\x00-\x20\"'\\,]{8,})",
        "random",
    ),
    Shape("cookie", r"(?i:set-cookie)[\"'\\]*[ ]*[:=][ ]*[\[\"'\\]*[^=\s;]+=(?P<s>[^\x00-\x20;\"'\\]{4,})"),
    Shape("cookie", r"(?i:\bcookie)[\"'\\]*[ ]*[:=][ ]*[\[\"'\\]*(?P<s>[^=\s;:\"']+=[^\x00-\x1f\"'\\]+)"),
    Shape("aws-secret-key", r"\baws_secret_access_key[ ]+(?P<s>[A-Za-z0-9/+]{40})"),
    Shape(
        "aws-secret-key",
        r"(?i:aws)[^\n]{0,20}(?i:key|pwd|pw|pass|token)[^\n\"']{0,20}[\"'](?P<s>[0-9A-Za-z/+]{40})[\"']",
        "random",
    ),
    Shape("ibm-key", r"api\.softlayer\.com/soap/v3(?:\.1)?/(?P<s>[a-z0-9]{64})"),
    Shape("bearer-token", r"(?i:\b(?:bearer|geniekey|apikey)[ ]+)(?P<s>[A-Za-z0-9._~+/=:-]{8,})", "random"),
    Shape(
        "basic-auth",
        r"\bcurl\b[^\n|;]*[ ](?:-u|--user|--proxy-user)[ =]?[\"']?[^\x00-\x20:\"'$]*:(?P<s>[^\x00-\x20\"'$]+)",
    ),
    Shape(
        "password", r"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;]*[ ]-p(?P<s>[^\x00-\x20\"'$][^\x00-\x20\"']*)"
    ),
    Shape("password", r"\bsshpass[ ]+-p[ ]?[\"']?(?P<s>[^\x00-\x20\"'$][^\x00-\x20\"']*)"),
    Shape("password", r"\bredis-cli\b[^\n|;]*[ ]-a[ ]+[\"']?(?P<s>[^\x00-\x20\"'$][^\x00-\x20\"']*)"),
    Shape(
        "password",
        r"\b(?:docker|podman|oc|az)[ ]+login\b[^\n|;]*[ ]-p[ ]+[\"']?(?P<s>[^\x00-\x20\"'$-][^\x00-\x20\"']*)",
    ),
    Shape("password", r"\blogin[ ]+[^\x00-\x20]+[ \n]+password[ ]+(?P<s>[^\x00-\x20]+)"),
    Shape(
        "password", r"(?i:\b(?:identified by|identified with [a-z0-9_]+ by|with password|password)[ ]+)'(?P<s>[^'\n]+)'"
    ),
    Shape("password", r":(?:5432|5433|6432):[^:\s]+:[^:\s]+:(?P<s>[^\x00-\x20\"']+)"),
)
