#!/usr/bin/env bash
# A manager and three nodes in network namespaces of their own, on one switch; runs a command in the client's namespace.
# usage: scripts/netcluster.sh COMMAND...   with URL in its environment; needs root.
# RATE=1gbit puts every link behind tc tbf.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "network namespaces need root" >&2; exit 77; }
ip netns add "hem$$-probe" 2>/dev/null || { echo "network namespaces cannot be made here" >&2; exit 77; }
exec_in=netns # gives the namespace its own /sys as well, which not every machine allows
ip netns exec "hem$$-probe" true 2>/dev/null || exec_in=nsenter
ip netns del "hem$$-probe"
hemera=${HEMERA:-$PWD/bin/hemera}
dir=$(mktemp -d "${HEMERA_TMP:-/tmp}/hemera-net.XXXXXX")
prefix=hem$$
pids=()
cleanup() {
	local pid host
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
	for host in switch manager node1 node2 node3 client; do ip netns del "$prefix-$host" 2>/dev/null || true; done
	[ -n "${KEEP:-}" ] && echo "kept $dir" >&2 || rm -rf "$dir"
}
trap cleanup EXIT

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
	become "$host" "$@" >"$dir/$host.log" 2>&1 &
	pids+=($!)
}

ip netns add "$prefix-switch"
on switch ip link set lo up
on switch ip link add br0 type bridge
on switch ip link set br0 up
last=0
for host in manager node1 node2 node3 client; do
	last=$((last + 1))
	ip netns add "$prefix-$host"
	ip link add "v$last" netns "$prefix-switch" type veth peer name eth0 netns "$prefix-$host"
	on switch ip link set "v$last" master br0 up
	on "$host" ip link set lo up
	on "$host" ip addr add "10.77.0.$last/24" dev eth0
	on "$host" ip link set eth0 up
	if [ -n "${RATE:-}" ]; then
		on switch tc qdisc add dev "v$last" root tbf rate "$RATE" burst 256kb latency 20ms
		on "$host" tc qdisc add dev eth0 root tbf rate "$RATE" burst 256kb latency 20ms
	fi
done

serve manager "$hemera" manager --data "$dir/manager" --listen 10.77.0.1 --port 1094 --trusted-networks 10.77.0.0/24
for _ in $(seq 100); do
	on manager "$hemera" --url root://10.77.0.1:1094 ns stat >/dev/null 2>&1 && break
	sleep 0.1
done
token=$(on manager "$hemera" --url root://10.77.0.1:1094 token create --uses 3)
for n in 1 2 3; do
	mkdir -p "$dir/node$n/disk1" "$dir/node$n/disk2"
	HEMERA_NODE_JOIN=$token serve "node$n" "$hemera" node --data "$dir/node$n/state" --listen "10.77.0.$((n + 1))" --port 1095 \
		--disk "$dir/node$n/disk1" --disk "$dir/node$n/disk2" ${NODE_FLAGS:-}
done
for _ in $(seq 200); do
	[ "$(on manager "$hemera" --url root://10.77.0.1:1094 -m fs ls 2>/dev/null | grep -c active=online)" = 6 ] && break
	sleep 0.1
done
export URL=root://10.77.0.1:1094 CLUSTER_DIR=$dir CLUSTER_NS=$prefix
status=0
on client "$@" || status=$?
if [ "$status" != 0 ]; then
	for log in "$dir"/*.log; do echo "--- $(basename "$log")"; tail -n 15 "$log"; done >&2
fi
exit "$status"
