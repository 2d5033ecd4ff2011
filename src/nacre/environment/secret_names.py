"""Decide whether a variable looks like a secret, by its name and value.

Names are searched for words (`npm_config__authToken` contains TOKEN, `TOKENIZERS_PARALLELISM` does not), values are
matched by their form (`credential_patterns`). A path to a secret counts as one (`GOOGLE_APPLICATION_CREDENTIALS`); a
path to a program's settings, which may contain secrets among other things, does not (`KUBECONFIG`). In doubt the
variable is removed: a variable removed by mistake is reported and can be passed explicitly, a leaked one cannot be
taken back. Pure; caches its answers.
"""

from __future__ import annotations

from functools import lru_cache

from nacre.environment.credential_patterns import compile_pattern, is_credential

_ESSENTIAL = """
    PATH HOME PWD OLDPWD USER LOGNAME SHELL SHLVL LANG LANGUAGE TZ TERM TMPDIR HOSTNAME LS_COLORS HISTIGNORE
"""
ESSENTIAL = frozenset(_ESSENTIAL.split())
"""Never secrets, whatever their values: a directory with a name like a token must not cost the PATH."""

_KNOWN_NAMES = """
    AWS_CONTAINER_CREDENTIALS_FULL_URI AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AZURE_AUTH_LOCATION BW_SESSION
    DOCKER_AUTH_CONFIG FASTLANE_SESSION IDENTITY_HEADER MYSQL_PWD NETRC PGPASSFILE PHPSESSID
"""
_KNOWN = frozenset(_KNOWN_NAMES.split())
"""Secrets whose names do not show it, or which look harmless by the rules below."""

_WORDS = r"""
  (?: TOKEN | SECRET | PASSWORD | PASSWD | PASSWRD | PSWD | PASSPHRASE | PASSCODE | PASSCOMMAND | CREDENTIAL
    | (?<![A-Z0-9])CRED ) S? \d* (?![A-Z0-9])
| OP_SESSION_
| AUTH_HEADERS? (?![A-Z0-9])
| (?: AUTH | BEARER | AUTHORIZATION ) \d* $
| (?<![A-Z0-9]) (?: (?:DB|SSH|SUDO|SMTP|MYSQL|USER|ROOT|ADMIN)?PASS | (?:BIND|DB|ROOT|ADMIN|USER)?PW | PAT
    | JWT(?:_V\d)? | T?OTP | SALT | COOKIES?(?:_FILE|_JAR)? ) _?\d* $
"""
"""Searched in the upper-case name. Letters before a word do not matter (AUTHTOKEN), letters after it do."""

_KEYS = r"""
  (?: API | ACCESS | AUTH | PRIVATE | PRIV | SECRET | ENCRYPTION | SIGNING | MASTER | SESSION | DEPLOY | ACCOUNT | HMAC
    | LICENSE | SERVICE | SUBSCRIPTION | SSH ) [^A-Z0-9]? KEYS? \d* (?![A-Z0-9])
| (?<![A-Z0-9]) KEY _?\d* $
"""

_OPEN_KEYS = r"""
  (?<![A-Z0-9]) (?: PUBLIC | PUBLISHABLE | PUB | CACHE | SORT | PARTITION | FOREIGN | OBJECT | BUCKET | HOT | COMPOSE
    | MODIFIER | LEADER ) _
| ^GIT_CONFIG_KEY_\d+$
"""
"""Keys that are not secret. Git stops with an error when a `GIT_CONFIG_KEY_n` is missing."""

_ABOUT = r"""
  _(?: TYPE | URL | URI | ENDPOINT | ISSUER | AUDIENCE | NAME | LIMIT | COUNT | TTL | TIMEOUT | EXPIRY | EXPIRES(?:_IN)?
    | EXPIRATION | LENGTH | LEN | SIZE | BUDGET | POLICY | HASHERS? | ALG | ALGORITHM | FORMAT | PROVIDER | BACKEND
    | ENABLED | DISABLED | REQUIRED | PREFIX | USER | USERNAME | HOST | PORT | REGION | VERSION | MODE | STORE
    | HELPER )$
"""
"""Endings of names that describe a secret instead of containing it."""

_SWITCHES = "0 1 true false yes no on off none null auto always never enabled disabled basic required"
_SWITCH = frozenset(_SWITCHES.split())
_NUMBER = r"[\d.,_]{1,7}[kKmM]?"
_FINGERPRINT = r"(?:0x)?[0-9A-F]{8,40}"


@lru_cache(maxsize=2048)
def looks_secret(name: str, value: str) -> bool:
    """Return whether a variable should be withheld from commands, by its name or by its value."""
    if name in ESSENTIAL or not value:
        return False
    return _name_is_secret(name.upper(), value) or is_credential(value) or _is_bare_proxy_login(name.upper(), value)


def _name_is_secret(name: str, value: str) -> bool:
    if name in _KNOWN:
        return True
    if value.lower() in _SWITCH:
        return False
    if name.endswith("PWD"):  # a password, or a working directory
        return not value.startswith(("/", "~", "."))
    if compile_pattern(_WORDS).search(name):
        counts = "TOKEN" in name and compile_pattern(_NUMBER).fullmatch(value)  # MAX_TOKENS
        return not counts and not compile_pattern(_ABOUT).search(name)
    if "KEY" in name and compile_pattern(_KEYS).search(name):
        return not (
            compile_pattern(_OPEN_KEYS).search(name)
            or compile_pattern(_ABOUT).search(name)
            or compile_pattern(_NUMBER).fullmatch(value)
            or (("GPG" in name or "PGP" in name) and compile_pattern(_FINGERPRINT).fullmatch(value))
        )
    return False


def _is_bare_proxy_login(name: str, value: str) -> bool:
    """Match `user:password@proxy:3128`, which curl and others accept without a scheme."""
    return name.endswith("_PROXY") and "@" in value and "://" not in value and ":" in value.partition("@")[0]
