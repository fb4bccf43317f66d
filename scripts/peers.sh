#!/usr/bin/env bash
# Hemera beside other storage systems on this machine: starts each with what ordinary packages give, and runs the same
# `hemera bench io` over all, in turns. Needs root, for network namespaces, and jq. A system that is not there, or fails, is named.
# usage: scripts/peers.sh [-o docs/PEERS.md] [PEER...]     PEER: hemera xrootd ceph gluster moosefs orangefs seaweedfs nfs (default: all that are installed)
#   -o FILE      puts the table between the marks of FILE; without it, the table is printed
#   ROUNDS=3     how often all are measured, one after another; the table has medians
#   SIZE=128MiB FILES=2 CLIENTS=4 SMALL=200 FOR=3s LOADS=sequential,copies,random,small    what bench io does
#   PEERS_TMP    directory on the disk that is measured (default: a new one below /var/tmp); it needs 8 GB
#   HEMERA       the binary (default bin/hemera)
# Servers run in one network namespace, clients in another, with a veth pair between. It ends what it started, and nothing else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:/usr/sbin:/sbin
hemera=${HEMERA:-$PWD/bin/hemera}
rounds=${ROUNDS:-3}
out=
[ "${1:-}" != -o ] || { out=$2; shift 2; }
[ "$(id -u)" = 0 ] || { echo "network namespaces need root" >&2; exit 77; }
for tool in jq ip nsenter "$hemera"; do command -v "$tool" >/dev/null || { echo "no $tool: scripts/setup.sh beside, make build" >&2; exit 77; }; done

server_address=10.78.0.1 client_address=10.78.0.2
prefix=peers$$
dir=$(mktemp -d "${PEERS_TMP:-/var/tmp}/hemera-peers.XXXXXX")
chmod 755 "$dir"
results=$dir/results
mkdir "$results"
pids=()    # of the present peer's servers
daemons=() # of its mount
mounts=()  # of the present peer
turn=      # the process that measures a peer

# shellcheck disable=SC1091 # its own check has it
. scripts/peers/peers.bash

on() { # on server|client COMMAND...
	local host=$1
	shift
	nsenter --net="/run/netns/$prefix-$host" "$@"
}
serve() { # serve COMMAND...: a server in the background; its log is for the last words of a failure
	nsenter --net="/run/netns/$prefix-server" "$@" </dev/null >>"$dir/$peer.log" 2>&1 &
	pids+=($!)
}
attach() { # attach MOUNTPOINT COMMAND...: a file system's daemon at the client, until it is mounted
	local at=$1
	shift
	mkdir -p "$at"
	mounts+=("$at")
	nsenter --net="/run/netns/$prefix-client" "$@" </dev/null >>"$dir/$peer.log" 2>&1 &
	daemons+=($!)
	until_true 600 grep -q " $at " /proc/mounts
}
until_true() { # until_true TENTHS COMMAND...
	local _
	for _ in $(seq "$1"); do
		"${@:2}" >/dev/null 2>&1 && return
		sleep 0.1
	done
	echo "peers: $peer: not within $(($1 / 10)) s: ${*:2}" >&2
	return 1
}
listening() { on server bash -c ": <>/dev/tcp/$server_address/$1"; }

# stop ends the present peer and removes its data.
stop() {
	local pid at
	for at in "${mounts[@]}"; do
		if grep -q " $at " /proc/mounts; then fusermount -u -z "$at" || umount -l "$at" || true; fi
	done
	mounts=()
	for pid in "${daemons[@]}" "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	for pid in "${daemons[@]}" "${pids[@]}"; do
		# A server that does not end within ten seconds is killed: its data are removed anyway.
		timeout 10 tail --pid="$pid" -f /dev/null 2>/dev/null || kill -9 "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	pids=() daemons=()
	rm -rf "$dir/data"
	mkdir "$dir/data"
}
end() {
	# The turn of a peer ends what it started, once its present command has ended.
	if [ -n "$turn" ]; then
		pkill -P "$turn" || true
		kill "$turn" 2>/dev/null || true
		wait "$turn" || true
	fi
	stop
	ip netns del "$prefix-server" 2>/dev/null || true
	ip netns del "$prefix-client" 2>/dev/null || true
	if [ -n "${KEEP:-}" ]; then echo "kept $dir" >&2; else rm -rf "$dir"; fi
}

