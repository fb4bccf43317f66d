#!/usr/bin/env python3
"""A walk with kill -9 at each point of the way to tape and back, on real processes with stock xrdcp and xrdfs.

scripts/tape-crash.py [--one] [--only REGEX] [--list], for a built bin/hemera. All walks take four minutes, one for each point takes one.
A manager, two nodes and a tape server with one emulated drive are brought to the point, some or all of them are killed, started again, and what must
hold is checked. Nothing is left to chance: an operation of the drive hangs, the processes that would go on are frozen, and what shows the point is
waited for, on the cartridge and on the disks.

What is checked after each kill, and again at the end of the walk:
- a copy on tape that the namespace has is on the cartridge: another reader (tapecartridge.py) finds the file's bytes where the namespace says
- a file without disk copies has its copy on tape
- clients read whole files, or wait: a reader that waited before the kill, and one right after the start
- what was asked for before the kill is done without being asked for again, and no request has failed
- the disks have no piece of a file that was evicted, and hemera ns check finds nothing

Prints a line for each walk. It ends with 1 and keeps its directory if one failed.
"""
import argparse, json, os, pathlib, re, shutil, signal, subprocess, sys, tempfile, time

from tapecartridge import Cartridge
from tapecluster import Cluster, run

NODES = ("node1", "node2")
VICTIMS = {"all": ("manager", *NODES, "tape"), "tape server": ("tape",), "manager": ("manager",), "nodes": NODES}
# The first file has 46 blocks; small ones share a tape file. They are written in this order.
SIZES = {"large": 12_000_000, "middle": 300_000, **{f"small{n}": 10_000 * n + 1 for n in range(9)}}
GATE = [{"op": "load", "fail": "hang"}, {"op": "locate", "fail": "hang"}]  # nothing is read or written before it is taken away


class Failed(Exception):
    """What does not hold."""


