"""cloud-delete: deletes a whole bucket, project, resource group or database in the cloud.

Why      it cannot be undone from here, and the account may be in production.
Instead  list it first, and let the user delete it.
Misses   other services; prefixes below a bucket; consoles and APIs.
"""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import ParsedOptions, parse_options, render, which_program
from nacre.shell.command import Command
from nacre.shell.symbolic import to_source
from nacre.verdict import Decision

_BUCKET = lazy_regex(r"(?:s3|gs)://[^/]+(?:/\**)?")
_ACTIONS = {
    "aws": (
        "rds delete-db-cluster",
        "rds delete-db-instance",
    ),
    "gcloud": ("projects delete", "sql instances delete", "sql databases delete", "container clusters delete"),
    "az": ("group delete", "storage account delete", "storage container delete", "sql db delete", "aks delete"),
    "gsutil": (),
}
_VALUED = (
    "profile= region= output= query= endpoint-url= exclude= include= project= account= zone= subscription= name= "
    "resource-group="
)


def match(command: Command, _: CheckContext) -> Hit | None:
    name = which_program(command, *_ACTIONS)
    given = parse_options(command.args, "ngh" if name == "az" else "hou" if name == "gsutil" else "", _VALUED)
    if not name or given.is_set("--dryrun") or given.is_set("--dry-run") or given.has("--help"):
        return None
    words = render(*command.argv)
    text = " ".join(given.operands)
    if any(text == deed or text.startswith(deed + " ") for deed in _ACTIONS[name]):
        return Hit(words)
    return Hit(words, "would delete everything in the bucket") if _empties(name, given) else None


def _empties(name: str, given: ParsedOptions) -> bool:
    verb, *targets = given.operands[{"aws": 1, "gcloud": 1}.get(name, 0) :] or [""]
    if not any(_BUCKET.fullmatch(to_source(target)) for target in targets):
        return False
    if name == "aws":
        filtered = given.has("--exclude", "--include")
        return given.operands[0] == "s3" and (
            (verb == "rm" and given.is_set("--recursive") and not filtered)
            or (verb == "rb" and given.is_set("--force"))
        )
    if name == "gcloud" and given.operands[0] != "storage":
        return False
    return verb == "rm" and (
        given.has("-r", "-R", "--recursive") or any("*" in to_source(target) for target in targets)
    )


RULE = Rule(
    id="cloud-delete",
    decision=Decision.ASK,
    reason="would delete it in the cloud with all that it holds",
    instead="list what is in it, and ask the user before it goes",
    commands=tuple(_ACTIONS),
    match=match,
    hits=(
        "aws s3 rm s3://bucket --recursive",
        "aws --profile prod s3 rm --recursive s3://$BUCKET/",
        "aws s3 rb s3://bucket --force",
        "aws rds delete-db-instance --db-instance-identifier prod",
        "gsutil -m rm -r gs://bucket",
        "gsutil rm 'gs://bucket/**'",
        "gcloud storage rm -r gs://bucket",
        "gcloud projects delete my-project --quiet",
        "az group delete --name prod --yes",
        "sudo bash -c 'az group delete -n prod -y'",
    ),
    passes=(
        "aws s3 ls s3://bucket --recursive",
        "aws s3 rm s3://bucket/tmp/x.txt",
        "aws s3 rm s3://bucket/tmp/ --recursive",
        "aws s3 rm s3://bucket --recursive --dryrun",
        "aws s3 rm s3://bucket --recursive --exclude '*' --include '*.tmp'",
        "aws s3 sync build/ s3://bucket --delete",
        "aws s3 rb s3://bucket",
        "gsutil rm gs://bucket/x.txt",
        "gsutil cp -r gs://bucket .",
        "gcloud projects list",
        "az group show --name delete",
    ),
)
