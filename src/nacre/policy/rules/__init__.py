"""Every rule, and the commands that it checks. A rule's file is loaded when such a command occurs: starts are fast."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from nacre.policy.rule import Rule

_WRITERS = (
    "> cp mv install ln rsync dd dcfldd dc3dd sed gsed perl ruby ed ex vi vim nvim sudo sudoedit awk gawk "
    "find gfind patch yq scp chmod chown chgrp curl wget gpg sort openssl pv tar bsdtar unzip qemu-img bmaptool "
    "ddrescue tee sponge touch truncate fallocate mkdir rm rmdir unlink shred"
)
_NODES = "rimraf rimraf@* del del-cli del-cli@*"
RULE_MODULES: dict[str, tuple[str, ...]] = {
    module: tuple(names.split())
    for module, names in {
        "files.chmod_777": "chmod",
        "services.cloud_delete": "aws gcloud az gsutil",
        "system.crontab_remove": "crontab",
        "services.database_drop": (
            "mysql psql clickhouse-client cqlsh sqlcmd cockroach mariadb mysqlsh redis-cli valkey-cli keydb-cli "
            "mongosh mongo dropdb mysqladmin mariadb-admin sqlite3 duckdb"
        ),
        "services.database_reset": (
            "rails rake manage.py django-admin artisan mix prisma typeorm sequelize sequelize-cli supabase dotnet "
            "python python3 php ruby"
        ),
        "remote_code.decode_to_shell": "code",
        "remote_code.dev_tcp_shell": "/dev/",
        "system.disk_format": (
            "mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.msdos mkfs.ntfs "
            "mkfs.exfat mkfs.f2fs mkfs.jfs mkfs.reiserfs mkfs.minix mkfs.nilfs2 mkfs.ocfs2 mkfs.gfs2 mkfs.hfsplus "
            "mke2fs mkswap mkdosfs mkntfs mkexfatfs newfs newfs_hfs newfs_apfs newfs_msdos mkudffs mkreiserfs "
            "pvcreate pvremove mkfs.* newfs_* fdisk cfdisk gdisk sfdisk sgdisk cryptsetup zfs mdadm zpool "
            "diskutil nvme bcachefs lvremove vgremove parted wipefs format"
        ),
        "system.disk_write": f"{_WRITERS} blkdiscard badblocks hdparm",
        "services.docker_prune": "docker podman nerdctl",
        "remote_code.download_to_shell": "code",
        "files.find_delete": "find gfind rm unlink",
        "files.find_delete_root": "find gfind rm unlink",
        "system.firewall_flush": (
            "iptables ip6tables iptables-legacy iptables-nft ip6tables-legacy ip6tables-nft ufw nft pfctl "
            "systemctl service"
        ),
        "process.fork_bomb": "bombs code",
        "services.gh_delete": "gh glab",
        "git.git_add_blind": "git",
        "git.git_branch_delete_force": "git",
        "git.git_checkout_discard": "git",
        "git.git_clean": "git",
        "git.git_history_rewrite": "git git-filter-repo git-filter-branch bfg",
        "git.git_push_delete": "git",
        "git.git_push_force": "git",
        "git.git_reset_hard": "git",
        "git.git_restore_discard": "git",
        "git.git_rm_all": "git",
        "git.git_stash_drop": "git",
        "text.hidden_characters": "odd",
        "system.history_erase": "history rm unlink shred truncate cp ln tee >",
        "files.interpreter_destroys": "code",
        "process.kill_everything": "kill pkill killall killall5",
        "process.kill_own_runtime": "pkill killall",
        "process.kill_parent": "kill",
        "services.kubectl_delete_all": "kubectl oc k3s microk8s",
        "files.move_history": "mv",
        "files.move_system": "mv",
        "files.move_to_null": "mv",
        "remote_code.netcat_shell": "nc ncat netcat nc.traditional nc.openbsd socat telnet",
        "services.npm_unpublish": "npm pnpm",
        "files.owner_recursive": "chmod chown chgrp",
        "text.restricted_characters": "script",
        "files.rm_precious": f"rm unlink {_NODES}",
        "files.rm_root_or_home": f"rm {_NODES}",
        "files.shred_wipe": "shred srm wipe",
        "system.shutdown": "shutdown reboot halt poweroff init telinit systemctl tee >",
        "system.ssh_write": _WRITERS,
        "services.terraform_destroy": "terraform tofu terragrunt pulumi cdktf cdk",
        "text.too_complex": "unread",
        "system.user_delete": "userdel deluser groupdel delgroup passwd dscl",
        "system.write_etc": _WRITERS,
    }.items()
}
"""Commands that each rule checks, or words of `nacre.policy.rule`: `mkfs.*` is a family, `>` any output redirection."""

MODULES = tuple(RULE_MODULES)
MODULES_BY_ID = {module.rpartition(".")[2].replace("_", "-"): module for module in RULE_MODULES}
"""Modules by rule id; a rule's file is named after its id."""
_BY_COMMAND: dict[str, tuple[str, ...]] = {}
for _module, _commands in RULE_MODULES.items():
    for _command in _commands:
        _BY_COMMAND[_command] = (*_BY_COMMAND.get(_command, ()), _module)


_FAMILIES = tuple(command[:-1] for command in _BY_COMMAND if len(command) > 1 and command.endswith("*"))
"""Prefixes of the names in command families."""


@cache
def load(module: str) -> Rule:
    """Import the module of a rule and return the rule."""
    rule = import_module(f"{__name__}.{module}").RULE
    assert isinstance(rule, Rule)
    return rule


@cache
def _load_rules(modules: tuple[str, ...]) -> tuple[Rule, ...]:
    return tuple(load(module) for module in modules)


_RULES: dict[str, tuple[Rule, ...]] = {}


def rules_for(command: str) -> tuple[Rule, ...]:
    """Return the rules for commands of this name."""
    known = _RULES.get(command)
    if known is None:
        if command not in _BY_COMMAND:
            if not command.startswith(_FAMILIES):
                return ()
            command = next(f"{family}*" for family in _FAMILIES if command.startswith(family))
        known = _RULES[command] = _load_rules(_BY_COMMAND[command])
    return known


@cache
def _of_texts(modules: tuple[str, ...]) -> tuple[Rule, ...]:
    return tuple(rule for rule in _load_rules(modules) if rule.match_script is not None)


def rules_for_texts(key: str) -> tuple[Rule, ...]:
    """Return the rules on whole scripts for a command's name in the script, or for a word of `nacre.policy.rule`."""
    modules = _BY_COMMAND.get(key)
    return _of_texts(modules) if modules else ()


def every_rule() -> tuple[Rule, ...]:
    """Return all rules, with all modules loaded."""
    return _load_rules(MODULES)