class Walk:
    """Files on their way to tape, or back, through one kill."""

    def __init__(self, cluster, directory, orphans):
        self.c, self.dir = cluster, directory
        self.orphans = orphans  # pieces of all walks so far that were never published
        self.work = cluster.base / "clients"
        self.frozen, self.readers, self.request = [], [], None
        self.contents = {}

    # clients

    def paths(self):
        return [f"{self.dir}/{n}" for n in self.contents]

    def upload(self):
        """Writes the files, one behind the other."""
        self.contents = {n: os.urandom(size) for n, size in SIZES.items()}
        self.c.archived(self.dir)
        for n, content in self.contents.items():
            (self.work / n).write_bytes(content)
        self.client("xrdcp", "-f", "--nopbar", *(str(self.work / n) for n in self.contents), f"root://{self.c.host}/{self.dir}/")

    def client(self, *command):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=90)
        except subprocess.TimeoutExpired:
            raise Failed(f"{' '.join(command[:2])} … takes more than 90 s")
        if done.returncode != 0:
            raise Failed(f"{' '.join(command[:2])} … ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def reader(self, name):
        """Begins to read a file, with a client that waits for it."""
        to = self.work / f"{name}.read"
        to.unlink(missing_ok=True)
        command = ["xrdcp", "-f", "--nopbar", f"root://{self.c.host}/{self.dir}/{name}", str(to)]
        self.readers.append((name, to, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)))

    def connected(self, pid):
        """Whether a client has a connection, by the kernel's lists."""
        mine = {os.readlink(f) for f in pathlib.Path(f"/proc/{pid}/fd").iterdir() if f.is_symlink()}
        lines = [line.split() for kind in ("tcp", "tcp6") for line in pathlib.Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:]]
        return any(f"socket:[{f[9]}]" in mine and f[3] == "01" for f in lines)

    def read(self):
        """All that is begun to be read, and then each file, comes back as it was written."""
        for name, to, p in self.readers:
            try:
                _, said = p.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                p.kill()
                raise Failed(f"the reader of {name} still waits after a minute")
            if p.returncode != 0:
                raise Failed(f"the reader of {name} ended with {p.returncode}: {said}")
            self.compare(name, to)
        self.readers = []
        back = self.work / "back"
        shutil.rmtree(back, ignore_errors=True)
        back.mkdir()
        self.client("xrdcp", "-f", "--nopbar", *(f"root://{self.c.host}/{p}" for p in self.paths()), str(back))
        for name in self.contents:
            self.compare(name, back / name)

    def compare(self, name, path):
        if path.read_bytes() != self.contents[name]:
            raise Failed(f"{name} was read with another content, of {path.stat().st_size} bytes")

    def prepare(self):
        self.request = self.client("xrdfs", self.c.host, "prepare", "-s", *self.paths()).split()[-1]

    def online(self):
        answer = run("xrdfs", self.c.host, "query", "prepare", self.request)
        return answer and all(r["online"] for r in json.loads(answer)["responses"])

    # what is there

    def states(self):
        """Of each file how many copies are on disk, and on tape; nothing if the manager does not say."""
        lines = re.findall(r"^d(\d+)::t(\d+) .* (\S+)$", self.c.admin("ls", "-y", self.dir) or "", re.M)
        return {name: (int(d), int(t)) for d, t, name in lines}

    def all_in(self, *wanted):
        states = self.states()
        return len(states) == len(self.contents) and all(s in wanted for s in states.values())

    def pieces(self):
        """All pieces on the disks with their sizes, and those that are being written."""
        whole, parts = {}, {}
        for p in self.c.base.glob("disk[12]/*/*"):
            try:
                (parts if p.parent.name == "pending" else whole)[p] = p.stat().st_size
            except FileNotFoundError:
                pass  # it was removed, or sealed, just now
        return whole, parts

    def info(self, name):
        """What the namespace has of a file: its archive id, and the places of its copies."""
        rows = self.c.rows("file", "info", f"{self.dir}/{name}")
        if not rows:
            raise Failed(f"the manager does not say where {name} is")
        return rows[0]["sys"]["archive"]["file_id"], [r for r in rows if "fSeq" in r]

    def cartridges(self):
        return {p.name[:6]: Cartridge(p.with_suffix("")) for p in self.c.library.glob("cartridges/*.index")}

    def on_cartridges(self):
        """Whether each content is on a cartridge, wherever."""
        there = {content for c in self.cartridges().values() for _, _, content in c.files.values()}
        return there.issuperset(self.contents.values())

    def records_hold(self):
        """Each copy that the namespace has is on its cartridge, and each file has a copy somewhere."""
        # In this order, since files go to tape meanwhile: what was said first must still be so.
        states = self.states()
        places = {n: self.info(n) for n in self.contents}
        cartridges = self.cartridges()
        for name, (archive, copies) in places.items():
            for k in copies:
                c = cartridges.get(k["vid"])
                there = c and c.files.get((k["fSeq"], k["member"]))
                if there != (int(archive), k["blockId"], self.contents[name]):
                    raise Failed(f"{name} is not on tape as the namespace says: {k}; the cartridge has "
                                 f"{there and (there[0], there[1], len(there[2]))}; {c and c.rest}")
        if len(states) != len(self.contents):
            raise Failed(f"the manager lists only {states}")
        for name, (disks, tapes) in states.items():
            if disks == tapes == 0 or tapes > len(places[name][1]):
                raise Failed(f"{name} has {disks} copies on disk and {tapes} on tape, of which {len(places[name][1])} have a place")

    def waits(self):
        return self.c.rows("tape", "request", "ls")

    def at_rest(self):
        """The drive is empty and waits for work."""
        return [(d["driveStatus"], d["vid"]) for d in self.c.drives()] == [("UP", "")]

    # the way to the point

    def until(self, what, ask, seconds=60):
        end = time.monotonic() + seconds
        while not ask():
            if time.monotonic() > end:
                known = [self.c.admin("tape", *w) or "" for w in (["status"], ["request", "ls"], ["drive", "ls"])]
                raise Failed("\n".join([f"not in {seconds} s: {what}", *known]))
            time.sleep(0.05)

    def hang(self, *faults):
        """Replaces what hangs, and waits until one of it does."""
        before = self.hung()
        self.c.plan([{"fail": "hang", **f} for f in faults])
        self.until(f"the drive hangs in {faults}", lambda: self.hung() > before)

    def hung(self):
        return sum(self.c.hits().values())

    def on_tape(self):
        """The files are on tape only, and nothing works."""
        if not self.contents:
            self.upload()
            self.until("each file has its copy on tape", lambda: self.all_in((2, 1)))
            self.done()

    def begin(self):
        """The object of the tape where the large file begins."""
        _, copies = self.info("large")
        return copies[0]["blockId"] or 1

    def ask_at(self, fault):
        """All files are asked for before the first one is read, and the drive hangs in an operation."""
        self.c.plan(GATE)
        before = self.hung()
        self.prepare()
        self.until("the mount hangs", lambda: self.hung() > before)
        if fault["op"] != "load":
            self.hang(fault)

    def freeze(self, *names):
        self.c.freeze(*names)
        self.frozen += names

    # after the point

    def kill(self, victims):
        """Kills, checks what the others say, and starts what was killed."""
        self.c.end(*victims)
        self.c.thaw(*self.frozen)
        self.frozen = []
        if "manager" not in victims:
            self.records_hold()
        for name in victims:
            self.c.start(name)
        self.records_hold()
        self.c.plan([])

    def done(self):
        """What must hold when the walk is over."""
        self.records_hold()
        self.evict()
        self.until("no request waits", lambda: not self.waits())
        if failed := self.c.rows("tape", "request", "ls", "--failed"):
            raise Failed(f"requests failed: {failed}")
        self.until("the drive is empty", self.at_rest)
        check = self.c.rows("ns", "check")
        if not check or not check[0]["healthy"]:
            raise Failed(f"ns check: {check}")

    def evict(self):
        """The disks are free."""
        self.until("the disk copies are dropped", lambda: self.c.admin("tape", "evict", *self.paths()) is not None)
        self.until("all files are on tape only", lambda: self.all_in((0, 1)))
        self.until("no piece is on a disk", lambda: not set(self.pieces()[0]) - self.orphans)


