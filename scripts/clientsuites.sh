#!/usr/bin/env bash
# Other people's client tests against Hemera: XrdCl's GTests (of xrootd/xrootd) and go-hep's client tests, against `hemera up`,
# against a manager with three nodes, and against the stock server that is installed here, for comparison.
# usage: scripts/clientsuites.sh [up|nodes|stock ...]     all three without an argument
# Prints a table. Fails if a test fails that is not in scripts/clientsuites-known, or if one passes that is there.
# LAYOUTS="rs:4+2 stripe:4" runs `up` and `nodes` with new files of each of these layouts instead of the usual one; LAYOUTS=all are all kinds.
# XROOTD_SRC is a directory with XRootD's sources, or a git repository to take the tag from; ONLY=REGEX chooses tests by name.
# Tests that need no server (URLs, pollers, local files, mocks) are left out. 8 GiB of room are needed in build/, 4 GiB of memory.
set -euo pipefail
cd "$(dirname "$0")/.."
XROOTD_TAG=v6.1.0
HEP=go-hep.org/x/hep@v0.36.0
export PATH=$PWD/build/bin:$PATH
hemera=$PWD/bin/hemera known=$PWD/scripts/clientsuites-known
work=$PWD/build/clientsuites
src=$work/src lib=$work/xrootd/lib tests=$work/tests data=$work/run/cluster/data
suites=(FileTest FileClone FileCopyTest FileSystemTest OperationsWorkflowTest PostMasterTest ThreadingTest TTLManyStreams Zip)
files=(1db882c8-8cd6-4df1-941f-ce669bad3458 3c9a9dd8-bc75-422c-b12c-f00604486cc1 7235b5d1-cede-4700-a8f9-596506b4cc38
	7e480547-fe1a-4eaf-a210-0f3927751a43 89120cec-5244-444c-9313-703e4bee72de a048e67f-4397-4bb8-85eb-8d7e40d90763
	b3d40b3f-1d15-4ad3-8cb5-a7516acb2bab b74d025e-06d6-43e8-91e1-a862feb03c84 cb4aacf1-6f28-42f2-b68a-90a73460f424
	cef4d954-936f-4945-ae49-60ec715b986e)
mkdir -p "$work" "$tests"
pids=()

say() { printf 'clientsuites: %s\n' "$*" >&2; }

stop() {
	local pid
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
	pids=()
}
clean() {
	stop
	[ ! -L "$work/servers/stock" ] || rm -rf "$(realpath "$work/servers/stock")"
	rm -rf "$work/servers"
}
trap clean EXIT

