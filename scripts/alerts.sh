#!/usr/bin/env bash
# A lost file raises an alert in a real Prometheus with docs/monitoring/alerts.yml: starts a cluster, scrapes it, loses a file.
# usage: scripts/alerts.sh   needs prometheus and promtool (scripts/setup.sh alerts); without them it ends with 77.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/build/bin:$PATH
for tool in prometheus promtool; do
	command -v $tool >/dev/null || { echo "$tool is not installed: scripts/setup.sh alerts"; exit 77; }
done
rules=$PWD/docs/monitoring/alerts.yml
dir=$(mktemp -d)
pids=()
end() {
	kill "${pids[@]}" 2>/dev/null || true
	wait "${pids[@]}" 2>/dev/null || true
	rm -rf "$dir"
}
trap end EXIT
fail() { echo "error: $*"; tail -n 20 "$dir"/*.log; exit 1; }
# until_true SECONDS COMMAND...: waits until the command succeeds.
until_true() {
	local most=$(($1 * 5))
	shift
	for _ in $(seq "$most"); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.2
	done
	return 1
}

promtool check rules "$rules" >/dev/null || fail "the rules are not right"

exec {held}< <(build/bin/go run ./scripts/freeport 4)
read -r port <&"$held" || exit 1
export HEMERA_URL=root://localhost:$port
bin/hemera up "$dir/up" --port "$port" --nodes 2 --disks 2 --layout plain >"$dir/up.log" 2>&1 &
pids+=($!)
until_true 30 bin/hemera ns stat || fail "the cluster does not start"
prometheus=localhost:$((port + 3))
cat >"$dir/prometheus.yml" <<EOF
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$rules]
scrape_configs:
  - {job_name: hemera, static_configs: [{targets: ["localhost:$port"]}]}
EOF
prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" --web.listen-address="$prometheus" >"$dir/prometheus.log" 2>&1 &
pids+=($!)
# ask QUERY: succeeds if the query has a result.
ask() { [ -n "$(promtool query instant "http://$prometheus" "$1" 2>/dev/null)" ]; }
firing() { ask "ALERTS{alertname=\"$1\",alertstate=\"firing\"}"; }

curl -sf "http://localhost:$port/metrics" >"$dir/metrics" || fail "no metrics"
promtool check metrics <"$dir/metrics" >"$dir/check.log" 2>&1 || fail "promtool does not like the metrics"
head -c 100000 /dev/urandom >"$dir/content"
bin/hemera cp "$dir/content" ":/lost"
until_true 60 ask 'hemera_files_lost == 0' || fail "Prometheus does not see the cluster"
! firing HemeraFilesLost || fail "an alert fires while all is well"

# Its only piece goes with the disk.
disk=$(bin/hemera file info -m /lost | tr ' ' '\n' | sed -n 's/^fsid=//p' | head -n 1)
bin/hemera fs rm "$disk" --force --yes >"$dir/rm.log" 2>&1 || fail "fs rm $disk"
until_true 60 firing HemeraFilesLost || fail "no alert for a lost file: $(bin/hemera status)"
echo "HemeraFilesLost fires"