def parts_leave(c):
    """What killed writes left on the disks goes when its time is over, which is about an hour: the files are made that old."""
    parts = list(c.base.glob("disk[12]/pending/*"))
    for p in parts:
        os.utime(p, (time.time() - 86400,) * 2)
    c.end(*NODES)
    for n in NODES:
        c.start(n)
    end = time.monotonic() + 30
    while left := [p for p in parts if p.exists()]:
        if time.monotonic() > end:
            raise Failed(f"parts of killed writes stay on the disks: {left}")
        time.sleep(0.05)
    return len(parts)


# The points of the way to tape. A function of each brings a walk there.


def before_the_mount(w):
    w.c.plan(GATE)
    before = w.hung()
    w.upload()
    w.until("the mount hangs", lambda: w.hung() > before)


def to_archive(w, fault):
    """All files are queued before the first one is written, and the drive hangs in an operation."""
    before_the_mount(w)
    w.hang(fault)


def in_a_block_run(w):
    to_archive(w, {"op": "write", "after": 25})  # of about 60 blocks and labels


def before_the_flush(w):
    to_archive(w, {"op": "flush"})


def before_the_commit(w):
    before_the_flush(w)
    w.freeze("manager")
    if w.on_cartridges():
        raise Failed("the files are on tape before the flush")
    w.c.plan([])
    w.until("the files are on the cartridge", w.on_cartridges)


def before_the_evict(w):
    before_the_mount(w)
    w.c.plan([])
    w.until("all files are on disk and tape", lambda: w.all_in((2, 1)))


def with_pieces_left(w):
    w.c.must("attr", "set", "sys.archive.dropdiskcopies=1", "/crash")
    before_the_flush(w)
    w.freeze(*NODES)
    w.c.plan([])
    w.until("all files are on tape only", lambda: w.all_in((0, 1)))
    if len(set(w.pieces()[0]) - w.orphans) < 2 * len(SIZES):
        raise Failed("nodes that are frozen removed pieces")


def after_the_drop(w):
    w.c.must("attr", "set", "sys.archive.dropdiskcopies=1", "/crash")
    before_the_mount(w)
    w.c.plan([])
    w.until("all files are on tape only", lambda: w.all_in((0, 1)))
    w.until("no piece is on a disk", lambda: not set(w.pieces()[0]) - w.orphans)


def archive(w, reach, victims):
    """Files go to tape through a kill at a point."""
    reach(w)
    w.kill(victims)
    # Files that are on tape only come back at the end, all together: one that is opened by itself waits for as long as a real mount takes.
    if not w.all_in((0, 1)):
        w.read()
        w.until("each file has its copy on tape", lambda: w.all_in((1, 1), (2, 1)))
    w.done()
    w.prepare()
    w.until("online", w.online)
    w.read()
    w.done()


# The points of the way back. The large file is the first one on tape.


def before_the_load(w):
    w.ask_at({"op": "load"})


def before_the_locate(w):
    w.ask_at({"op": "locate"})


def in_the_middle(w):
    earlier = set(w.pieces()[1])  # what earlier walks left
    w.ask_at({"op": "read", "object": w.begin() + 4 + 30})  # of 46 blocks behind 3 labels and a filemark
    w.until("a part of the file is on both disks", lambda: len([p for p, s in w.pieces()[1].items() if s > 4_000_000 and p not in earlier]) == 2)
    w.reader("large")


def before_the_publish(w):
    w.ask_at({"op": "read", "object": w.begin() + 4 + 46 + 1})  # its trailer
    w.reader("large")
    w.freeze("manager")
    w.c.plan([])
    # A piece is sealed when its writer has closed it, which it does when the checksum is right.
    sealed = lambda: {p for p, s in w.pieces()[0].items() if s > SIZES["large"]} - w.orphans
    w.until("the file is sealed on both disks", lambda: len(sealed()) == 2)
    # If nobody publishes them any more, an audit removes them when no write can be under way: after an hour, for which no walk waits.
    w.orphans |= sealed()


def after_the_publish(w):
    w.c.plan([])
    w.prepare()
    w.until("online", w.online)


