#!/usr/bin/env python3
"""A storm on real processes: ten users' files go to tape and back while drives fail and processes are killed.

scripts/tape-storm.py [--files 2000] [--seed N], for a built bin/hemera. It starts a manager, two nodes and a tape server with four emulated drives,
and ten clients over XRootD's Python client; as root each of them is another user. Three stages: write, with the archive behind it; evict; recall.

- Faults are planned for what drives do at the moment. What they hit is in faults.log of the library, and counted from there.
- Processes are killed with -9 one by one and started again at once, as the work proceeds: tape server, manager, nodes.
- Drives that are down are put up, tapes that were put aside are used again, requests that failed are tried again, as an operator would do.

It ends with 0 if every file came back byte for byte and has its copy on tape, nothing waits, the check of the namespace is clean, and enough was hit.
"""
import argparse, collections, json, os, pathlib, pwd, random, re, shutil, signal, subprocess, sys, tempfile, threading, time

from tapecluster import Cluster, run

HERE = pathlib.Path(__file__).resolve().parent
USERS = ["daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp"]  # that every Debian has
# Faults by what drives do: the operations that come, and what goes wrong with them.
FAULTS = {
    "archive": [("write", "medium"), ("write", "hardware"), ("write", "power"), ("write", "corrupt"), ("mark", "hardware"), ("flush", "medium"),
                ("flush", "power")],
    "recall": [("read", "medium"), ("read", "hardware"), ("read", "corrupt"), ("locate", "hardware"), ("locate", "medium")],
    "mount": [("load", "hardware"), ("load", "not-ready"), ("unload", "hardware"), ("move", "hardware")],
}


class Clients:
    """Ten users that do the same at once. A client that crashes, as XRootD's now and then does when servers die, does all of its part again."""

    def __init__(self, cluster, verb, a):
        self.cluster, self.verb, self.a = cluster, verb, a
        self.by_user, self.crashes, self.wrong, self.over = [collections.Counter() for _ in USERS], 0, [], False
        self.lock, self.processes = threading.Lock(), {}
        self.running = [threading.Thread(target=self.follow, args=(n,), daemon=True) for n in range(len(USERS))]
        for t in self.running:
            t.start()

    def start(self, n):
        who = pwd.getpwnam(USERS[n])
        spec = {"host": self.cluster.host, "seed": self.a.seed, "user": n, "users": len(USERS), "files": self.a.files, "patience": self.a.patience}
        spec["threads"] = 4
        if os.geteuid() == 0:
            spec["ids"] = [who.pw_uid, who.pw_gid]
        environment = {**os.environ, "XRD_CONNECTIONWINDOW": "5", "XRD_REQUESTTIMEOUT": "60", "HOME": "/"}
        command = [self.a.python, str(HERE / "tape-storm-client.py"), self.verb, json.dumps(spec)]
        self.processes[n] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        return self.processes[n]

    def follow(self, n):
        """Counts what a user says, until it has ended for good."""
        for _ in range(5):
            p = self.start(n)
            for line in p.stdout:
                said = json.loads(line)
                with self.lock:
                    if "wrong" in said:
                        self.wrong.append(f"user {USERS[n]}: {said['wrong']}")
                    else:
                        self.by_user[n].update(said)
            if p.wait() >= 0 or self.over:
                break
            with self.lock:
                self.crashes += 1
                self.by_user[n].clear()
        if p.returncode != 0:
            with self.lock:
                self.wrong.append(f"user {USERS[n]} ended with {p.returncode}")

    @property
    def counts(self):
        with self.lock:
            return sum(self.by_user, collections.Counter())

    def done(self):
        return self.counts["done"]

    def wait(self):
        for t in self.running:
            t.join()

    def kill(self):
        self.over = True
        for p in self.processes.values():
            if p.poll() is None:
                p.kill()


