#!/usr/bin/env bash
# How fast a disk with small files is drained: pieces a second from the order until the disk is empty, and the CPU time
# that the whole cluster took for it.
# usage: scripts/drain-rate.sh [FILES] [BYTES] [DIR]     default: 20000 files of 2048 bytes, below /dev/shm
# One process, six nodes with a disk each, two replicas: a third of the files has a piece on the disk that is drained.
# HEMERA names another binary, to compare two builds; PROFILE a file for a CPU profile of the first 4 seconds.
# FS=ext4 or xfs gives each disk a file system of its own, on a loop device below DIR: its own journal and its own syncs, as a
# real disk has them. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
files=${1:-20000} bytes=${2:-2048} base=${3:-/dev/shm} port=${PORT:-31894}
hemera=$(realpath "${HEMERA:-bin/hemera}")
dir=$(mktemp -d "$base/drain-rate.XXXXXX")
export HEMERA_URL=unix://$dir/data/admin.sock

# The folders that hemera up makes, each with a file system of its own.
mounts=()
own_disks() {
	local n device
	for n in $(seq 6); do
		truncate -s 1G "$dir/disk$n"
		device=$(losetup --find --show --direct-io=off "$dir/disk$n")
		"mkfs.$FS" -q "$device" >/dev/null
		mkdir -p "$dir/data/disk$n"
		mount "$device" "$dir/data/disk$n"
		losetup -d "$device" # it goes with the mount
		mounts+=("$dir/data/disk$n")
	done
}
end() {
	[ -z "${server:-}" ] || { kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; }
	[ "${#mounts[@]}" = 0 ] || umount "${mounts[@]}"
	rm -rf "$dir"
}
trap end EXIT
[ -z "${FS:-}" ] || own_disks

"$hemera" up "$dir/data" --port "$port" --log-level warn >"$dir/log" 2>&1 &
server=$!
for _ in $(seq 100); do
	"$hemera" fs ls -m >/dev/null 2>&1 && break
	sleep 0.1
done

python3 - "$dir/tree" "$files" "$bytes" <<'PY'
import os, sys
tree, files, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for i in range(files):
    os.makedirs(f"{tree}/{i // 1000}", exist_ok=True)
    with open(f"{tree}/{i // 1000}/{i}", "wb") as f:
        f.write(os.urandom(size))
PY
"$hemera" --url "root://localhost:$port" cp -r "$dir/tree" :/ >/dev/null

disk() { "$hemera" fs ls -m | grep -E '(^| )id=1 '; }
cpu() { awk '{ print $14 + $15 }' "/proc/$server/stat"; }
# The counts of the disks come with heartbeats.
until pieces=$(disk | grep -o 'usedfiles=[0-9]*' | cut -d= -f2) && [ "$pieces" -gt 0 ] && [ "$pieces" = "${before:-}" ]; do
	before=$pieces
	sleep 2
done
[ -z "${PROFILE:-}" ] || curl -s --unix-socket "$dir/data/admin.sock" "http://localhost/debug/pprof/profile?seconds=4" -o "$PROFILE" &
used=$(cpu) began=$(date +%s%N)
"$hemera" fs set 1 drain >/dev/null
until disk | grep -q configstatus=empty; do sleep 0.3; done
ended=$(date +%s%N)
awk -v n="$pieces" -v ns=$((ended - began)) -v cpu=$(($(cpu) - used)) -v hz="$(getconf CLK_TCK)" \
	'BEGIN { printf "%d pieces in %.1f s: %.0f a second, %.2f ms of CPU each\n", n, ns / 1e9, n * 1e9 / ns, cpu * 1000 / hz / n }'
