#!/usr/bin/env bash
# The share of a link's theoretical rate that stock clients reach, over links of known rate (tc tbf) between network
# namespaces: a client, a manager and three nodes with a link each. Needs root.
# usage: [RATE=1gbit] [BYTES=1073741824] [ROUNDS=3] scripts/bench-limit.sh
#
# tbf counts a frame without preamble, gap and checksum: 1514 bytes carry 1448 of payload. So 100 % is RATE * 1448/1514
# here, which is stricter than the 1448/1538 of a real Ethernet. Times are of the whole xrdcp, its start and close included.
set -euo pipefail
cd "$(dirname "$0")/.."
export RATE=${RATE:-1gbit} BYTES=${BYTES:-1073741824} ROUNDS=${ROUNDS:-3}
export HEMERA_TMP=${HEMERA_TMP:-/dev/shm}

# bits per second of tc's notation.
bits() {
	case $1 in
	*gbit) echo "$((${1%gbit} * 1000000000))" ;;
	*mbit) echo "$((${1%mbit} * 1000000))" ;;
	*) echo "RATE must be like 500mbit or 1gbit" >&2; return 1 ;;
	esac
}

# timed COMMAND...: prints its seconds.
timed() {
	local began=$EPOCHREALTIME
	"$@" >/dev/null
	awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }'
}

# show WHAT SECONDS...: the median's rate and share.
show() {
	local what=$1
	shift
	printf '%s\n' "$@" | sort -n | awk -v what="$what" -v bytes="$BYTES" -v link="$(bits "$RATE")" '
		{ t[NR] = $1 }
		END {
			rate = bytes / t[int((NR + 1) / 2)]
			printf "%-20s %8.2f MB/s   %5.1f %%\n", what, rate / 1e6, 100 * rate / (link / 8 * 1448 / 1514)
		}'
}

inside() {
	# Admin calls are taken on the manager's machine only.
	local replicas source="$CLUSTER_DIR/source" write read
	head -c "$BYTES" /dev/urandom >"$source"
	printf 'links of %s, files of %s bytes, median of %s; 100 %% is %.2f MB/s\n' "$RATE" "$BYTES" "$ROUNDS" \
		"$(awk -v l="$(bits "$RATE")" 'BEGIN { print l / 8 * 1448 / 1514 / 1e6 }')"
	for replicas in 1 2; do
		ip netns exec "$CLUSTER_NS-manager" bin/hemera --url "$URL" mkdir -p "/limit$replicas"
		ip netns exec "$CLUSTER_NS-manager" bin/hemera --url "$URL" attr set sys.forced.nstripes="$replicas" "/limit$replicas"
		write=() read=()
		for _ in $(seq "$ROUNDS"); do
			write+=("$(timed xrdcp -f -s --nopbar "$source" "$URL//limit$replicas/file")")
			read+=("$(timed xrdcp -f -s --nopbar "$URL//limit$replicas/file" /dev/null)")
		done
		show "$replicas replica(s), write" "${write[@]}"
		show "$replicas replica(s), read" "${read[@]}"
	done
}

if [ "${1:-}" = --inside ]; then inside; else exec scripts/netcluster.sh scripts/bench-limit.sh --inside; fi
