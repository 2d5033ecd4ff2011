"""Variables that look like secrets: two large tables, by name and by value. No real secret is written here, and none in
one piece, so that secret scanners do not report this file."""

from __future__ import annotations

import pytest

from nacre.environment.secret_names import looks_secret

ODD = "q7Rz0mXw4LkT9vBn2HsYc8PdEf3GjU6a"
"""A value that does not look like a secret: only the name tells."""

SECRET_NAMES = """
    TOKEN ACCESS_TOKEN GH_TOKEN GITHUB_TOKEN GITLAB_TOKEN NPM_TOKEN CI_JOB_TOKEN HF_TOKEN VAULT_TOKEN SLACK_BOT_TOKEN
    SENTRY_AUTH_TOKEN TWILIO_AUTH_TOKEN CLOUDFLARE_API_TOKEN CLOUDSDK_AUTH_ACCESS_TOKEN DIGITALOCEAN_ACCESS_TOKEN
    ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN ACTIONS_RUNTIME_TOKEN ACTIONS_ID_TOKEN_REQUEST_TOKEN API_TOKENS TOKEN2
    OP_SERVICE_ACCOUNT_TOKEN VSCODE_GIT_IPC_AUTH_TOKEN JPY_API_TOKEN TOKEN_PROD VAULT_TOKEN_FILE AUTHTOKEN accessToken
    npm_config__authToken npm_config_//registry.example/:_authToken INPUT_GITHUB-TOKEN AWS_WEB_IDENTITY_TOKEN_FILE
    SECRET CLIENT_SECRET ARM_CLIENT_SECRET AZURE_CLIENT_SECRET NEXTAUTH_SECRET SESSION_SECRET COOKIE_SECRET MSI_SECRET
    OAUTH_CLIENT_SECRET STRIPE_WEBHOOK_SECRET VAULT_SECRET_ID JWT_SECRET MY_SECRETS clientSecret SECRET_1 TF_VAR_secret
    PASSWORD PGPASSWORD DB_PASSWORD POSTGRES_PASSWORD MYSQL_ROOT_PASSWORD REDIS_PASSWORD TWINE_PASSWORD RESTIC_PASSWORD
    DOCKER_PASSWORD CI_REGISTRY_PASSWORD FASTLANE_PASSWORD MATCH_PASSWORD OS_PASSWORD ANSIBLE_VAULT_PASSWORD_FILE
    RESTIC_PASSWORD_COMMAND dbPassword PASSWORD_2 MYSQL_PASSWD BORG_PASSPHRASE GPG_PASSPHRASE BORG_PASSCOMMAND PASSCODE
    PASS DB_PASS SMTP_PASS EMAIL_PASS SSHPASS DBPASS MYSQL_PWD DB_PWD LDAP_BINDPW ROOT_PW DB_PSWD PGPASSFILE
    API_KEY OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY GOOGLE_API_KEY WANDB_API_KEY DD_API_KEY HEROKU_API_KEY
    OPENAI_API_KEY_2 APIKEY MYAPIKEY apiKey api-key AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY
    PRIVATE_KEY SSH_PRIVATE_KEY PRIVATE_KEY_PATH PRIVATEKEY DEPLOY_KEY SSH_KEY SIGNING_KEY ENCRYPTION_KEY MASTER_KEY
    RAILS_MASTER_KEY SECRET_KEY SECRET_KEY_BASE DJANGO_SECRET_KEY APP_KEY TS_AUTHKEY NEW_RELIC_LICENSE_KEY AUTH_KEY
    AZURE_STORAGE_KEY COSMOS_PRIMARY_KEY STORAGE_ACCOUNT_KEY SESSION_KEY SUPABASE_SERVICE_ROLE_KEY FERNET_KEY KEY
    SSL_KEY ALGOLIA_APIKEY
    CREDENTIAL CREDENTIALS GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CREDENTIALS AWS_SHARED_CREDENTIALS_FILE DB_CREDS
    AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AWS_CONTAINER_CREDENTIALS_FULL_URI CREDENTIALS_DIRECTORY CRED_FILE
    AUTH HTTP_AUTH BASIC_AUTH NPM_AUTH npm_config__auth COMPOSER_AUTH REDISCLI_AUTH CONSUL_HTTP_AUTH DOCKER_AUTH_CONFIG
    AUTHORIZATION HTTP_AUTHORIZATION AUTH_HEADER BEARER API_BEARER AZURE_AUTH_LOCATION IDENTITY_HEADER
    COOKIE SESSION_COOKIE COOKIES_FILE COOKIE_JAR AWS_SESSION_TOKEN BW_SESSION OP_SESSION_my FASTLANE_SESSION
    GITHUB_PAT AZURE_DEVOPS_EXT_PAT CR_PAT CI_JOB_JWT CI_JOB_JWT_V2 NPM_CONFIG_OTP PASSWORD_SALT HASHIDS_SALT NETRC
"""

