#!/usr/bin/env bash
# Third-party copies between a running Hemera and a stock server that this starts: scripts/stocktpc.sh root://host:port//dir
# Ends with 77 where no stock server is installed, or the Hemera is on another machine. Prints a line per copy.
set -euo pipefail
cd "$(dirname "$0")/.."
url=${1%/}
host=${url#root://}
host=${host%%/*}
case $host in localhost:* | 127.*) ;; *) echo "$host is another machine: left out"; exit 77 ;; esac
command -v xrootd >/dev/null || { echo "no xrootd: left out"; exit 77; }
work=$(mktemp -d)
mkdir "$work/tree" "$work/admin"
chmod 755 "$work"
as=()
if [ "$(id -u)" = 0 ]; then # which the stock server refuses to be
	chown nobody "$work/tree" "$work/admin"
	as=(setpriv --reuid nobody --regid nogroup --clear-groups)
fi
exec {held}< <(build/bin/go run ./scripts/freeport 1)
read -r port <&"$held"
cat >"$work/cfg" <<C
all.export /
oss.localroot $work/tree
all.adminpath $work/admin
all.pidpath $work/admin
xrd.port $port
xrd.network nodnr
ofs.tpc pgm $(command -v xrdcp) --server
C
"${as[@]}" xrootd -c "$work/cfg" -n stock -l - >"$work/log" 2>&1 &
server=$!
at=stocktpc.$$
# shellcheck disable=SC2329 # the trap calls it
end() {
	kill $server 2>/dev/null || true
	wait $server 2>/dev/null || true
	xrdfs "root://$host" rm "/${url#root://*/}/$at" >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap end EXIT
stock=root://localhost:$port/
# A stock client that is refused tries for two minutes, so the first one comes when the server listens.
for _ in $(seq 100); do (: <>"/dev/tcp/localhost/$port") 2>/dev/null && break; sleep 0.1; done
head -c 20000000 /dev/urandom >"$work/in"
failed=0
check() { # check NAME COMMAND...
	if "${@:2}" >"$work/out" 2>&1; then
		echo "ok    third-party copy: $1"
	else
		failed=$((failed + 1))
		echo "FAIL  third-party copy: $1"
		tail -n 5 "$work/out" | sed 's/^/      /'
	fi
}
# copies FROM TO ARGUMENTS...: the copy is what is at the source.
copies() {
	timeout 60 xrdcp -f --nopbar --tpc "${@:3}" "$1" "$2" && timeout 60 xrdcp -f --nopbar "$2" "$work/back" && cmp "$work/back" "$work/in"
}
# refuses FROM TO: the copy fails, and what was at the destination stays.
refuses() {
	! timeout 60 xrdcp -f --nopbar --tpc only "$1" "$2" && timeout 60 xrdcp -f --nopbar "$2" "$work/back" && cmp "$work/back" "$work/in"
}
xrdcp -f --nopbar "$work/in" "$url/$at"
xrdcp -f --nopbar "$work/in" "$stock/from"
for mode in first only "delegate only"; do
	# shellcheck disable=SC2086 # two words
	check "$mode, from stock" copies "$stock/from" "$url/$at" $mode
	# shellcheck disable=SC2086
	check "$mode, to stock" copies "$url/$at" "$stock/to" $mode
done
check "from stock, of a file that is not there" refuses "$stock/none" "$url/$at"
(umask 077 && echo secret >"$work/tree/closed" && chmod 000 "$work/tree/closed")
check "from stock, of a file that its server may not read" refuses "$stock/closed" "$url/$at"
check "to stock, of a file that is not there" bash -c '! timeout 60 xrdcp -f --nopbar --tpc only "$1" "$2"' - "$url/$at.none" "$stock/none"
exit $((failed > 0))
