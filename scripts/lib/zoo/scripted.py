"""Drivers of programs that run a script of ours: it stalls them when the file `go` is there, and logs begin and end itself.

The first of its stalls, of 50 ms, loads what writing the log needs: in a virtual machine for a language that takes longer than the stall.
"""
import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading

from paths import BUILD
from zoo.run import LIMIT_S, Skip, free_port, tool

NODE = """const fs = require('fs'), child = require('child_process');
const [, , log, go, kind, port] = process.argv;
const spin = ms => { const end = performance.now() + ms; while (performance.now() < end); };
function handler(request, answer) { stall(() => spin(+request.url.slice(1))); answer.end('done'); }
function backtrack(n) { /^(a+)+$/.test('a'.repeat(n) + '!'); }
function stall(work) {
  const begin = process.hrtime.bigint(); work();
  fs.appendFileSync(log, `${begin} ${process.hrtime.bigint()}\\n`);
}
require('http').createServer(handler).listen(+port, '127.0.0.1');
const request = ms => require('http').get(`http://127.0.0.1:${port}/${ms}`, answer => answer.resume());
const todo = {
  http: [50, 400, 700, 1500].map(ms => () => request(ms)),
  exec: [0.05, 0.4, 0.7, 1.5].map(s => () => stall(() => child.execSync(`sleep ${s}`))),
  regexp: [16, 24, 25, 26].map(n => () => stall(() => backtrack(n))),
}[kind];
function next() { const work = todo.shift(); if (work) { work(); setTimeout(next, 900 + (kind === 'http' ? 1500 : 0)); } }
const wait = setInterval(() => { if (fs.existsSync(go)) { clearInterval(wait); setInterval(() => 0, 50); next(); } }, 50);
"""

ASYNCIO = """import asyncio, os, sys, time
log, go, kind = sys.argv[1:4]
def block(seconds, cpu):
    begin = time.monotonic_ns()
    if cpu:
        while time.monotonic_ns() - begin < seconds * 1e9: pass
    else:
        time.sleep(seconds)
    with open(log, "a") as file: file.write(f"{begin} {time.monotonic_ns()}\\n")
async def main():
    while not os.path.exists(go): await asyncio.sleep(0.05)
    for seconds, cpu in ((0.05, True), (0.4, False), (0.7, True), (1.5, False), (0.4, True)):
        block(seconds, cpu)
        for _ in range(10): await asyncio.sleep(0.05)
    while True: await asyncio.sleep(0.05)
if kind == "uvloop":
    import uvloop
    uvloop.install()
asyncio.run(main())
"""

# The stalls of the window programs below.
BLOCK = """todo = [(0.05, True), (0.4, False), (0.7, True), (1.5, False)]
def block(seconds, cpu):
    begin = time.monotonic_ns()
    if cpu:
        while time.monotonic_ns() - begin < seconds * 1e9: pass
    else:
        time.sleep(seconds)
    with open(log, "a") as file: file.write(f"{begin} {time.monotonic_ns()}\\n")
"""

QT = """import os, sys, time
from PyQt5.QtCore import QTimer
from PyQt5.QtWidgets import QApplication, QLabel
log, go = sys.argv[1:3]
app = QApplication(sys.argv[:1])
label = QLabel("zoo"); label.show()
""" + BLOCK + """def turn():
    if os.path.exists(go) and todo:
        block(*todo.pop(0))
        QTimer.singleShot(600, turn)
    else:
        QTimer.singleShot(50, turn)
QTimer.singleShot(50, turn)
app.exec_()
"""

GTK = """import os, sys, time, gi
gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk
log, go = sys.argv[1:3]
window = Gtk.Window(title="zoo"); window.add(Gtk.Label(label="zoo")); window.show_all()
""" + BLOCK + """def turn():
    if os.path.exists(go) and todo:
        block(*todo.pop(0))
        GLib.timeout_add(600, turn)
    else:
        GLib.timeout_add(50, turn)
GLib.timeout_add(50, turn)
Gtk.main()
"""

# What blocks a task blocks the thread that runs it: the only one, or one of the workers, which wait for others meanwhile.
TOKIO = """use std::{env, fs::OpenOptions, io::Write, path::Path, time::{Duration, Instant}};
fn now() -> u128 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u128 * 1_000_000_000 + t.tv_nsec as u128
}
#[inline(never)]
fn block(log: &str, ms: u64, cpu: bool) {
    let (begin, since) = (now(), Instant::now());
    if cpu { while since.elapsed() < Duration::from_millis(ms) {} } else { std::thread::sleep(Duration::from_millis(ms)); }
    let mut file = OpenOptions::new().append(true).create(true).open(log).unwrap();
    writeln!(file, "{} {}", begin, now()).unwrap();
}
async fn work(log: String, go: String) {
    while !Path::new(&go).exists() { tokio::time::sleep(Duration::from_millis(50)).await; }
    for (ms, cpu) in [(50, true), (400, false), (700, true), (1500, false)] {
        block(&log, ms, cpu);
        for _ in 0..10 { tokio::time::sleep(Duration::from_millis(50)).await; }
    }
    loop { tokio::time::sleep(Duration::from_millis(50)).await; }
}
fn main() {
    let word: Vec<String> = env::args().collect();
    let mut builder = if word[3] == "one" { tokio::runtime::Builder::new_current_thread() } else { tokio::runtime::Builder::new_multi_thread() };
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::spawn(work(word[1].clone(), word[2].clone())).await.unwrap(); });
}
"""
CARGO = """[package]
name = "zoo-tokio"
version = "0.1.0"
edition = "2021"
[dependencies]
libc = "0.2"
tokio = { version = "1", features = ["rt", "rt-multi-thread", "net", "time"] }
[profile.dev]
opt-level = 1
"""

