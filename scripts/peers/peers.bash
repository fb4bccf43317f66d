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
	for n in "$d/mnt" "$d/mnt2"; do attach "$n" ceph-fuse -f -c "$d/ceph.conf" -n client.admin "$n"; done
}
ceph_up() { ceph_at osd stat -f json | jq -e '.num_up_osds == 3'; }
ceph_active() { ceph_at fs status -f json | jq -e '.mdsmap[] | select(.state == "active")' && ceph_at pg stat -f json | jq -e '.pg_summary | .num_pgs > 0 and ([.num_pg_by_state[] | select(.name == "active+clean") | .num] | add) == .num_pgs'; }
measure_ceph() { bench "CephFS, 2 copies" "$dir/data/mnt" --read-through "$dir/data/mnt2"; }
version_ceph() { echo "Ceph $(ceph-osd --version | awk '{print $3}'): 1 monitor, 1 manager, 1 metadata server, 3 OSDs (bluestore on files), ceph-fuse"; }

# GlusterFS: a volume of one brick, and one of two copies on two bricks, all served by processes of this machine.
missing_gluster() { without glusterd glusterfs-server || without glusterfs glusterfs-client; }
gluster_at() { on server timeout 60 gluster --mode=script --glusterd-sock="$dir/data/glusterd.sock" "$@" >>"$dir/gluster.log" 2>&1; }
start_gluster() {
	local d=$dir/data v
	mkdir -p "$d"/{state,log,run}
	cat >"$d/glusterd.vol" <<-C
		volume management
		    type mgmt/glusterd
		    option working-directory $d/state
		    option run-directory $d/run
		    option transport-type socket
		    option transport.socket.bind-address $server_address
		    option transport.socket.listen-port 24007
		    option glusterd-sockfile $d/glusterd.sock
		end-volume
	C
	serve glusterd -N -f "$d/glusterd.vol" -l "$d/log/glusterd.log" -p "$d/glusterd.pid"
	until_true 200 gluster_at pool list
	gluster_at volume create one "$server_address:$d/one" force
	gluster_at volume create two replica 2 "$server_address:$d/two1" "$server_address:$d/two2" force
	for v in one two; do
		gluster_at volume start $v
		attach "$d/$v-a" glusterfs -N -s "$server_address" --volfile-id=$v -l "$d/log/$v.log" "$d/$v-a"
		attach "$d/$v-b" glusterfs -N -s "$server_address" --volfile-id=$v -l "$d/log/$v.log" "$d/$v-b"
	done
	# Bricks detach from the process that started them; their numbers are in files.
	while read -r v; do pids+=("$v"); done < <(find "$d/run" -name '*.pid' -exec cat {} +)
}
measure_gluster() {
	bench "GlusterFS, 1 copy" "$dir/data/one-a" --read-through "$dir/data/one-b"
	bench "GlusterFS, 2 copies" "$dir/data/two-a" --read-through "$dir/data/two-b"
}
version_gluster() { echo "GlusterFS $(glusterfs --version | awk 'NR == 1 {print $2}'): 1 server, a brick for each copy, FUSE mount"; }

