#!/usr/bin/env bash
# The arm64 binary under qemu-user: a cluster, a file in and out by the stock xrdcp with two replicas, checksums compared.
# usage: scripts/arm64-roundtrip.sh; needs bin/hemera-arm64, and qemu-aarch64-static unless the machine is arm64.
set -euo pipefail
cd "$(dirname "$0")/.."
emulator=qemu-aarch64-static
[ "$(uname -m)" = aarch64 ] && emulator="env"
dir=$(mktemp -d)
server=
cleanup() {
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
	rm -rf "$dir"
}
trap cleanup EXIT
hemera() { "$emulator" "$PWD/bin/hemera-arm64" "$@"; }

exec {held}< <(build/bin/go run ./scripts/freeport 7)
read -r port <&"$held" || exit 1
export HEMERA_URL=root://localhost:$port XRD_CONNECTIONWINDOW=10
"$emulator" "$PWD/bin/hemera-arm64" up "$dir/cluster" --port "$port" >"$dir/log" 2>&1 &
server=$!
for _ in $(seq 300); do
	hemera ns stat >/dev/null 2>&1 && break
	kill -0 "$server" 2>/dev/null || { server=; echo "the server ended:"; tail -n 30 "$dir/log"; exit 1; }
	sleep 0.1
done

fail() {
	echo "FAILED: $*"
	tail -n 30 "$dir/log"
	exit 1
}
head -c 33554437 /dev/urandom >"$dir/in"
hemera mkdir -p /arm64
xrdcp -f --nopbar --cksum adler32:source "$dir/in" "$HEMERA_URL//arm64/file" || fail "upload"
xrdcp -f --nopbar --cksum adler32:source "$HEMERA_URL//arm64/file" "$dir/out" || fail "download"
cmp "$dir/in" "$dir/out" || fail "the bytes differ"
want=$(xrdadler32 "$dir/in" | cut -d' ' -f1)
got=$(xrdfs "$HEMERA_URL" query checksum /arm64/file)
[ "$got" = "adler32 $want" ] || fail "checksum is $got, adler32 $want was expected"
hemera -m file info /arm64/file >"$dir/info"
grep -q 'nrep=2' "$dir/info" && grep -q 'status=healthy' "$dir/info" || fail "not two healthy replicas: $(cat "$dir/info")"
hemera -m file check /arm64/file >"$dir/check"
[ "$(grep -c 'result=ok' "$dir/check")" = 2 ] || fail "check: $(cat "$dir/check")"
xrdfs "$HEMERA_URL" rm /arm64/file || fail "rm"
kill -TERM "$server"
wait "$server" || fail "the server did not stop cleanly"
server=
echo "arm64: two replicas written, read back, checked and removed"
