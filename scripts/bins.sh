#!/usr/bin/env bash
# Recycle bins and versions under stock clients: scripts/bins.sh root://host:port//dir
# What a client removes or replaces is in the bin, and what it writes over again and again has versions. bin/hemera sets
# the rules and looks into the bins. Prints a line per client.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
host=$(sed -E 's#(root://[^/]+)/.*#\1#' <<<"$1")
dir=/$(sed -E 's#root://[^/]+/+##; s#/+$##' <<<"$1")
dir=${dir%/}/bins.$$
work=$(mktemp -d)
export GFAL_PYTHONBIN=/usr/bin/python3
hemera() { bin/hemera --url "$host" "$@"; }
end() {
	hemera rm -rF --yes "$dir" >/dev/null 2>&1
	hemera recycle purge -r --yes "$dir" >/dev/null 2>&1
	rm -rf "$work"
}
trap end EXIT
for name in old mid new; do head -c "$((2000000 + RANDOM))" /dev/urandom >"$work/$name"; done
failed=0
check() { # check NAME COMMAND...
	if "${@:2}" >"$work/out" 2>&1; then
		echo "ok    $1"
	else
		failed=$((failed + 1))
		echo "FAIL  $1"
		tail -n 8 "$work/out" | sed 's/^/      /'
	fi
}
put() { timeout 60 xrdcp -f --nopbar "$work/$1" "$host/$2"; }
holds() { timeout 60 xrdcp -f --nopbar "$host/$2" "$work/back" && cmp "$work/$1" "$work/back"; }

# binned COMMAND...: the command, given a file, takes away what it holds. The bin has that once, and gives it back whole.
binned() {
	local file=$dir/bin/$((++number)).root
	put old "$file" && "$@" "$file" || return 1
	hemera recycle ls -m "$file" | tee "$work/list"
	[ "$(wc -l <"$work/list")" = 1 ] && hemera recycle restore "$file" --to "$file.back" && holds old "$file.back"
}
# versioned COMMAND...: the command, given a local file and a remote one, writes the one over the other. Of three contents the last
# is there, and those before are its versions.
versioned() {
	local file=$dir/versions/$((++number)).root content one found
	for content in old mid new; do "$@" "$work/$content" "$file" || return 1; done
	mapfile -t found < <(xrdfs "$host" ls "${file%/*}/.sys.v#.${file##*/}")
	printf '%s\n' "${found[@]}"
	[ "${#found[@]}" = 2 ] && holds new "$file" || return 1
	for content in old mid; do
		for one in "${found[@]}"; do holds "$content" "$one" && continue 2; done
		return 1
	done
}
number=0

# What clients do. PROGRAM has those in Python.
cat >"$work/program" <<'P'
import sys
what, url, path, local = (sys.argv[1:] + [""])[:4]
data = open(local, "rb").read() if local else b""
if what.startswith("fsspec"):
    import fsspec
    fs, _ = fsspec.core.url_to_fs(url + "/" + path)
    if what == "fsspec-rm":
        fs.rm(path)
    else:
        with fs.open(path, "wb") as f: f.write(data)
    sys.exit()
if what == "uproot":
    import numpy as np, uproot
    with uproot.recreate(url + "/" + path) as f: f["Events"] = {"x": np.arange(1000.0)}
    sys.exit()
from XRootD import client
from XRootD.client.flags import OpenFlags
def ok(answer): assert answer[0].ok, answer[0]
if what == "rm":
    ok(client.FileSystem(url).rm(path))
elif what == "mv":
    with client.File() as f:
        ok(f.open(url + "/" + path + ".other", OpenFlags.NEW)); ok(f.write(b"other"))
    ok(client.FileSystem(url).mv(path + ".other", path))
else:
    with client.File() as f:
        ok(f.open(url + "/" + path, OpenFlags.DELETE)); ok(f.write(data)); ok(f.close())
P
python() { timeout 60 build/venv/bin/python "$work/program" "$1" "$host" "${@:2}"; }
with() { python "$1" "$3" "$2"; } # with PROGRAM LOCAL REMOTE
over() { "${@:1:$#-1}" "$work/new" "${*: -1}"; } # over COMMAND... REMOTE: writes a new content
xrdfs_rm() { timeout 60 xrdfs "$host" rm "$1"; }
xrdcp_f() { timeout 60 xrdcp -f --nopbar "$1" "$host/$2"; }
gfal_rm() { timeout 60 gfal-rm "$host/$1"; }
gfal_copy() { timeout 60 gfal-copy -f "file://$1" "$host/$2"; }
hemera_cp() { hemera cp -f "$1" "$host/$2"; }

xrdfs "$host" mkdir -p "$dir/bin" && xrdfs "$host" mkdir "$dir/versions" && hemera attr set sys.recycle=1d "$dir/bin" &&
	hemera attr set sys.versioning=5 "$dir/versions" || exit 1
check "recycle bin: xrdfs rm" binned xrdfs_rm
check "recycle bin: xrdcp -f" binned over xrdcp_f
check "recycle bin: gfal-rm" binned gfal_rm
check "recycle bin: gfal-copy -f" binned over gfal_copy
check "recycle bin: python, rm" binned python rm
check "recycle bin: python, open with DELETE" binned over with write
check "recycle bin: python, mv over a file" binned python mv
check "recycle bin: fsspec, rm" binned python fsspec-rm
check "recycle bin: fsspec, write" binned over with fsspec-write
check "recycle bin: uproot.recreate" binned python uproot
check "versions: xrdcp -f" versioned xrdcp_f
check "versions: gfal-copy -f" versioned gfal_copy
check "versions: python, open with DELETE" versioned with write
check "versions: fsspec, write" versioned with fsspec-write
check "versions: hemera cp -f" versioned hemera_cp
exit $((failed > 0))