class Chaos(threading.Thread):
    """Faults that fit what drives do, and kills as the work proceeds, until it is stopped; then nothing fails any more."""

    def __init__(self, cluster, rng, files):
        super().__init__(daemon=True)
        self.cluster, self.rng = cluster, rng
        # A session that is cut short does its work again, up to twenty thousand files: faults that come faster than sessions flush leave nothing done.
        self.pace = min(12, max(2, files / 4000))
        self.counts, self.over, self.lock = collections.Counter(), threading.Event(), threading.Lock()
        self.stage, self.progress, self.victims, self.planned = "", lambda: 0, [], (0, 0.0)

    def begin(self, stage, progress, victims):
        """A stage with its kills, which are spread over its progress from 0 to 1."""
        with self.lock:
            self.stage, self.progress = stage, progress
            self.victims = [((k + 0.5) / len(victims), v) for k, v in enumerate(victims)]

    def run(self):
        while not self.over.wait(0.3):
            with self.lock:
                self.plan()
                if self.victims and self.progress() >= self.victims[0][0]:
                    self.kill(self.victims.pop(0)[1])
                self.operate(self.cluster.drives())

    def kill(self, victim):
        """Kills a process in the middle of work: a tape server when one of its drives transfers, if one does soon."""
        end = time.monotonic() + 15
        while True:
            work = {d["mountType"] for d in self.cluster.drives() if d["driveStatus"] == "TRANSFERRING"} - {"NO_MOUNT"}
            if work or victim != "tape" or time.monotonic() > end:
                break
        self.cluster.kill(victim)
        does = sorted({"archive" if w.startswith("ARCHIVE") else "recall" for w in work}) or ["idle drives"]
        self.counts[f"kill of {victim} ({self.stage}, {' and '.join(does)})"] += 1

    def plan(self):
        """A new plan when the last one has hit, or did not within some seconds: what comes next at the stage, after some operations."""
        hits, now = sum(self.cluster.hits().values()), time.monotonic()
        since = now - self.planned[1]
        # The last files have the time that retries take, which grows to minutes.
        if self.stage not in FAULTS or self.progress() > 0.9 or since < (self.pace if hits > self.planned[0] else max(6, self.pace)):
            return
        self.planned = (hits, now)
        # Mounts fail less often than transfers: a drive rests for seconds afterwards.
        faults = [self.rng.choice(FAULTS["mount" if self.rng.random() < 0.15 else self.stage]) for _ in range(2)]
        self.cluster.plan([{"op": op, "fail": fail, "after": int(60 ** self.rng.random()) - 1, "count": 1} for op, fail in faults])
        self.counts["plans of faults"] += 1

    def operate(self, drives):
        """What a person does: drives up, tapes back in use, requests again."""
        for d in drives:
            if d["driveStatus"] == "DOWN" and self.cluster.admin("tape", "drive", "up", d["driveName"]) is not None:
                self.counts["drives put up"] += 1
        for t in self.cluster.rows("tape", "tape", "ls"):
            if t["state"] == "DISABLED":
                self.cluster.admin("tape", "tape", "set", t["vid"], "state=ACTIVE")
                self.counts["tapes used again"] += 1
        failed = self.cluster.rows("tape", "request", "ls", "--failed")
        if failed:
            self.counts["requests that failed"] += len(failed)
            self.cluster.admin("tape", "request", "retry")

    def rest(self):
        """No kills or faults from now on, but the operator goes on."""
        self.begin("", lambda: 0, [])
        with self.lock:
            self.cluster.plan([])

    def stop(self):
        self.over.set()
        self.join()
        self.cluster.plan([])


