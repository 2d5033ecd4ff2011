"""Recognise values that are secrets by their form.

Knows private keys, JWTs, the token prefixes of many issuers, and URLs, headers and connection strings with credentials.
Certificates and public keys are not secrets. Randomness is not evaluated: a build hash is as random as a password.
"""

from __future__ import annotations

import re
from functools import cache

_ISSUED_TOKENS = r"""
  gh[pousr]_[A-Za-z0-9]{30,} | github_pat_\w{30,} | gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[\w-]{20,}
| (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9]) | LTAI[A-Za-z0-9]{16,} | AKID[A-Za-z0-9]{32}
| AIza[\w-]{35} | ya29\.[\w-]{20,} | GOCSPX-[\w-]{20,}
| sk-(?:(?:ant|proj|svcacct|admin|or|lf)-[\w-]{16,} | [A-Za-z0-9]{32,})
| [rs]k_(?:live|test)_[A-Za-z0-9]{16,} | whsec_[A-Za-z0-9]{20,} | sb_secret_[\w-]{20,} | sbp_[0-9a-f]{40}
| (?:hf|gsk|npm|r8|fo1|ntn|sgp|nfp|e2b|figd|glsa|lin_api|tgp_v1|lsv2_[ps][tk]|dckr_[po]at)_[A-Za-z0-9][\w-]{30,}
| (?:nvapi|xai|pplx|CFPAT)-[\w-]{40,} | tvly-[\w-]{20,} | tskey-[a-z]+-[\w-]{10,}
| xox[abeoprs]-[A-Za-z0-9-]{10,} | xapp-\d-[A-Za-z0-9-]{10,} | SG\.[\w-]{16,}\.[\w-]{16,} | xkeysib-[0-9a-f]{40,}
| pypi-AgE[\w-]{40,} | rubygems_[0-9a-f]{48} | do[opr]_v1_[0-9a-f]{64} | shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}
| sq[apu]_[0-9a-f]{40} | sq0(?:atp|csp)-[\w-]{22,} | hv[sbr]\.[\w-]{20,} | [A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}
| AT(?:ATT|CTT)3[\w-]{40,} | ATBB[\w-]{24,} | PMAK-[0-9a-f]{24}-[0-9a-f]{34} | NRAK-[A-Z0-9]{27} | dapi[0-9a-f]{32}
| sntry[su]_[\w-]{40,} | pul-[0-9a-f]{40} | pscale_(?:tkn|pw|oauth)_[\w.-]{32,} | ops_eyJ[\w-]{40,}
| dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{30,} | AGE-SECRET-KEY-1[A-Z0-9]{50,}
| key-[0-9a-f]{32}(?!\w) | [0-9a-f]{32}-us\d{1,2}(?!\w)
| [MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,} | eyJ[\w-]{10,}\.[\w-]*\.[\w-]+
"""
"""Tokens with issuers' prefixes; the last two are Discord's tokens and JWTs."""

_WRITTEN_SECRETS = r"""
  -----begin[ ](?:[a-z0-9]+[ ])*private[ ]key                      # PEM, OpenSSH and PGP
| putty-user-key-file
| hooks\.slack\.com/(?:services|workflows)/\w | discord(?:app)?\.com/api/webhooks/\d | \.webhook\.office\.com/webhookb2/
| "(?:private_key|client_secret|(?:access|refresh|auth|id)_?token|secret_?(?:access_?)?key|password|auth)"\s*:\s*"[^"]
| (?:authorization|x-api-key|api-key|x-auth-token|private-token|job-token|_authtoken|_auth|_password)["']?\s*[:=]\s*
  [^\s*$<{%]\S{4}
| \bbearer(?:\s|%20)+(?=\S*\d)[\w.~+/-]{16,}
| (?:^|[\s;?&,.])(?:password|passwd|pwd|accountkey|sharedaccesskey|sharedaccesssignature|access_token|api_?key
    |client_?secret|secret_?key|x-amz-signature|x-goog-signature)\s*=\s*[^\s;&*$<{%/]{3}
| [?&]sig=[\w%+/-]{20,}
"""
"""Searched in the lower-case value, and only if it contains one of `_MARKS`: most values contain none."""

_MARKS = (
    "private key", "putty-user", "hooks.slack", "webhook", "authorization", "api-key", "api_key", "apikey", "token",
    "_auth", '"auth"', "passw", "pwd", "bearer", "secret", "private_key", "accountkey", "sharedaccess", "signature",
    "sig=",
)  # fmt: skip

_USERINFO = r"""
  ://[^/?\#\s:@]*:(?!\d{1,5}(?:[/?\#,;\s]|$))[^\s@]{1,500}@         # a number after the colon is a port
| ://(?=[\w-]*\d)[\w-]{20,}(?::x-oauth-basic)?@                    # a token in the user's place
"""

_BASE64_PEM = "LS0tLS1CRUdJTi"
_BASE64_PUBLIC = ("BDRVJU", "BQVUJM")
"""`-----BEGIN` in base64, and its continuations for CERTificate and PUBLic."""


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a verbose pattern (spaces are ignored) on first use.

    `import nacre` and environments without suspicious values never compile any.
    """
    return re.compile(pattern, re.VERBOSE)


def is_credential(value: str) -> bool:
    """Return whether a value contains a secret, whatever the variable's name."""
    if len(value) < 8:
        return False
    return _has_userinfo(value) or _has_issued(value) or _has_written(value) or _has_punctuated_token(value)


def _has_userinfo(value: str) -> bool:
    return "@" in value and "://" in value and compile_pattern(_USERINFO).search(value) is not None


def _has_issued(value: str) -> bool:
    # Tokens are long words. Extracting long words first is ten times faster on PATH or LS_COLORS, which have few.
    issued = compile_pattern(rf"(?<![A-Za-z0-9])(?:{_ISSUED_TOKENS})")
    return any(issued.search(word) for word in compile_pattern(r"[\w.-]{15,}").findall(value))


def _has_written(value: str) -> bool:
    lower = value.lower()
    return any(mark in lower for mark in _MARKS) and compile_pattern(_WRITTEN_SECRETS).search(lower) is not None


def _has_punctuated_token(value: str) -> bool:
    """Match tokens with punctuation in them: a base64 key file, Telegram bot tokens, Google refresh tokens."""
    _, found, rest = value.partition(_BASE64_PEM)
    if found and not rest.startswith(_BASE64_PUBLIC):
        return True
    if ":AA" in value and compile_pattern(r"(?<!\w)\d{8,10}:AA[\w-]{33}").search(value):
        return True
    return "1//0" in value and compile_pattern(r"(?<!\w)1//0[\w-]{40,}").search(value) is not None
