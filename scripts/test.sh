#!/usr/bin/env bash
# Runs one part of the tests, or many:
#   scripts/test.sh all    what a change must pass: lint, unit, arm64, clients, conformance, network, crash, tape, alerts
#   scripts/test.sh long   what takes longer: race, sim, fuzz, layouts, emulated, storm, tapestorm
#   scripts/test.sh PART   one of them, or vuln or loss
# The output of each part is kept in build/test/PART.log. PARTS="lint unit" chooses some of all or long. A part that cannot be run here
# ends with 77 and says why; it counts neither as passed nor as failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
export PATH=$PWD/build/bin:$PATH
go=$PWD/build/bin/go
logs=$PWD/build/test
mkdir -p "$logs"
# As make builds bin/hemera: what was compiled for one part, or for it, serves all. With other flags everything is compiled again.
export CGO_ENABLED=${CGO_ENABLED:-0}
GOFLAGS="-trimpath $($go env GOFLAGS)"
export GOFLAGS
protocol=$PWD/test/conform/protocol

say() { printf '== %s\n' "$*"; }

lint() {
	local unformatted script
	unformatted=$(git ls-files -z '*.go' | xargs -0 "$($go env GOROOT)/bin/gofmt" -l)
	[ -z "$unformatted" ] || { echo "not formatted: $unformatted"; return 1; }
	for script in scripts/*.sh .ci/run; do bash -n "$script" || return 1; done
	shellcheck -S warning scripts/*.sh .ci/run || return 1
	$go mod tidy -diff && $go test -count=1 ./test/lint/ && golangci-lint run --allow-parallel-runners ./...
}

# raced PACKAGE...: tests under the race detector. The detector itself fails now and then, with one line of its own and no word of a test or a race:
# then the packages that it ended run once more.
raced() {
	local output=$logs/raced.out
	$go test -race -vet=off -timeout 15m "$@" 2>&1 | tee "$output" && return 0
	if ! grep -q '^ThreadSanitizer: CHECK failed' "$output" || grep -qE '^ *--- FAIL|^(panic|fatal error):|DATA RACE|\[(build|setup) failed\]' "$output"; then
		return 1
	fi
	say "the race detector failed; once more"
	# shellcheck disable=SC2046 # a list
	$go test -race -vet=off -timeout 15m $(sed -nE 's/^FAIL[[:space:]]+([^[:space:]]+)[[:space:]].*/\1/p' "$output")
}

# unit runs the tests of all packages but the linter, which is `lint`. Packages in which goroutines meet most run under the race detector,
# where tests that try many inputs try fewer (package test/fixture/effort), and `race` is all of them. go vet is a part of `lint`, too, but
# for the files that exist under the race detector alone.
# HEMERA_TOOLS: a test that misses a program of `setup.sh bench` fails.
unit() {
	local status=0 meet="./transfer/... ./disk/... ./cluster/... ./maint/... ./tape/tier/... ./tape/server ./node ./doors/... ./platform/rpc ./platform/link ./client/xrootd"
	export HEMERA_TOOLS=required
	# shellcheck disable=SC2086,SC2046 # lists
	CGO_ENABLED=1 raced $meet || status=1
	# Those that take longest come first, so that no processor waits for the last one.
	# shellcheck disable=SC2086,SC2046 # lists
	$go test -vet=off $(listed "./test/lint $meet" ./test/conform/cluster ./test/sim ./manager ./namespace ./platform/kv/pebblekv) || status=1
	# shellcheck disable=SC2046 # a list
	CGO_ENABLED=1 $go vet -race $(git grep -lE '^//go:build race' -- '*.go' | xargs -n 1 dirname | sort -u | sed 's,^,./,') || status=1
	return $status
}

# listed PATTERNS FIRST...: all packages of the tree without those of the patterns, FIRST before the others.
listed() {
	local without=$1 first
	shift
	first=$($go list "$@")
	echo "$first"
	# shellcheck disable=SC2086 # a list
	$go list ./... | grep -vxF -e "$first" -e "$($go list $without)"
}