# turn_of starts the peer, measures it and removes it, in a process of its own: one that fails is named, and the others go on.
turn_of() {
	trap turn_ends EXIT
	trap 'exit 143' TERM
	turn=
	"start_$peer"
	sleep 3
	idle=$(memory)
	"measure_$peer"
}
turn_ends() {
	local status=$?
	# A reader of a failure needs the server's words.
	if [ "$status" != 0 ] && [ "$status" != 143 ]; then
		echo "peers: $peer failed in round $round; the end of its log:" >&2
		tail -n 15 "$dir/$peer.log" >&2 || true
	fi
	stop
}

network() {
	local host
	for host in server client; do
		ip netns add "$prefix-$host"
		on "$host" ip link set lo up
	done
	ip link add eth0 netns "$prefix-server" type veth peer name eth0 netns "$prefix-client"
	on server ip addr add "$server_address/24" dev eth0
	on client ip addr add "$client_address/24" dev eth0
	on server ip link set eth0 up
	on client ip link set eth0 up
}

# memory is what the servers and the mount use, in bytes: their proportional set size, in which shared pages count once.
memory() {
	local pid total=0 kib
	for pid in "${pids[@]}" "${daemons[@]}"; do
		kib=$(awk '$1 == "Pss:" {print $2}' "/proc/$pid/smaps_rollup" 2>/dev/null || echo 0)
		total=$((total + ${kib:-0} * 1024))
	done
	echo "$total"
}

# bench NAME TARGET [FLAG...]: the loads over one target, as one sample.
bench() {
	local name=$1 target=$2 all
	shift 2
	all=$(IFS=,; echo "${pids[*]}${daemons[*]:+,${daemons[*]}}")
	on client "$hemera" bench io "$target" --load "${LOADS:-sequential,copies,random,small}" --iterations 1 --clients "${CLIENTS:-4},${CLIENTS:-4}" \
		--size "${SIZE:-128MiB}" --files "${FILES:-2}" --small-files "${SMALL:-200}" --for "${FOR:-3s}" ${all:+--pid "$all"} "$@" \
		--out "$results/$name.$round" -j >/dev/null 2>"$dir/bench.err" || { tail -n 3 "$dir/bench.err" >&2; return 1; }
	jq -c --arg peer "$name" --argjson memory "${idle:-0}" '{peer: $peer, memory: $memory, measures: .levels[0].measures}' \
		"$results/$name.$round/result.json" >>"$dir/samples"
}

# ceiling is what the disk and the pair of interfaces do: the peak that all share. The disk is measured as the peers are, but
# directly and without anything between.
ceiling() {
	peer=local idle=0
	mkdir -p "$dir/data/local"
	LOADS=sequential bench local "$dir/data/local" --direct
	command -v iperf3 >/dev/null || return 0
	serve iperf3 -s -1 -B "$server_address"
	until_true 50 on server bash -c "ss -tln | grep -q :5201"
	on client iperf3 -c "$server_address" -t 3 -J | jq '.end.sum_received.bits_per_second / 8' >>"$dir/net"
	stop
}

trap end EXIT
trap 'exit 130' INT TERM
mkdir "$dir/data"
network
[ $# -gt 0 ] || set -- hemera xrootd ceph gluster moosefs orangefs seaweedfs nfs
peers=()
failed=
for peer in "$@"; do
	if why=$("missing_$peer"); then echo "peers: $peer is left out: $why" >&2; else peers+=("$peer"); fi
done
for round in $(seq "$rounds"); do
	ceiling
	for peer in "${peers[@]}"; do
		echo "peers: round $round of $rounds: $peer" >&2
		turn_of &
		turn=$!
		wait "$turn" || failed+=" $peer"
		turn=
	done
done
for peer in "${peers[@]}"; do "version_$peer"; done >"$dir/versions"
table >"$dir/table"
[ -z "$failed" ] || echo "peers: failed:$failed" >&2
if [ -z "$out" ]; then cat "$dir/table"; exit; fi
awk -v table="$dir/table" '/<!-- end of measured -->/ {inside = 0} !inside {print} /<!-- measured -->/ {inside = 1; while ((getline line < table) > 0) print line}' \
	"$out" >"$out.new"
mv "$out.new" "$out"
