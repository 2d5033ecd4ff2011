"""Options of well-known programs that take a value, so that the value is not read as an option or operand."""

from __future__ import annotations

from nacre.shell.options import OptionSpec, ParsedOptions

_MKE2FS = OptionSpec("bCdeEgGiIJlLmMNoOrtTUz")
_MKFS_XFS = OptionSpec("bcdilLmnprs")
_MKFS_FAT = OptionSpec("AbDfFghimMnrRsS")
_MKFS_BTRFS = OptionSpec(
    "AbdlLmMnOrRsU",
    "alloc-start byte-count data leafsize label metadata nodesize sectorsize features rootdir uuid checksum",
)
_SED = OptionSpec(
    "efl", "expression file line-length", flags="in-place quiet silent debug null-data separate", attached="iI"
)
_TAR = OptionSpec(
    "bCfFgHIKLNTVX",
    "directory file exclude exclude-from files-from use-compress-program to-command checkpoint-action info-script "
    "new-volume-script rsh-command rmt-command transform xform strip-components owner group mode mtime newer "
    "after-date newer-mtime format listed-incremental label volno-file tape-length blocking-factor record-size "
    "starting-file suffix add-file index-file quoting-style",
    flags="extract get create list append update delete",
)
_CP = OptionSpec("tS", "target-directory suffix", flags="recursive")
_CURL = OptionSpec(
    "AbcCdDeEFhHKmoPQrtTuUwxXyYz",
    "output output-dir request header data data-binary data-raw data-urlencode user user-agent url proxy max-time "
    "retry connect-timeout cookie cookie-jar cacert cert key config form range referer resolve write-out "
    "upload-file dump-header limit-rate",
    flags="remote-name remote-name-all remote-header-name silent show-error fail location insecure",
)
_WGET = OptionSpec(
    "OoaietTUPQDIARBlwX",
    "output-document output-file append-output user-agent header directory-prefix timeout tries input-file "
    "execute post-data post-file user password limit-rate wait level accept reject domains base",
)
_CHMOD = OptionSpec("", "reference from", flags="recursive")
_SSH_COPY = OptionSpec("cDFiJloPSX")
_PATCH = OptionSpec(
    "BdDFgioprVYz",
    "input output directory strip reject-file prefix basename-prefix suffix fuzz get quoting-style version-control "
    "ifdef",
    flags="dry-run reverse",
)

SUDO = OptionSpec(
    "ughpCrtTUDRac",
    "user group host prompt close-from role type chdir chroot command-timeout other-user login-class auth-type",
    flags="preserve-env list login shell edit stdin set-home non-interactive background remove-timestamp "
    "reset-timestamp validate version help askpass preserve-groups",
    assignments=True,
)

OPTION_SPECS: dict[str, OptionSpec] = {
    **dict.fromkeys(("mke2fs", "mkfs.ext2", "mkfs.ext3", "mkfs.ext4"), _MKE2FS),
    **dict.fromkeys(("mkfs.vfat", "mkfs.fat", "mkfs.msdos", "mkdosfs"), _MKFS_FAT),
    "mkfs.xfs": _MKFS_XFS,
    "mkfs.btrfs": _MKFS_BTRFS,
    "mkfs": OptionSpec("tLbmNUEOIisndpoc", "type"),
    "mkswap": OptionSpec("LUpv", "label uuid pagesize swapversion"),
    "fdisk": OptionSpec("bCHStowW", "sector-size color cylinders heads sectors type output wipe wipe-partitions"),
    "sfdisk": OptionSpec("NOowWXY", "partno backup-file output wipe wipe-partitions label label-nested"),
    "sgdisk": OptionSpec("aAbBchijklmnNrRStTuU", "backup load-backup new change-name typecode delete info attributes"),
    "parted": OptionSpec("a", "align"),
    "wipefs": OptionSpec("otO", "offset types output", flags="all backup force no-act parsable quiet"),
    "badblocks": OptionSpec("bcdeiopt"),
    **dict.fromkeys(("sed", "gsed"), _SED),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _TAR),
    **dict.fromkeys(("cp", "mv", "ln"), _CP),
    "install": OptionSpec("tSmog", "target-directory suffix mode owner group strip-program", flags="directory"),
    "rsync": OptionSpec(
        "efMBT",
        "rsh rsync-path filter exclude include exclude-from include-from files-from temp-dir log-file partial-dir "
        "backup-dir compare-dest copy-dest link-dest chmod chown bwlimit port timeout max-size min-size "
        "password-file out-format block-size suffix",
        flags="delete",
    ),
    **dict.fromkeys(("chmod", "chown", "chgrp"), _CHMOD),
    **dict.fromkeys(("curl", "curlie"), _CURL),
    "wget": _WGET,
    "gpg": OptionSpec("orRuNk", "output recipient local-user homedir keyring passphrase passphrase-file keyserver"),
    "sort": OptionSpec(
        "koStT",
        "key output buffer-size field-separator temporary-directory compress-program parallel batch-size "
        "files0-from random-source",
    ),
    "pv": OptionSpec("oLBNsiwHFdP", "output rate-limit buffer-size name size interval width height format"),
    "tee": OptionSpec("", flags="append"),
    "touch": OptionSpec("dtr", "date time reference"),
    "truncate": OptionSpec("sr", "size reference"),
    "fallocate": OptionSpec("lo", "length offset"),
    "mkdir": OptionSpec("m", "mode"),
    "shred": OptionSpec("ns", "iterations size random-source"),
    "split": OptionSpec("abClnt", "suffix-length bytes line-bytes lines number separator filter additional-suffix"),
    "man": OptionSpec(
        "CRLmMSseEprPT", "config-file pager locale manpath sections extension encoding preprocessor prompt"
    ),
    "make": OptionSpec(
        "CfIoWE", "directory file makefile include-dir old-file what-if new-file eval", attached="jl"
    ),
    "qemu-img": OptionSpec("fOolStTmBrFb", "object rate-limit"),
    "bmaptool": OptionSpec("", "bmap bmap-sig"),
    **dict.fromkeys(("scp", "sftp"), _SSH_COPY),
    "patch": _PATCH,
    "base64": OptionSpec("wio", "wrap input output"),
}  # fmt: skip


def parse_tar_options(words: tuple[str, ...]) -> ParsedOptions:
    """Parse tar's arguments. The first may be a cluster of letters without a dash; their values follow in order."""
    if not words or words[0][:1] == "-" or not words[0].isalpha():
        return _TAR.parse(words)
    index, plain = 1, []
    for letter in words[0]:
        plain.append("-" + letter)
        if letter in _TAR.short:
            plain += words[index : index + 1]
            index += 1
    return _TAR.parse((*plain, *words[index:]))
