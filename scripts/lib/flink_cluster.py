"""A Flink cluster of scripts/flink/cluster, its jobs and their processes, for the checks of scripts/flink."""
import gzip
import json
import os
import re
import signal
import subprocess
import time
import urllib.request

from paths import BIN, TOP

FLINK = os.path.join(TOP, "build", "flink")
JAR = os.path.join(FLINK, "stallkit-job.jar")
SCRIPTS = os.path.join(TOP, "scripts", "flink")
FILTERS = ("stallsym", "stallclassify")


def ready(everything=False):
    """Is Flink installed (everything: together with Kafka, PostgreSQL's driver and S3)?"""
    check = [os.path.join(SCRIPTS, "get-flink"), "--check", *(["--all"] if everything else [])]
    return subprocess.run(check, check=False).returncode == 0


def build_job():
    subprocess.run([os.path.join(SCRIPTS, "build-job")], check=True, stderr=subprocess.DEVNULL)


def until(seconds, condition, step=0.2):
    """Calls condition() until its value is true, and returns that value; None if it was never true
    within so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(step)
    return None


def processor_seconds(pid, with_children=False):
    """The processor time that a process has used; with_children: together with its children that
    have ended."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        fields = f.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15 if with_children else 13])) / os.sysconf("SC_CLK_TCK")


def processor_seconds_of_all(pid):
    """The processor time that a process and all of its descendants have used."""
    running = 0.0
    for child, _ in descendants(pid):
        try:
            running += processor_seconds(child, True)
        except OSError:
            pass # the process has ended meanwhile; its time is in that of its parent
    return running + processor_seconds(pid, True)


def children(pid):
    """The running children of the process `pid`: id and name."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as f:
                    head, _, tail = f.read().rpartition(")")
            except OSError:
                continue
            if int(tail.split()[1]) == pid and tail.split()[0] != "Z":
                found.append((int(entry), head.partition("(")[2]))
    return found


def descendants(pid):
    """The running descendants of the process `pid`, as (id, start time)."""
    found = []
    for child, _ in children(pid):
        found += [(child, started(child)), *descendants(child)]
    return found


def started(pid):
    """When a process was started, in ticks since boot; None if it does not run."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


class Cluster:
    """run: folder of its files; port: of its web page; settings: FLINK_… of scripts/flink/cluster."""

    def __init__(self, run, port, managers=2, **settings):
        self.run, self.port, self.managers, self.left = run, port, managers, 0
        self.env = dict(os.environ, FLINK_RUN=run, FLINK_PORT=str(port), FLINK_METRICS_PORT=str(port + 2000), **settings)

    def _cluster(self, *arguments, **more):
        return subprocess.run([os.path.join(SCRIPTS, "cluster"), *arguments], env=self.env, text=True, capture_output=True, check=False, **more)

    def __enter__(self):
        try:
            self.start()
        except BaseException: # also when a signal ends this script
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Starts the cluster, and task managers that have ended."""
        done = self._cluster("start", str(self.managers))
        if done.returncode != 0:
            raise RuntimeError(f"no cluster: {done.stderr.strip()}")

    def stop(self):
        """Stops the cluster, and ends processes that task managers started and left behind;
        self.left counts these."""
        filters = [process for manager in self.task_managers() for process in descendants(manager)]
        self._cluster("stop")
        left = [(pid, start) for pid, start in filters if not until(10, lambda p=pid, t=start: started(p) != t)]
        self.left += len(left)
        for pid, start in left:
            if started(pid) == start:
                kill(pid)

    def pid(self, name):
        with open(os.path.join(self.run, f"{name}.pid"), encoding="ascii") as f:
            return int(f.read().split()[0])

    def task_managers(self):
        return [self.pid(f"tm{i + 1}") for i in range(self.managers) if os.path.exists(os.path.join(self.run, f"tm{i + 1}.pid"))]

    def filters(self):
        """Ids of the filters that run now."""
        return [pid for manager in self.task_managers() for pid, name in children(manager) if name in FILTERS]

    def ask(self, path):
        with urllib.request.urlopen(f"http://localhost:{self.port}{path}", timeout=30) as answer:
            return json.load(answer)

    def post(self, path, body):
        request = urllib.request.Request(f"http://localhost:{self.port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30):
            pass

    def submit(self, out, parallelism=2, **options):
        """Starts the job. options: those of the job, without the dashes; True = an option without a
        value."""
        arguments = []
        for name, value in {"bin": BIN, "out": out, **options}.items():
            arguments += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
        done = self._cluster("submit", "run", "-d", "-p", str(parallelism), "-c", "stallkit.StallJob", JAR, *arguments)
        job = re.search(r"JobID ([0-9a-f]{32})", done.stdout)
        if not job:
            raise RuntimeError(f"no job: {done.stdout}{done.stderr}"[:2000])
        return Job(self, job[1], out)


class Job:
    def __init__(self, cluster, name, out):
        self.cluster, self.name, self.out = cluster, name, out

    def state(self):
        return self.cluster.ask(f"/jobs/{self.name}")["state"]

    def wait(self, seconds=900):
        """Returns the job's state at its end; if the job has not ended in that time, its present
        state, such as 'RUNNING'."""
        until(seconds, lambda: self.state() in ("FINISHED", "FAILED", "CANCELED"))
        return self.state()

    def wait_for_output(self, records, seconds=300):
        """Waits until the filters have answered so many records since the job was last restarted; False if the job ended before that."""
        def passed():
            job = self.cluster.ask(f"/jobs/{self.name}")
            if job["state"] in ("FINISHED", "FAILED", "CANCELED"):
                return "ended"
            return any("filters" in v["name"] and v["metrics"]["read-records"] + v["metrics"]["write-records"] >= records for v in job["vertices"])
        return until(seconds, passed, 0.1) is True

    def checkpoints(self):
        return self.cluster.ask(f"/jobs/{self.name}/checkpoints")

    def drain(self):
        """Ends a job that follows its input. Records that the job holds back are passed on, and all
        files are completed. Returns the state."""
        self.cluster.post(f"/jobs/{self.name}/stop", {"drain": True, "targetDirectory": f"file://{self.cluster.run}/savepoints"})
        return self.wait()

    def annotated(self, known):
        """The number of dumps in complete annotated files; known: what files had, a dictionary to be kept."""
        for path in self.files("annotated"):
            if path not in known:
                with gzip.open(path, "rb") as f:
                    known[path] = sum(1 for _ in f)
        return sum(known.values())

    def cancel(self):
        request = urllib.request.Request(f"http://localhost:{self.cluster.port}/jobs/{self.name}", method="PATCH")
        with urllib.request.urlopen(request, timeout=30):
            pass
        self.wait(60)

    def files(self, kind):
        """The complete files of an output; names of files in progress begin with a dot."""
        found = []
        for folder, _, names in os.walk(os.path.join(self.out, kind)):
            found += [os.path.join(folder, name) for name in names if not name.startswith(".")]
        return sorted(found)

    def dead_letters(self):
        letters = []
        for path in self.files("dead"):
            with open(path, encoding="utf-8") as f:
                letters += [json.loads(line) for line in f]
        return letters


def kill(*pids):
    """kill -9, of all at once, as the end of one may end the others; True if all were there, and are gone."""
    there = []
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
            there.append(pid)
        except ProcessLookupError:
            pass

    def gone(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
                return f.read().rpartition(")")[2].split()[0] in "ZX"
        except OSError:
            return True
    return len(there) == len(pids) and all(until(10, lambda p=pid: gone(p), 0.01) for pid in pids)
