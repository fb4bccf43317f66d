#!/usr/bin/env bash
# The walk of a file to tape and back with stock clients: scripts/tape-walk.sh, for a built bin/hemera
# xrdcp in, wait for the flag of the backup, evict, offline, prepare, query until online, xrdcp out, compare.
# Then the same with a kill -9 of the whole cluster at some point, and with a pool that has an encryption key: the cartridge has nothing of the
# file in clear, and without the key it is not read. The disk copies of a file turn bad. A library is put down and up. The drives are emulated and do not wait.
# Prints a line per walk. WALKS=all has a walk for each of six points: two minutes, not half of one. HEMERA names another binary.
set -euo pipefail
cd "$(dirname "$0")/.."
hemera=${HEMERA:-bin/hemera}
for tool in xrdcp xrdfs python3; do
	command -v "$tool" >/dev/null || { echo "$tool is missing: scripts/setup.sh clients"; exit 77; }
done
# A client waits so long before it connects again, by default 120 s.
export XRD_CONNECTIONWINDOW=5
work=$(mktemp -d)
pid=
kills=0
port=${PORT:-$(build/bin/go run ./scripts/freeport 7)}
host=localhost:$port
stop() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || true
	[ -z "$pid" ] || wait "$pid" 2>/dev/null || true
	rm -rf "$work"
}
trap stop EXIT
admin() { "$hemera" --url "root://$host" "$@"; }

# start returns when the manager answers.
start() {
	"$hemera" up "$work/up" --tape --tape-speed 0 --port "$port" >>"$work/log" 2>&1 &
	pid=$!
	for _ in $(seq 200); do
		admin ns stat >/dev/null 2>&1 && return
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	echo "the cluster did not start:"
	tail -n 20 "$work/log"
	exit 1
}

# crash is the end of the manager, all nodes and the tape server at once, and their next start.
crash() {
	kill -9 "$pid"
	wait "$pid" 2>/dev/null || true
	kills=$((kills + 1))
	start
}

# until_true WHAT COMMAND...: tries for a minute, and tells what is known when it was in vain.
until_true() {
	local what=$1
	shift
	for _ in $(seq 300); do
		"$@" >"$work/out" 2>&1 && return
		sleep 0.2
	done
	echo "FAIL  $name: not within a minute: $what"
	cat "$work/out"
	admin tape why "$path" || true
	admin tape why V00001 || true
	admin tape status || true
	admin tape session ls || true
	grep -v '"msg":"admin"' "$work/log" | tail -n 20
	exit 1
}

flags() { xrdfs "$host" stat "$path" | grep -q "Flags:.*$1"; }
is_backed() { flags BackUpExists; }
# gfal, and so FTS, takes the file for archived: READY. It is tried once the file is on tape.
is_polled() { ! command -v gfal-archivepoll >/dev/null || GFAL_PYTHONBIN=/usr/bin/python3 timeout 60 gfal-archivepoll "root://$host/$path" | grep -q 'READY$'; }
is_offline() { flags Offline; }
evict() { admin tape evict "$path"; }
is_online() {
	xrdfs "$host" query prepare "$request" "$path" | tee "$work/query" |
		python3 -c 'import json, sys; sys.exit(not json.load(sys.stdin)["responses"][0]["online"])'
}
prepare() { request=$(xrdfs "$host" prepare -s "$path") && [ -n "$request" ]; }