HARMLESS = {
    "PATH": "/usr/local/bin:/usr/bin:/home/u/" + "ghp_" + "a1B2c3D4" * 5,
    "HOME": "/home/u",
    "PWD": "/srv/app",
    "OLDPWD": "/srv",
    "BUILD_PWD": "/srv/build",
    "LANG": "en_GB.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TERM": "xterm-256color",
    "SHELL": "/bin/zsh",
    "USER": "u",
    "MAIL": "/var/mail/u",
    "EMAIL": "u@example.org",
    "SSH_TTY": "/dev/pts/3",
    "SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 22",
    "GPG_TTY": "/dev/pts/3",
    "GNUPGHOME": "/home/u/.gnupg",
    "KEYBOARD": "de",
    "KEYMAP": "us",
    "KEYTIMEOUT": "1",
    "LESSKEYIN": "/home/u/.lesskey",
    "MONKEY": "see-no-evil",
    "TURKEY": "a-country",
    "HOCKEY_TEAM": "maple-leafs",
    "XDG_SESSION_ID": "c2",
    "XDG_SESSION_TYPE": "wayland",
    "XDG_CURRENT_DESKTOP": "GNOME",
    "DESKTOP_SESSION": "gnome",
    "GDMSESSION": "gnome",
    "TERM_SESSION_ID": "w0t0p0:0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9",
    "ITERM_SESSION_ID": "w0t0p0:0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9",
    "SESSIONNAME": "Console",
    "TOKENIZERS_PARALLELISM": "false",
    "TOKENIZER_PATH": "/models/tokenizer.json",
    "MAX_TOKENS": "4096",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "32000",
    "NUM_TOKENS": "1.5M",
    "TOKEN_LIMIT": "8192",
    "TOKEN_TYPE": "Bearer",
    "TOKEN_URL": "https://login.example.org/oauth/token",
    "USE_AUTH_TOKEN": "true",
    "GIT_AUTHOR_NAME": "Ada Lovelace",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada Lovelace",
    "AUTHOR": "Ada",
    "AUTHORITY": "https://login.example.org",
    "AUTH_TYPE": "basic",
    "OS_AUTH_URL": "https://keystone.example.org:5000/v3",
    "DISABLE_AUTH": "1",
    "OAUTHLIB_INSECURE_TRANSPORT": "1",
    "NEXTAUTH_URL": "http://localhost:3000",
    "SECRETARIAT": "geneva",
    "SECRET_NAME": "prod/database",
    "PASSENGER_APP_ENV": "production",
    "PASSTHROUGH": "a:b",
    "COMPASS": "north",
    "BYPASS": "proxy",
    "GIT_ASKPASS": "/usr/lib/git-core/git-gui--askpass",
    "PASSWORD_MIN_LENGTH": "12",
    "PASSWORD_POLICY": "strict-policy",
    "DB_PASSWORD": "",
    "HAVE_PASSWORD": "false",
    "COOKIE_DOMAIN": "example.org",
    "COOKIECUTTER_CONFIG": "/home/u/.cookiecutterrc",
    "LS_COLORS": "rs=0:di=01;34:*.key=01;31:*.pem=01;31:*password=01",
    "HISTIGNORE": "ls:*TOKEN=*:export *PASSWORD=hunter22",
    "KUBECONFIG": "/home/u/.kube/config",
    "DOCKER_CONFIG": "/home/u/.docker",
    "AWS_REGION": "eu-west-1",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_PROFILE": "dev",
    "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/dev",
    "VAULT_ADDR": "https://vault.example.org:8200",
    "GPG_KEY": "7169605F62C751356D054A26A821E680E5FA6305",
    "SSH_PUBLIC_KEY": "ssh-ed25519 " + "AAAAC3NzaC1lZDI1NTE5AAAAI" * 2 + " u@host",
    "KITTY_PUBLIC_KEY": "1:" + ODD,
    "NEXT_PUBLIC_SUPABASE_ANON_KEY": ODD,
    "STRIPE_PUBLISHABLE_KEY": "pk_test_" + ODD,
    "CACHE_KEY": "deps-v1-" + ODD,
    "S3_OBJECT_KEY": "backups/2024/db.dump",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "/srv/app",
    "HTTP_PROXY": "http://proxy:3128",
    "https_proxy": "http://proxy.example.org:3128/",
    "ALL_PROXY": "socks5h://127.0.0.1:1080",
    "NO_PROXY": "localhost,.example.org",
    "DATABASE_URL": "postgres://localhost:5432/app",
    "DATABASE_URL_2": "postgres://app@localhost/app",
    "REDIS_URL": "redis://localhost:6379/0",
    "npm_config_registry": "http://localhost:4873/@scope/pkg",
    "PIP_INDEX_URL": "https://pypi.example.org/simple",
    "REPO": "git@github.com:org/repo.git",
    "GOPROXY": "https://proxy.golang.org,direct",
    "CONDA_PREFIX": "/opt/conda/envs/sk-learn-experiments-with-a-long-name-2024",
    "GIT_COMMIT": "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "PYTHON_SHA256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "INVOCATION_ID": "0123456789abcdef0123456789abcdef",
    "BUILD_ID": "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
    "SSL_CERT": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "CA_BUNDLE_B64": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t" + "QUJD" * 8,
    "PUBKEY_PEM": "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "JAVA_TOOL_OPTIONS": "-Djavax.net.ssl.trustStore=/x -Djavax.net.ssl.trustStorePassword=changeit",
    "LESSOPEN": "| /usr/bin/lesspipe %s",
    "PS1": r"\u@\h:\w\$ ",
    "MANPATH": "/usr/share/man:",
    "PYTEST_ADDOPTS": "-q --maxfail=1",
    "BASH_FUNC_module%%": '() {  eval `/usr/bin/modulecmd bash "$@"`\n}',
    "COLORFGBG": "15;0",
    "_": "/usr/bin/env",
    "": "",
}