# MooseFS: a master and three chunk servers; durable as the others are: chunks are synced before a close, the changelog at once.
missing_moosefs() {
	without mfsmaster moosefs-master || without mfschunkserver moosefs-chunkserver || without mfsmount moosefs-client
}
start_moosefs() {
	local d=$dir/data n
	mkdir -p "$d/master"
	printf 'MFSM NEW' >"$d/master/metadata.mfs" # a namespace that begins, as the package has it
	echo "${server_address%.*}.0/24 / rw,alldirs,maproot=0" >"$d/exports.cfg"
	cat >"$d/master.cfg" <<-C
		WORKING_USER = root
		WORKING_GROUP = root
		DATA_PATH = $d/master
		EXPORTS_FILENAME = $d/exports.cfg
		TOPOLOGY_FILENAME = /dev/null
		CHANGELOG_SAVE_MODE = 2
		NICE_LEVEL = 0
	C
	serve mfsmaster -f -c "$d/master.cfg" start
	until_true 200 listening 9421
	for n in 1 2 3; do
		mkdir -p "$d/chunks$n" "$d/state$n"
		echo "$d/chunks$n" >"$d/hdd$n.cfg"
		cat >"$d/chunk$n.cfg" <<-C
			WORKING_USER = root
			WORKING_GROUP = root
			DATA_PATH = $d/state$n
			HDD_CONF_FILENAME = $d/hdd$n.cfg
			HDD_FSYNC_BEFORE_CLOSE = 1
			MASTER_HOST = $server_address
			CSSERV_LISTEN_PORT = $((9430 + n))
			NICE_LEVEL = 0
		C
		serve mfschunkserver -f -c "$d/chunk$n.cfg" start
	done
	for n in 1 2 3; do until_true 200 listening $((9430 + n)); done
	for n in a b; do attach "$d/mnt-$n" mfsmount -f -H "$server_address" "$d/mnt-$n"; done
	until_true 300 moosefs_ready
	mkdir "$d/mnt-a/one" "$d/mnt-a/two"
	on client mfssetgoal 1 "$d/mnt-a/one" >>"$dir/moosefs.log"
	on client mfssetgoal 2 "$d/mnt-a/two" >>"$dir/moosefs.log"
}
moosefs_ready() { echo x >"$dir/data/mnt-a/ready" && sync "$dir/data/mnt-a/ready"; }
measure_moosefs() {
	bench "MooseFS, 1 copy" "$dir/data/mnt-a/one" --read-through "$dir/data/mnt-b/one"
	bench "MooseFS, 2 copies" "$dir/data/mnt-a/two" --read-through "$dir/data/mnt-b/two"
}
version_moosefs() { echo "MooseFS $(mfsmaster -v 2>&1 | grep -o '[0-9][0-9.-]*' | head -n 1): 1 master, 3 chunk servers, FUSE mount"; }

# NFS: the user-space server NFS-Ganesha over a directory. The client is the kernel's, or fuse-nfs where the kernel has none. That one speaks version 3
# here (it cannot remove directories by version 4), for which the server must find an rpcbind, in a /run of its own.
nfs_in_kernel() { grep -qw nfs4 /proc/filesystems || modprobe nfsv4 2>/dev/null; }
missing_nfs() {
	without ganesha.nfsd "nfs-ganesha nfs-ganesha-vfs" && return
	nfs_in_kernel && return 1
	command -v rpcbind >/dev/null && command -v fuse-nfs >/dev/null && return 1
	echo "this kernel has no NFS client, and there are no fuse-nfs and rpcbind in its place"
}
start_nfs() {
	local d=$dir/data m url
	mkdir -p "$d/tree" "$d/a" "$d/b" "$d/recovery"
	cat >"$d/ganesha.conf" <<-C
		NFS_CORE_PARAM { Protocols = 3, 4; NFS_Port = 2049; MNT_Port = 20048; Bind_addr = $server_address; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; }
		NFSv4 { Graceless = true; Only_Numeric_Owners = true; RecoveryRoot = $d/recovery; }
		EXPORT { Export_Id = 1; Path = $d/tree; Pseudo = /tree; Access_Type = RW; Squash = No_Root_Squash; SecType = sys; Protocols = 3, 4; FSAL { Name = VFS; } }
	C
	if nfs_in_kernel; then
		sed -i 's/Protocols = 3, 4/Protocols = 4/' "$d/ganesha.conf"
	else
		serve unshare -m bash -c 'mount -t tmpfs none /run && mkdir /run/rpcbind && exec rpcbind -f'
		until_true 100 on server bash -c ": <>/dev/tcp/127.0.0.1/111"
	fi
	serve ganesha.nfsd -F -f "$d/ganesha.conf" -L "$dir/nfs.log" -p "$d/ganesha.pid"
	until_true 300 listening 2049
	for m in a b; do
		if nfs_in_kernel; then
			on client mount -t nfs4 -o vers=4.1,port=2049 "$server_address:/tree" "$d/$m"
			mounts+=("$d/$m")
			continue
		fi
		url="nfs://$server_address$d/tree?version=3&nfsport=2049&mountport=20048"
		on client fuse-nfs -n "$url" -m "$d/$m" >>"$dir/nfs.log" 2>&1 # it goes to the background by itself
		mounts+=("$d/$m")
		daemons+=("$(pgrep -f "^fuse-nfs .* -m $d/$m\$")")
	done
}
measure_nfs() { bench "NFS, 1 copy" "$dir/data/a" --read-through "$dir/data/b"; }
version_nfs() {
	echo "NFS-Ganesha $(ganesha.nfsd -v 2>&1 | grep -o 'V[0-9][0-9.]*' | head -n 1): one server, mounted by $(if nfs_in_kernel; then echo the kernel; else echo "fuse-nfs, version 3 of the protocol"; fi)"
}

