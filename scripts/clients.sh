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
# outof FILE COMMAND... and into FILE COMMAND...: with the file as its output or input.
outof() { local f=$1; shift; "$@" >"$f"; }
into() { local f=$1; shift; "$@" <"$f"; }
check "xrdcp from stdin" into "$work/in" xrdcp -f - "$host/$dir/stock/pipe"
check "xrdcp to stdout" outof "$work/pipe" xrdcp --nopbar "$host/$dir/stock/pipe" -
check "a pipe in and out is exact" same "$work/in" "$work/pipe"
check "xrdcp --posc, --cksum print, --xrate" xrdcp -f --posc --cksum md5:print --xrate 200m "$work/in" "$host/$dir/stock/posc"
head -c 10000000 "$work/in" >"$work/part"
check "xrdcp --continue of a download" xrdcp --continue "$host/$dir/stock/f" "$work/part"
check "what was continued is exact" same "$work/in" "$work/part"
mkdir -p "$work/tree/sub" "$work/got"
: >"$work/tree/empty"
names=('a b' 'a+b' 'a%20b' 'a#b' 'ünï' 'a&b=c' "it's" '[x]{y}')
for name in "${names[@]}"; do printf '%s\n' "$name" >"$work/tree/sub/$name"; done
check "xrdcp -r --parallel up, with odd names and an empty file" xrdcp -f -r --parallel 4 "$work/tree" "$host/$dir/stock/"
check "xrdcp -r --parallel down" xrdcp -f -r --parallel 4 "$host/$dir/stock/tree" "$work/got/"
check "the tree is exact" diff -r "$work/tree" "$work/got/tree"
python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "w").write(sys.argv[2], "member")' "$work/a.zip" "$work/in"
check "xrdcp of an archive" xrdcp -f "$work/a.zip" "$host/$dir/stock/a.zip"
check "xrdcp --zip takes a member out" xrdcp -f --zip member "$host/$dir/stock/a.zip" "$work/member"
check "the member is exact" same "$work/in" "$work/member"
check "xrdcp --zip-append" xrdcp --zip-append "$work/tree/sub/it's" "$host/$dir/stock/a.zip"
told() { ! xrdcp -f "$host/stock/f" "$work/none" >"$work/err" 2>&1 && grep -q "two slashes" "$work/err"; }
check "a URL with one slash is told so" told
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
assert [p.rsplit("/", 1)[-1] for p in fs.ls(f"{base}/spec", detail=False)] == ["spec"], "a file lists itself"
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
check "uproot: write over root://, add to it, iterate over many files" "$py" - "$host" "$dir/stock" <<'P'
import sys, numpy as np, uproot
host, base = sys.argv[1:3]
for i in range(3):
    with uproot.recreate(f"{host}/{base}/run{i}.root") as f:
        f.mktree("Events", {"pt": "f8"})
        for _ in range(10): f["Events"].extend({"pt": np.arange(5000.0)})
with uproot.update(f"{host}/{base}/run0.root") as f:
    f["More"] = {"x": np.arange(10.0)}
with uproot.open(f"{host}/{base}/run0.root") as f:
    assert f["More"].num_entries == 10 and f["Events"].num_entries == 50000, f.keys()
entries = total = 0
for part in uproot.iterate(f"{host}/{base}/run*.root:Events", ["pt"], step_size=20000, library="np"):
    entries, total = entries + len(part["pt"]), total + part["pt"].sum()
assert (entries, total) == (150000, 30 * np.arange(5000.0).sum()), (entries, total)
P
check "python bindings: asynchronous reads, attributes, copies with progress" "$py" - "$host" "$dir/stock" "$work" <<'P'
import sys, threading
from XRootD import client
from XRootD.client.flags import OpenFlags
from XRootD.client.utils import CopyProgressHandler
host, base, work = sys.argv[1:4]
want = open(f"{work}/in", "rb").read()
done = threading.Semaphore(0); got = {}
with client.File() as f:
    st, _ = f.open(f"{host}/{base}/pipe", OpenFlags.READ); assert st.ok, st
    def at(off):
        def answer(st, data, hosts): got[off] = data if st.ok else st; done.release()
        return answer
    offsets = range(0, len(want), 1000003)
    for off in offsets: assert f.read(off, 5000, callback=at(off)).ok
    for off in offsets: assert done.acquire(timeout=60)
assert all(got[off] == want[off:off + 5000] for off in offsets)
fs = client.FileSystem(host)
st, _ = fs.set_xattr(f"{base}/pipe", [("run", "42")]); assert st.ok, st
st, x = fs.get_xattr(f"{base}/pipe", ["run"]); assert st.ok and x[0][1] == "42", x
class Progress(CopyProgressHandler):
    ended = 0
    def end(self, job, results): self.ended += results["status"].ok
p, shown = client.CopyProcess(), Progress()
p.add_job(f"{host}/{base}/pipe", f"{work}/copied", force=True, checksummode="end2end", checksumtype="adler32")
p.add_job(f"{work}/in", f"{host}/{base}/copied", force=True, posc=True)
st = p.prepare(); assert st.ok, st
st, results = p.run(shown); assert st.ok and shown.ended == 2, results
P
export GFAL_PYTHONBIN=/usr/bin/python3
check "gfal2: copy in" gfal-copy -f "file://$work/in" "$host/$dir/stock/gfal"
check "gfal2: stat" gfal-stat "$host/$dir/stock/gfal"
check "gfal2: ls" gfal-ls -l "$host/$dir/stock"
check "gfal2: sum" gfal-sum "$host/$dir/stock/gfal" ADLER32
check "gfal2: copy out" gfal-copy -f "$host/$dir/stock/gfal" "file://$work/gfal"
check "gfal2 round trip is exact" same "$work/in" "$work/gfal"
check "gfal2: third-party copy with checksum" gfal-copy -f -K ADLER32 "$host/$dir/stock/gfal" "$host/$dir/stock/gfal.tpc"
check "gfal2: mkdir -p" gfal-mkdir -p "$host/$dir/stock/gdir/a/b"
check "gfal2: rename" gfal-rename "$host/$dir/stock/gfal.tpc" "$host/$dir/stock/gdir/a/b/f"
check "gfal2: save" into "$work/tree/sub/a b" gfal-save "$host/$dir/stock/gdir/saved"
check "gfal2: cat" outof "$work/saved" gfal-cat "$host/$dir/stock/gdir/saved"
check "gfal2: saved and shown is exact" same "$work/tree/sub/a b" "$work/saved"
check "gfal2: xattr" gfal-xattr "$host/$dir/stock/gfal" xroot.cksum
check "gfal2: rm -r" gfal-rm -r "$host/$dir/stock"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
