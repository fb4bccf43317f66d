#!/usr/bin/env bash
# What one stream gets of devices whose requests have latency: dd, xrdcp, hemera cp, coded files, and the copy of a drain, as a share
# of what fio gets with a deep queue. Needs root, FUSE, loop devices and fio. Prints a table in Markdown.
# usage: [LATENCY=5ms] [RATE=100000000] [READ_AHEAD=128] scripts/read-ahead.sh [MIB]      default: files of 512 MiB
# Four devices of test/slowdevice, each with an XFS and read_ahead_kb of READ_AHEAD; one cluster of four nodes, one disk each.
# Page caches are dropped before each read. Medians of ROUNDS=3.
set -euo pipefail
cd "$(dirname "$0")/.."
mib=${1:-512} latency=${LATENCY:-5ms} rate=${RATE:-100000000} read_ahead=${READ_AHEAD:-128} rounds=${ROUNDS:-3} port=${PORT:-31896}
hemera=$(realpath "${HEMERA:-bin/hemera}")
dir=$(mktemp -d "${HEMERA_TMP:-/dev/shm}/read-ahead.XXXXXX")
export HEMERA_URL=unix://$dir/data/admin.sock
url=root://localhost:$port
server='' slow=() loops=() mounts=()

end() {
	[ -z "$server" ] || { kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; }
	[ ${#mounts[@]} = 0 ] || umount "${mounts[@]}" || true
	[ ${#loops[@]} = 0 ] || losetup -d "${loops[@]}" || true
	[ ${#slow[@]} = 0 ] || { kill "${slow[@]}"; wait "${slow[@]}" || true; } 2>/dev/null
	rm -rf "$dir"
}
trap end EXIT
trap 'exit 1' INT TERM

build/bin/go build -o "$dir/slowdevice" ./test/slowdevice/cmd/slowdevice
for n in 1 2 3 4; do
	truncate -s $((mib * 3 + 400))M "$dir/backing$n"
	mkdir -p "$dir/fuse$n" "$dir/data/disk$n"
	mkfs.xfs -q "$dir/backing$n"
	"$dir/slowdevice" -latency "$latency" -rate "$rate" "$dir/backing$n" "$dir/fuse$n" >"$dir/ready$n" &
	slow+=($!)
	until [ -s "$dir/ready$n" ]; do sleep 0.1; done
	loop=$(losetup --find --show --direct-io=on "$dir/fuse$n/device")
	loops+=("$loop")
	echo "$read_ahead" >"/sys/block/${loop#/dev/}/queue/read_ahead_kb"
	mount "$loop" "$dir/data/disk$n"
	mounts+=("$dir/data/disk$n")
done

"$hemera" up "$dir/data" --port "$port" --nodes 4 --disks 4 --scrub-rate 0 --removal-hold 1s --log-level warn >"$dir/log" 2>&1 &
server=$!
for _ in $(seq 100); do
	[ "$("$hemera" fs ls -m 2>/dev/null | grep -c active=online)" = 4 ] && break
	sleep 0.1
done

bytes=$((mib << 20))
head -c "$bytes" /dev/urandom >"$dir/data/disk1/dd"
for layout in plain rs:2+1; do
	head -c "$bytes" /dev/urandom | "$hemera" --url "$url" cp -q - ":/$layout?hem.layout=$layout" || exit
done

# timed DEVICES WHAT COMMAND...: a row; the bound is the rate of so many devices.
timed() {
	local devices=$1 what=$2 began
	shift 2
	for _ in $(seq "$rounds"); do
		sync
		echo 3 >/proc/sys/vm/drop_caches
		began=$EPOCHREALTIME
		"$@" >"$dir/out" 2>&1 || { cat "$dir/out" >&2; return 1; }
		awk -v a="$began" -v b="$EPOCHREALTIME" -v n="$bytes" 'BEGIN { print n / (b - a) / 1e6 }'
	done | sort -n | awk -v devices="$devices" -v rate="$device_rate" -v what="$what" '{ v[NR] = $1 }
		END { m = v[int((NR + 1) / 2)]; printf "| %s | %.0f | %.2f |\n", what, m, m / (devices * rate) }'
}
# drained DISK: MB/s that the device of a disk is read with while its only file is copied away, from its first MiB to the last.
drained() {
	local source loop
	source=$("$hemera" -m fs ls | grep -E "(^| )id=$1 " | grep -o 'path=[^ ]*' | cut -d= -f2)
	loop=$(findmnt -no SOURCE --target "$source")
	python3 - "/sys/block/${loop#/dev/}/stat" "$bytes" "$hemera" fs set "$1" drain <<-'PY'
		import subprocess, sys, time
		stat, size = sys.argv[1], int(sys.argv[2])
		def now():
		    return time.time(), int(open(stat).read().split()[2]) * 512
		first = start = now()
		subprocess.run(sys.argv[3:], check=True, stdout=subprocess.DEVNULL)
		while start[1] - first[1] < 1 << 20:
		    start = now()
		    time.sleep(0.005)
		end = start
		while end[1] - start[1] < size - (2 << 20):
		    end = now()
		    time.sleep(0.005)
		print((end[1] - start[1]) / (end[0] - start[0]) / 1e6)
	PY
}

device_rate=$(fio --name=read --filename="${loops[3]}" --readonly --rw=read --bs=1M --direct=1 --ioengine=libaio --iodepth=32 \
	--size="${mib}M" --output-format=json | python3 -c 'import json, sys; print(json.load(sys.stdin)["jobs"][0]["read"]["bw_bytes"] / 1e6)')
echo "| one stream, $latency a request, $rate B/s, read_ahead_kb $read_ahead | MB/s | share |"
echo "|---|---|---|"
printf '| fio, direct, 32 x 1 MiB in flight | %.0f | 1 |\n' "$device_rate"
timed 1 "dd, 128 KiB, a file of the same file system" dd if="$dir/data/disk1/dd" of=/dev/null bs=128k
timed 1 "xrdcp, plain" xrdcp -f --nopbar "$url//plain" /dev/null
timed 1 "hemera cp, plain" "$hemera" --url "$url" cp -q -f :/plain /dev/null
timed 2 "xrdcp, rs:2+1, of two devices" xrdcp -f --nopbar "$url//rs:2+1" /dev/null
timed 2 "hemera cp, rs:2+1, of two devices" "$hemera" --url "$url" cp -q -f ":/rs:2+1" /dev/null
timed 2 "hemera cp --direct always, rs:2+1, of two devices" "$hemera" --url "$url" cp -q -f --direct always ":/rs:2+1" /dev/null
xrdfs "$url" rm "/rs:2+1" >/dev/null
sync
echo 3 >/proc/sys/vm/drop_caches
from=$("$hemera" -m file info :/plain | grep -o 'fsid=[0-9]*' | head -1 | cut -d= -f2)
drained "$from" | awk -v rate="$device_rate" '{ printf "| the copy of a drain, plain | %.0f | %.2f |\n", $1, $1 / rate }'
