"""disk-write: writes directly to a disk, bypassing its file system.

Why      the first written block destroys data, and it cannot be undone.
Instead  write to a file, or let the user write the disk.
Misses   a custom program that opens the device; a device name that is known only at run time (`of=$DISK`).
"""

from __future__ import annotations

from collections.abc import Iterator

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.facts.precious_paths import shorten_path
from nacre.policy.facts.writes import WRITERS, WriteKind, changes, written_paths
from nacre.policy.rule import CheckContext, Hit, Rule, hit_at
from nacre.shell.command import Command
from nacre.shell.paths import absolute
from nacre.shell.symbolic import UNKNOWN
from nacre.verdict import Decision

_DISK = lazy_regex(
    r"/dev/(?:(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk|md|dm-|loop|nbd|zd|mtdblock|pmem|dasd)(?!$)|"
    r"(?:mtd|fd|n?st|sr|z?ram|bcache|drbd|rbd|a?da|vtbd)\d|k?mem$|port$|"
    r"(?!(?:fd|shm|pts|tcp|udp|mqueue|hugepages|net|input|snd|bus|dri|char|usb|serial|vfio|cpu|mapper/control)/)[^/]+/.)"
)
_ERASERS = ("blkdiscard", "badblocks", "hdparm")
_HDPARM = ("--security-erase", "--sanitize-", "--write-sector", "--make-bad-sector", "--trim-sector-ranges")


def match(command: Command, context: CheckContext) -> Hit | None:
    if "/dev/" not in written_paths(command) and command.name not in _ERASERS:
        return None
    return hit_at(_targets(command), command)


def _targets(command: Command) -> Iterator[tuple[str, Hit]]:
    for deed, target in changes(command):
        path = absolute(target, command.cwd)
        if deed is WriteKind.WRITE and (_DISK.match(path) or (command.name == "dd" and path == f"/dev/{UNKNOWN}")):
            yield target, Hit(reason=f"would overwrite the device {shorten_path(path)}")
    if command.name in _ERASERS and _erases(command):
        for target in command.args:
            if _DISK.match(absolute(target, command.cwd)):
                yield target, Hit(reason=f"would erase the device {shorten_path(target)}")


def _erases(command: Command) -> bool:
    match command.name:
        case "badblocks":
            return command.has_flag("-w")
        case "hdparm":
            return any(word.startswith(_HDPARM) for word in command.args)
    return True


RULE = Rule(
    id="disk-write",
    decision=Decision.REFUSE,
    reason="would overwrite a disk",
    instead="write to an image file, as in `dd of=disk.img`",
    commands=(*WRITERS, *_ERASERS),
    match=match,
    hits=(
        "dd if=/dev/zero of=/dev/sda bs=1M",
        "xzcat os.xz | sudo dd of=/dev/mmcblk0",
        "cd /dev && dd if=zero of=sda",
        "d=/dev/sda; dd if=x of=$d",
        "cat x.img > /dev/sda",
        ": >> /dev/nvme0n1",
        "sudo sh -c 'cat x.img > /dev/vda'",
        "{ echo a; echo b; } > /dev/xvda",
        "cp x.img /dev/sdb",
        "tee /dev/sda < x.img",
        "mv x.img /dev/disk/by-id/usb-1",
        "shred -n 1 /dev/sda",
        "ddrescue backup.img /dev/sda map",
        "blkdiscard -f /dev/nvme0n1",
        "badblocks -w /dev/sdb",
        "echo 1 > /dev/mem",
        "cat x.img > /dev/mtd0",
        "dd if=x.img of=/dev/vg0/root",
        "cp x.img /dev/block/8:0",
        "qemu-img convert -O raw x.qcow2 /dev/sda",
    ),
    passes=(
        "dd if=/dev/sda of=backup.img",
        "dd if=/dev/zero of=/dev/null",
        "dd if=/dev/zero of=test.img bs=1M count=10",
        "cat /dev/sda | head -c 512 | xxd",
        "make > /dev/null 2>&1",
        "echo x > /dev/stderr",
        "echo x > /dev/tty",
        "echo x > /dev/shm/sda",
        "echo x >/dev/fd/3",
        "echo x > /dev/pts/1",
        "qemu-img convert -O qcow2 /dev/sda backup.qcow2",
        "cat x.hex > /dev/serial/by-id/usb-x",
        "shred -u secrets.txt",
        "badblocks -sv /dev/sdb",
        "hdparm -I /dev/sda",
        "rm -f /dev/shm/x",
    ),
)