HEX = "0123456789abcdef" * 4
SECRET_VALUES = {
    "a PEM private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    "a PEM private key without a kind": "-----BEGIN PRIVATE KEY-----\\nMIIE",
    "an OpenSSH key": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl",
    "a PGP key": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n",
    "a key after a certificate": "-----BEGIN CERTIFICATE-----\nM\n-----END CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY",
    "a PEM key in base64": "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0t",
    "a PuTTY key": "PuTTY-User-Key-File-3: ssh-ed25519",
    "a JWT": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0." + "c2lnbmF0dXJl",
    "a JWT in a header": "X: eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0." + "c2lnbmF0dXJl",
    "GitHub, classic": "ghp_" + "a1B2c3D4e5" * 4,
    "GitHub, app": "ghs_" + "a1B2c3D4e5" * 4,
    "GitHub, fine-grained": "github_pat_" + "11A_b2C3d4" * 8,
    "GitLab": "glpat-" + "a1B2c3D4e5" * 2,
    "GitLab, trigger": "glptt-" + HEX[:40],
    "OpenAI": "sk-" + "a1B2c3D4e5f6" * 4,
    "OpenAI, project": "sk-proj-" + "a1B2_c3D-4" * 8,
    "Anthropic": "sk-ant-api03-" + "a1B2_c3D-4" * 8,
    "OpenRouter": "sk-or-v1-" + HEX,
    "Groq": "gsk_" + "a1B2c3D4e5" * 5,
    "xAI": "xai-" + "a1B2c3D4e5" * 8,
    "Hugging Face": "hf_" + "aBcDeFgHiJ" * 3 + "aBcD",
    "Replicate": "r8_" + "a1B2c3D4e5" * 3 + "a1B2c3D",
    "npm": "npm_" + "a1B2c3D4e5" * 3 + "a1B2c3",
    "PyPI": "pypi-" + "AgEIcHlwaS5vcmc" + "a1B2c3D4e5" * 6,
    "RubyGems": "rubygems_" + HEX[:48],
    "Docker": "dckr_pat_" + "a1B2c3D4e5" * 4,
    "AWS": "AKIA" + "IOSFODNN7EXAMPLE",
    "AWS, temporary": "ASIA" + "IOSFODNN7EXAMPLE",
    "Google": "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
    "Google, OAuth": "ya29." + "a0AfH6SMB_x-yz" * 3,
    "Google, refresh": "1//0" + "a1B2c3D4e5" * 5,
    "Google, client": "GOCSPX-" + "a1B2c3D4e5" * 3,
    "Slack, bot": "xoxb-" + "123456789012-abcdefABCDEF",
    "Slack, app": "xapp-" + "1-A0B1C2D3-456",
    "Slack, webhook": "https://hooks.slack.com/services/" + "T000/B000/XXXX",
    "Discord, webhook": "https://discord.com/api/webhooks/" + "1234/abcd",
    "Discord, bot": "MTA" + "a1B2c3D4e5f6G7h8I9j0k" + ".GaBcDe." + "a1B2c3D4e5" * 3,
    "Telegram": "123456789:" + "AA" + "a1B2c3D4e5-" * 3,
    "Stripe": "sk_live_" + "a1B2c3D4e5" * 3,
    "Stripe, restricted": "rk_test_" + "a1B2c3D4e5" * 3,
    "SendGrid": "SG." + "a1B2c3D4e5f6G7h8" + "." + "a1B2c3D4e5" * 4,
    "Mailgun": "key-" + HEX[:32],
    "Mailchimp": HEX[:32] + "-us12",
    "DigitalOcean": "dop_v1_" + HEX,
    "Shopify": "shpat_" + HEX[:32],
    "Vault": "hvs." + "CAESIJ1a2B3c4D5e6F7g8",
    "Terraform": "a1B2c3D4e5f6G7" + ".atlasv1." + "a1B2c3D4e5" * 6,
    "Databricks": "dapi" + HEX[:32],
    "Atlassian": "ATATT3" + "xFfGF0a1B2" * 5,
    "Tailscale": "tskey-auth-" + "k1a2B3c4D5-" + "e6F7g8",
    "age": "AGE-SECRET-KEY-1" + "QPZRY9X8GF" * 6,
    "a URL with a password": "postgres://app:hunter2@db:5432/app",
    "a URL with a password only": "redis://:hunter2@localhost:6379",
    "a URL with a numeric password": "amqp://guest:12345@mq/vhost",
    "a URL with a slash in its password": "mysql://u:a/b/c@host/db",
    "a URL with a token as the user": "https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/2",
    "a proxy with a password": "http://u:p@proxy:3128",
    "a git remote with a token": "https://x-access-token:" + "abc" + "@github.com/o/r.git",
    "the second URL of a list": "http://a:80/,http://u:p@b:80/",
    "a libpq string": "host=db user=app password=hunter2 dbname=app",
    "an ADO string": "Server=db;Database=app;User Id=sa;Password=hunter2;",
    "an Azure string": "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=" + "a1B2c3" * 5 + "==",
    "a service bus string": "Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=" + "a1B2c3" * 5,
    "a SAS link": "https://x.blob.core.windows.net/c?sv=2022&sig=" + "a1B2c3%2F" * 5,
    "a signed link": "https://b.s3.amazonaws.com/k?X-Amz-Expires=1&X-Amz-Signature=" + HEX,
    "an Authorization header": "AUTHORIZATION: basic " + "eDp5eno=",
    "a bearer header": "Bearer " + "a1B2c3D4e5" * 3,
    "an API key header": "x-api-key: " + "a1B2c3D4",
    "OTLP headers": "authorization=Basic%20" + "eDp5eno=",
    "an npmrc line": "//registry.example/:_authToken=" + "a1B2c3D4",
    "a service account": '{"type": "service_account", "private_key": "-----"}',
    "docker auths": '{"auths": {"ghcr.io": {"auth": "' + "eDp5eno=" + '"}}}',
}


