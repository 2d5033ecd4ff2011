"""terraform-destroy: deletes the infrastructure that a configuration describes.

Why      machines, networks and databases are deleted with their data.
Instead  `terraform plan -destroy` shows what would go.
Misses   an `apply` of a plan file that destroys; an `apply` whose configuration has become empty.
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import render, which_program
from nacre.shell.command import Command
from nacre.verdict import Decision

_TERRAFORM = ("terraform", "tofu", "terragrunt")
_OTHERS = ("pulumi", "cdktf", "cdk")
_INSTEADS = {
    "pulumi": "`pulumi destroy --preview-only`, and show the user what would go",
    "cdktf": "`cdktf diff`, and show the user what would go",
    "cdk": "`cdk diff`, and show the user what would go",
}


def match(command: Command, _: CheckContext) -> Hit | None:
    name = which_program(command, *_TERRAFORM, *_OTHERS)
    if not name:
        return None
    flags = {word.lstrip("-") for word in command.args if word.startswith("-")}
    operands = command.operands(
        "-C", "--cwd", "-s", "--stack", "-a", "--app", "-var", "-var-file", "-target", "-replace"
    )
    verb = next((word for word in operands if word != "run-all"), "")
    if flags & {"help", "h", "preview-only"} or any(flag.startswith("target") for flag in flags):
        return None
    if verb in ("destroy", "destroy-all") or (name in _TERRAFORM and verb == "apply" and "destroy" in flags):
        return Hit(render(*command.argv), instead=_INSTEADS.get(name, ""))
    return None


RULE = Rule(
    id="terraform-destroy",
    decision=Decision.ASK,
    reason="would delete the infrastructure of this configuration, with the data on it",
    instead="`terraform plan -destroy`, and show the user what would go",
    commands=(*_TERRAFORM, *_OTHERS),
    match=match,
    hits=(
        "terraform destroy",
        "terraform destroy -auto-approve -var env=prod",
        "terraform -chdir=infra destroy",
        "terraform apply -destroy",
        "terraform apply --destroy -auto-approve",
        "tofu destroy",
        "terragrunt run-all destroy",
        "pulumi destroy --yes",
        "npx cdk destroy --all",
        "sudo bash -c 'cd infra && terraform destroy'",
    ),
    passes=(
        "terraform plan -destroy",
        "terraform plan -out=destroy",
        "terraform apply -auto-approve",
        "terraform init && terraform plan",
        "terraform destroy -help",
        "pulumi up --yes",
        "pulumi destroy --preview-only",
        "cdk deploy",
        "terraform state list",
    ),
)
