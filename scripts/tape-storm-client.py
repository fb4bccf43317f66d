#!/usr/bin/env python3
"""One user of the tape storm, over XRootD's own Python client: tape-storm-client.py VERB SPEC, SPEC as JSON.

write   makes its share of the files, archived where they go
evict   releases its files, so that those that are on tape leave the disks
recall  asks for its share of all files by prepare, waits for them, reads and compares each, and releases it

What files hold follows from the seed, so that nothing is kept to compare with. Prints a line of JSON now and then: {"done": files, "bytes": …,
"again": calls that failed and were repeated}, and {"wrong": "…"} for what no repeating helps against. Ends when all is done, or in time.
"""
import concurrent.futures.thread, json, os, random, sys, threading, time

from XRootD import client
from XRootD.client.flags import MkDirFlags, OpenFlags, PrepareFlags, QueryCode

BATCH = 1000  # files of one request, at most


def content(seed, i):
    """The bytes of a file. Most are small, as at sites: one of 70 has up to 4 MB, one of 2000 up to 100 MB."""
    r = random.Random(f"{seed}/{i}")
    at = r.random()
    low, high = (3e7, 1e8) if at < 0.0005 else (65e3, 4e6) if at < 0.0148 else (1e3, 65e3)
    return r.randbytes(int(low * (high / low) ** r.random()))


class User:
    """A user with its files: every tenth one to write, a random tenth of all to recall."""

    def __init__(self, s):
        self.host, self.seed, self.me, self.users, self.files = s["host"], s["seed"], s["user"], s["users"], s["files"]
        self.end, self.threads = time.time() + s["patience"], s["threads"]
        self.batch = max(1, min(BATCH, self.files // self.users // self.threads))
        self.fs = client.FileSystem(f"root://{self.host}/")
        self.lock, self.counts = threading.Lock(), {"done": 0, "bytes": 0, "again": 0}

    def path(self, i):
        # A directory has at most a thousand files.
        return f"/storm/u{i % self.users}/d{i // self.users // 1000}/f{i}"

    def say(self, **changes):
        with self.lock:
            for name, by in changes.items():
                self.counts[name] += by
            if self.counts["done"] >= 50 or not changes:
                print(json.dumps(self.counts), flush=True)
                self.counts = dict.fromkeys(self.counts, 0)

    def until(self, what, call):
        """Repeats a call that answers None when it failed: servers are killed. None at the end of the time."""
        while True:
            answer = call()
            if answer is not None:
                return answer
            self.say(again=1)
            if time.time() > self.end:
                print(json.dumps({"wrong": f"in vain: {what}"}), flush=True)
                return None
            time.sleep(0.5)

    def each(self, do, items):
        with concurrent.futures.ThreadPoolExecutor(self.threads) as pool:
            for _ in pool.map(do, items):
                pass
        self.say()

    # write

    def write(self):
        mine = range(self.me, self.files, self.users)
        for d in sorted({self.path(i).rpartition("/")[0] for i in mine}):
            self.until(f"mkdir {d}", lambda: self.fs.mkdir(d, MkDirFlags.MAKEPATH, 0o755)[0].ok or self.fs.stat(d)[0].ok or None)
        self.each(self.put, mine)

    def put(self, i):
        data = content(self.seed, i)
        if self.until(f"write {self.path(i)}", lambda: self.written(self.path(i), data)):
            self.say(done=1, bytes=len(data))

    def written(self, path, data):
        f = client.File()
        status, _ = f.open(f"root://{self.host}/{path}", OpenFlags.DELETE | OpenFlags.UPDATE, 0o644)
        if not status.ok:
            return None
        status, _ = f.write(data)
        closed, _ = f.close()
        if not (status.ok and closed.ok):
            return None
        # XRootD's client says that a close went well when it finds the connection lost as it sends it: only a stat tells whether the file is there.
        status, there = self.fs.stat(path)
        return (status.ok and there.size == len(data)) or None

    # evict

    def evict(self):
        mine = list(range(self.me, self.files, self.users))
        self.each(self.release, [mine[i:i + self.batch] for i in range(0, len(mine), self.batch)])

    def release(self, batch):
        paths = [self.path(i) for i in batch]
        if self.until(f"release of {paths[0]} and others", lambda: self.fs.prepare(paths, PrepareFlags.EVICT)[0].ok or None):
            self.say(done=len(batch))

    # recall

    def recall(self):
        order = list(range(self.files))
        random.Random(f"{self.seed}/order").shuffle(order)
        mine = order[self.me::self.users]
        self.each(self.fetch, [mine[i:i + self.batch] for i in range(0, len(mine), self.batch)])

    def fetch(self, batch):
        paths = {self.path(i): i for i in batch}
        request = self.until(f"prepare of {batch[0]} and others", lambda: self.staged(list(paths)))
        left = dict(paths)
        # What is on disk is read while the others are waited for.
        while request and left:
            online = self.until(f"query of {next(iter(left))} and {len(left) - 1} others", lambda: self.online(request, list(left)))
            if online is None or not online and time.time() > self.end:
                print(json.dumps({"wrong": f"{len(left)} files are not on disk: {next(iter(left))}"}), flush=True)
                return
            for path in online:
                self.compare(left.pop(path))
            if not online:
                time.sleep(2)
        self.release_staged(list(paths))

    def release_staged(self, paths):
        self.until(f"release of {paths[0]} and others", lambda: self.fs.prepare(paths, PrepareFlags.EVICT)[0].ok or None)

    def staged(self, paths):
        status, answer = self.fs.prepare(paths, PrepareFlags.STAGE)
        return answer.decode().strip("\0 \n") if status.ok and answer else None

    def online(self, request, paths):
        status, answer = self.fs.query(QueryCode.PREPARE, "\n".join([request, *paths]))
        if not status.ok:
            return None
        rows = json.loads(answer.decode().strip("\0"))["responses"]
        return [r["path"] for r in rows if r["online"]]

    def compare(self, i):
        want = content(self.seed, i)
        got = self.until(f"read {self.path(i)}", lambda: self.read(self.path(i)))
        if got is None:
            return
        if got != want:
            print(json.dumps({"wrong": f"{self.path(i)} came back with other bytes: {len(got)} of {len(want)}"}), flush=True)
        self.say(done=1, bytes=len(got))

    def read(self, path):
        f = client.File()
        status, _ = f.open(f"root://{self.host}/{path}", OpenFlags.READ)
        if not status.ok:
            return None
        status, data = f.read()
        f.close()
        return data if status.ok else None


def main():
    spec = json.loads(sys.argv[2])
    # Only now: a Python below the home of root is read by root.
    if ids := spec.get("ids"):
        os.setgroups([])
        os.setgid(ids[1])
        os.setuid(ids[0])
    user = User(spec)
    {"write": user.write, "evict": user.evict, "recall": user.recall}[sys.argv[1]]()


main()
