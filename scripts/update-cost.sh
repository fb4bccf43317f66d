#!/usr/bin/env bash
# What a small update of a large file costs: 4 KiB in the middle, three times for each layout. It prints milliseconds of open,
# write and close, the CPU time of the cluster, MiB that passed between nodes, and MiB that the cluster read and wrote.
# usage: scripts/update-cost.sh [MIB] [DIR] [LAYOUT...]     default: 1024 MiB below /dev/shm, plain replica:2 rs:4+2
# One process, six nodes with a disk each, in a network of its own, so that nobody else's bytes count (needs root).
# HEMERA names another binary, to compare two builds.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${UPDATE_COST_ALONE:-}" ]; then
	UPDATE_COST_ALONE=1 exec unshare --net -- "$PWD/scripts/update-cost.sh" "$@"
fi
ip link set lo up
mib=${1:-1024} base=${2:-/dev/shm} port=${PORT:-31895}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- plain replica:2 rs:4+2
hemera=$(realpath "${HEMERA:-bin/hemera}")
dir=$(mktemp -d "$base/update-cost.XXXXXX")

"$hemera" up "$dir/data" --port "$port" --nodes 6 --disks 6 --removal-hold 1s --scrub-rate 0 --log-level warn >"$dir/log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
for _ in $(seq 100); do
	"$hemera" --url "unix://$dir/data/admin.sock" fs ls -m >/dev/null 2>&1 && break
	sleep 0.1
done

build/venv/bin/python - "root://127.0.0.1:$port" "$server" "$((mib << 20))" "$@" <<'PY'
import os, sys, time
from XRootD import client
from XRootD.client.flags import OpenFlags

url, pid, size, layouts = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
tick = os.sysconf('SC_CLK_TCK')

def must(answer):
    assert answer[0].ok, answer[0]

def counts():
    io = dict(line.split(': ') for line in open(f'/proc/{pid}/io'))
    cpu = sum(int(n) for n in open(f'/proc/{pid}/stat').read().split()[13:15]) / tick
    lo = next(int(line.split()[1]) for line in open('/proc/net/dev') if line.strip().startswith('lo:'))
    return cpu, lo / 2**20, int(io['rchar']) / 2**20, int(io['wchar']) / 2**20

for layout in layouts:
    path, block = f'{url}//{layout.replace(":", "")}', os.urandom(8 << 20)
    f = client.File()
    must(f.open(f'{path}?hem.layout={layout}', OpenFlags.NEW, 0o644))
    for off in range(0, size, len(block)):
        must(f.write(block[:size - off], off))
    must(f.close())
    for i in range(3):
        before, f, times = counts(), client.File(), [time.time()]
        for step in (lambda: f.open(path, OpenFlags.UPDATE), lambda: f.write(os.urandom(4096), (size // 3) // 4096 * 4096 + 8192 * i), f.close):
            must(step())
            times.append(time.time())
        ms = [1000 * (b - a) for a, b in zip(times, times[1:])]
        cpu, lo, read, written = (b - a for a, b in zip(before, counts()))
        print(f'{layout:10} open {ms[0]:7.1f}  write {ms[1]:7.1f}  close {ms[2]:7.1f} ms   cpu {cpu:5.2f} s   '
              f'between nodes {lo:8.2f}   read {read:8.2f}   written {written:8.2f} MiB', flush=True)
PY
