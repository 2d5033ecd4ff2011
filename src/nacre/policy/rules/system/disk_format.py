"""disk-format: makes a file system, or changes the partitions of a disk.

Why      the data on the disk is lost, and the machine may not boot again.
Instead  list first (`lsblk -f`, `fdisk -l`); work on an image file (`truncate -s 1G disk.img && mkfs.ext4 disk.img`).
Misses   a formatter that is not listed here; interactive programs.
"""

from __future__ import annotations

import re

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.shell.command import Command
from nacre.shell.paths import absolute
from nacre.shell.symbolic import is_literal
from nacre.verdict import Decision

_MAKERS = (
    "mkfs", "mkfs.ext2", "mkfs.ext3", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "mkfs.vfat", "mkfs.fat", "mkfs.msdos",
    "mkfs.ntfs", "mkfs.exfat", "mkfs.f2fs", "mkfs.jfs", "mkfs.reiserfs", "mkfs.minix", "mkfs.nilfs2", "mkfs.ocfs2",
    "mkfs.gfs2", "mkfs.hfsplus", "mke2fs", "mkswap", "mkdosfs", "mkntfs", "mkexfatfs", "newfs", "newfs_hfs",
    "newfs_apfs", "newfs_msdos", "mkudffs", "mkreiserfs", "pvcreate", "pvremove",
)  # fmt: skip
_FAMILIES = ("mkfs.*", "newfs_*")
"""Families of programs that create a file system."""
_NAMED = ("zpool", "zfs", "diskutil", "lvremove", "vgremove")
"""Programs whose targets are names, not paths."""
_READS = {
    "fdisk": ("-l", "--list", "-s", "--getsz", "-x", "--list-details"),
    "cfdisk": (),
    "gdisk": ("-l",),
    "sfdisk": ("-l", "--list", "-d", "--dump", "-J", "--json", "-s", "--show-size", "-F", "--list-free", "--verify"),
    "sgdisk": ("-p", "--print", "-i", "--info", "-v", "--verify", "-O", "--print-mbr", "-b", "--backup"),
}
"""Partitioners, and their read-only options."""
_CHANGES = ("-Z", "-z", "-o", "-n", "-d", "-t", "-g", "--zap", "--zap-all", "--clear", "--new", "--delete")
_ACTS = {
    "cryptsetup": ("luksFormat", "luksErase", "erase"),
    "zfs": ("destroy",),
    "mdadm": ("--zero-superblock", "--create", "-C"),
    "zpool": ("create", "destroy", "labelclear"),
    "diskutil": ("eraseDisk", "eraseVolume", "partitionDisk", "reformat", "zeroDisk", "randomDisk", "secureErase"),
    "nvme": ("format", "sanitize"),
    "bcachefs": ("format",),
}
"""Programs with destructive subcommands or options."""
_PARTED = lazy_regex(r"mk\w+|rm|resize\w*|move|name|set|toggle|disk_set|disk_toggle|rescue|type")
_VALUED = ("-t", "-L", "-F", "-b", "-m", "-N", "-U", "-E", "-O", "-I", "-i", "-s", "-n", "-d", "-p", "-o", "-c")


_TRIES = dict.fromkeys(("mke2fs", "mkfs.ext2", "mkfs.ext3", "mkfs.ext4"), ("-n",))
"""Programs with a dry-run option."""


def match(command: Command, context: CheckContext) -> Hit | None:
    name = command.name
    if command.has_flag("--help", "--version") or not any(_device(each, command) for each in command.args):
        return Hit() if name == "format" and re.match(r"[A-Za-z]:", "".join(command.operands()[:1])) else None
    if name in _MAKERS or name.startswith(("mkfs.", "newfs_")):
        devices = [each for each in command.args if is_literal(each)] + command.operands(*_VALUED)
        found = any(_device(each, command) for each in devices) and not (name in _TRIES and command.has_flag("-n"))
    elif name in _READS:
        found = not command.has_flag(*_READS[name]) or (name == "sgdisk" and command.has_flag(*_CHANGES))
    elif name in _ACTS:
        found = any(each in _ACTS[name] for each in command.args)
    elif name in _NAMED:
        found = True
    elif name == "parted":
        words = " ".join(command.args[1:]).split()
        found = not command.has_flag("-l", "--list") and (
            any(map(_PARTED.fullmatch, words)) or len(command.operands()) == 1
        )
    else:
        found = command.has_flag("-a", "--all", "-o", "--offset") and not command.has_flag("-n", "--no-act")
    return Hit() if found else None


def _device(word: str, command: Command) -> bool:
    """Return whether a word is a path in `/dev`, may be any path, or is not a path (a pool's name, `disk2`)."""
    if not word or word.startswith("-"):
        return False
    if not is_literal(word) and not re.search(r"[\w.]", word):
        return True
    if command.name in _NAMED:
        return True
    path = absolute(word, command.cwd)
    return path.startswith("/dev/") and not path.startswith("/dev/shm/")


RULE = Rule(
    id="disk-format",
    decision=Decision.REFUSE,
    reason="would erase a disk or change how it is divided",
    instead="look with `lsblk -f` or `fdisk -l`, or work on an image file",
    commands=(*_MAKERS, *_FAMILIES, *_READS, *_ACTS, "lvremove", "vgremove", "parted", "wipefs", "format"),
    match=match,
    hits=(
        "mkfs.ext4 /dev/sdb1",
        "sudo mkfs -t ext4 -L data /dev/sdb",
        'mkfs.ext4 "$DISK"',
        "mkswap /dev/sda2",
        "mkfs.ext4 -F /dev/loop0",
        "mkfs.bcachefs -L -n /dev/sdb",
        "mkfs.ext4 -L -n /dev/sdb1",
        "mkfs -V -t ext4 /dev/sdb",
        "bcachefs format /dev/sdb",
        "wipefs -a -t -n /dev/sdb",
        "lvremove -f vg/data",
        "fdisk /dev/sda",
        "printf 'o\\nw\\n' | sudo fdisk /dev/sdb",
        "parted -s /dev/sda mklabel gpt",
        "parted /dev/sdb -- mkpart primary 0% 100%",
        "sfdisk /dev/sda < layout",
        "sgdisk --zap-all /dev/sda",
        "sgdisk -n 1:0:0 -p /dev/sda",
        "wipefs -a /dev/sdb",
        "cryptsetup luksFormat /dev/sdb1",
        "zpool destroy tank",
        "bash -c 'diskutil eraseDisk APFS x disk2'",
    ),
    passes=(
        "fdisk -l /dev/sda",
        "parted /dev/sdb print",
        "parted -s /dev/sdb unit MiB print",
        "parted -l",
        "sfdisk -d /dev/sda > layout",
        "sgdisk -p /dev/sda",
        "wipefs /dev/sda",
        "wipefs -n -a /dev/sda",
        "mkfs.ext4 -L data disk.img",
        "mkfs.ext4 -V",
        "mkfs.ext4 -n -L data /dev/sdb1",
        "mkfs.erofs image.erofs dir",
        "mkswap /swapfile",
        "man mkfs",
        "zpool status tank",
        "cryptsetup status x",
    ),
)
