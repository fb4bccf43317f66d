#!/usr/bin/env python3
"""A storm on real processes: files go to tape and back by ten stock clients at once, while drives fail and the cluster is killed.

scripts/tape-storm.py [--files 2000] [--seed N] [--kills 4], for a built bin/hemera. Needs xrdcp and xrdfs.
It ends with 0 if every file came back byte for byte, has its copy on tape, and the check of the namespace is clean.
Drives that faults put down are put up again, and requests that failed are tried again, as an operator would: both are counted.
"""
import argparse, collections, concurrent.futures, hashlib, json, os, pathlib, random, re, shutil, signal, subprocess, sys, tempfile, threading, time

PATIENCE = 600  # seconds for each stage
os.environ["XRD_CONNECTIONWINDOW"] = "5"  # clients wait so long before they connect again
FAULTS = [("read", "medium"), ("write", "medium"), ("flush", "medium"), ("write", "power"), ("load", "hardware"), ("unload", "hardware"),
          ("locate", "hardware"), ("write", "corrupt"), ("read", "corrupt"), ("move", "hardware"), ("mark", "hardware"), ("load", "not-ready")]


def run(*command, timeout=120):
    """The output of a command, or None if it failed: the cluster may be dead just now."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


class Cluster:
    """A `hemera up` whose process is killed and started."""

    def __init__(self, hemera, directory, port):
        self.hemera, self.directory, self.host = hemera, directory, f"localhost:{port}"
        self.command = [hemera, "up", directory, "--tape", "--tape-speed", "0", "--port", str(port)]
        self.log = open(f"{directory}.log", "ab")
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        end = time.time() + 60
        while self.admin("ns", "stat") is None:
            if self.process.poll() is not None or time.time() > end:
                raise SystemExit(f"the cluster did not start: see {self.directory}.log")
            time.sleep(0.2)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.start()

    def admin(self, *words):
        return run(self.hemera, "--url", f"root://{self.host}", *words)

    def rows(self, *words):
        return json.loads(self.admin(*words, "-j") or '{"result": []}')["result"] or []

    def xrdfs(self, *words):
        return run("xrdfs", self.host, *words)


class Chaos(threading.Thread):
    """Faults of drives and kills until it is stopped; then nothing fails any more."""

    def __init__(self, cluster, rng, kills):
        super().__init__(daemon=True)
        self.cluster, self.rng, self.kills_left = cluster, rng, kills
        self.counts, self.over = collections.Counter(), threading.Event()
        self.plan = pathlib.Path(cluster.directory, "tape", "faults.json")

    def run(self):
        turn = 0
        while not self.over.wait(2):
            turn += 1
            op, fail = self.rng.choice(FAULTS)
            self.write([{"op": op, "fail": fail, "drive": f"emu{self.rng.randrange(2)}", "after": self.rng.randrange(20), "count": 1}])
            self.counts["plans of faults"] += 1
            if turn % 3 == 0 and self.kills_left > 0:
                self.kills_left -= 1
                self.cluster.kill()
                self.counts["kills"] += 1
            self.operate()

    def operate(self):
        """What a person does: drives that are down are put up, requests that failed are tried again."""
        for drive in self.cluster.rows("tape", "drive", "ls"):
            if "DOWN" in json.dumps(drive).upper():
                name = drive.get("driveName") or drive.get("drive") or drive.get("name")
                if name and self.cluster.admin("tape", "drive", "up", name) is not None:
                    self.counts["drives put up"] += 1
        failed = self.cluster.rows("tape", "request", "ls", "--failed")
        if failed:
            self.counts["requests that failed"] += len(failed)
            self.cluster.admin("tape", "request", "retry")

    def write(self, faults):
        part = self.plan.with_suffix(".part")
        part.write_text(json.dumps({"faults": faults}))
        part.replace(self.plan)

    def stop(self):
        self.over.set()
        self.join()
        self.write([])
        self.operate()


def until(what, cluster, ask):
    """Waits until ask answers nothing; what it answers is what is missing."""
    end = time.time() + PATIENCE
    while (missing := ask()) != 0:
        if time.time() > end:
            print(cluster.admin("tape", "status"), cluster.admin("tape", "request", "ls"), cluster.admin("tape", "drive", "ls"), sep="\n")
            raise SystemExit(f"FAIL  not in {PATIENCE} s: {what}; missing: {missing}")
        time.sleep(1)


def without(cluster, total, pattern):
    """How many files `ls -y` does not show with the pattern."""
    return total - len(re.findall(pattern, cluster.admin("ls", "-y", "/storm") or "", re.M))


def write(cluster, base, files, rng):
    """Makes the files, copies them in, and returns their sums."""
    tree, sums = pathlib.Path(base, "in"), {}
    tree.mkdir()
    for i in range(files):
        data = rng.randbytes(int(20e6 ** rng.random()))
        (tree / f"f{i}").write_bytes(data)
        sums[f"f{i}"] = hashlib.sha256(data).hexdigest()
    subprocess.run(["xrdcp", "-r", "-f", "--nopbar", "--parallel", "4", *map(str, sorted(tree.iterdir())), f"root://{cluster.host}//storm/"], check=True)
    size = sum(f.stat().st_size for f in tree.iterdir())
    shutil.rmtree(tree)
    return sums, size


def recall(cluster, base, batch, sums):
    """One client: asks for a batch, waits, copies it out, compares. Returns what is wrong."""
    paths, wrong, end = [f"/storm/{n}" for n in batch], [], time.time() + PATIENCE
    while time.time() < end:
        request = (cluster.xrdfs("prepare", "-s", *paths) or "").strip()
        answer = request and cluster.xrdfs("query", "prepare", request, *paths)
        if answer and all(r["online"] for r in json.loads(answer)["responses"]):
            break
        time.sleep(2)
    for name in batch:
        out = os.path.join(base, f"out-{name}")
        while run("xrdcp", "-f", "--nopbar", f"root://{cluster.host}//storm/{name}", out, timeout=300) is None and time.time() < end:
            time.sleep(1)
        if not os.path.exists(out):
            wrong.append(f"{name} did not come back")
        elif hashlib.sha256(pathlib.Path(out).read_bytes()).hexdigest() != sums[name]:
            wrong.append(f"{name} came back with other bytes")
        pathlib.Path(out).unlink(missing_ok=True)
    return wrong


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--files", type=int, default=2000)
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--kills", type=int, default=4, help="half of them while files are archived")
    p.add_argument("--port", type=int, default=31094)
    p.add_argument("--hemera", default="bin/hemera")
    p.add_argument("--keep", action="store_true", help="keep the directory of the cluster")
    a = p.parse_args()
    if not shutil.which("xrdcp"):
        print("xrdcp is missing: scripts/setup.sh clients")
        sys.exit(77)
    print(f"seed {a.seed}, {a.files} files", flush=True)
    rng, base = random.Random(a.seed), tempfile.mkdtemp(prefix="tape-storm-")
    cluster = Cluster(a.hemera, os.path.join(base, "up"), a.port)
    try:
        wrong = storm(cluster, base, a, rng)
    finally:
        cluster.process.terminate()
        cluster.process.wait()
        if a.keep:
            print("kept:", base)
        else:
            shutil.rmtree(base)
    for line in wrong:
        print("FAIL ", line)
    sys.exit(bool(wrong))


def storm(cluster, base, a, rng):
    """The stages; returns what is wrong."""
    cluster.admin("mkdir", "/storm")
    cluster.admin("attr", "set", "sys.archive.storage_class=default", "/storm")
    begun = time.time()
    sums, size = write(cluster, base, a.files, rng)
    chaos = Chaos(cluster, rng, a.kills // 2)
    chaos.start()
    until("every file has its copy on tape", cluster, lambda: without(cluster, a.files, r"^d\d+::t1 "))
    took = time.time() - begun
    print(f"archived {a.files} files, {size / 1e6:.0f} MB, in {took:.0f} s: {a.files / took:.1f} files/s", flush=True)

    def evicted():
        names = sorted(sums)
        for i in range(0, len(names), 50):
            cluster.xrdfs("prepare", "-e", *(f"/storm/{n}" for n in names[i:i + 50]))
        return without(cluster, a.files, r"^d0::t1 ")
    until("every file is on tape only", cluster, evicted)
    chaos.kills_left += a.kills - a.kills // 2
    names, begun = list(sums), time.time()
    rng.shuffle(names)
    batches = [names[i:i + 20] for i in range(0, len(names), 20)]
    with concurrent.futures.ThreadPoolExecutor(10) as clients:
        wrong = sum(clients.map(lambda b: recall(cluster, base, b, sums), batches), [])
    took = time.time() - begun
    print(f"recalled {a.files} files by ten clients in {took:.0f} s: {a.files / took:.1f} files/s", flush=True)
    chaos.stop()
    print(", ".join(f"{n} {what}" for what, n in sorted(chaos.counts.items())), flush=True)
    until("no request waits or has failed", cluster,
          lambda: len(cluster.rows("tape", "request", "ls")) + len(cluster.rows("tape", "request", "ls", "--failed")))
    if missing := without(cluster, a.files, r"^d\d+::t1 "):
        wrong.append(f"{missing} files do not have their copy on tape")
    check = cluster.rows("ns", "check")
    if not check or not check[0]["healthy"]:
        wrong.append(f"ns check: {check}")
    return wrong


main()
