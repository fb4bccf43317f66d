#!/usr/bin/env bash
# What plain and coded files reach on links of known rate: a manager, nodes and clients in network namespaces, each behind
# tc tbf in both directions. Needs root. Prints tables in Markdown.
# usage: [RATE=200mbit] [BYTES=134217728] [ROUNDS=3] [NODES=10] scripts/bench-limit.sh [single|many|rebuild ...]   all without an argument
#   single   one client of each of LAYOUTS writes and reads; and reads with as many nodes killed as the layout has parities
#   many     as many clients as nodes at once, links of MANY_RATE=50mbit, four files of MANY_BYTES=8388608 each
#   rebuild  a node is lost with its disks, links of MANY_RATE; FILES=150 files of 8 MiB
#
#   peer     the coding client of XRootD, 4+2, on stock servers and the same links; XRDEC names a directory with its bin and lib
#
# tbf counts a frame without preamble, gap and checksum: 1514 bytes carry 1448 of payload. So L, the rate of a link, is
# RATE * 1448/1514 here, which is stricter than the 1448/1538 of a real Ethernet. Times are of whole programs, with their
# start and close.
set -euo pipefail
cd "$(dirname "$0")/.."
RATE=${RATE:-200mbit} MANY_RATE=${MANY_RATE:-50mbit}
bytes=${BYTES:-134217728} many_bytes=${MANY_BYTES:-8388608} rounds=${ROUNDS:-3} files=${FILES:-150}
export NODES=${NODES:-10} TRUST=10.77.0.0/24=own HEMERA_TMP=${HEMERA_TMP:-/dev/shm}
export CLIENTS=${CLIENTS:-$NODES} MANAGER_FLAGS="--repair-grace 1h --removal-hold 0s --log-level warn" NODE_FLAGS="--scrub-rate 0 --log-level warn"
# shellcheck source=scripts/netcluster.sh
. scripts/netcluster.sh

layouts=${LAYOUTS:-plain replica:2 rs:2+1 rs:4+2}

# link RATE: L in bytes a second.
link() {
	case $1 in
	*gbit) awk -v r="${1%gbit}" 'BEGIN { printf "%.0f", r * 1e9 / 8 * 1448 / 1514 }' ;;
	*mbit) awk -v r="${1%mbit}" 'BEGIN { printf "%.0f", r * 1e6 / 8 * 1448 / 1514 }' ;;
	*) echo "a rate must be like 500mbit or 1gbit" >&2; return 1 ;;
	esac
}

# shape LAYOUT: its pieces of data and of parity, or copies besides the first.
shape() {
	case $1 in
	plain) echo "1 0" ;;
	replica:*) echo "1 $((${1#*:} - 1))" ;;
	*) local s=${1#*:}; echo "${s/+/ }" ;;
	esac
}

# bound LAYOUT LOAD CLIENT: how many L one client can reach with nothing else on the links, and why.
bound() {
	local k m
	read -r k m <<<"$(shape "$1")"
	case $2-$3 in
	write-direct) awk -v k="$k" -v m="$m" 'BEGIN { printf "%.4f k/(k+m): the client sends every piece", k / (k + m) }' ;;
	write-*) awk -v k="$k" -v m="$m" 'BEGIN { s = (k + m - 1) / k; printf "%.4f min(1, k/(k+m-1)): the head receives 1 and sends %g", (s > 1 ? 1 / s : 1), s }' ;;
	read*-direct) echo "1 1: the client receives 1" ;;
	read*) awk -v k="$k" 'BEGIN { printf "1 1: the head receives %g and sends 1", (k - 1) / k }' ;;
	esac
}

# copy HOST CLIENT FROM TO
copy() {
	case $2 in
	xrdcp) on "$1" timeout 900 xrdcp -f -s --nopbar "$3" "$4" >/dev/null ;;
	direct) on "$1" timeout 900 "$hemera" cp -q -f --direct always "$3" "$4" >/dev/null ;;
	esac
}

# timed LAYOUT LOAD CLIENT COMMAND...: adds a line to the samples.
timed() {
	local layout=$1 load=$2 client=$3 began=$EPOCHREALTIME
	shift 3
	"$@"
	printf '%s\t%s\t%s\t%s\t%s\n' "$layout" "$load" "$client" "$began" "$EPOCHREALTIME" >>"$dir/samples"
}

dir_of() { echo "/limit-${1//[:+]/-}"; }

# clients_of LAYOUT: the programs to measure with.
clients_of() {
	echo xrdcp
	case $1 in rs:*) ! "$hemera" cp --help | grep -q -- --direct || echo direct ;; esac
}

