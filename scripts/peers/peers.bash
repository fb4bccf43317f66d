# shellcheck shell=bash disable=SC2154 # scripts/peers.sh sources it, and has the variables
# What scripts/peers.sh knows of each system: missing_X prints why it cannot be started here, and fails if it can; start_X starts
# it with its data in $dir/data; measure_X runs the loads; version_X prints a line.

without() { # without COMMAND PACKAGE: succeeds, and says so, if a command is not there
	command -v "$1" >/dev/null && return 1
	echo "no $1 (apt install $2)"
}

# Hemera: a manager and three nodes, each a process with one disk.
missing_hemera() { return 1; }
start_hemera() {
	local url=root://$server_address:1094 token n
	serve "$hemera" manager --data "$dir/data/manager" --listen "$server_address" --port 1094 --trusted-networks "${server_address%.*}.0/24=own"
	until_true 200 on server "$hemera" --url "$url" ns stat
	token=$(on server "$hemera" --url "$url" token create --uses 3)
	for n in 1 2 3; do
		mkdir -p "$dir/data/disk$n"
		HEMERA_NODE_JOIN=$token serve "$hemera" node --data "$dir/data/node$n" --listen "$server_address" --port "$((1095 + n))" --disk "$dir/data/disk$n"
	done
	until_true 300 bash -c "[ \$(nsenter --net=/run/netns/$prefix-server '$hemera' --url $url -m fs ls | grep -c active=online) = 3 ]"
}
measure_hemera() {
	bench "Hemera, 1 copy" "root://$server_address:1094//" --layout plain
	bench "Hemera, 2 copies" "root://$server_address:1094//" --layout replica:2
}
version_hemera() { "$hemera" version | awk '$1 == "client" {print "Hemera " $2 " " $3 ": manager and 3 nodes"}'; }

# XRootD: one server, which is its best case: no redirection, one copy, no checksums of pages.
missing_xrootd() { without xrootd xrootd-server; }
start_xrootd() {
	mkdir -p "$dir/data/tree" "$dir/data/admin"
	chown nobody "$dir/data/tree" "$dir/data/admin"
	cat >"$dir/data/cfg" <<-C
		all.export /
		oss.localroot $dir/data/tree
		all.adminpath $dir/data/admin
		all.pidpath $dir/data/admin
		xrd.port 1094
		xrd.network nodnr
	C
	serve setpriv --reuid nobody --regid nogroup --clear-groups xrootd -c "$dir/data/cfg" -n peer -l -
	until_true 200 listening 1094
}
measure_xrootd() { bench "XRootD, 1 copy" "root://$server_address:1094//"; }
version_xrootd() { echo "XRootD $(xrootd -v 2>&1): one server"; }

# Ceph: one monitor, one manager, one metadata server, three OSDs with bluestore on files of the same disk; two copies, of which
# both answer. The client is ceph-fuse, as this needs no module of the kernel.
missing_ceph() {
	without ceph-mon ceph-mon || without ceph-osd ceph-osd || without ceph-mgr ceph-mgr || without ceph-mds ceph-mds || without ceph-fuse ceph-fuse || without ceph ceph-common
}
ceph_at() { on server timeout 60 ceph -c "$dir/data/ceph.conf" "$@"; }
ceph_do() { ceph_at "$@" >>"$dir/ceph.log" 2>&1; }
start_ceph() {
	local d=$dir/data n fsid
	fsid=$(cat /proc/sys/kernel/random/uuid)
	mkdir -p "$d"/{mon,mgr,mds,osd0,osd1,osd2,run}
	cat >"$d/ceph.conf" <<-C
		[global]
		fsid = $fsid
		mon host = [v2:$server_address:3300,v1:$server_address:6789]
		public network = ${server_address%.*}.0/24
		auth cluster required = none
		auth service required = none
		auth client required = none
		osd pool default size = 2
		osd pool default min size = 1
		osd crush chooseleaf type = 0
		osd memory target = 939524096
		bluestore block size = 3221225472
		bluestore block create = true
		mon data = $d/mon
		mgr data = $d/mgr
		mds data = $d/mds
		osd data = $d/osd\$id
		run dir = $d/run
		admin socket = $d/run/\$name.\$pid.asok
		log file =
		log to stderr = true
		err to stderr = true
		mon allow pool size one = true
		mon warn on insecure global id reclaim allowed = false
	C
	# The pair of interfaces is the only one that it may use.
	monmaptool --create --fsid "$fsid" --addv a "[v2:$server_address:3300,v1:$server_address:6789]" "$d/monmap" >>"$dir/ceph.log"
	on server ceph-mon -c "$d/ceph.conf" -i a --mkfs --monmap "$d/monmap" >>"$dir/ceph.log" 2>&1
	serve ceph-mon -f -c "$d/ceph.conf" -i a
	until_true 300 ceph_at -s
	serve ceph-mgr -f -c "$d/ceph.conf" -i a
	for n in 0 1 2; do
		ceph_do osd create
		on server ceph-osd -c "$d/ceph.conf" -i "$n" --mkfs --osd-uuid "$(cat /proc/sys/kernel/random/uuid)" >>"$dir/ceph.log" 2>&1
		ceph_do osd crush add "osd.$n" 1.0 root=default host=here
		serve ceph-osd -f -c "$d/ceph.conf" -i "$n"
	done
	until_true 600 ceph_up
	ceph_do osd pool create meta 8
	ceph_do osd pool create data 32
	ceph_do fs new peers meta data
	serve ceph-mds -f -c "$d/ceph.conf" -i a
	until_true 600 ceph_active
	attach "$dir/data/mnt" ceph-fuse -f -c "$d/ceph.conf" -n client.admin "$dir/data/mnt"
}
ceph_up() { ceph_at osd stat -f json | jq -e '.num_up_osds == 3'; }
ceph_active() { ceph_at fs status -f json | jq -e '.mdsmap[] | select(.state == "active")' && ceph_at pg stat -f json | jq -e '.pg_summary | .num_pgs > 0 and ([.num_pg_by_state[] | select(.name == "active+clean") | .num] | add) == .num_pgs'; }
measure_ceph() { bench "CephFS, 2 copies" "$dir/data/mnt"; }
version_ceph() { echo "Ceph $(ceph-osd --version | awk '{print $3}'): 1 monitor, 1 manager, 1 metadata server, 3 OSDs (bluestore on files), ceph-fuse"; }

missing_nfs() { echo "not here yet"; }
missing_seaweedfs() { echo "not here yet"; }

# table prints the results. Peaks: of reads the smaller of disk and network, of writes the same, divided by the copies.
table() {
	jq -rs -f scripts/peers/table.jq --rawfile net <(cat "$dir/net" 2>/dev/null) --rawfile versions "$dir/versions" \
		--arg date "$(date -u +%F)" --arg cpu "$(awk -F': ' '/^model name/ {print $2; exit}' /proc/cpuinfo)" --arg cores "$(nproc)" \
		--arg kernel "$(uname -r)" --arg rounds "$rounds" "$dir/samples"
}
