"""The receiving end, nginx and stallclassify --watch, in a folder of its own on a free port of the loopback, for tests and measurements: both
are started, killed and asked."""
import contextlib
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from paths import CLASSIFY, TOP

TOKEN = "right"
PAUSE = 0.02


def find_nginx():
    """nginx with DAV, or None."""
    path = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    return path if path and "http_dav_module" in subprocess.run([path, "-V"], capture_output=True, text=True, check=False).stderr else None


def lacks_sqlite(folder):
    run = subprocess.run([CLASSIFY, "--history", os.path.join(folder, "probe"), os.devnull], capture_output=True, text=True, check=False)
    return "lacks libsqlite3" in run.stderr


def await_true(condition, seconds=60):
    """Waits until the condition holds. False: it never did."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(PAUSE)
    return True


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def resident_kb(pid, field="VmRSS"):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(rf"^{field}:\s*(\d+)", f.read(), re.M).group(1))


def enter_mount_namespace(script):
    """Runs the script again where it may mount, and mounts go with it: "root" if it is root there, "user" if it is so by name only. Empty: it
    may mount nowhere."""
    how = os.environ.get("RECEIVING_NAMESPACE")
    if how is not None:
        return how
    unshare = shutil.which("unshare")
    for flags, how in (("-m", "root"), ("-Urm", "user")):
        probe = [unshare, flags, "mount", "-t", "tmpfs", "none", "/mnt"]
        if unshare and subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            sys.stdout.flush()
            os.execve(unshare, [unshare, flags, sys.executable, os.path.abspath(script)], {**os.environ, "RECEIVING_NAMESPACE": how})
    return ""


@contextlib.contextmanager
def small_disk(path, kilobytes=2048):
    """A disk of its own at a path that does not exist yet."""
    os.mkdir(path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=755", "none", path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill_disk(disk):
    with open(os.path.join(disk, ".fill"), "wb", buffering=0) as f:
        try:
            while True:
                f.write(bytes(4096))
        except OSError:
            pass


def empty_disk(disk):
    os.remove(os.path.join(disk, ".fill"))


class Receiver:
    """`top` gets the folders in, out and run; a keyword names another place: history, in_folder, out_folder, run_folder (with nginx's log
    and the tokens)."""

    def __init__(self, top, history=None, in_folder=None, out_folder=None, run_folder=None, **settings):
        self.history = history or os.path.join(top, "history")
        self.arriving, self.out = in_folder or os.path.join(top, "in"), out_folder or os.path.join(top, "out")
        self.run = run_folder or os.path.join(top, "run")
        self.said = os.path.join(self.run, "watch.err")
        self.port, self.nginx, self.watcher, self.master = free_port(), find_nginx(), None, None
        for folder in (os.path.join(self.arriving, ".parts"), self.out, self.run):
            os.makedirs(folder, exist_ok=True)
        self.configure(settings)

    def path(self, name):
        return os.path.join(self.run, name)

    def configure(self, settings):
        with open(self.path("tokens"), "w", encoding="ascii") as f:
            f.write(f'"Bearer {TOKEN}" shop;\n"Bearer another" other;\n')
        with open(self.path("policy.json"), "w", encoding="ascii") as f:
            f.write('{"share_ppm":50000,"on":true}\n')
        chosen = {"IN": self.arriving, "OUT": self.out, "RUN": self.run, "TOKENS": self.path("tokens"), "POLICY": self.path("policy.json"),
                  "LISTEN": f"127.0.0.1:{self.port}", "MAX_BODY": "64k", "RATE": "100000", "BURST": "100000", "USER": "root", **settings}
        words = [f"{name}={value}" for name, value in chosen.items()]
        with open(self.path("nginx.conf"), "w", encoding="ascii") as f:
            subprocess.run([os.path.join(TOP, "scripts/receive/configure"), *words], stdout=f, check=True)

    # ---- the two servers ----

    def serves(self):
        try:
            return self.ask("GET", "/policy.json")[0] == 200
        except OSError:
            return False

    def start_nginx(self):
        """Waits until it answers; the port may be in use for a moment after a kill."""
        def started():
            run = subprocess.run([self.nginx, "-c", self.path("nginx.conf")], stderr=subprocess.DEVNULL, check=False)
            return run.returncode == 0
        if not await_true(started) or not await_true(self.serves):
            raise RuntimeError("nginx does not start")
        with open(self.path("nginx.pid"), encoding="ascii") as f:
            self.master = int(f.read())

    def workers(self):
        with open(f"/proc/{self.master}/task/{self.master}/children", encoding="ascii") as f:
            return [int(pid) for pid in f.read().split()]

    def kill_nginx(self):
        """The master first, since a living one would start another worker."""
        if self.master:
            pids, self.master = [self.master, *self.workers()], None
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            os.remove(self.path("nginx.pid"))

    def stop_nginx(self):
        if self.master:
            pids, self.master = [self.master, *self.workers()], None
            os.kill(pids[0], signal.SIGQUIT) # after the requests that it has begun
            if not await_true(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), 20):
                raise RuntimeError("nginx does not end")

    def start_watch(self, *options, env=None):
        """Its messages go to self.said."""
        with open(self.said, "ab") as said:
            self.watcher = subprocess.Popen([CLASSIFY, "--history", self.history, "--watch", self.arriving, "--out", self.out, *options],
                                            stderr=said, env={**os.environ, **env} if env else None)

    def kill_watch(self):
        if self.watcher:
            self.watcher.kill()
            self.watcher.wait()
            self.watcher = None

    def end_watch(self):
        """By SIGTERM; the exit status."""
        self.watcher.terminate()
        status, self.watcher = self.watcher.wait(60), None
        return status

    def close(self):
        self.kill_watch()
        self.kill_nginx()

    # ---- what there is ----

    def ask(self, method, target, body=None, headers=None, token=TOKEN):
        """Status and text of the answer; the target is sent as it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.putrequest(method, target, skip_accept_encoding=True)
            given = {**({"Authorization": f"Bearer {token}"} if token else {}), **({"Content-Length": str(len(body))} if body is not None else {}),
                     **(headers or {})}
            for name, value in given.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def put(self, name, body, **how):
        return self.ask("PUT", f"/in/{name}", body, **how)[0]

    def messages(self):
        with open(self.said, encoding="utf-8", errors="replace") as f:
            return f.read().splitlines()

    def metric(self, name):
        """A number of metrics.prom; -1: it has none."""
        try:
            with open(os.path.join(self.out, "metrics.prom"), encoding="ascii") as f:
                found = re.search(rf"^stallkit_{name} (\d+)$", f.read(), re.M)
        except FileNotFoundError:
            return -1
        return int(found.group(1)) if found else -1

    def files(self, below=""):
        """Paths of the regular files of a folder below the watched one, without hidden ones."""
        folder = os.path.join(self.arriving, below)
        return [e.path for e in os.scandir(folder) if e.is_file() and not e.name.startswith(".")] if os.path.isdir(folder) else []

    def taking(self):
        """Files that a watcher took, and has not moved on."""
        return [path for slot in (os.scandir(os.path.join(self.arriving, "taking")) if os.path.isdir(os.path.join(self.arriving, "taking")) else ())
                for path in self.files(f"taking/{slot.name}")]

    def is_empty(self):
        return not self.files() and not self.taking()

    def counted(self):
        """How many dumps the history counts."""
        run = subprocess.run([CLASSIFY, "--history", self.history, "-F", "json"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        return json.loads(run.stdout)["dumps_read"] if run.returncode == 0 else run.stderr

    def damage(self):
        """What --check says of the history; empty: nothing is wrong."""
        run = subprocess.run([CLASSIFY, "--history", self.history, "--check"], capture_output=True, text=True, check=False)
        return run.stdout + run.stderr if run.returncode else ""


def ids_of(path):
    """The dump ids of a batch."""
    with open(path, "rb") as f:
        data = f.read()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    return re.findall(rb'"id":"([0-9a-f-]{36})"', data)


def dump(number, frame=0, day="2026-11-20", **more):
    """A line of a batch."""
    at = 4096 + 64 * frame
    return json.dumps({"format": "stall-dump/1", "id": f"00000000-0000-4000-8000-{number:012d}", "time": f"{day}T10:00:00.000Z",
                       "app": {"id": "com.example.shop", "version": "5.3.1"}, "stall": {"kind": "hang", "duration_ms": 500 + number % 1000, "ended": True},
                       "names": {str(at + 8): [f"f{frame}", 8]},
                       "images": [{"uuid": "6B834217-0000-0000-0000-000000000001", "name": "Shop", "load": 4096, "size": 65536, "in_app": True}],
                       "threads": [{"id": 1, "main": True, "frames": [at + 8]}], **more}, separators=(",", ":")) + "\n"


def batch(first, count=4, **how):
    return "".join(dump(n, n % 9, **how) for n in range(first, first + count)).encode()