# nodes_of PATH M: the numbers of the nodes that have the first M pieces of a file.
nodes_of() {
	local host number
	for host in $(admin -m file info "$1" | sed -n "s/^no=[0-9]* .* host=\([^ ]*\) .*/\1/p" | head -n "$2"); do
		for number in $(seq "$nodes"); do [ "${address[node$number]}" != "$host" ] || echo "$number"; done
	done
}

# without_nodes "NUMBERS" COMMAND...: runs the command while these nodes are dead.
without_nodes() {
	local number killed=$1
	shift
	for number in $killed; do node_kill "$number"; done
	disks_online $(((nodes - $(wc -w <<<"$killed")) * disks))
	"$@"
	for number in $killed; do node_start "$number"; done
	disks_online $((nodes * disks))
}

single() {
	local layout client load m path source=$dir/source
	link_rate "$RATE"
	rm -f "$dir/samples"
	for _ in $(seq "$rounds"); do
		for layout in $layouts; do
			read -r _ m <<<"$(shape "$layout")"
			for client in $(clients_of "$layout"); do
				path=$(dir_of "$layout")/$client
				timed "$layout" write "$client" copy client "$client" "$source" "$URL/$path"
				timed "$layout" read "$client" copy client "$client" "$URL/$path" /dev/null
				[[ $layout == rs:* ]] || continue
				without_nodes "$(nodes_of "$path" "$m")" \
					timed "$layout" "read, $m lost" "$client" copy client "$client" "$URL/$path" /dev/null
			done
		done
	done
	printf '\nOne client, %s nodes, links of %s (L = %.2f MB/s), files of %d MiB, medians of %s:\n\n' "$nodes" "$RATE" \
		"$(awk -v l="$(link "$RATE")" 'BEGIN { print l / 1e6 }')" $((bytes >> 20)) "$rounds"
	echo "| layout | load | client | bound in L | rate | of the bound | of healthy |"
	echo "|---|---|---|---|---|---|---|"
	while IFS=$'\t' read -r layout load client; do
		row "$layout" "$load" "$client" "$(bound "$layout" "$load" "$client")"
	done < <(cut -f 1-3 "$dir/samples" | awk '!seen[$0]++')
}

# row LAYOUT LOAD CLIENT "BOUND FORMULA"
row() {
	awk -F '\t' -v layout="$1" -v load="$2" -v client="$3" -v bound="$4" -v size="$bytes" -v l="$(link "$RATE")" '
		function median(a, n) { asort_(a, n); return a[int((n + 1) / 2)] }
		function asort_(a, n,   i, j, t) { for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j] < a[j-1]; j--) { t = a[j]; a[j] = a[j-1]; a[j-1] = t } }
		$1 == layout && $3 == client && $2 == load { t[++n] = $5 - $4 }
		$1 == layout && $3 == client && $2 == "read" { h[++healthy] = $5 - $4 }
		END {
			b = bound + 0
			sub(/^[^ ]* /, "", bound)
			rate = size / median(t, n)
			printf "| %s | %s | %s | %s | %.2f MB/s | %.1f %% | %s |\n", layout, load, client, bound, rate / 1e6, 100 * rate / (b * l), \
				load ~ /lost/ ? sprintf("%.2f", median(h, healthy) / median(t, n)) : ""
		}' "$dir/samples"
}

# each_client LOAD CLIENT LAYOUT: four files of every client, one after the other; all clients at once.
each_client() {
	local host file waits=()
	for host in client $(seq -f client%g 2 "$clients"); do
		for file in 1 2 3 4; do
			case $1 in
			write) copy "$host" "$2" "$dir/small" "$URL/$(dir_of "$3")/$host-$2-$file" || exit ;;
			read) copy "$host" "$2" "$URL/$(dir_of "$3")/$host-$2-$file" /dev/null || exit ;;
			esac
		done &
		waits+=($!)
	done
	for host in "${waits[@]}"; do wait "$host"; done
}

# bound_many LAYOUT LOAD CLIENT: how many L all clients reach together, if all links are used alike.
bound_many() {
	local k m
	read -r k m <<<"$(shape "$1")"
	awk -v k="$k" -v m="$m" -v c="$clients" -v n="$nodes" -v what="$2-$3" 'BEGIN {
		if (what == "write-direct") { each = k / (k + m); all = n * k / (k + m); why = "min(C·k/(k+m), N·k/(k+m))" }
		else if (what == "write-xrdcp") { each = 1; all = n / (1 + (k + m - 1) / k); why = "min(C, N/(1+(k+m-1)/k)): nodes receive" }
		else if (what == "read-direct") { each = 1; all = n; why = "min(C, N)" }
		else { each = 1; all = n / (1 + (k - 1) / k); why = "min(C, N/(1+(k-1)/k)): nodes send" }
		printf "%.4f %s\n", all < c * each ? all : c * each, why
	}'
}

