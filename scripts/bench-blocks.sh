#!/usr/bin/env bash
# What the block size of coded files costs at the head: CPU seconds of the server for a GB that a stock client writes and reads,
# and the rate. One process, one node, a disk for each piece, in memory. Prints a table in Markdown.
# usage: [BYTES=268435456] [ROUNDS=3] [LAYOUTS="rs:4+2 rs:10+4"] [BLOCKS="64k 256k 1M 4M 16M"] scripts/bench-blocks.sh
set -euo pipefail
cd "$(dirname "$0")/.."
bytes=${BYTES:-268435456} rounds=${ROUNDS:-3} layouts=${LAYOUTS:-rs:4+2 rs:10+4} blocks=${BLOCKS:-64k 256k 1M 4M 16M} port=${PORT:-31896}
hemera=$(realpath "${HEMERA:-bin/hemera}")
dir=$(mktemp -d "${HEMERA_TMP:-/dev/shm}/bench-blocks.XXXXXX")
export HEMERA_URL=root://localhost:$port

HEMERA_TMP='' "$hemera" up "$dir/data" --port "$port" --nodes 1 --disks 14 --removal-hold 0s --scrub-rate 0 --log-level warn >"$dir/log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
for _ in $(seq 100); do
	"$hemera" fs ls -m >/dev/null 2>&1 && break
	sleep 0.1
done
head -c "$bytes" /dev/urandom >"$dir/source"
for layout in $layouts; do
	for block in $blocks; do
		path=/${layout//[:+]/-}-$block
		"$hemera" mkdir "$path"
		"$hemera" attr set "sys.forced.layout=$layout" "$path"
		"$hemera" attr set "sys.forced.blocksize=$block" "$path"
	done
done

cpu() { awk '{ print $14 + $15 }' "/proc/$server/stat"; }
# timed LAYOUT BLOCK LOAD COMMAND...: adds a line with seconds and ticks.
timed() {
	local what="$1 $2 $3" used began
	shift 3
	used=$(cpu) began=$EPOCHREALTIME
	timeout 300 "$@"
	awk -v what="$what" -v a="$began" -v b="$EPOCHREALTIME" -v ticks=$(($(cpu) - used)) 'BEGIN { print what, b - a, ticks }' >>"$dir/samples"
}
for _ in $(seq "$rounds"); do
	for layout in $layouts; do
		for block in $blocks; do
			file=$HEMERA_URL//${layout//[:+]/-}-$block/file
			timed "$layout" "$block" write xrdcp -f -s --nopbar "$dir/source" "$file"
			timed "$layout" "$block" read xrdcp -f -s --nopbar "$file" /dev/null
		done
	done
done

echo "| layout | block | write | read |"
echo "|---|---|---|---|"
for layout in $layouts; do
	for block in $blocks; do
		row="| $layout | $block |"
		for load in write read; do
			of=$(grep -F "$layout $block $load " "$dir/samples")
			middle=$(((rounds + 1) / 2))
			seconds=$(cut -d ' ' -f 4 <<<"$of" | sort -n | sed -n "${middle}p") ticks=$(cut -d ' ' -f 5 <<<"$of" | sort -n | sed -n "${middle}p")
			row+=$(awk -v s="$seconds" -v t="$ticks" -v n="$bytes" -v hz="$(getconf CLK_TCK)" 'BEGIN { printf " %.2f GB/s, %.2f s/GB |", n / s / 1e9, t / hz / n * 1e9 }')
		done
		echo "$row"
	done
done
