#!/usr/bin/env bash
# File operations in a mounted xrootdfs: scripts/xrootdfs.sh root://host:port//dir
# Ends with 77 where xrootdfs or FUSE is missing. Prints a line per operation.
set -euo pipefail
url=$1
for tool in xrootdfs fusermount; do command -v $tool >/dev/null || { echo "no $tool: left out"; exit 77; }; done
[ -w /dev/fuse ] || { echo "no /dev/fuse: left out"; exit 77; }
work=$(mktemp -d)
mkdir "$work/mnt"
xrootdfs -f -o "rdr=$url" "$work/mnt" >"$work/log" 2>&1 &
daemon=$!
end() {
	fusermount -u -z "$work/mnt" || true
	kill $daemon 2>/dev/null || true
	wait $daemon 2>/dev/null || true
	rm -rf "$work/in" "$work/out" "$work/log"
	rmdir "$work/mnt" "$work" || true
}
trap end EXIT
for _ in $(seq 100); do grep -q " $work/mnt " /proc/mounts && break; sleep 0.1; done
grep -q " $work/mnt " /proc/mounts || { tail -n 3 "$work/log"; echo "xrootdfs cannot be mounted here: left out"; exit 77; }
head -c 3000000 /dev/urandom >"$work/in"
export in=$work/in
failed=0
mkdir -p "$work/mnt/xrootdfs.$$"
check() { # check NAME SCRIPT
	if (cd "$work/mnt/xrootdfs.$$" && timeout 60 bash -ec "$2") >"$work/out" 2>&1; then
		echo "ok    xrootdfs: $1"
	else
		failed=$((failed + 1))
		echo "FAIL  xrootdfs: $1"
		tail -n 5 "$work/out" | sed 's/^/      /'
	fi
}
# xrootdfs answers a close before it has written, and the kernel keeps sizes for ten seconds: what was
# written last may be seen a moment later, so the checks of contents try again.
soon() { for _ in $(seq 50); do "$@" && return; sleep 0.1; done; return 1; }
lines() { test "$(cat "${@:2}" | wc -l)" = "$1"; }
holds() { test "$(cat "$1")" = "$2"; }
hidden() { [ -z "$(find . -maxdepth 1 -name ".fuse_hidden*")" ]; }
export -f soon lines holds hidden
check "make a file and read it" 'echo hello >a; soon holds a hello'
check "write over a file at once" 'echo one >b; echo two >b; soon holds b two'
check "append" 'echo one >c; echo two >>c; soon lines 2 c'
check "cp" 'cp "$in" d; soon cmp d "$in"'
check "dd in the middle" 'dd if=/dev/zero of=d bs=4k count=1 seek=3 conv=notrunc; test "$(wc -c <d)" = 3000000'
check "mv right after the write" 'cp "$in" e; mv e f; soon cmp f "$in"'
check "mv of an open file" 'exec 3>q; echo one >&3; mv q r; echo two >&3; exec 3>&-; soon lines 2 r; ! test -e q'
check "mv of an open file that was there" 'cp "$in" s; soon cmp s "$in"; exec 3>>s; echo more >&3; mv s u; echo more >&3; exec 3>&-; soon test "$(wc -c <u)" = 3000010'
check "rm of an open file" 'exec 3<>v; echo one >&3; rm v; ! test -e v; echo two >&3; exec 3>&-; soon hidden'
check "many files" 'for i in $(seq 20); do echo $i >n$i; done; soon lines 20 n{1..20}'
check "rm" 'rm n1; ! test -e n1'
check "a new file is listed at once" 'echo hello >g; ls | grep -qx g; exec 3>h; echo hello >&3; ls | grep -qx h; exec 3>&-'
check "new files are found by a pattern" 'for i in $(seq 5); do echo $i >p$i; done; lines 5 p*'
check "truncate" 'cp "$in" i; truncate -s 1000 i; test "$(stat -c %s i)" = 1000; truncate -s 5000 i; test "$(stat -c %s i)" = 5000'
check "truncate what is there for a while" 'cp "$in" j; soon cmp j "$in"; truncate -s 1000 j; test "$(stat -c %s j)" = 1000'
# What xrootdfs has not sent yet, up to 128 KiB of writes in a row, no server knows: truncations and seeks send it.
check "the size of what is being written" 'python3 -c "
import os
with open(\"k\", \"w+b\") as f:
    f.write(b\"x\" * 5000); f.truncate(100); assert os.fstat(f.fileno()).st_size == 100, os.fstat(f.fileno())
with open(\"l\", \"w+b\") as f:
    f.write(bytes(128)); f.write(b\"d\" * 100000); f.flush(); f.seek(0); f.write(b\"header\"); assert f.seek(0, 2) == 100128, f.tell()
"'
check "a database" 'python3 -c "
import sqlite3
with sqlite3.connect(\"db\") as c:
    c.execute(\"create table t(a)\"); c.executemany(\"insert into t values(?)\", [(i,) for i in range(1000)])
assert c.execute(\"select sum(a) from t\").fetchone()[0] == 499500
"'
rm -rf "$work/mnt/xrootdfs.$$"
exit $((failed > 0))
