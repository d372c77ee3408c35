"""Runs the cases of testdata/apps/waits.c, requests.c, rivals.c, around.c, asleep.c and pool.c, and of two programs in Python, under stallrec."""
import glob
import gzip
import json
import os
import platform
import re
import subprocess
import sys
import tempfile

from paths import BIN, BUILD

STALLREC = os.path.join(BIN, "stallrec")
# The cases of testdata/apps/requests.c.
REQUESTS = ("accepts", "accepts-tcp", "serves", "serves-tcp", "fifo", "signals", "slow-client", "slow-first", "slow-epoll", "slow-paused", "asks", "asks-deeper",
            "commands")
# The cases of testdata/apps/rivals.c.
RIVALS = ("peers", "polling", "polling-last", "shallower", "wide", "renumbered", "shared", "narrowed", "handled", "handled-often", "handled-condition", "handled-aside")
# The cases of testdata/apps/around.c, and the kind of loop that the summary names for each.
AROUND = {"sleeps": "loop that sleeps at", "polls": "loop that sleeps at", "selects": "loop that sleeps at", "locks": "loop on a lock at", "conditions": "loop on a condition variable at",
          "signals": "loop on signals at", "paced": "event loop at", "selected": "event loop at",
          "timers": "event loop at"}
# Programs in Python that idle so, and poll in their handlers by subprocess.run; the calls of Python's functions need no stack.
PYTHON = {"queue": "q.get()", "sleep": "time.sleep(0.4)"}
PYTHON_PROGRAM = """
import queue, subprocess, sys, threading, time
q, done = queue.Queue(), threading.Semaphore()
def feed():
    while done.acquire():
        time.sleep(0.4)
        q.put(0)
threading.Thread(target=feed, daemon=True).start()
for i in range(9):
    %s
    stalls = i in (4, 7)
    begin = time.monotonic_ns()
    subprocess.run(["sleep", "0.6" if stalls else "0.05"], capture_output=True)
    if stalls:
        print("stall", begin, time.monotonic_ns(), flush=True)
    done.release()
"""
TRIES, TOLERANCE_MS = 3, 20  # a machine that others use, too
SAMPLE_MS = 50               # at most so much is lost of a stall in which the program dies, and so exactly are waits for input known


class Run:
    """Runs a case. Returns the stalls that the program made, and those that were recorded."""

    def __init__(self, case, *options):
        app = "requests" if case in REQUESTS else "rivals" if case in RIVALS else "pool" if case == "pool" else "waits"
        app = "around" if case in AROUND or case in ("even", "bursts", "items") else app
        app = "pool" if case == "pool parked" else "asleep" if " " in case else app
        command = [os.path.join(BUILD, "apps", app), *case.split()[app == "pool":]]
        if case in PYTHON:
            command = [sys.executable, "-c", PYTHON_PROGRAM % PYTHON[case]]
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([STALLREC, "-o", folder, *options, "--", *command], capture_output=True, text=True, check=False)
            self.said, self.tried = done.stderr, done.returncode != 77
            spans = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("stall ")]
            self.made = [(int(end) - int(begin)) / 1e6 for begin, end in spans]
            self.stalls, self.places = {}, set()
            for path in sorted(glob.glob(os.path.join(folder, "stall-*.json.gz"))):
                stall = json.load(gzip.open(path))["stall"]
                self.stalls[stall["id"]] = stall
                self.places.add(stall["loop_at"])
            self.found = sorted(s["duration_ms"] for s in self.stalls.values())

    def is_right(self, less=0):
        """less: the time that may be lost of a stall, in ms."""
        stalls = sorted(self.stalls.values(), key=lambda s: s["duration_ms"])
        more = [SAMPLE_MS if s.get("edges") == "sampled" else 0 for s in stalls]
        return len(stalls) == len(self.made) and all(-TOLERANCE_MS - less - m <= s["duration_ms"] - made <= TOLERANCE_MS + m
                                                     for made, s, m in zip(sorted(self.made), stalls, more))

    def percent(self):
        match = re.search(r"watched [0-9.]+ s of [0-9.]+ s \(([0-9]+) %\)", self.said)
        return int(match[1]) if match else -1

    def loops(self):
        match = re.search(r"loop(?: on a condition variable)? at ([^;\n]*)", self.said)
        return match[1].split(", then ") if match else []

    def is_unknown(self):
        """Is it said that nothing was watched, and no stall?"""
        return not self.stalls and self.percent() <= 10 and "no certain loop" in self.said

    def details(self):
        return [f"made {self.made}, found {self.found}", self.said]


def best_run(case, *options, less=0, unknown=False):
    for _ in range(TRIES):
        run = Run(case, *options)
        if run.is_unknown() if unknown else run.is_right(less):
            break
    return run


def skips(tap, name):
    """Skips the whole test where stallrec cannot run programs. Returns what main returns, or None."""
    if os.environ.get("SAN") or platform.machine() not in ("x86_64", "aarch64") or platform.system() != "Linux":
        return tap.skip_all([name], "stallrec runs programs on Linux, and not with a sanitizer")
    return None