@pytest.mark.req("M-11")
@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_variable_with_a_secret_name_looks_secret(name: str) -> None:
    assert looks_secret(name, ODD)


@pytest.mark.req("M-11")
@pytest.mark.parametrize("value", SECRET_VALUES.values(), ids=SECRET_VALUES.keys())
def test_value_shaped_like_a_secret_looks_secret_under_any_name(value: str) -> None:
    assert looks_secret("SOMETHING", value)


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_variable_does_not_look_secret(name: str) -> None:
    assert not looks_secret(name, HARMLESS[name])


@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
def test_proxy_login_without_a_scheme_looks_secret(name: str) -> None:
    assert looks_secret(name, "user:hunter2@proxy:3128")


@pytest.mark.parametrize("value", ["0", "1", "true", "False", "none", "auto", ""])
def test_switch_under_a_secret_name_does_not_look_secret(value: str) -> None:
    assert not looks_secret("USE_API_KEY", value)


def test_short_number_looks_secret_as_a_password_but_not_as_tokens() -> None:
    assert looks_secret("DB_PASSWORD", "1234")
    assert not looks_secret("GEN_TOKENS", "1234")


def test_values_that_are_not_utf8_are_judged() -> None:
    assert looks_secret("CITY", b"\xff\xfe ghp_".decode("utf-8", "surrogateescape") + "a1B2c3D4e5" * 4)
    assert not looks_secret("CITY", b"Z\xfcrich".decode("utf-8", "surrogateescape"))


@pytest.mark.req("M-11")
def test_long_number_can_be_a_secret_but_a_token_limit_is_not() -> None:
    assert looks_secret("API_KEY", "1234567890")
    assert looks_secret("MY_TOKEN", "87654321")
    assert not looks_secret("MAX_TOKENS", "128000")