class Storm:
    """The stages on one cluster."""

    def __init__(self, cluster, chaos, a):
        self.cluster, self.chaos, self.a = cluster, chaos, a
        self.wrong, self.lines = [], []

    def say(self, text):
        print(text, flush=True)

    def archived(self):
        return sum(int(t["nbMasterFiles"]) for t in self.cluster.rows("tape", "tape", "ls"))

    def until(self, what, missing):
        end = time.monotonic() + self.a.patience
        while (left := missing()) != 0:
            if time.monotonic() > end:
                print(*(self.cluster.admin("tape", *w) for w in (["status"], ["queue", "ls"], ["request", "ls"], ["drive", "ls"])), sep="\n")
                raise SystemExit(f"FAIL  not in {self.a.patience} s: {what}; missing: {left}")
            time.sleep(1)

    def without(self, pattern):
        """How many files `ls -y` does not show with the pattern."""
        found = 0
        for u in range(len(USERS)):
            for d in range((self.a.files // len(USERS) + 999) // 1000):
                found += len(re.findall(pattern, self.cluster.admin("ls", "-y", f"/storm/u{u}/d{d}") or "", re.M))
        return self.a.files - found

    def clients(self, verb, stage="", victims=()):
        """Has ten users do the same; their kills are spread over what they do."""
        begun = told = time.monotonic()
        c = Clients(self.cluster, verb, self.a)
        try:
            self.chaos.begin(stage, lambda: c.done() / self.a.files, list(victims))
            while any(t.is_alive() for t in c.running):
                time.sleep(0.2)
                if time.monotonic() - told > 30:
                    told = time.monotonic()
                    self.say(f"  {verb}: {c.done()} files after {told - begun:.0f} s")
        finally:
            c.kill()
        c.wait()
        self.wrong += c.wrong
        if c.crashes:
            self.say(f"  {verb}: {c.crashes} clients crashed and began again")
        if c.done() < self.a.files:
            self.wrong.append(f"{verb}: {c.done()} of {self.a.files} files")
        return c, time.monotonic() - begun

    def run(self):
        files, begun = self.a.files, time.monotonic()
        # Few files give time for few kills.
        rounds = 1 if files < 5000 else 2 if files < 50000 else 4
        c, took = self.clients("write", "archive", ["tape", "node1", "manager", "tape"] * rounds)
        self.say(f"wrote {files} files, {c.counts['bytes'] / 1e6:.0f} MB, in {took:.0f} s: {files / took:.1f} files/s; {c.counts['again']} calls again")
        written, at = self.archived(), time.monotonic()
        self.chaos.begin("archive", lambda: max(0, self.archived() - written) / max(1, files - written), ["tape", "manager", "node2"] * rounds)
        self.until("every file has its copy on tape", lambda: max(0, files - self.archived()))
        self.until("every file has its copy in its entry", lambda: self.without(r"^d\d+::t1 "))
        took = time.monotonic() - begun
        self.say(f"archived {files} files in {took:.0f} s from the first write on, {time.monotonic() - at:.0f} s after the last: {files / took:.1f} files/s")

        c, took = self.clients("evict")
        self.until("every file is on tape only", self.left_on_disk)
        self.say(f"evicted {files} files in {took:.0f} s: {files / took:.1f} files/s")

        self.before = self.cluster.hits()
        c, took = self.clients("recall", "recall", ["tape", "node1", "tape", "manager", "node2"] * rounds)
        self.say(f"recalled and compared {files} files, {c.counts['bytes'] / 1e6:.0f} MB, in {took:.0f} s: {files / took:.1f} files/s; "
                 f"{c.counts['again']} calls again")
        self.chaos.rest()
        self.until("no request waits or has failed", self.waiting)
        self.chaos.stop()
        self.check()

    def left_on_disk(self):
        missing = self.without(r"^d0::t1 ")
        if missing:  # of a release whose report of the tape copy came later
            self.clients("evict")
        return missing

    def waiting(self):
        return len(self.cluster.rows("tape", "request", "ls")) + len(self.cluster.rows("tape", "request", "ls", "--failed"))

    def check(self):
        """What must hold at the end, and whether enough was hit."""
        if missing := self.without(r"^d\d+::t1 "):
            self.wrong.append(f"{missing} files do not have their copy on tape")
        check = self.cluster.rows("ns", "check")
        if not check or not check[0]["healthy"]:
            self.wrong.append(f"ns check: {check}")
        hits = self.cluster.hits()
        for stage, of in (("archive", self.before), ("recall", hits - self.before)):
            self.say(f"faults that hit, {stage}: " + (", ".join(f"{n} {what}" for what, n in sorted(of.items())) or "none"))
            if sum(of.values()) < self.a.hits:
                self.wrong.append(f"only {sum(of.values())} faults hit during {stage}, not {self.a.hits}")
        self.say(", ".join(f"{n} {what}" for what, n in sorted(self.chaos.counts.items())))
        for stage in ("archive", "recall"):
            if not any(w.startswith(f"kill of tape ({stage},") and "idle" not in w for w in self.chaos.counts):
                self.wrong.append(f"no tape server was killed while a drive did its {stage}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--files", type=int, default=2000)
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--hits", type=int, help="faults that must hit in each stage (default: one for 1000 files, 1 to 5)")
    p.add_argument("--port", type=int, default=31094, help="the first of four")
    p.add_argument("--hemera", default="bin/hemera")
    p.add_argument("--python", default="build/venv/bin/python", help="one that has the XRootD client")
    p.add_argument("--keep", action="store_true", help="keep the directory of the cluster")
    a = p.parse_args()
    if run(a.python, "-c", "import XRootD.client") is None:
        print("the XRootD client for Python is missing: scripts/setup.sh python")
        sys.exit(77)
    if a.hits is None:  # a plan takes some seconds, in which a thousand files go to tape
        a.hits = max(1, min(5, a.files // 1000))
    a.patience = 600 + a.files // 20  # seconds for each stage
    a.python = os.path.abspath(a.python)
    print(f"seed {a.seed}, {a.files} files", flush=True)
    base = tempfile.mkdtemp(prefix="tape-storm-")
    os.chmod(base, 0o755)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # so that nothing is left running
    cluster, wrong = Cluster(os.path.abspath(a.hemera), base, a.port), []
    try:
        cluster.begin()
        cluster.archived("/storm")
        chaos = Chaos(cluster, random.Random(a.seed), a.files)
        chaos.start()
        storm = Storm(cluster, chaos, a)
        storm.run()
        wrong = storm.wrong
    except SystemExit as e:
        wrong.append(str(e.code))
    finally:
        cluster.stop()
        if a.keep or wrong:
            print("kept:", base)
        else:
            shutil.rmtree(base)
    for line in wrong[:50]:
        print("FAIL ", line)
    sys.exit(bool(wrong))


main()