# race runs all tests under the race detector, which makes them ten times slower. Packages without goroutines (package lint, Goroutines)
# do not, but for tests that start some.
race() {
	local status=0 sequential="./rules/... ./tape/gc ./tape/label ./tape/mounting ./tape/recallorder ./tape/tapeconfig ./tape/timing ./measure/report ./measure/reference ./measure/stats"
	export HEMERA_TOOLS=required HEMERA_SIM_SEEDS=10 CGO_ENABLED=1
	# shellcheck disable=SC2086 # a list
	$go test -race -vet=off -run Concurrent $sequential || status=1
	# shellcheck disable=SC2046 # a list
	raced $(listed "./test/lint $sequential" ./test/conform/cluster ./platform/kv/pebblekv ./test/sim ./manager ./namespace ./doors/xrd ./transfer ./measure/doctor/observe) || status=1
	return $status
}

# Each package with fuzz targets is built once, then each of its targets runs for FUZZTIME. On a busy machine the fuzzing
# engine may report its own end of time as a failure; a real one names the input it wrote down.
# GUIDED=1 lets coverage choose the inputs, for which every module has to be built anew: two minutes, for runs that are longer.
fuzz() {
	local dir target binary output
	for dir in $(git grep -lE '^func Fuzz' -- '*_test.go' | xargs -n 1 dirname | sort -u); do
		binary=$logs/fuzz-${dir//\//-}
		$go test -c ${GUIDED:+-fuzz=.} -o "$binary" "./$dir" || return 1
		for target in $("$binary" -test.list '^Fuzz'); do
			say "$dir $target"
			output=$(cd "$dir" && "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "${FUZZTIME:-2s}" \
				-test.fuzzcachedir "$logs/fuzzcache/$dir" 2>&1) && continue
			echo "$output"
			[[ $output == *"context deadline exceeded"* && $output != *"Failing input"* && $output != *panic* ]] || return 1
		done
		rm -f "$binary"
	done
}

# sim is the search for rare orders of events: the simulator, the concurrent and cut-off histories of the namespace and its store, and
# days in the life of a manager. All tests of these packages run in full, without the race detector.
sim() {
	HEMERA_SIM_SEEDS=${SEEDS:-400} HEMERA_LINEAR_SEEDS=${SEEDS:-600} HEMERA_CRASH_SEEDS=20 \
		$go test -vet=off -count=1 -timeout 30m ./test/sim/ ./namespace/ ./platform/kv/pebblekv/ ./manager/
}

# with_up COMMAND...: runs it with URL naming a fresh `hemera up` on a free port, of UP_NODES nodes with a disk each, and stops that.
# UP_LISTEN is the address that it listens at, and that URL has.
with_up() {
	local dir port held pid status=0 nodes=${UP_NODES:-6} host=localhost
	[ -z "${UP_LISTEN:-}" ] || host="[$UP_LISTEN]"
	dir=$(mktemp -d)
	exec {held}< <($go run ./scripts/freeport $((nodes + 1)))
	read -r port <&"$held" || return 1
	bin/hemera up "$dir" ${UP_LISTEN:+--listen "$UP_LISTEN"} --port "$port" --nodes "$nodes" --disks "$nodes" >"$logs/up-$port.log" 2>&1 &
	pid=$!
	# shellcheck disable=SC2064 # now, while the names mean something
	trap "kill $pid 2>/dev/null; rm -rf '$dir'" EXIT
	for _ in $(seq 100); do
		bin/hemera --url "root://$host:$port" ns stat >/dev/null 2>&1 && break
		kill -0 "$pid" 2>/dev/null || { cat "$logs/up-$port.log"; return 1; }
		sleep 0.1
	done
	URL=root://$host:$port "$@" || status=$?
	kill "$pid" 2>/dev/null
	wait "$pid" || { echo "the server ended with $?:"; tail -n 30 "$logs/up-$port.log"; status=1; }
	exec {held}<&-
	return $status
}

# suite runs the protocol suite on URL, without the checks of scripts/conformance-skips.
suite() {
	local skips=() name
	while read -r name _; do
		case $name in '' | '#'*) ;; *) skips+=(--skip "^${name//./\\.}\$") ;; esac
	done <scripts/conformance-skips
	XRDPY=build/venv/bin/python PYTHONDONTWRITEBYTECODE=1 python3 "$protocol/run.py" "$URL//" --big 64 --entries 1000 --slow 4 "${skips[@]}"
}

conformance() { with_up suite && { ! grep -q '^0*1 ' /proc/net/if_inet6 || UP_LISTEN=::1 with_up literal; }; }