many() {
	local layout client load
	link_rate "$MANY_RATE"
	head -c "$many_bytes" "$dir/source" >"$dir/small"
	rm -f "$dir/samples"
	for _ in $(seq "$rounds"); do
		for layout in plain rs:4+2; do
			for client in $(clients_of "$layout"); do
				for load in write read; do
					timed "$layout" "$load" "$client" each_client "$load" "$client" "$layout"
				done
			done
		done
	done
	printf '\n%s clients at once, four files of %d MiB each, %s nodes, links of %s, all clients together, from the first start to the last end:\n\n' \
		"$clients" $((many_bytes >> 20)) "$nodes" "$MANY_RATE"
	echo "| layout | load | client | bound in L | rate | of the bound | of healthy |"
	echo "|---|---|---|---|---|---|---|"
	while IFS=$'\t' read -r layout load client; do
		RATE=$MANY_RATE bytes=$((many_bytes * 4 * clients)) row "$layout" "$load" "$client" "$(bound_many "$layout" "$load" "$client")"
	done < <(cut -f 1-3 "$dir/samples" | awk '!seen[$0]++')
	for layout in plain rs:4+2; do admin rm -rf --yes "$(dir_of "$layout")" >/dev/null; done
}

# received: the bytes that the switch sent to each node that is alive, a line each.
received() {
	on switch tc -s qdisc show | awk -v first=2 -v last="$nodes" '/^qdisc tbf/ { sub(/^v/, "", $5); at = $5 + 0 } /Sent/ && at >= first && at <= last { print $2 } /Sent/ { at = 0 }'
}

# stored: bytes on the disks of the nodes that are alive.
stored() { du -s --block-size=1 $(seq -f "$dir/node%g" $((nodes - 1))) | awk '{ n += $1 } END { printf "%.0f\n", n }'; }

rebuild() {
	local layout=$1 k path i lost=node$nodes before quiet=0
	read -r k _ <<<"$(shape "$layout")"
	path=$(dir_of "$layout")-rebuild
	link_rate none
	admin mkdir "$path"
	admin attr set "sys.forced.layout=$layout" "$path"
	mkdir -p "$dir/tree"
	head -c $((8 << 20)) /dev/urandom >"$dir/tree/1"
	for i in $(seq 2 "$files"); do ln "$dir/tree/1" "$dir/tree/$i"; done
	on client "$hemera" cp -q -r "$dir/tree/." "$URL/$path"
	rm -rf "$dir/tree"
	link_rate "$MANY_RATE"
	node_kill "$nodes"
	disks_online $(((nodes - 1) * disks))
	before=$(stored)
	received >"$dir/before"
	printf '%s\t%s\n' "$EPOCHREALTIME" "$(received | awk '{ n += $1 } END { printf "%.0f", n }')" >"$dir/series"
	admin node rm "${address[$lost]}:1095" --now --yes >/dev/null 2>&1
	# Before the first job and between two of them there is none.
	while [ "$quiet" -lt 10 ]; do
		quiet=$({ admin -m status || true; } | awk -v q="$quiet" '/ files_incomplete=0 .* jobs=0/ { print q + 1; done = 1 } END { if (!done) print 0 }')
		printf '%s\t%s\n' "$EPOCHREALTIME" "$(received | awk '{ n += $1 } END { printf "%.0f", n }')" >>"$dir/series"
		sleep 0.2
	done
	paste "$dir/before" <(received) >"$dir/moved"
	# The links say when it was over: when less than a hundredth of their rate is left.
	awk -F '\t' -v l="$(link "$MANY_RATE")" -v k="$k" -v n="$((nodes - 1))" -v layout="$layout" -v moved="$dir/moved" -v made="$(($(stored) - before))" '
		{ t[NR] = $1; b[NR] = ($2 - first) * 1448 / 1514; if (NR == 1) { first = $2; b[NR] = 0 } }
		NR > 1 && (b[NR] - b[NR-1]) / (t[NR] - t[NR-1]) > 0.01 * n * l { last = NR }
		END {
			for (lo = 1; b[lo] < 0.1 * b[last]; lo++);
			for (hi = lo; b[hi] < 0.9 * b[last]; hi++);
			while ((getline line < moved) > 0) { split(line, f, "\t"); sum += f[2] - f[1]; if (f[2] - f[1] > most) most = f[2] - f[1] }
			bound = n * l / k; rate = made / (t[last] - t[1]); busy = (b[hi] - b[lo]) / (t[hi] - t[lo]) / (n * l)
			printf "| %s | %.0f MB in %.1f s | %.2f MB/s | %.2f MB/s | %.1f %% | %.1f %% | %.2f |\n", layout, made / 1e6, t[last] - t[1], bound / 1e6, \
				rate / 1e6, 100 * rate / bound, 100 * busy, most * n / sum
		}' "$dir/series" >>"$dir/rebuilt"
}