VIM = """let s:todo = [0.05, 0.4, 0.7, 1.5]
func! s:Now()
  return str2nr(substitute(reltimestr(reltime()), '[ .]', '', 'g')) * 1000
endfunc
func! s:Block(seconds)
  let from = reltime()
  let begin = s:Now()
  while reltimefloat(reltime(from)) < a:seconds
  endwhile
  call writefile([begin . ' ' . s:Now()], $ZOO_LOG, 'a')
endfunc
func! Turn(timer)
  if len(s:todo) && filereadable($ZOO_GO)
    call s:Block(remove(s:todo, 0))
    call timer_start(600, 'Turn')
  else
    call timer_start(50, 'Turn')
  endif
endfunc
call timer_start(50, 'Turn')
"""

EMACS = """(defvar zoo-todo '(0.05 0.4 0.7 1.5))
(defun zoo-block (seconds)
  (let ((begin (float-time)))
    (while (< (- (float-time) begin) seconds))
    (write-region (format "%d %d\\n" (truncate (* begin 1e9)) (truncate (* (float-time) 1e9))) nil (getenv "ZOO_LOG") t 'quiet)))
(defun zoo-turn ()
  (if (and zoo-todo (file-exists-p (getenv "ZOO_GO")))
      (progn (zoo-block (pop zoo-todo)) (run-with-timer 0.6 nil 'zoo-turn))
    (run-with-timer 0.05 nil 'zoo-turn)))
(run-with-timer 0.05 nil 'zoo-turn)
"""

NIO = """import java.io.*; import java.net.*; import java.nio.channels.*;
public class Nio {
  static void block(String log, long ms, boolean cpu) throws Exception {
    long begin = System.nanoTime();
    if (cpu) { while (System.nanoTime() - begin < ms * 1000000L); } else Thread.sleep(ms);
    try (FileWriter out = new FileWriter(log, true)) { out.write(begin + " " + System.nanoTime() + "\\n"); }
  }
  public static void main(String[] args) throws Exception {
    Thread loop = new Thread(() -> { try {
      Selector selector = Selector.open();
      ServerSocketChannel server = ServerSocketChannel.open().bind(new InetSocketAddress("127.0.0.1", 0));
      server.configureBlocking(false); server.register(selector, SelectionKey.OP_ACCEPT);
      while (!new File(args[1]).exists()) selector.select(50);
      long[] todo = {50, 400, 700, 1500};
      for (int i = 0; i < 4; i++) { block(args[0], todo[i], i == 2); for (int k = 0; k < 10; k++) selector.select(50); }
      for (;;) selector.select(50);
    } catch (Exception e) { e.printStackTrace(); } }, "nio-loop");
    loop.start(); loop.join();
  }
}
"""

SWING = """import java.io.*; import javax.swing.*;
public class Swing {
  static int at = 0;
  static void block(String log, long ms, boolean cpu) throws IOException, InterruptedException {
    long begin = System.nanoTime();
    if (cpu) { while (System.nanoTime() - begin < ms * 1000000L); } else Thread.sleep(ms);
    try (FileWriter out = new FileWriter(log, true)) { out.write(begin + " " + System.nanoTime() + "\\n"); }
  }
  public static void main(String[] args) throws Exception {
    long[] todo = {50, 400, 700, 1500};
    SwingUtilities.invokeAndWait(() -> { JFrame frame = new JFrame("zoo"); frame.add(new JLabel("zoo")); frame.pack(); frame.setVisible(true);
      long[] not = {0};
      new Timer(50, event -> { try {
        long now = System.nanoTime();
        if (at < 4 && now > not[0] && new File(args[1]).exists()) { block(args[0], todo[at], at == 2); at++; not[0] = System.nanoTime() + 600000000L; }
      } catch (Exception e) { e.printStackTrace(); } }).start(); });
  }
}
"""


def node(kind, sees):
    def drive(run):
        run.start([tool("node", "nodejs"), run.path("zoo.js", NODE), run.log, run.go, kind, str(free_port())])
        run.ready()
        run.until_logged(4)
        run.sees = sees
        run.end()
    return drive


