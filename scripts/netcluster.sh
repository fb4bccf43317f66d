#!/usr/bin/env bash
# A manager, nodes and clients in network namespaces of their own, on one switch; runs a command in the first client's namespace.
# usage: scripts/netcluster.sh COMMAND...   with URL in its environment; needs root.
# NODES=3 nodes with DISKS=2 disks each, CLIENTS=1 clients; RATE=1gbit puts every link behind tc tbf, in both directions;
# TRUST=10.77.0.0/24=own lets the clients' root own what is root's; MANAGER_FLAGS and NODE_FLAGS are flags of these.
# A script that sources this has cluster_start and the functions below it, and calls cluster_stop at its end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
hemera=${HEMERA:-$PWD/bin/hemera}
nodes=${NODES:-3} disks=${DISKS:-2} clients=${CLIENTS:-1}
prefix=hem$$
declare -A pids=() address=()

cluster_stop() {
	local pid host
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
	for host in switch "${!address[@]}"; do ip netns del "$prefix-$host" 2>/dev/null || true; done
	[ -n "${KEEP:-}" ] && echo "kept $dir" >&2 || rm -rf "$dir"
}

become() { # become HOST COMMAND...: turns this shell into the command, in the host's namespace
	local host=$1
	shift
	if [ $exec_in = netns ]; then exec ip netns exec "$prefix-$host" "$@"; else exec nsenter --net="/run/netns/$prefix-$host" "$@"; fi
}
on() { (become "$@"); }
# serve runs a server; not by "on &", whose process id would be that of a shell between.
serve() {
	local host=$1
	shift
	become "$host" "$@" >>"$dir/$host.log" 2>&1 &
	pids[$host]=$!
}

# link_rate RATE|none: limits every link in both directions, or ends that. Packets are frames then, as on a wire: of segments
# of 64 KiB, a short queue drops so many at once that no real link would.
link_rate() {
	local host segments=1
	[ "$1" != none ] || segments=65535
	for host in "${!address[@]}"; do
		on switch ip link set dev "v${address[$host]##*.}" gso_max_segs $segments
		on "$host" ip link set dev eth0 gso_max_segs $segments
		on switch tc qdisc del dev "v${address[$host]##*.}" root 2>/dev/null || true
		on "$host" tc qdisc del dev eth0 root 2>/dev/null || true
		[ "$1" != none ] || continue
		on switch tc qdisc add dev "v${address[$host]##*.}" root tbf rate "$1" burst 256kb latency 20ms
		on "$host" tc qdisc add dev eth0 root tbf rate "$1" burst 256kb latency 20ms
	done
}

# admin COMMAND...: hemera at the manager, where admins work.
admin() { on manager "$hemera" --url "$URL" "$@"; }

node_start() { # node_start NUMBER
	local d flags=()
	for d in $(seq "$disks"); do
		mkdir -p "$dir/node$1/disk$d"
		flags+=(--disk "$dir/node$1/disk$d")
	done
	# shellcheck disable=SC2086 # flags are words
	HEMERA_NODE_JOIN=$token serve "node$1" "$hemera" node --data "$dir/node$1/state" --listen "${address[node$1]}" --port 1095 "${flags[@]}" ${NODE_FLAGS:-}
}
node_kill() { # node_kill NUMBER: as by a power cut
	kill -9 "${pids[node$1]}"
	wait "${pids[node$1]}" 2>/dev/null || true
}
# disks_online N: waits until so many disks are.
disks_online() {
	local _
	for _ in $(seq 300); do
		[ "$(admin -m fs ls 2>/dev/null | grep -c active=online)" = "$1" ] && return
		sleep 0.1
	done
	echo "not $1 disks online after 30 s" >&2
	return 1
}

cluster_start() {
	local host last=0
	[ "$(id -u)" = 0 ] || { echo "network namespaces need root" >&2; exit 77; }
	ip netns add "$prefix-probe" 2>/dev/null || { echo "network namespaces cannot be made here" >&2; exit 77; }
	exec_in=netns # gives the namespace its own /sys as well, which not every machine allows
	ip netns exec "$prefix-probe" true 2>/dev/null || exec_in=nsenter
	ip netns del "$prefix-probe"
	dir=$(mktemp -d "${HEMERA_TMP:-/tmp}/hemera-net.XXXXXX")
	trap cluster_stop EXIT

	ip netns add "$prefix-switch"
	on switch ip link set lo up
	on switch ip link add br0 type bridge
	on switch ip link set br0 up
	for host in manager $(seq -f node%g "$nodes") client $(seq -f client%g 2 "$clients"); do
		last=$((last + 1))
		address[$host]=10.77.0.$last
		ip netns add "$prefix-$host"
		ip link add "v$last" netns "$prefix-switch" type veth peer name eth0 netns "$prefix-$host"
		on switch ip link set "v$last" master br0 up
		on "$host" ip link set lo up
		on "$host" ip addr add "10.77.0.$last/24" dev eth0
		on "$host" ip link set eth0 up
		# Linux's own choice of congestion control: with the machine's, the same links would give other figures elsewhere.
		on "$host" ip route replace 10.77.0.0/24 dev eth0 src "10.77.0.$last" congctl cubic || true
	done
	[ -z "${RATE:-}" ] || link_rate "$RATE"

	export URL=root://10.77.0.1:1094 CLUSTER_DIR=$dir CLUSTER_NS=$prefix
	# shellcheck disable=SC2086 # flags are words
	serve manager "$hemera" manager --data "$dir/manager" --listen 10.77.0.1 --port 1094 --trusted-networks "${TRUST:-10.77.0.0/24}" ${MANAGER_FLAGS:-}
	for _ in $(seq 100); do
		admin ns stat >/dev/null 2>&1 && break
		sleep 0.1
	done
	token=$(admin token create --uses "$nodes")
	for host in $(seq "$nodes"); do node_start "$host"; done
	disks_online $((nodes * disks))
}

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
cluster_start
status=0
on client "$@" || status=$?
if [ "$status" != 0 ]; then
	for log in "$dir"/*.log; do echo "--- $(basename "$log")"; tail -n 15 "$log"; done >&2
fi
exit "$status"
