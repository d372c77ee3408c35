"""Functions that the scripts of bench/ for symbols share: they run commands by turns, and print a
line for each figure with its goal."""
import os
import shutil
import statistics
import subprocess
import sys

CHILD = ("import resource,subprocess,sys,time;t=time.monotonic();r=subprocess.run(sys.argv[1:],stdin=sys.stdin,stdout=subprocess.DEVNULL,"
         "stderr=subprocess.DEVNULL);u=resource.getrusage(resource.RUSAGE_CHILDREN);"
         "print(time.monotonic()-t,u.ru_maxrss/1024,u.ru_utime+u.ru_stime,r.returncode)")


def tool(name):
    """A tool of LLVM, under its plain name or Debian's."""
    return shutil.which(name) or shutil.which(name + "-14")


def child(command, stdin=None):
    """Wall time in s, peak resident set in MB (at least the 14 of Python, which the system counts before the command is executed), processor
    time in s. A command that fails is reported, because its time means nothing."""
    run = subprocess.run([sys.executable, "-c", CHILD, *command], stdin=stdin, capture_output=True, text=True, check=False)
    seconds, memory, processor, status = run.stdout.split()
    if status != "0":
        print(f"FAILED with status {status}, what is said of it means nothing: {' '.join(command)}", flush=True)
    return float(seconds), float(memory), float(processor)


def remove_files(folder):
    """Removes all files below the folder; the folders stay."""
    for at, _, names in os.walk(folder):
        for name in names:
            os.remove(os.path.join(at, name))


def by_turns(runs, commands, path=None, without=None):
    """Each command's results, with the file as its standard input. With `without`, a folder: the files below it are removed before each
    run, and each command runs twice and the second run counts. This matters for work of
    milliseconds: what the other command left in the caches of the machine changes the time by a
    tenth."""
    results = [[] for _ in commands]
    for _ in range(runs):
        for which, command in enumerate(commands):
            for counts in (False, True) if without else (True,):
                if without:
                    remove_files(without)
                with open(path or os.devnull, "rb") as f:
                    result = child(command, f)
                if counts:
                    results[which].append(result)
    return results


def seconds(runs):
    return statistics.median(r[0] for r in runs)


def shown(runs):
    """Median and span."""
    t = [r[0] for r in runs]
    return f"{statistics.median(t):.3f} s ({min(t):.3f} to {max(t):.3f})"


def processor(runs):
    """Median of the processor time, which other work on the machine changes little."""
    return statistics.median(r[2] for r in runs)


def memory(runs):
    return max(r[1] for r in runs)


def report(group, work, goal, text):
    print(f"{group}: {work}: {text}; goal: {goal}", flush=True)
