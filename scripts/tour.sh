#!/usr/bin/env bash
# The main job on real input: a file written with two replicas by a stock client, one disk taken away, the file read back
# verified, repaired, and all of it visible to an admin. Then it keeps serving; with --once it stops.
set -euo pipefail
cd "$(dirname "$0")/.."
once=${1:-}
dir=${HEMERA_TOUR_DIR:-build/tour}
port=${HEMERA_TOUR_PORT:-1094}
hemera=$PWD/bin/hemera
export HEMERA_URL=root://localhost:$port
export XRD_CONNECTIONWINDOW=5

step() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "${*//$hemera/hemera}"; "$@"; }
# wait_for DESCRIPTION COMMAND...: until the command succeeds, at most two minutes.
wait_for() {
	local what=$1 deadline=$((SECONDS + 120))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $deadline ] || { echo "gave up waiting for $what" >&2; exit 1; }
		kill -0 "$server" 2>/dev/null || { echo "the server ended; its log:" >&2; tail -n 20 "$dir/log" >&2; exit 1; }
		sleep 0.2
	done
}
repaired() { "$hemera" -m file info /tour/data.bin | grep -q status=healthy && ! "$hemera" -m file info /tour/data.bin | grep -q "path=$lost "; }
disk_is_gone() { "$hemera" -m fs ls | grep -q 'health=gone'; }

if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
	echo "port $port is in use: stop what listens there, or choose another with HEMERA_TOUR_PORT=21094 make run" >&2
	exit 1
fi
rm -rf "$dir"
mkdir -p "$dir"
step "1. Start: a manager and six storage nodes with a disk each, in one process"
printf '$ hemera up %s --port %s\n' "$dir/cluster" "$port"
"$hemera" up "$dir/cluster" --port "$port" --repair-grace 2s >"$dir/log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true' EXIT
wait_for "the cluster" "$hemera" ns stat
grep -v '^{' "$dir/log" | grep -v 'level=' || true
run "$hemera" fs ls

step "2. Write: a stock client stores a file; the new directory gets two replicas"
head -c 268435456 /dev/urandom >"$dir/data.bin"
run "$hemera" mkdir -p /tour
run xrdcp -f --nopbar "$dir/data.bin" "$HEMERA_URL//tour/data.bin"
run xrdfs "$HEMERA_URL" query checksum /tour/data.bin
run "$hemera" file info /tour/data.bin

step "3. Lose a disk: the one that holds the first replica is taken away"
lost=$("$hemera" -m file info /tour/data.bin | grep -o 'path=[^ ]*/disk[0-9]*' | head -n 1 | cut -d= -f2)
run mv "$lost" "$lost.gone"

step "4. Read it back: every byte is checked against the checksum made when it was written"
run xrdcp -f --nopbar "$HEMERA_URL//tour/data.bin" "$dir/back.bin"
run cmp "$dir/data.bin" "$dir/back.bin" && echo "identical"

step "5. The system noticed, and repairs"
wait_for "the lost disk to be noticed" disk_is_gone
run "$hemera" fs ls -e
wait_for "the repair" repaired
run "$hemera" file info /tour/data.bin
run "$hemera" fs ls -d
run "$hemera" file check /tour/data.bin

step "6. What an admin sees"
run "$hemera" node ls
run "$hemera" space ls
run "$hemera" ns stat

if [ "$once" = --once ]; then
	step "Done."
	exit 0
fi
step "Still serving at $HEMERA_URL (Ctrl-C stops it). Try:"
echo "  xrdcp $HEMERA_URL//tour/data.bin /tmp/"
echo "  bin/hemera fs ls"
echo "  xrdfs $HEMERA_URL ls -l /tour"
trap 'kill -INT "$server" 2>/dev/null' INT TERM
wait "$server" || true
trap - EXIT
