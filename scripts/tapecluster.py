"""A manager, two nodes and a tape server with an emulated library, for scripts that kill them: tape-storm.py, tape-crash.py."""
import collections, json, pathlib, signal, subprocess, time


def run(*command, timeout=300):
    """The output of a command, or None if it failed: a process may be dead just now."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


class Cluster:
    """Manager, nodes and tape server, each a process of its own that is killed and started."""

    def __init__(self, hemera, base, port, drives=4):
        self.wanted = drives
        self.hemera, self.base, self.host = hemera, pathlib.Path(base), f"localhost:{port}"
        self.library = self.base / "tape" / "tape"
        self.processes, token = {}, self.base / "token"
        common = lambda name, at: ["--data", str(self.base / name), "--port", str(port + at)]
        join = ["--join-file", str(token)]
        self.commands = {
            "manager": ["manager", *common("manager", 0)],
            "node1": ["node", *common("node1", 1), "--disk", str(self.base / "disk1"), *join],
            "node2": ["node", *common("node2", 2), "--disk", str(self.base / "disk2"), *join],
            "tape": ["tape", "serve", *common("tape", 3), "--tape-speed", "0", "--library", "tape",
                     "--emulate", f"drives={self.wanted},slots=60,cartridges=40,capacity=2000000000", *join],
        }

    def begin(self):
        """Starts everything for the first time."""
        token = self.base / "token"
        (self.base / "disk1").mkdir()
        (self.base / "disk2").mkdir()
        self.start("manager")
        for name in ("node1", "node2", "tape"):
            token.write_text(self.admin("token", "create"))
            self.start(name)
            self.await_(f"{name} has joined", lambda: self.commands[name][self.commands[name].index("--port") + 1] in (self.admin("node", "ls", "-m") or ""))
        self.configure()

    def configure(self):
        """All cartridges in one pool, and mounts for few files, so that all drives work."""
        elements = json.loads((self.library / "library.json").read_text())["elements"]
        self.await_("the tape server asks to be admitted", lambda: self.asking())
        self.must("tape", "server", "add", self.asking()[0])
        self.await_("the library is reported", lambda: self.drives())
        for vid in sorted(e["barcode"][:6] for e in elements if e.get("barcode")):
            self.must("tape", "tape", "add", vid, "tapepool=default")
        self.must("tape", "policy", "set", "default", "archiveMinRequestAge=2", "retrieveMinRequestAge=0")
        self.must("tape", "pool", "set", "default", f"numPartialTapes={self.wanted}")
        self.must("tape", "mounting", "set", "default", "minFilesToWarrantAMount=100", "lingerSeconds=2")
        self.await_("two disks", lambda: len(self.rows("fs", "ls")) == 2)

    def archived(self, directory):
        """Makes a directory for everybody, whose files go to tape."""
        self.must("mkdir", directory)
        self.must("attr", "set", "sys.archive.storage_class=default", directory)
        self.must("chmod", "777", directory)

    def start(self, name):
        with open(self.base / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen([self.hemera, *self.commands[name]], stdout=log, stderr=log)
        if name == "manager":
            self.await_("the manager answers", lambda: self.admin("ns", "stat") is not None)

    def await_(self, what, ask):
        end = time.monotonic() + 60
        while not ask():
            dead = [n for n, p in self.processes.items() if p.poll() is not None]
            if dead or time.monotonic() > end:
                raise SystemExit(f"FAIL  not in a minute: {what}; ended: {dead}; see {self.base}/*.log")
            time.sleep(0.2)

    def end(self, *names):
        """Kills processes with -9, all before it waits for one. They are missing until they are started; also one that is frozen ends."""
        ended = [self.processes.pop(n) for n in names]
        for p in ended:
            p.send_signal(signal.SIGKILL)
        for p in ended:
            p.wait()

    def kill(self, name):
        self.end(name)
        self.start(name)

    def freeze(self, *names):
        """Stops processes where they are: what is sent to them waits in the kernel."""
        for n in names:
            self.processes[n].send_signal(signal.SIGSTOP)

    def thaw(self, *names):
        """Lets processes go on; those that were killed meanwhile are none of them."""
        for n in names:
            if n in self.processes:
                self.processes[n].send_signal(signal.SIGCONT)

    def stop(self):
        self.thaw(*self.commands)
        for name in reversed(list(self.processes)):
            self.processes[name].terminate()
        for p in self.processes.values():
            p.wait()

    def admin(self, *words):
        return run(self.hemera, "--url", f"root://{self.host}", *words)

    def must(self, *words):
        done = subprocess.run([self.hemera, "--url", f"root://{self.host}", *words], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(words)}: {done.stderr}")

    def rows(self, *words):
        return json.loads(self.admin(*words, "-j") or '{"result": []}')["result"] or []

    def asking(self):
        """The nodes that are not admitted as tape servers."""
        # It ends with 1 when something is listed.
        said = subprocess.run([self.hemera, "--url", f"root://{self.host}", "tape", "status", "-j"], capture_output=True, text=True).stdout
        commands = [row["command"] for row in json.loads(said or '{"result": []}')["result"] or []]
        return [c.split()[-1] for c in commands if c.startswith("hemera tape server add ")]

    def drives(self):
        return self.rows("tape", "drive", "ls")

    def hits(self):
        """What faults have hit so far, by operation and failure."""
        log = self.library / "faults.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return collections.Counter(f"{h['op']} {h['fail']}" for h in map(json.loads, lines))

    def plan(self, faults):
        """Replaces the plan of faults, as a whole."""
        plan = self.library / "faults.json"
        part = plan.with_suffix(".part")
        part.write_text(json.dumps({"faults": faults}))
        part.replace(plan)
