#!/usr/bin/env bash
# Types the README's five minutes word by word, RUNS times (3): disks are chosen by chance, so each run has another placement. It needs root: the
# tour takes its usual ports and /tmp/demo in network and mount namespaces of its own. Each run takes about a minute and 2 GB below TMPDIR.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${README_INSIDE:-}" ]; then
	for run in $(seq "${RUNS:-3}"); do
		work=$(mktemp -d)
		echo "== run $run"
		status=0
		README_INSIDE=$work unshare --net --mount --pid --fork --kill-child "$0" || status=$?
		rm -rf "$work"
		[ $status = 0 ] || exit $status
	done
	exit
fi
ip link set lo up
here=$PWD
export PATH=$here/bin:$here/build/venv/bin:$PATH
mount --bind "$README_INSIDE" /tmp
mkdir /tmp/work && cd /tmp/work
python3 - "$here/README.md" >script <<'PYTHON'
import re, sys
text = open(sys.argv[1]).read()
tour = text[text.index("## Five minutes"):text.index("## What is not there")]
print("set -eu")
for language, block in re.findall(r"```(\w*)\n(.*?)```", tour, re.S):
    if language == "python":
        print("python3 - <<'END'\n" + block + "END")
        continue
    for line in block.splitlines():
        if not line.startswith("$ ") or line.startswith("$ make "):
            continue
        command = line[2:]
        print("echo " + "'$ " + command.replace("'", "'\\''") + "'")
        if command.startswith("hemera up "):
            # The reader stops the cluster before starting it again, and types the rest at another terminal.
            print("if [ -n \"${server:-}\" ]; then kill $server; wait $server || true; fi")
            print(command + " >/tmp/work/log 2>&1 & server=$!")
            print("until hemera ns stat >/dev/null 2>&1; do kill -0 $server; sleep 0.2; done")
            continue
        # What the README shows as identical or as well must come out so.
        print(command)
print("kill $server; wait $server || true")
PYTHON
bash script 2>&1 | tee out
[ "$(grep -c '^identical$' out)" = 3 ] || { echo "not all copies were identical"; exit 1; }
grep -q '^ *disks *6, 6 readable' out && grep -q 'everything agrees' out || { echo "the cluster did not become well"; exit 1; }
grep -q '^drain of disk .* done' out && grep -q '^repair of disk .* done' out || { echo "a job was not shown to its end"; exit 1; }