def asyncio(kind):
    def drive(run):
        python = sys.executable
        if kind == "uvloop" and subprocess.run([python, "-c", "import uvloop"], check=False, stderr=subprocess.DEVNULL).returncode:
            python = "/usr/bin/python3"
            if subprocess.run([python, "-c", "import uvloop"], check=False, stderr=subprocess.DEVNULL).returncode:
                raise Skip("uvloop is not installed")
        run.start([os.path.realpath(python), run.path("zoo.py", ASYNCIO), run.log, run.go, kind])
        run.ready()
        run.until_logged(5)
        run.sees = r"\bblock\b"
        run.end()
    return drive


def is_display_free(number):
    """Of one whose server was killed, what is left is removed."""
    lock, socket = f"/tmp/.X{number}-lock", f"/tmp/.X11-unix/X{number}"
    try:
        with open(lock, encoding="ascii") as text:
            os.kill(int(text.read()), 0)
        return False
    except (OSError, ValueError):
        for path in (lock, socket):
            with contextlib.suppress(OSError):
                os.unlink(path)
    return not os.path.exists(socket)


def display(run):
    """A display of our own; its name."""
    number = next(n for n in range(70, 999) if is_display_free(n))
    run.spawn([tool("Xvfb"), f":{number}", "-screen", "0", "800x600x24", "-nolisten", "tcp"], run.path("xvfb"))
    run.until(lambda: os.path.exists(f"/tmp/.X11-unix/X{number}"), "Xvfb answers")
    return f":{number}"


def pyqt(run):
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import PyQt5.QtWidgets"], check=False, stderr=subprocess.DEVNULL).returncode:
        raise Skip("PyQt5 is not installed")
    run.start([python, run.path("zoo.py", QT), run.log, run.go], env={**os.environ, "DISPLAY": display(run), "QT_QPA_PLATFORM": "xcb"})
    run.ready()
    run.until_logged(4)
    run.sees = r"\bblock\b"
    run.end()


def gtk(run):
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import gi; gi.require_version('Gtk', '3.0')"], check=False, stderr=subprocess.DEVNULL).returncode:
        raise Skip("GTK for Python is not installed")
    run.start([python, run.path("zoo.py", GTK), run.log, run.go], env={**os.environ, "DISPLAY": display(run), "GDK_BACKEND": "x11"})
    run.ready()
    run.until_logged(4)
    run.sees = r"\bblock\b"
    run.end()


def tokio_program():
    """The program, built once: crates come from where cargo has them, or may fetch them."""
    home = os.path.join(BUILD, "zoo-tokio")
    program, cargo = os.path.join(home, "target/debug/zoo-tokio"), tool("cargo")
    os.makedirs(os.path.join(home, "src"), exist_ok=True)
    for name, text in (("Cargo.toml", CARGO), ("src/main.rs", TOKIO)):
        path = os.path.join(home, name)
        if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    signal.alarm(0)  # the first time takes a while, and is no part of a run
    done = subprocess.run([cargo, "build", "-q"], cwd=home, check=False, stderr=subprocess.DEVNULL, timeout=600)
    signal.alarm(LIMIT_S)
    if done.returncode:
        raise Skip("tokio cannot be built")
    return program


def tokio(flavour):
    def drive(run):
        run.start([tokio_program(), run.log, run.go, flavour])
        run.ready()
        run.until_logged(4)
        run.sees = r"\bblock\b"
        run.end()
    return drive


def terminal(run):
    """A terminal whose output is thrown away. Its ends for us and for the program."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def drain():
        try:
            while os.read(ours, 65536):
                pass
        except OSError:
            pass
    threading.Thread(target=drain, daemon=True).start()
    return ours, theirs


def emacs(run):
    program, (ours, theirs) = tool("emacs-nox", "emacs"), terminal(run)
    script = run.path("zoo.el", EMACS)
    run.start([program, "-Q", "-nw", "-l", script], stdin=theirs, stdout=theirs, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
              env={**os.environ, "TERM": "xterm", "ZOO_LOG": run.log, "ZOO_GO": run.go})
    os.close(theirs)
    run.ready()
    run.until_logged(4, wall=True)
    os.close(ours)
    run.end()


def vim(run):
    program, (ours, theirs) = tool("vim"), terminal(run)
    script = run.path("zoo.vim", VIM)
    run.start([program, "-u", "NONE", "-i", "NONE", "-n", "-N", "-S", script], stdin=theirs, stdout=theirs, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
              env={**os.environ, "TERM": "xterm", "ZOO_LOG": run.log, "ZOO_GO": run.go})
    os.close(theirs)
    run.ready()
    run.until_logged(4, wall=True)
    os.close(ours)
    run.end()


def java(name, source, screen):
    def drive(run):
        compiler, program = tool("javac"), tool("java")
        more = {"env": {**os.environ, "DISPLAY": display(run)}} if screen else {}
        subprocess.run([compiler, "-d", run.folder, run.path(name + ".java", source)], check=True, timeout=60)
        run.start([os.path.realpath(program), "-cp", run.folder, name, run.log, run.go], **more)
        run.until(lambda: any_thread(run.target(), run.thread), "the loop's thread runs")
        run.ready()
        run.until_logged(4)
        run.end()
    return drive


def any_thread(pid, glob):
    word = glob.strip("*")
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as text:
            if word in text.read():
                return True
    return False
