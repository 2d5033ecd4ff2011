#!/usr/bin/env bash
# usage: container-image.sh PROGRAM NAME
#
# Builds an image with bash and the usual tools from files of this machine. Fetches nothing.
set -euo pipefail
program=$1 name=$2
root=$(mktemp -d)
trap 'rm -rf -- "$root"' EXIT
tools=(bash cat chmod cp cut date dd env grep head id ln ls mkdir mktemp mv ps rm rmdir sed seq setpriv setsid sh sleep sort
    stat tail tee touch tr true uname wc yes)
mkdir -p "$root"/{usr/bin,etc,root,proc,sys,dev,run,var/tmp}
mkdir -m 1777 "$root/tmp"
ln -s usr/bin "$root/bin"
for tool in "${tools[@]}"; do
    path=$(readlink -f -- "$(PATH=/usr/bin:/bin type -P "$tool")")
    cp -- "$path" "$root/usr/bin/$tool"
    { ldd "$path" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p -- "$root$(dirname -- "$library")"
        cp -nL -- "$library" "$root$library"
    done
done
echo 'root:x:0:0:root:/root:/bin/bash
nobody:x:65534:65534:nobody:/:/bin/bash' >"$root/etc/passwd"
tar -C "$root" -c . | "$program" import - "$name" >/dev/null
