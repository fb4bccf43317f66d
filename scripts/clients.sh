#!/usr/bin/env bash
# Stock clients against a running Hemera: scripts/clients.sh root://host:port//dir
# xrdcp and xrdfs, the Python bindings, fsspec-xrootd, uproot with a ROOT file, gfal2. Prints a line per client.
set -euo pipefail
cd "$(dirname "$0")/.."
url=$1
host=$(sed -E 's#(root://[^/]+)/.*#\1#' <<<"$url")
dir=/${url#"$host"/}
dir=/${dir##/}
dir=/${dir##/}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
check() { # check NAME COMMAND...
	local name=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		passed=$((passed + 1))
		printf 'ok    %s\n' "$name"
	else
		failed=$((failed + 1))
		printf 'FAIL  %s\n' "$name"
		sed 's/^/      /' "$work/out" | tail -n 15
	fi
}
same() { cmp "$1" "$2"; }

head -c 33554437 /dev/urandom >"$work/in"
xrdfs "$host" mkdir -p "$dir/stock"
check "xrdcp upload" xrdcp -f "$work/in" "$host/$dir/stock/f"
check "xrdcp download" xrdcp -f "$host/$dir/stock/f" "$work/back"
check "xrdcp round trip is exact" same "$work/in" "$work/back"
check "xrdcp --cksum adler32:source download" xrdcp -f --cksum adler32:source "$host/$dir/stock/f" "$work/back"
check "xrdcp four streams" xrdcp -f -S 4 "$host/$dir/stock/f" "$work/back4"
check "four streams are exact" same "$work/in" "$work/back4"
check "xrdcp third-party copy" xrdcp -f --tpc only "$host/$dir/stock/f" "$host/$dir/stock/tpc"
check "xrdfs stat" xrdfs "$host" stat "$dir/stock/f"
check "xrdfs ls -l" xrdfs "$host" ls -l "$dir/stock"
check "xrdfs query checksum" xrdfs "$host" query checksum "$dir/stock/f"
check "xrdfs mv" xrdfs "$host" mv "$dir/stock/f" "$dir/stock/g"
check "xrdfs locate" xrdfs "$host" locate "$dir/stock/g"

py=build/venv/bin/python
check "python bindings: copy, stat, vector read" "$py" - "$host" "$dir/stock" <<'P'
import sys
from XRootD import client
from XRootD.client.flags import OpenFlags
host, base = sys.argv[1], sys.argv[2]
data = bytes(range(256)) * 4096
with client.File() as f:
    st, _ = f.open(f"{host}/{base}/py", OpenFlags.DELETE)
    assert st.ok, st
    st, _ = f.write(data); assert st.ok, st
with client.File() as f:
    st, _ = f.open(f"{host}/{base}/py", OpenFlags.READ); assert st.ok, st
    st, got = f.read(); assert st.ok and got == data, st
    st, v = f.vector_read([(0, 10), (100000, 1000)]); assert st.ok, st
    assert v.chunks[1].buffer == data[100000:101000]
st, info = client.FileSystem(host).stat(f"{base}/py"); assert st.ok and info.size == len(data), st
P
check "fsspec-xrootd: write, list, read, rm" "$py" - "$host" "$dir/stock" <<'P'
import sys, fsspec
host, base = sys.argv[1], sys.argv[2]
fs, _ = fsspec.core.url_to_fs(f"{host}/{base}")
with fs.open(f"{base}/spec", "wb") as f: f.write(b"x" * 3000000)
assert fs.size(f"{base}/spec") == 3000000
assert any(p.endswith("spec") for p in fs.ls(base, detail=False)), fs.ls(base, detail=False)
with fs.open(f"{base}/spec", "rb") as f:
    f.seek(2999990); assert f.read() == b"x" * 10
fs.mkdirs(f"{base}/tree/a", exist_ok=True); fs.rm(f"{base}/tree", recursive=True)
fs.invalidate_cache()
assert not fs.exists(f"{base}/tree")
P
check "uproot: write a ROOT file, copy it in, read it over root://" "$py" - "$host" "$dir/stock" "$work" <<'P'
import subprocess, sys, numpy as np, uproot
host, base, work = sys.argv[1:4]
rng = np.random.default_rng(1)
pt = rng.exponential(30, 200000)
with uproot.recreate(f"{work}/events.root") as f:
    f["Events"] = {"pt": pt, "n": np.arange(len(pt))}
subprocess.run(["xrdcp", "-f", f"{work}/events.root", f"{host}/{base}/events.root"], check=True)
with uproot.open(f"{host}/{base}/events.root") as f:
    t = f["Events"]
    assert t.num_entries == len(pt)
    assert (t["pt"].array(library="np") == pt).all()
    assert t["n"].array(library="np", entry_start=100000, entry_stop=100010).tolist() == list(range(100000, 100010))
P
export GFAL_PYTHONBIN=/usr/bin/python3
check "gfal2: copy in" gfal-copy -f "file://$work/in" "$host/$dir/stock/gfal"
check "gfal2: stat" gfal-stat "$host/$dir/stock/gfal"
check "gfal2: ls" gfal-ls -l "$host/$dir/stock"
check "gfal2: sum" gfal-sum "$host/$dir/stock/gfal" ADLER32
check "gfal2: copy out" gfal-copy -f "$host/$dir/stock/gfal" "file://$work/gfal"
check "gfal2 round trip is exact" same "$work/in" "$work/gfal"
check "gfal2: rm -r" gfal-rm -r "$host/$dir/stock"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
