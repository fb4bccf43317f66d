#!/usr/bin/env bash
# Runs one part of the tests, or all. usage: scripts/test.sh all|lint|unit|fuzz|sim|conformance|clients|crash|arm64
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/build/bin:$PATH
go=build/bin/go
logs=build/test
mkdir -p "$logs"
shared=${HEMERA_CONFORMANCE:-../shared/conformance/run.py}

say() { printf '== %s\n' "$*"; }

lint() {
	local unformatted
	unformatted=$(gofmt -l $(git ls-files '*.go'))
	[ -z "$unformatted" ] || { echo "not gofmt-ed: $unformatted"; return 1; }
	$go vet ./... && $go test -count=1 ./internal/lint/ && build/bin/golangci-lint run ./...
}

unit() { CGO_ENABLED=1 $go test -race -timeout 15m ./...; }

fuzz() {
	local package target
	for package in $($go list ./...); do
		for target in $($go test -list '^Fuzz' "$package" 2>/dev/null | grep '^Fuzz'); do
			$go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-3s}" "$package" || return 1
		done
	done
}

sim() { HEMERA_SIM_SEEDS=${SEEDS:-2000} $go test -count=1 -timeout 30m ./sim/; }

# with_up COMMAND...: runs it with URL naming a fresh `hemera up` on a free port, and stops that.
with_up() {
	local dir port pid status=0
	dir=$(mktemp -d)
	port=$($go run ./scripts/freeport 7)
	bin/hemera up "$dir" --port "$port" >"$logs/up-$port.log" 2>&1 &
	pid=$!
	for _ in $(seq 100); do
		bin/hemera --url "root://localhost:$port" ns stat >/dev/null 2>&1 && break
		kill -0 "$pid" 2>/dev/null || { cat "$logs/up-$port.log"; return 1; }
		sleep 0.1
	done
	URL=root://localhost:$port "$@" || status=$?
	kill "$pid" && wait "$pid"
	rm -rf "$dir"
	return $status
}

run_suite() {
	XRDPY=build/venv/bin/python python3 "$shared" "$URL//" $(sed -E 's/#.*//; /^\s*$/d; s/^\s*(\S+).*/--skip ^\1$/' scripts/conformance-skips) \
		--big 64 --entries 2000 "$@"
}

conformance() {
	local status=0
	[ -e "$shared" ] || { echo "no conformance suite at $shared; set HEMERA_CONFORMANCE"; return 1; }
	say "conformance: hemera up"
	with_up run_suite || status=1
	say "conformance: a manager and three nodes in network namespaces"
	export -f run_suite
	export shared
	scripts/netcluster.sh bash -c run_suite || status=1
	return $status
}

clients() { with_up bash -c 'scripts/clients.sh "$URL//"'; }

crash() { $go test -count=1 -timeout 10m ./conform/crash/ -args -hemera "$PWD/bin/hemera"; }

arm64() {
	GOARCH=arm64 $go vet ./... && GOARCH=arm64 $go test -exec qemu-aarch64-static -timeout 30m \
		. ./errs ./checksum ./wire ./capability ./layout ./place ./access ./kv/... ./disk ./vfs &&
		GOARCH=arm64 $go build -trimpath -o bin/hemera-arm64 ./cmd/hemera && scripts/arm64-roundtrip.sh
}

# part NAME: runs it, keeps its output in a file, and says how it went.
part() {
	local start=$SECONDS
	if "$1" >"$logs/$1.log" 2>&1; then
		say "$1: passed in $((SECONDS - start)) s"
	else
		say "$1: FAILED after $((SECONDS - start)) s; the end of $logs/$1.log:"
		tail -n 60 "$logs/$1.log"
		return 1
	fi
}

all() {
	local name passed=0 failed=0
	for name in ${PARTS:-lint unit sim fuzz clients conformance crash arm64}; do
		if part "$name"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
	done
	echo "$passed passed, $failed failed"
	[ $failed = 0 ]
}

"$@"
