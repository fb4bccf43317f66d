#!/usr/bin/env bash
# The way back when all but the cartridges is lost: scripts/tape-scan.sh, for a built bin/hemera
# xrdcp in (large files on two tapes, small ones in containers), then a new empty system with the same cartridges: scan, xrdcp out, compare.
# Between the two, a program that knows labels only reads the cartridges. Then a removed file is undeleted. At the end the same for encrypted tapes:
# without the key, and with it. HEMERA names another binary.
set -euo pipefail
cd "$(dirname "$0")/.."
hemera=${HEMERA:-bin/hemera}
for tool in xrdcp xrdfs python3; do
	command -v "$tool" >/dev/null || { echo "$tool is missing: scripts/setup.sh clients"; exit 77; }
done
export XRD_CONNECTIONWINDOW=5
work=$(mktemp -d)
pid=
port=${PORT:-$(build/bin/go run ./scripts/freeport 7)}
host=localhost:$port
stop() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || true
	[ -z "$pid" ] || wait "$pid" 2>/dev/null || true
	pid=
}
trap 'stop; rm -rf "$work"' EXIT
admin() { "$hemera" --url "root://$host" "$@"; }
fail() {
	echo "FAIL  $1"
	tail -n 20 "$work/log" "$work/out" || true
	exit 1
}

# until_true WHAT COMMAND...: tries for two minutes.
until_true() {
	local what=$1
	shift
	for _ in $(seq 600); do
		"$@" >"$work/out" 2>&1 && return
		sleep 0.2
	done
	fail "not within two minutes: $what"
}

# start DIR returns when the manager answers and knows its tapes.
start() {
	"$hemera" up "$work/$1" --tape --tape-speed 0 --port "$port" >>"$work/log" 2>&1 &
	pid=$!
	until_true "$1 knows its tapes" has_tapes
}
has_tapes() { admin tape tape ls | grep -q V00016; }
has_queues() { admin tape queue ls -j | python3 -c 'import json, sys; sys.exit(not json.load(sys.stdin).get("result"))'; }
no_queues() { ! has_queues; }
backed() { [ "$(xrdfs "$host" stat "$1" | grep -c BackUpExists)" = 1 ]; }
offline() { xrdfs "$host" stat "$1" | grep -q Offline; }
online() { ! offline "$1"; }
same() {
	xrdcp -f --nopbar "root://$host/$1" "$work/back" && cmp "$2" "$work/back" || fail "$1 is another one"
}

mkdir "$work/in" "$work/labels"
for i in 1 2 3; do head -c $((5000000 + i)) /dev/urandom >"$work/in/large$i"; done
for i in $(seq 40); do head -c $((RANDOM + 1)) /dev/urandom >"$work/in/small$i"; done

start one
admin tape pool add second
admin tape class add double nbCopies=2
admin tape route add double/1 tapepool=default
admin tape route add double/2 tapepool=second
admin tape tape set V00016 tapepool=second
admin mkdir /exp /exp/large /exp/small
admin attr set sys.archive.storage_class=default /exp/small
admin attr set sys.archive.storage_class=double /exp/large
xrdcp --nopbar "$work"/in/large* "root://$host//exp/large/"
xrdcp --nopbar "$work"/in/small* "root://$host//exp/small/"
for f in large1 large2 large3; do until_true "$f on tape" backed "/exp/large/$f"; done
until_true "nothing waits" no_queues
admin ls -l /exp/large >"$work/before"
stop

