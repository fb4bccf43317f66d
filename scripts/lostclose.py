#!/usr/bin/env python3
"""What becomes of files whose client lost its connection before the close: stock bindings, whose close then succeeds without a request.

usage: lostclose.py HEMERA PORT [--wait]

Starts a cluster (HEMERA is the binary, PORT the first of seven free ones) in a directory of its own, writes files of several layouts, shuts the sockets of this
process down, closes the files, and looks what is there: after the cluster was stopped and started again, as a node that stops
decides at once; with --wait after the two minutes that a client has to come back. Without it complete files that were not synced
may lack nodes, which stop as well, and are not judged. Needs the Python package xrootd.
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
    binary, port, wait = os.path.abspath(sys.argv[1]), int(sys.argv[2]), "--wait" in sys.argv
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
            print(cut(range(port, port + 8)), "connections cut")
            time.sleep(1)  # the library sees the end of its connections
            for path, (f, _) in files.items():
                status, _ = f.close()
                print(f"{path}: close says", "ok" if status.ok else status.message.strip())
            if wait:
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
