#!/usr/bin/env python3
"""What becomes of files whose client lost its connection before the close: stock bindings, whose close then succeeds without a request.

usage: lostclose.py HEMERA PORT [--wait|--kill]

Then what becomes of a client that is killed in the middle of a write: `hemera open ls` names it, and a person commits or drops it.

Starts a cluster (HEMERA is the binary, PORT the first of seven free ones) in a directory of its own, writes files of several layouts, shuts the sockets of this
process down, closes the files, and looks what is there: after the cluster was stopped and started again, as a node that stops
decides at once; with --wait after the two minutes that a client has to come back. Without it complete files that were not synced
may lack nodes, which stop as well, and are not judged. With --kill the cluster is killed instead: what was synced in copies is kept, and
a person commits it; a coded write ends with its head. Needs the Python package xrootd.
"""
import os, signal, socket, subprocess, sys, tempfile, time
from XRootD import client
from XRootD.client.flags import OpenFlags

CONTENT = os.urandom(300_000)
LAYOUTS = ["plain", "replica:2", "rs:2+1"]
# What the client does before it is cut off, and whether the file is to be there.
CASES = {
    "written": ("", lambda f: f.write(CONTENT), False),
    "synced": ("", lambda f: (f.write(CONTENT), f.sync())[1], True),
    "announced": (f"&oss.asize={len(CONTENT)}", lambda f: f.write(CONTENT), True),
    "incomplete": (f"&oss.asize={len(CONTENT) + 1}", lambda f: (f.write(CONTENT), f.sync())[1], False),
}


# A client that is killed: it has written a part of what it announced.
KILLED = """
import os, sys
from XRootD import client
from XRootD.client.flags import OpenFlags
f = client.File()
status, _ = f.open(sys.argv[1], OpenFlags.NEW)
if status.ok:
    status, _ = f.write(b"0123456789" * 20_000)
print("ok" if status.ok else status.message, flush=True)
sys.stdin.read()
"""


def killed(binary, port):
    """Kills clients in the middle of writes, and decides as a person. Returns how many files are wrong."""
    url, part, wrong = f"root://localhost:{port}", b"0123456789" * 20_000, 0
    hemera = lambda *args: subprocess.run([binary, "--url", url, *args], capture_output=True)
    for layout in LAYOUTS:
        for verb, there in (("commit", True), ("drop", False)):
            path = f"/{layout.replace(':', '-').replace('+', '-')}-killed-{verb}"
            opened = f"{url}/{path}?hem.layout={layout}&oss.asize=300000"
            writer = subprocess.Popen([sys.executable, "-c", KILLED, opened], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            said = writer.stdout.readline().strip()
            writer.kill()
            writer.wait()
            if said != "ok":
                sys.exit(f"{path}: {said}")
            for _ in range(100):  # until the node has noticed
                done = hemera("open", verb, path, *([] if there else ["--yes"]))
                if done.returncode == 0 or b"has lost its client" not in done.stderr:
                    break
                time.sleep(0.1)
            got = hemera("cat", path)
            ok = done.returncode == 0 and (got.stdout == part if there else got.returncode != 0)
            print(f"{path}: {'there' if got.returncode == 0 else 'not there'}{'' if ok else ', WRONG: ' + done.stderr.decode()}")
            wrong += not ok
    return wrong


def after_kill(binary, port, files):
    """Commits as a person what was synced before the nodes were killed. Returns how many files are wrong."""
    url, wrong = f"root://localhost:{port}", 0
    hemera = lambda *args: subprocess.run([binary, "--url", url, *args], capture_output=True)
    for path in files:
        there = name_of(path) in ("synced", "incomplete") and not path.startswith("/rs")
        before = hemera("cat", path).returncode == 0
        for _ in range(100 if there else 1):  # until its node has a lease
            done = hemera("open", "commit", path)
            if done.returncode == 0:
                break
            time.sleep(0.1)
        got = hemera("cat", path)
        ok = not before and (got.returncode == 0) == there and (not there or got.stdout == CONTENT)
        print(f"{path}: {'kept' if got.returncode == 0 else 'not kept'}{'' if ok else ', WRONG: ' + done.stderr.decode()}")
        wrong += not ok
    return wrong


def name_of(path):
    return path.rsplit("-", 1)[1]


def start(binary, where, port):
    args = [binary, "up", where, "--port", str(port), "--log-level", "warn"]
    up = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=open(where + ".log", "a"), text=True)
    for _ in range(300):
        done = subprocess.run([binary, "--url", f"root://localhost:{port}", "ls", "/"], capture_output=True)
        if done.returncode == 0:
            return up
        time.sleep(0.1)
    sys.exit("the cluster does not start: see " + where + ".log")


def cut(ports):
    """Shuts down the connections of this process to the cluster, as a network that fails would."""
    n = 0
    for fd in os.listdir("/proc/self/fd"):
        try:
            s = socket.socket(fileno=os.dup(int(fd)))
        except OSError:
            continue
        try:
            if s.family in (socket.AF_INET, socket.AF_INET6) and s.getpeername()[1] in ports:
                s.shutdown(socket.SHUT_RDWR)
                n += 1
        except OSError:
            pass
        finally:
            s.close()
    return n


def main():
    binary, port, wait, kill = os.path.abspath(sys.argv[1]), int(sys.argv[2]), "--wait" in sys.argv, "--kill" in sys.argv
    failed = 0
    with tempfile.TemporaryDirectory() as top:
        up = start(binary, top + "/data", port)
        try:
            files = {}
            for layout in LAYOUTS:
                for name, (opaque, write, there) in CASES.items():
                    path = f"/{layout.replace(':', '-').replace('+', '-')}-{name}"
                    f = client.File()
                    status, _ = f.open(f"root://localhost:{port}/{path}?hem.layout={layout}{opaque}", OpenFlags.NEW | OpenFlags.MAKEPATH)
                    if status.ok:
                        status, _ = write(f)
                    if not status.ok:
                        sys.exit(f"{path}: {status.message}")
                    files[path] = f, there
            failed += killed(binary, port)
            print(cut(range(port, port + 8)), "connections cut")
            time.sleep(1)  # the library sees the end of its connections
            for path, (f, _) in files.items():
                status, _ = f.close()
                print(f"{path}: close says", "ok" if status.ok else status.message.strip())
            if kill:
                up.kill()
                up.wait(60)
                up = start(binary, top + "/data", port)
                failed += after_kill(binary, port, files)
                files = {}
            elif wait:
                time.sleep(130)
            else:
                up.send_signal(signal.SIGINT)
                up.wait(60)
                up = start(binary, top + "/data", port)
            for path, (_, there) in files.items():
                done = subprocess.run([binary, "--url", f"root://localhost:{port}", "cat", path], capture_output=True)
                found = done.returncode == 0 and done.stdout == CONTENT
                if name_of(path) == "announced" and not wait:
                    print(f"{path}: {'there' if found else 'not there'}, not judged")
                    continue
                if found != there or not there and done.returncode == 0:
                    failed += 1
                    failures = [line for line in open(top + "/data.log") if path in line]
                    print("".join(failures), end="")
                print(f"{path}: {'there' if found else 'not there'}{'' if found == there else ', WRONG'}")
        finally:
            up.send_signal(signal.SIGINT)
            up.wait(60)
    sys.exit(failed and f"{failed} files are wrong")


main()