# SeaweedFS: a master, three volume servers and a filer; its FUSE mount without a cache on disk, and volumes that sync each write.
missing_seaweedfs() {
	command -v weed >/dev/null && return 1
	echo "no weed in PATH (github.com/seaweedfs/seaweedfs)"
}
start_seaweedfs() {
	local d=$dir/data n
	mkdir -p "$d/master" "$d/filer" "$d/cache-a" "$d/cache-b"
	serve weed -logdir="$d" master -ip="$server_address" -mdir="$d/master" -volumeSizeLimitMB=1024
	until_true 200 listening 9333
	for n in 1 2 3; do
		mkdir -p "$d/volumes$n"
		serve weed -logdir="$d" volume -ip="$server_address" -port=$((8080 + n)) -dir="$d/volumes$n" -max=20 -master="$server_address:9333"
		until_true 200 listening $((8080 + n))
	done
	serve weed -logdir="$d" filer -ip="$server_address" -port=8888 -defaultStoreDir="$d/filer" -master="$server_address:9333"
	until_true 300 listening 8888
	echo "fs.configure -locationPrefix=/ -fsync -apply" | on server weed shell -master="$server_address:9333" -filer="$server_address:8888" >>"$dir/seaweedfs.log" 2>&1
	for n in a b; do
		attach "$d/$n" weed -logdir="$d" mount -filer="$server_address:8888" -dir="$d/$n" -cacheCapacityMB=0 -cacheDir="$d/cache-$n"
	done
}
measure_seaweedfs() { bench "SeaweedFS, 1 copy" "$dir/data/a" --read-through "$dir/data/b"; }
version_seaweedfs() { echo "SeaweedFS $(weed version | awk '{print $3}'): 1 master, 3 volume servers, 1 filer, FUSE mount"; }

# OrangeFS: one server of data and metadata; its FUSE client.
missing_orangefs() {
	command -v pvfs2-server >/dev/null && command -v pvfs2fuse >/dev/null && return 1
	echo "no pvfs2-server and pvfs2fuse in PATH (github.com/waltligon/orangefs)"
}
start_orangefs() {
	local d=$dir/data url=tcp://$server_address:3334/orangefs n
	mkdir -p "$d/storage" "$d/meta"
	pvfs2-genconfig --quiet --protocol tcp --ioservers "$server_address" --metaservers "$server_address" --tcpport 3334 \
		--storage "$d/storage" --metadata "$d/meta" --logfile "$dir/orangefs.log" "$d/conf" </dev/null >"$d/genconfig.log" 2>&1
	on server pvfs2-server -f "$d/conf" -a "$server_address" >>"$dir/orangefs.log" 2>&1
	serve pvfs2-server -d "$d/conf" -a "$server_address"
	until_true 200 listening 3334
	for n in a b; do attach "$d/$n" pvfs2fuse -f -o "fs_spec=$url" "$d/$n"; done
}
measure_orangefs() { bench "OrangeFS, 1 copy" "$dir/data/a" --read-through "$dir/data/b"; }
version_orangefs() { echo "OrangeFS $(pvfs2-server --version 2>&1 | grep -o '[0-9]\.[0-9.]*' | head -n 1): one server, FUSE mount"; }

# table prints the results. Peaks: of reads the smaller of disk and network, of writes the same, divided by the copies.
table() {
	jq -rs -f scripts/peers/table.jq --rawfile net <(cat "$dir/net" 2>/dev/null) --rawfile versions "$dir/versions" \
		--arg date "$(date -u +%F)" --arg cpu "$(awk -F': ' '/^model name/ {print $2; exit}' /proc/cpuinfo)" --arg cores "$(nproc)" \
		--arg kernel "$(uname -r)" --arg rounds "$rounds" "$dir/samples"
}