def while_a_client_waits(w):
    w.ask_at({"op": "read", "object": w.begin()})
    w.reader("large")
    # It waits when the manager has answered it, of which nothing is seen from outside.
    w.until("the reader is connected", lambda: w.connected(w.readers[-1][2].pid))
    time.sleep(0.5)


def recall(w, reach, victims):
    """Files come back through a kill at a point."""
    w.on_tape()
    reach(w)
    w.kill(victims)
    # A recall that failed is tried again after a minute.
    w.until("online, without being asked again", w.online, 100)
    w.read()
    w.done()


ARCHIVE = {
    "before the mount": (before_the_mount, ["all", "tape server", "manager"]),
    "in the middle of a block run": (in_a_block_run, ["all", "tape server", "manager"]),
    "after the trailer before the flush": (before_the_flush, ["all", "tape server", "manager"]),
    "after the flush before the commit": (before_the_commit, ["all", "tape server", "manager"]),
    "after the commit before the evict": (before_the_evict, ["all", "tape server", "manager"]),
    "after the drop, with the pieces on the disks": (with_pieces_left, ["all", "nodes", "manager"]),
    "after the drop": (after_the_drop, ["all", "nodes", "manager"]),
}
RECALL = {
    "before the load": (before_the_load, ["all", "tape server", "manager"]),
    "before the locate": (before_the_locate, ["all", "tape server", "manager"]),
    "in the middle of the write to disk": (in_the_middle, ["all", "tape server", "manager"]),
    "after the checksum before the publish": (before_the_publish, ["all", "tape server", "manager", "nodes"]),
    "after the publish before the read": (after_the_publish, ["all", "tape server", "manager", "nodes"]),
    "while a client waits in open": (while_a_client_waits, ["all", "tape server", "manager"]),
}


def walks(one):
    """All walks with their names; one is the first victim of each point."""
    for way, points in ((archive, ARCHIVE), (recall, RECALL)):
        for point, (reach, victims) in points.items():
            for v in victims[:1] if one else victims:
                yield f"{way.__name__}: {point}, {v} killed", way, reach, VICTIMS[v]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", default="", metavar="REGEX", help="only walks with such a name")
    p.add_argument("--one", action="store_true", help="one walk for each point, in which everything is killed")
    p.add_argument("--list", action="store_true", help="say which walks there are")
    p.add_argument("--port", type=int, default=31194, help="the first of four")
    p.add_argument("--hemera", default="bin/hemera")
    a = p.parse_args()
    todo = [w for w in walks(a.one) if re.search(a.only, w[0])]
    if a.list or not todo:
        print(*(w[0] for w in todo), sep="\n")
        sys.exit(not todo)
    if not shutil.which("xrdcp") or not shutil.which("xrdfs"):
        print("xrdcp and xrdfs are missing: scripts/setup.sh clients")
        sys.exit(77)
    os.environ["XRD_CONNECTIONWINDOW"] = "5"  # a client waits so long before it connects again, by default 120 s
    base = pathlib.Path(tempfile.mkdtemp(prefix="tape-crash-"))
    (base / "clients").mkdir()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # so that nothing is left running
    cluster, wrong, begun = Cluster(os.path.abspath(a.hemera), base, a.port, drives=1), "", time.monotonic()
    back, orphans = None, set()
    try:
        cluster.begin()
        cluster.must("tape", "policy", "set", "default", "archiveMinRequestAge=0", "retrieveMinRequestAge=0")
        cluster.must("tape", "mounting", "set", "default", "minFilesToWarrantAMount=1", "lingerSeconds=0")
        cluster.archived("/crash")
        for n, (name, kind, reach, victims) in enumerate(todo):
            at = time.monotonic()
            cluster.must("attr", "set", "sys.archive.dropdiskcopies=0", "/crash")
            try:
                # Recalls all have the same files.
                w = back if kind is recall and back else Walk(cluster, f"/crash/{n}", orphans)
                back = w if kind is recall else back
                kind(w, reach, victims)
            except (Failed, SystemExit) as e:
                wrong = f"FAIL  {name}: {e}"
                break
            print(f"ok    {name}, {time.monotonic() - at:.0f} s", flush=True)
        if not wrong:
            parts = parts_leave(cluster)
    except (Failed, SystemExit) as e:
        wrong = f"FAIL  {e}"
    except Exception as e:  # an answer that has another shape: the directory is kept all the same
        wrong = f"FAIL  {e!r}"
    finally:
        cluster.stop()
    if wrong:
        print(f"{wrong}\nkept: {base}")
        sys.exit(1)
    shutil.rmtree(base)
    print(f"{len(todo)} walks, {time.monotonic() - begun:.0f} s; {parts} parts of killed writes left the disks in their time")


main()