rebuild_table() {
	printf '\nA node of %s is lost with its disks, links of %s. The bound is (N-1)·L/k: to make a piece, its node receives k others.\n\n' "$nodes" "$MANY_RATE"
	echo "| layout | made again | bound | from the order to the end | of the bound | links busy, from 10 % to 90 % | received: busiest node / mean |"
	echo "|---|---|---|---|---|---|---|"
	cat "$dir/rebuilt"
}

# peer_config HOST ROLE: for cmsd and xrootd.
peer_config() {
	cat <<-END
		all.role $2
		all.manager ${address[manager]}:3121
		all.export /ec
		all.adminpath $dir/ec/$1/admin
		all.pidpath $dir/ec/$1/admin
		oss.localroot $dir/ec/$1/data
		xrd.network nodnr norpipa
		cms.delay startup 5 servers $nodes
		cms.space min 10m 5m
		if exec cmsd
		xrd.port 3121
		else
		xrd.port 3094
		fi
	END
}

peer() {
	local host program round k=4 m=2 redirector=root://${address[manager]}:3094
	[ -x "${XRDEC:-}/bin/xrdcp" ] || { echo "peer: XRDEC names no client of XRootD that codes; Debian's does not" >&2; return 0; }
	mkdir -p "$dir/ec/plugins"
	chmod 755 "$dir"
	for host in manager $(seq -f node%g "$nodes"); do
		mkdir -p "$dir/ec/$host/admin" "$dir/ec/$host/data/ec"
		peer_config "$host" "$([ "$host" = manager ] && echo manager || echo server)" >"$dir/ec/$host/cf"
		chown -R nobody "$dir/ec/$host"
		for program in cmsd xrootd; do
			become "$host" "$program" -R nobody -n "$host" -c "$dir/ec/$host/cf" -l "$dir/ec/$host/$program.log" >/dev/null 2>&1 &
			pids[$host-$program]=$!
		done
	done
	printf '%s\n' "url = root://*" "lib = XrdEcDefault" "enable = true" "nbdta = $k" "nbprt = $m" "chsz = 1048576" >"$dir/ec/plugins/ec.conf"
	for _ in $(seq 60); do
		[ "$(on client timeout 5 xrdfs "$redirector" locate -d '*' 2>/dev/null | grep -c Server)" = "$nodes" ] && break
		sleep 1
	done
	link_rate "$RATE"
	rm -f "$dir/samples"
	for round in $(seq "$rounds"); do
		timed rs:4+2 write direct xrdec "$dir/source" "$redirector//ec/file$round" # it replaces no file
		timed rs:4+2 read direct xrdec "$redirector//ec/file$round" "$dir/back"
		cmp "$dir/source" "$dir/back"
		rm "$dir/back"
	done
	printf '\nThe coding client of XRootD, %s+%s with chunks of 1 MiB, %s stock servers, links of %s, medians of %s:\n\n' $k $m "$nodes" "$RATE" "$rounds"
	echo "| layout | load | client | bound in L | rate | of the bound | of healthy |"
	echo "|---|---|---|---|---|---|---|"
	row rs:4+2 write direct "$(bound rs:4+2 write direct)"
	row rs:4+2 read direct "$(bound rs:4+2 read direct)"
}
xrdec() { XRD_PLUGINCONFDIR=$dir/ec/plugins LD_LIBRARY_PATH=$XRDEC/lib on client timeout 900 "$XRDEC/bin/xrdcp" -s --nopbar "$1" "$2" >/dev/null; }

cluster_start
head -c "$bytes" /dev/urandom >"$dir/source"
for layout in $layouts; do
	admin mkdir "$(dir_of "$layout")"
	admin attr set "sys.forced.layout=$layout" "$(dir_of "$layout")"
done
for part in "${@:-single many rebuild}"; do
	for word in $part; do
		case $word in
		single | many | peer) "$word" ;;
		rebuild) rebuild rs:4+2; rebuild_table ;;
		*) echo "what is $word? single, many, rebuild or peer" >&2; exit 2 ;;
		esac
	done
done