# fetch has the sources at $src.
fetch() {
	[ -e "$src/CMakeLists.txt" ] && return 0
	if [ -e "${XROOTD_SRC:-}/CMakeLists.txt" ]; then
		ln -sfn "$(realpath "$XROOTD_SRC")" "$src"
		return 0
	fi
	local from=(--depth 1 https://github.com/xrootd/xrootd)
	[ -z "${XROOTD_SRC:-}" ] || from=("$XROOTD_SRC")
	rm -rf "$src"
	git -c advice.detachedHead=false clone --quiet --branch $XROOTD_TAG "${from[@]}" "$src"
}

# build makes the client library and one program for each suite. Nothing is written into the sources.
build() {
	local suite file flags off=()
	if [ ! -e "$lib/libXrdCl.so" ]; then
		say "building XrdCl of $XROOTD_TAG; this takes some minutes"
		for file in TESTS HTTP KRB5 FUSE VOMS PYTHON READLINE; do off+=("-DENABLE_$file=OFF"); done
		cmake -S "$src" -B "$work/xrootd" -DXRDCL_ONLY=ON "${off[@]}" >"$work/cmake.log"
		nice make -C "$work/xrootd" -j2 XrdCl XrdSec-6 XrdSecunix-6 XrdCksCalczcrc32-6 >"$work/make.log" 2>&1 || { tail "$work/make.log"; return 1; }
	fi
	flags=(-std=c++17 -w -D__XRDCL "-I$src/src" "-I$work/xrootd/src" "-I$src/tests/common" "-I$src/tests/XrdCl")
	for file in "$src"/tests/common/*.cc "$src/tests/XrdCl/IdentityPlugIn.cc" "${suites[@]/#/$src/tests/XrdCl/XrdCl}"; do
		file=${file%.cc}
		[ -e "$tests/$(basename "$file").o" ] || nice g++ "${flags[@]}" -c "$file.cc" -o "$tests/$(basename "$file").o"
	done
	for suite in "${suites[@]}"; do
		[ -e "$tests/$suite" ] || g++ -o "$tests/$suite" "$tests/XrdCl$suite.o" "$tests"/{Server,TestEnv,Utils,IdentityPlugIn}.o \
			"-L$lib" "-Wl,-rpath,$lib" -lXrdCl -lXrdUtils -lgtest -lgtest_main -lz -luuid -lpthread -lcrypto -lssl
	done
	hep
}

# hep copies go-hep's client tests, without benchmarks, and with the address from the environment instead of that of a
# server in Lyon.
hep() {
	local dir
	[ -e "$tests/hep" ] && return 0
	dir=$(cd "$work" && GOFLAGS=-mod=mod go mod download -json $HEP | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
	rm -rf "$work/hep" && cp -r "$dir" "$work/hep" && chmod -R u+w "$work/hep"
	rm "$work"/hep/xrootd/*bench_test.go
	cat >"$work/hep/xrootd/cxx_server_test.go" <<-'GO'
		package xrootd

		import "os"

		func init() { testClientAddrs = append(testClientAddrs, os.Getenv("SERVER")) }
	GO
	(cd "$work/hep" && CGO_ENABLED=0 GOFLAGS=-mod=mod go test -vet=off -c -o "$tests/hep" ./xrootd)
}

# generate makes the files that tests/cluster/setup.sh of XRootD makes, where the tests look for them.
generate() {
	local name sub srv=$data/srv1/data
	[ -e "$data/ready" ] && return 0
	mkdir -p "$srv/metalink" "$srv/bigdir" "$data/metaman/data" "$work/run/XrdCl"
	for name in "${files[@]}"; do head -c 16777216 /dev/urandom >"$srv/$name.dat"; done
	cp "$srv/a048e67f-4397-4bb8-85eb-8d7e40d90763.dat" "$data/metaman/data/testFile.dat"
	head -c $((2 ** 31 - 1)) /dev/urandom >"$srv/2GB.dat"
	cp "$src"/tests/cluster/mvdata/*.zip "$srv"
	for sub in $(seq 4000); do : >"$srv/bigdir/$sub.dat"; done
	touch "$data/ready"
}

# metalinks ADDRESS: those of XRootD's tests, which name servers and checksums.
metalinks() {
	local sum dir=$data/srv1/data
	sum=$(xrdcrc32c "$dir/cb4aacf1-6f28-42f2-b68a-90a73460f424.dat" | cut -d ' ' -f 1)
	cp "$src"/tests/cluster/mvdata/*.meta* "$dir/metalink"
	sed -i -E "s#localhost:1094[0-9]#$1#" "$dir"/metalink/*
	sed -i -E "s#(<hash type=\"crc32c\">).*(</hash>)#\1$sum\2#" "$dir/metalink/mlTpcTest.meta4"
}

# await COMMAND...: until the command succeeds.
await() {
	for _ in $(seq 200); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	say "not ready: $*"
	return 1
}

serve() { # serve NAME COMMAND...
	"${@:2}" >"$work/$1.log" 2>&1 &
	pids+=($!)
}

# disks is the number of disks of a cluster for the layout: the widest kinds have 14 pieces.
disks() { [ -z "$1" ] && echo 6 || echo 18; }

# store LAYOUT PORT: new files have the layout from now on.
store() { [ -z "$1" ] || "$hemera" --url "root://localhost:$2" space set default "policy.layout=$1" >/dev/null; }

# stored LAYOUT PORT: a file of the tests has the layout.
stored() {
	[ -z "$1" ] || "$hemera" --url "root://localhost:$2" file info /data/2GB.dat | grep -F " $1" >/dev/null || { say "not stored as $1"; return 1; }
}

online() { [ "$("$hemera" --url "root://$1" -m fs ls | grep -c active=online)" = "$2" ]; }

start_up() { # start_up PORT LAYOUT
	local disks
	disks=$(disks "$2")
	serve up "$hemera" up "$work/servers/up" --port "$1" --nodes "$disks" --disks "$disks"
	await online "localhost:$1" "$disks"
	store "$2" "$1"
}

start_nodes() { # start_nodes PORT LAYOUT
	local n token disk disks folders
	disks=$(disks "$2")
	serve manager "$hemera" manager --data "$work/servers/manager" --port "$1"
	await "$hemera" --url "root://localhost:$1" ns stat
	token=$("$hemera" --url "root://localhost:$1" token create --uses 3)
	for n in 1 2 3; do
		folders=()
		for disk in $(seq $((disks / 3))); do
			mkdir -p "$work/servers/$n/disk$disk"
			folders+=(--disk "$work/servers/$n/disk$disk")
		done
		HEMERA_NODE_JOIN=$token serve "node$n" "$hemera" node --data "$work/servers/$n/state" --port $(($1 + n)) "${folders[@]}"
	done
	await online "localhost:$1" "$disks"
	store "$2" "$1"
}

start_stock() {
	local dir as=()
	dir=$(mktemp -d) # the server is nobody, who may not see the tree
	ln -s "$dir" "$work/servers/stock"
	mkdir -p "$dir/tree" "$dir/admin"
	cat >"$dir/cfg" <<-CFG
		all.export /
		oss.localroot $dir/tree
		all.adminpath $dir/admin
		all.pidpath $dir/admin
		xrd.port $1
		xrd.network nodnr
		ofs.chkpnt enable
		ofs.tpc streams 8 pgm $(command -v xrdcp) --server
		ofs.ckslib zcrc32 libXrdCksCalczcrc32.so
		xrootd.chksum max 2 zcrc32 adler32 crc32c
	CFG
	chmod -R 777 "$dir"
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
	serve stock "${as[@]}" xrootd -c "$dir/cfg" -n stock -l -
	await xrdfs "localhost:$1" stat /
}

# fill ADDRESS: the files on the server.
fill() {
	metalinks "$1"
	xrdfs "$1" mkdir -p /data
	XRD_METALINKPROCESSING=0 xrdcp -s -r "$data"/srv1/data/* "root://$1//data/"
	xrdfs "$1" mkdir -p /tmp/dir1
	: >"$work/empty"
	xrdcp -s "$work/empty" "root://$1//tmp/dir1/file1.txt"
	printf 'Hello XRootD.\n' >"$work/hello"
	xrdcp -s "$work/hello" "root://$1//tmp/file1.txt"
}

# gtests ADDRESS: each test in a process of its own, so that one that crashes takes no other with it. What fails in a forked
# child is in the output alone.
gtests() {
	local suite test group result out=$work/test.out
	local -x LD_LIBRARY_PATH=$lib XRDTEST_MAINSERVERURL=$1 XRDTEST_DISKSERVERURL=$1 XRDTEST_MANAGER1URL=$1 XRDTEST_MANAGER2URL=$1
	for suite in "${suites[@]}"; do
		while read -r test; do
			case $test in *.) group=$test && continue ;; esac
			test=$group${test%% *}
			[[ $test =~ ${ONLY:-} ]] || continue
			result=pass
			(cd "$work/run/XrdCl" && timeout 600 "$tests/$suite" --gtest_filter="$test") >"$out" 2>&1 || result=FAIL
			grep -q ': Failure$' "$out" && result=FAIL
			cat "$out" >&3
			echo "XrdCl $test $result"
		done < <("$tests/$suite" --gtest_list_tests | grep -v '^Running')
	done
}

# heptests ADDRESS: those with a subtest for the server's address; the rest needs no server. A test that ends with a panic
# has no line of its own. A test with subtests for several cases counts by those.
heptests() {
	local test out=$work/test.out
	for test in $("$tests/hep" -test.list .); do
		[[ $test =~ ${ONLY:-} ]] || continue
		(cd "$work/hep/xrootd" && SERVER=$1 timeout 600 "$tests/hep" -test.v -test.run "^$test\$") >"$out" 2>&1 || true
		grep -q "/$1" "$out" || continue
		cat "$out" >&3
		if grep -q '^panic:' "$out"; then
			echo "go-hep $test FAIL"
		else
			sed -nE "s#^ +--- (PASS|FAIL|SKIP): ([^ ]*)/$1([^ ]*).*#go-hep \2\3 \1#p" "$out" | sed 's/ PASS$/ pass/; s/ SKIP$/ skip/'
		fi
	done
}

# run PLACE: a line for each test, in the file of that name. A place is up, nodes or stock, and may have a layout: up@rs:4+2.
run() {
	local port held where=${1%@*} layout=
	[ "$where" = "$1" ] || layout=${1#*@}
	exec {held}< <(go run ./scripts/freeport 19)
	read -r port <&"$held"
	say "$1"
	clean
	mkdir -p "$work/servers"
	"start_$where" "$port" "$layout"
	fill "localhost:$port"
	stored "$layout" "$port"
	exec 3>"$work/$1.out"
	{ gtests "localhost:$port"; heptests "localhost:$port"; } >"$work/$1.results"
	exec 3>&-
	clean
	exec {held}<&-
}

# table PLACE...: all results side by side, with the reasons from the list of what is known.
table() {
	(cd "$work" && awk -v where="$*" -v only="${ONLY:-}" '
		FILENAME ~ /known$/ { # name, where, reason
			if ($1 == "" || $1 ~ /^#/) next
			name = $1; at = $2; $1 = $2 = ""; sub(/^ */, "")
			reason[name] = $0; expect[name] = at; next
		}
		{ name = $1 "/" $2; if (!seen[name]++) order[++n] = name; place = FILENAME; sub(/\.results$/, "", place); got[name, place] = $3 }
		END {
			count = split(where, places, " ")
			printf "%-56s", "test"
			for (p = 1; p <= count; p++) {
				width[p] = length(places[p]) > 6 ? length(places[p]) : 6
				server[p] = places[p]; sub(/@.*/, "", server[p])
				printf " %-" width[p] "s", places[p]
			}
			print " reason"
			for (i = 1; i <= n; i++) {
				name = order[i]; note = reason[name]
				for (p = 1; p <= count; p++) {
					if (places[p] == "stock") continue
					known = expect[name] == "all" || expect[name] == server[p]
					result = got[name, places[p]]
					if (result == "FAIL" && !known) { note = note " FAILS WITHOUT A KNOWN REASON AT " places[p]; bad++ }
					if (result == "" && only == "") { note = note " DID NOT RUN AT " places[p]; bad++ }
					if (result == "pass" && known) { note = note " PASSES, BUT IS IN THE LIST FOR " places[p]; bad++ }
				}
				printf "%-56s", name; for (p = 1; p <= count; p++) { r = got[name, places[p]]; printf " %-" width[p] "s", r ? r : "-"; total[places[p], r]++ }
				print " " note
			}
			for (name in expect) if (!seen[name] && only == "") { print name " is in the list and is no test"; bad++ }
			for (p = 1; p <= count; p++) printf "%s: %d passed, %d failed, %d skipped themselves\n", places[p], total[places[p], "pass"], total[places[p], "FAIL"], total[places[p], "skip"]
			exit bad > 0
		}' "$known" "${@/%/.results}")
}

layouts=${LAYOUTS:-}
[ "$layouts" != all ] || layouts="plain replica:2 rs:2+1 rs:4+2 rs:10+4 stripe:4 lrc:6+2+2"
if [ $# = 0 ]; then
	set -- up nodes
	! command -v xrootd >/dev/null || set -- "$@" stock
fi
places=()
for where; do
	if [ -z "$layouts" ] || [ "$where" = stock ]; then
		places+=("$where")
	else
		for layout in $layouts; do places+=("$where@$layout"); done
	fi
done
fetch
build
generate
for place in "${places[@]}"; do run "$place"; done
table "${places[@]}"