# literal runs what has addresses in it, on a server whose name is a literal of IPv6. Strict: an extension that fails is a failure.
literal() {
	local only=() name
	for name in 'locate.*' 'xrdfs.l*' 'query.*' 'py.fs_*' 'py.copy*' 'xrdcp.streams*' 'xrdcp.sources' 'xrdcp.upload_2*' 'xrdcp.download_2*' 'py.slash'; do
		only+=(--only "$name")
	done
	XRDPY=build/venv/bin/python PYTHONDONTWRITEBYTECODE=1 python3 "$protocol/run.py" "$URL//" --strict --slow 4 "${only[@]}"
}

# layouts is the same in directories whose files are stored in other ways: LAYOUTS="rs:4+2 stripe:4" chooses, LAYOUTS=all are all kinds.
# shellcheck disable=SC2046 # a list
layouts() {
	UP_NODES=16 with_up each_layout suite $(chosen)
}

# chosen are the layouts of LAYOUTS, or a usual one.
chosen() {
	local list=${LAYOUTS:-rs:4+2}
	[ "$list" != all ] || list="plain replica:2 rs:2+1 rs:4+2 rs:10+4 stripe:4 lrc:6+2+2"
	echo "$list"
}

# each_layout COMMAND LAYOUT...: runs the command with URL naming a directory of each layout.
each_layout() {
	local command=$1 layout dir status=0 root=$URL
	shift
	for layout; do
		dir=${layout//[:+]/-}
		say "$layout"
		bin/hemera --url "$root" mkdir "/$dir" && bin/hemera --url "$root" attr set "sys.forced.layout=$layout" "/$dir" || return 1
		URL=$root//$dir "$command" || status=1
	done
	return $status
}

# network is the same against a manager and three nodes in network namespaces, and what users of another machine have.
network() { scripts/netcluster.sh bash -c 'scripts/remote.sh && scripts/test.sh suite'; }

# clients are stock clients, with the layout that new files usually have, then with others: LAYOUTS as for layouts.
# shellcheck disable=SC2046 # a list
clients() {
	local port held
	exec {held}< <($go run ./scripts/freeport 7)
	read -r port <&"$held" || return 1
	say "lost connections" && build/venv/bin/python scripts/lostclose.py bin/hemera "$port" &&
		build/venv/bin/python scripts/lostclose.py bin/hemera "$port" --kill &&
		say "the usual layout" && with_up stock_clients && UP_NODES=16 with_up each_layout stock_clients $(chosen)
}

# stock_clients runs all of them on URL.
stock_clients() {
	local script status=0
	for script in clients bins xrootdfs stocktpc; do
		"scripts/$script.sh" "$URL//" || [ $? = 77 ] || status=1
	done
	return $status
}

crash() { $go test -vet=off -count=1 -v -timeout 10m ./test/conform/crash/ -args -hemera "$PWD/bin/hemera"; }

# tape is files to tape and back with stock clients, with kills in between: WALKS=all for more of them.
tape() { HEMERA_TAPE_WALKS=${WALKS:-} $go test -vet=off -count=1 -v -timeout 30m ./test/conform/tape/ -args -hemera "$PWD/bin/hemera"; }

# alerts has a real Prometheus see that a file is lost.
alerts() { scripts/alerts.sh; }

# tapestorm lets drives fail and kills manager, nodes and tape server while FILES files go to tape and back: no part of all, it takes minutes.
tapestorm() {
	HEMERA_TAPE_FILES=${FILES:-2000} HEMERA_TAPE_SEED=${SEED:-} \
		$go test -vet=off -count=1 -v -timeout 0 -run TestStorm ./test/conform/tape/ -args -hemera "$PWD/bin/hemera"
}

# storm lets everything go wrong at once for DURATION, then checks that nothing was lost. SEED repeats the choices of a run. It is no part
# of all: it needs root, network namespaces and 3 GB of memory, and its checks take two minutes more.
storm() {
	[ "$(id -u)" = 0 ] || { echo "network namespaces need root"; return 77; }
	HEMERA_STORM_TIME=${DURATION:-75s} HEMERA_STORM_SEED=${SEED:-} $go test -count=1 -v -timeout 60m ./test/conform/storm/ -args -hemera "$PWD/bin/hemera"
}

# vuln is no part of all: it needs a database that is somewhere else.
vuln() {
	local output status=0
	output=$($go run golang.org/x/vuln/cmd/govulncheck@v1.8.0 ./... 2>&1) || status=$?
	echo "$output"
	[ "$status" = 0 ] && return 0
	[[ $output == *"Vulnerability #"* ]] && return 1
	echo "the vulnerability database or its checker cannot be reached from here"
	return 77
}

# loss has a host found that loses packets: by the rules alone, then by a manager and nodes. It is no part of all: it takes
# ten minutes of a machine that does little else.
loss() {
	HEMERA_NETWORKS=1 $go test -count=1 -v -run TestALosingHostIsFound ./platform/netstat/ &&
		HEMERA_NETWORKS=1 $go test -count=1 -v -timeout 60m -run TestABadCableIsNamed ./test/conform/netwatch/ -args -hemera "$PWD/bin/hemera"
}

# arm64 builds everything for that architecture and moves files through its binary, with an emulated processor where there is no real one.
arm64() {
	GOARCH=arm64 $go build ./... && GOARCH=arm64 $go build -o bin/hemera-arm64 ./cmd/hemera && scripts/arm64-roundtrip.sh
}

# emulated runs packages without processes and clocks of others on arm64: what can differ on another architecture is in them.
emulated() {
	local emulator=(-exec qemu-aarch64-static)
	[ "$(uname -m)" != aarch64 ] || emulator=()
	GOARCH=arm64 $go test "${emulator[@]}" -timeout 20m ./words/... ./rules/... \
		./platform/... ./client/xrootd/... ./tape/device/... ./tape/gc ./tape/label ./tape/mounting ./tape/recallorder ./tape/tapeconfig ./tape/timing \
		./disk ./measure/stats ./measure/result ./measure/report ./measure/reference ./measure/energy/... ./measure/doctor
}

# failures NAME: the lines of its output that name what failed, and what Go's tests said of it.
failures() { grep -nE '^ *(--- FAIL|[a-z_0-9]+_test\.go:[0-9]+:)|^(FAIL|panic:|fatal error:|WARNING: DATA RACE|.*: error: )' "$logs/$1.log" | head -n 20; }

# part NAME: runs it and says how it went, and how many seconds of processors it took; the last word of its line in build/test/results is its exit status.
part() {
	local start=$SECONDS status=0 took
	TIMEFORMAT='%U %S'
	took=$( { time "$PWD/scripts/test.sh" "$1" >"$logs/$1.log" 2>&1; } 2>&1) || status=$?
	took="in $((SECONDS - start)) s, with $(awk '{ printf "%d", $1 + $2 }' <<<"$took") s of processors"
	case $status in
	0) say "$1: passed $took" ;;
	77) say "$1: SKIPPED: $(tail -n 1 "$logs/$1.log")" ;;
	*)
		say "$1: FAILED $took; all of it is in build/test/$1.log"
		{ failures "$1"; echo "..."; tail -n 40 "$logs/$1.log"; } | sed 's/^/   /'
		;;
	esac
	echo "$1 $status" >>"$logs/results"
}

# lane NAME...: those of the parts that were chosen, one after the other.
lane() {
	local name
	for name in "$@"; do
		case " ${PARTS:-$*} " in *" $name "*) part "$name" ;; esac
	done
}

# Lanes side by side: what computes, and what mostly waits for its clients and for the disk.
all() {
	: >"$logs/results"
	lane unit lint &
	lane arm64 clients conformance network crash tape alerts
	wait
	summary
}

# long is what a change need not pass before it lands, and an issue before it ends.
long() {
	: >"$logs/results"
	lane race sim &
	lane emulated fuzz layouts
	wait
	# Alone: they need the machine.
	lane storm tapestorm
	summary
}

# summary names what failed once more: of a long output, often only the end is kept.
summary() {
	local failed passed
	for failed in $(sed -nE '/ (0|77)$/!s/ .*//p' "$logs/results"); do
		say "$failed failed:"
		failures "$failed" | sed 's/^/   /'
	done
	passed=$(grep -c ' 0$' "$logs/results")
	failed=$(grep -cvE ' (0|77)$' "$logs/results")
	echo "$passed passed, $failed failed in $SECONDS s"
	[ "$failed" = 0 ]
}

"$@"