# walk POINT: a file to tape and back; the cluster is killed at the point.
walk() {
	name=$1 path=/walk/${1// /-}
	local begun=$SECONDS
	local in=$work/in back=$work/back
	at() { [ "$name" != "$1" ] || crash; }
	head -c $((RANDOM * 100 + 1)) /dev/urandom >"$in"
	xrdcp -f --nopbar "$in" "root://$host/$path"
	at "killed before the archive"
	until_true "a copy on tape" is_backed
	until_true "gfal-archivepoll takes it for archived" is_polled
	at "killed after the archive"
	until_true "the disk copies are dropped" evict
	at "killed after the evict"
	until_true "offline" is_offline
	until_true "a request" prepare
	at "killed before the recall"
	until_true "online" is_online
	at "killed after the recall"
	if [ "$name" = "killed while a client waits" ]; then
		until_true "the disk copies are dropped again" evict
		xrdcp -f --nopbar "root://$host/$path" "$back" &
		local reader=$!
		crash
		wait "$reader" || { echo "FAIL  $name: the read that waited"; exit 1; }
	else
		xrdcp -f --nopbar "root://$host/$path" "$back"
	fi
	cmp "$in" "$back" || { echo "FAIL  $name: the content differs"; exit 1; }
	echo "ok    $name, $((SECONDS - begun)) s"
}

is_held() { { admin tape status || true; } | tee "$work/status" | grep -q "^key walk  .*$1.*hemera tape key add walk --from FILE" && admin tape why "$path" | grep -q "encrypted with key walk"; }

# sealed: a file to a tape of a pool with a key, and back; in between the key is another one, and missing.
sealed() {
	name=encrypted path=/sealed/f
	local begun=$SECONDS in=$work/in back=$work/back key=$work/up/manager/tape-keys/walk.key
	{
		admin tape key add walk
		admin tape pool add sealed encryptionKeyName=walk
		admin tape class add sealed
		admin tape route add sealed/1 tapepool=sealed
		admin tape tape set V00016 tapepool=sealed
	} >"$work/out"
	admin mkdir /sealed
	admin attr set sys.archive.storage_class=sealed /sealed
	python3 -c 'print("this stands nowhere on tape " * 40000)' >"$in"
	xrdcp -f --nopbar "$in" "root://$host/$path"
	until_true "a copy on tape" is_backed
	until_true "the disk copies are dropped" evict
	local image
	image=$(find "$work/up" -name 'V00016L9.data')
	[ "$(head -c 10 "$image")" = VOL1V00016 ] || { echo "FAIL  $name: the label of the tape cannot be read"; exit 1; }
	if grep -q -a -e "this stands nowhere" -e "$path" -e UHL10000 "$image"; then echo "FAIL  $name: the cartridge has clear text"; exit 1; fi
	[ "$(stat -c %a "$key")" = 600 ] || { echo "FAIL  $name: $key is open to others"; exit 1; }
	if grep -q -a -r -f "$key" "$work/up/manager/namespace" "$work/log"; then echo "FAIL  $name: the secret is in the namespace or in the log"; exit 1; fi
	mv "$key" "$work/walk.key"
	until_true "a request" prepare
	until_true "a missing key is told of" is_held "missing"
	head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' >"$key"
	until_true "another key is told of" is_held "another key"
	if admin tape key add walk --from "$key" >"$work/out" 2>&1; then echo "FAIL  $name: another key was taken"; exit 1; fi
	rm "$key"
	admin tape key add walk --from "$work/walk.key" >"$work/out"
	until_true "online" is_online
	xrdcp -f --nopbar "root://$host/$path" "$back"
	cmp "$in" "$back" || { echo "FAIL  $name: the content differs"; exit 1; }
	echo "ok    $name, $((SECONDS - begun)) s"
}

# spoiled: a page in the middle of all disk copies turns bad unnoticed. The first read finds that in the middle of its answer, and waits for the tape copy.
spoiled() {
	name="all disk copies bad" path=/walk/spoiled
	local begun=$SECONDS in=$work/in back=$work/back
	head -c 20000000 /dev/urandom >"$in"
	xrdcp -f --nopbar "$in" "root://$host/$path"
	until_true "a copy on tape" is_backed
	python3 - "$work/up" "$(admin file info -j "$path" | python3 -c 'import json, sys; print(json.load(sys.stdin)["result"][0]["fxid"])')" <<-'E'
		import pathlib, sys
		pieces = list(pathlib.Path(sys.argv[1]).glob(f"disk*/*/{sys.argv[2]}.*"))
		assert len(pieces) == 2, pieces
		for piece in pieces:
		    with open(piece, "r+b") as f:
		        f.seek(15000000)
		        byte = f.read(1)[0] ^ 4
		        f.seek(15000000)
		        f.write(bytes([byte]))
	E
	xrdcp -f --nopbar "root://$host/$path" "$back" || { echo "FAIL  $name: the first read"; exit 1; }
	cmp "$in" "$back" || { echo "FAIL  $name: the content differs"; exit 1; }
	echo "ok    $name, $((SECONDS - begun)) s"
}

waits_for_library() { admin tape why "$path" | grep "moved to another room" | grep -q "hemera tape library up tape"; }

is_listed() { admin tape request show "$path" -j | python3 -c 'import json, sys; sys.exit([r["requestType"] for r in json.load(sys.stdin)["result"]] != ["archive"])'; }

# disabled: an admin puts the library down, a file waits and says so, and goes to tape when it is up again.
disabled() {
	name="library put down" path=/walk/disabled
	local begun=$SECONDS
	if admin tape library down tape >"$work/out" 2>&1; then echo "FAIL  $name: without a reason"; exit 1; fi
	admin tape library down tape --reason "moved to another room" >"$work/out"
	head -c 1000 /dev/urandom >"$work/in"
	xrdcp -f --nopbar "$work/in" "root://$host/$path"
	until_true "the file says what it waits for" waits_for_library
	until_true "its request is shown" is_listed
	admin tape library up tape >"$work/out"
	until_true "a copy on tape" is_backed
	echo "ok    $name, $((SECONDS - begun)) s"
}

start
admin mkdir /walk
admin attr set sys.archive.storage_class=default /walk
points=("not killed" "killed before the archive" "killed before the recall")
[ "${WALKS:-}" != all ] || points+=("killed after the archive" "killed after the evict" "killed after the recall" "killed while a client waits")
for point in "${points[@]}"; do
	walk "$point"
done
sealed
spoiled
disabled
failed=$(admin tape request ls --failed -j)
python3 -c 'import json, sys; sys.exit(bool(json.loads(sys.argv[1]).get("result")))' "$failed" || { echo "FAIL  requests failed: $failed"; exit 1; }
admin ns check >"$work/out" 2>&1 || { echo "FAIL  ns check:"; cat "$work/out"; exit 1; }
echo "$kills kills, no failed request, ns check clean"
