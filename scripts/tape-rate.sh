#!/usr/bin/env bash
# hemera bench tape on devices of which one buffered stream gets half of a tape drive's rate: do sessions keep drives of 400 MB/s busy?
# Needs root, FUSE and loop devices. Arguments go to hemera bench tape, before the directories.
# usage: [DISKS=4] [LATENCY=450us] [RATE=500000000] [READ_AHEAD=128] [GIB=48] scripts/tape-rate.sh [--quick] [--out DIR] …
# Each disk is a device of test/slowdevice with GIB GiB, an XFS, and read_ahead_kb of READ_AHEAD. It takes no room: what is written repeats.
set -euo pipefail
cd "$(dirname "$0")/.."
disks=${DISKS:-4} latency=${LATENCY:-450us} rate=${RATE:-500000000} read_ahead=${READ_AHEAD:-128} gib=${GIB:-48}
hemera=$(realpath "${HEMERA:-bin/hemera}")
dir=$(mktemp -d "${HEMERA_TMP:-/dev/shm}/tape-rate.XXXXXX")
slow=() loops=() mounts=()

end() {
	[ ${#mounts[@]} = 0 ] || umount "${mounts[@]}" || true
	[ ${#loops[@]} = 0 ] || losetup -d "${loops[@]}" || true
	[ ${#slow[@]} = 0 ] || { kill "${slow[@]}"; wait "${slow[@]}" || true; } 2>/dev/null
	rm -rf "$dir"
}
trap end EXIT
trap 'exit 1' INT TERM

build/bin/go build -o "$dir/slowdevice" ./test/slowdevice/cmd/slowdevice
for n in $(seq "$disks"); do
	truncate -s "${gib}G" "$dir/backing$n"
	mkdir -p "$dir/fuse$n" "$dir/disk$n"
	mkfs.xfs -q "$dir/backing$n"
	"$dir/slowdevice" -latency "$latency" -rate "$rate" "$dir/backing$n" "$dir/fuse$n" >"$dir/ready$n" &
	slow+=($!)
	until [ -s "$dir/ready$n" ]; do sleep 0.1; done
	loop=$(losetup --find --show --direct-io=on "$dir/fuse$n/device")
	loops+=("$loop")
	echo "$read_ahead" >"/sys/block/${loop#/dev/}/queue/read_ahead_kb"
	mount "$loop" "$dir/disk$n"
	mounts+=("$dir/disk$n")
done
mkdir "$dir/state"
"$hemera" bench tape "$@" --state "$dir/state" "${mounts[@]}"