# Labels are all that this program knows. Of the small files it finds the containers.
python3 scripts/tape-image.py "$work/one/tape/cartridges/V00016L9" "$work/image"
python3 scripts/tape-labels.py "$work/image" -x "$work/labels" >"$work/out"
found=0
for f in "$work"/in/large*; do
	for g in "$work"/labels/*; do cmp -s "$f" "$g" && found=$((found + 1)); done
done
[ "$found" = 3 ] || fail "a program that knows labels only finds $found of 3 files on the second tape"
echo "ok    labels: 3 files of 3"

# The catalogue is lost.
mkdir "$work/two"
mv "$work/one/tape" "$work/two/tape"
start two
begun=$SECONDS
admin tape scan --all >"$work/out" || fail "the scan"
grep -v "the tape is new" "$work/out"
admin ls -l /exp/large >"$work/after"
cmp "$work/before" "$work/after" || fail "a listing differs"
for f in large1 large2 large3; do
	until_true "$f is offline" offline "/exp/large/$f"
	[ "$(admin file info "/exp/large/$f" | grep -c ' V000')" = 2 ] || fail "$f does not have two copies"
done
# One request for all, so that each tape is mounted once.
mapfile -t paths < <(cd "$work/in" && for f in *; do echo "/exp/${f%%[0-9]*}/$f"; done)
xrdfs "$host" prepare -s "${paths[@]}" >/dev/null
for p in "${paths[@]}"; do until_true "$p is on disk" online "$p"; done
for f in "$work"/in/large*; do same "/exp/large/${f##*/}" "$f"; done
for f in "$work"/in/small*; do same "/exp/small/${f##*/}" "$f"; done
admin ns check >"$work/out" 2>&1 || fail "ns check"
echo "ok    scan: 43 files came back, $((SECONDS - begun)) s"

# Again: nothing changes.
admin tape scan V00016 -j >"$work/out"
python3 -c 'import json, sys; r = json.load(open(sys.argv[1]))["result"][0]; sys.exit(r["known"] != r["files"] or r["files"] != 3)' "$work/out" || fail "a second scan"
# The tapes are written on.
admin attr set sys.archive.storage_class=default /exp
xrdcp --nopbar "$work/in/large1" "root://$host//exp/new"
until_true "a new file on a tape of before" backed /exp/new

admin rm /exp/small/small7
if admin tape undelete /exp/small/small7 --to /exp/small/small8 >"$work/out" 2>&1; then fail "a path that is taken"; fi
admin tape undelete /exp/small/small7 >"$work/out"
same /exp/small/small7 "$work/in/small7"
admin ns check >"$work/out" 2>&1 || fail "ns check"
echo "ok    undelete, ns check clean"

# Encrypted: the key is all that a new empty system needs besides the cartridges.
stop
start three
admin tape key add raw
admin tape pool set default encryptionKeyName=raw
admin mkdir /exp
admin attr set sys.archive.storage_class=default /exp
xrdcp --nopbar "$work"/in/large* "root://$host//exp/"
for f in large1 large2 large3; do until_true "$f on tape" backed "/exp/$f"; done
until_true "nothing waits" no_queues
vid=$(admin file info /exp/large1 | grep -o 'V000[0-9]*' | head -n 1)
cp "$(find "$work/three" -name raw.key)" "$work/raw.key"
stop
mkdir "$work/four"
mv "$work/three/tape" "$work/four/tape"
start four
if admin tape scan "$vid" -j >"$work/out" 2>&1; then fail "a scan without a key"; fi
grep -q 'key raw:' "$work/out" || fail "the error names no key"
grep -q "hemera tape tape set $vid encryptionKeyName=NAME" "$work/out" || fail "the error names no remedy"
admin tape key add raw --from "$work/raw.key" >"$work/out" || fail "the key is not taken"
admin tape tape set "$vid" encryptionKeyName=raw
mv "$(find "$work/four" -name raw.key)" "$work/away"
if admin tape scan "$vid" >"$work/out" 2>&1; then fail "a scan whose key is missing"; fi
grep -q "hemera tape key add raw --from FILE" "$work/out" || fail "the refusal names no remedy"
admin tape key add raw --from "$work/raw.key" >"$work/out" || fail "the key does not come back"
admin tape scan "$vid" >"$work/out" || fail "a scan with the key"
xrdfs "$host" prepare -s /exp/large1 /exp/large2 /exp/large3 >/dev/null
for f in large1 large2 large3; do
	until_true "$f is on disk" online "/exp/$f"
	same "/exp/$f" "$work/in/$f"
done
echo "ok    encrypted: refused without the key, 3 files came back with it"
