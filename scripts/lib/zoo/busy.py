"""Drivers of servers that a client stalls: a stall lasts from the request to the answer."""
import http.client
import os
import shutil
import socket
import subprocess
import tempfile
import time

from zoo.run import BESIDE, Skip, command_line, descendants_of, free_port, processor_ticks, tool


def ask(port, path, timeout=20):
    """The body of the answer to a request, whatever its status."""
    peer = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        peer.request("GET", path)
        return peer.getresponse().read()
    finally:
        peer.close()


def share_folder(run):
    """Processes of other users write dumps, too."""
    os.makedirs(run.dumps, exist_ok=True)
    os.chmod(run.dumps, 0o777)
    os.chmod(run.folder, 0o755)


def redis(run):
    port, client = free_port(), tool("redis-cli")
    run.start([tool("redis-server"), "--port", str(port), "--save", "", "--enable-debug-command", "yes"])
    run.until_port(port)
    run.ready()
    lua = "local n=0 for i=1,tonumber(ARGV[1]) do n=n+i%7 end return n"
    with socket.create_connection(("127.0.0.1", port), 20) as peer:
        for words in (("DEBUG", "SLEEP", "0.4"), ("DEBUG", "SLEEP", "1.5"), ("EVAL", lua, "0", "30000000"), ("EVAL", lua, "0", "90000000")):
            request = f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
            with run.stall():
                peer.sendall(request.encode())
                if peer.recv(4096)[:1] == b"-":
                    raise RuntimeError(f"{client}: redis refused {words[0]}")
    run.sees = "debugCommand|evalCommand|evalGenericCommand|luaV_execute"
    run.end()


def nginx(run, workers=False):
    """A worker, another user's process, or with `workers` False the master alone."""
    port = free_port()
    if workers:
        if run.mode in BESIDE or os.geteuid() != 0:
            raise Skip("a worker is found with --follow, by root")
        share_folder(run)
    process = "master_process on; worker_processes 1; user nobody nogroup;" if workers else "master_process off;"
    ifs = 'if ($arg_x ~ "^(a+)+$") { set $y 1; }\n' * 6
    conf = run.path("nginx.conf", f"""daemon off; {process} pid {run.folder}/pid; error_log {run.folder}/error.log;
events {{ worker_connections 64; }}
http {{ access_log off; client_body_temp_path {run.folder}/b; proxy_temp_path {run.folder}/p; fastcgi_temp_path {run.folder}/f;
  uwsgi_temp_path {run.folder}/u; scgi_temp_path {run.folder}/s;
  server {{ listen 127.0.0.1:{port}; location / {{ set $y 0; {ifs} return 200 "$y"; }} }} }}
""")
    run.start([tool("nginx"), "-p", run.folder, "-c", conf])
    run.until_port(port)
    run.ready()
    for length in range(16, 26):
        before = len(run.known)
        with run.stall():
            ask(port, f"/?x={'a' * length}!")
        if run.known[before].ms > 600:
            break
    for _ in range(2):
        with run.stall():
            ask(port, f"/?x={'a' * length}!")
    run.sees = "ngx_http_rewrite_handler|ngx_regex_exec|pcre2_match"
    run.end()


def nginx_workers(run):
    nginx(run, True)


def haproxy(run):
    port = free_port()
    lua = run.path("busy.lua", """core.register_fetches("busy", function(txn, ms)
  local from = os.clock()
  while os.clock() - from < tonumber(ms) / 1000 do end
  return "done"
end)
""")
    conf = run.path("haproxy.cfg", f"""global
  nbthread 1
  lua-load {lua}
defaults
  mode http
  timeout client 20s
  timeout connect 20s
  timeout server 20s
frontend f
  bind 127.0.0.1:{port}
  http-request return status 200 content-type text/plain lf-string %[lua.busy(400)] if {{ path /400 }}
  http-request return status 200 content-type text/plain lf-string %[lua.busy(1500)] if {{ path /1500 }}
""")
    run.start([tool("haproxy"), "-db", "-f", conf])
    run.until_port(port)
    run.ready()
    for ms in (400, 1500, 400):
        with run.stall():
            answer = ask(port, f"/{ms}")
        if b"done" not in answer:
            raise RuntimeError(f"haproxy answered {answer[:60]}")
    run.sees = "luaV_execute|lua_|hlua"
    run.end()


def postgres(run):
    """A backend, another user's process: the master starts it for a connection. Injected and with --attach it is found by --follow."""
    home = "/usr/lib/postgresql"
    versions = sorted(os.listdir(home)) if os.path.isdir(home) else []
    if not versions or os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("PostgreSQL is not installed, or who runs this is not root")
    programs, port = f"{home}/{versions[-1]}/bin", free_port()
    owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    with tempfile.TemporaryDirectory() as data:
        shutil.chown(data, "postgres")
        share_folder(run)
        subprocess.run([*owner, f"{programs}/initdb", "-D", f"{data}/db", "-A", "trust", "--no-sync"], check=True, cwd=data,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        run.start([*owner, f"{programs}/postgres", "-D", f"{data}/db", "-p", str(port), "-k", data, "-c", "fsync=off", "-c", "jit=off"])
        run.until_port(port)
        run.until(lambda: not subprocess.run([f"{programs}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)], timeout=10, check=False).returncode,
                  "PostgreSQL is ready")
        client = subprocess.Popen([f"{programs}/psql", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-At", "postgres"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        run.helpers.append(client)

        def query(text):
            client.stdin.write(text + "\n")
            client.stdin.flush()
            return client.stdout.readline().strip()

        for number in range(5):
            query(f"select {number};")
            time.sleep(0.05)
        run.ready(int(query("select pg_backend_pid();")))
        for count in (4000000, 12000000, 4000000):
            with run.stall():
                query(f"select count(*) from generate_series(1,{count}) g where sqrt(g) > 3;")
        client.stdin.close()
        client.wait(10)
        run.sees = "exec_simple_query|ExecutorRun|standard_ExecutorRun|PostgresMain"
        run.end()


PAGE = """<body><script>
const stalls = [], lengths = [400, 700, 1500];
function stall(ms) { const begin = performance.timeOrigin + performance.now();
  let now = begin; while (now - begin < ms) now = performance.timeOrigin + performance.now();
  stalls.push(Math.round(begin * 1e6) + ' ' + Math.round(now * 1e6)); }
let waits = true;
setInterval(() => { const now = performance.now(); while (waits && performance.now() - now < 20); }, 50);
function look() { const file = document.createElement('script');
  file.onload = () => { waits = false; setTimeout(next, 300); }; file.onerror = () => setTimeout(look, 100);
  file.src = 'go'; document.head.append(file); }
function next() { if (lengths.length) { stall(lengths.shift()); setTimeout(next, 600); } else document.title = 'zoo ' + stalls.join(','); }
look();
</script></body>"""


def somebody(run):
    """The words to put before a command, so that an ordinary user runs it in the run's folder,
    because its sandbox does not work for root."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        raise Skip("setpriv is not installed")
    os.makedirs(run.dumps, exist_ok=True)
    for folder in (run.folder, run.dumps):
        os.chmod(folder, 0o777)
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"HOME={run.folder}"]


def chromium(run, sandbox=False):
    """A page that blocks its renderer's main thread and then says when it did. Injected and with --attach renderers are found by --follow."""
    page, port, name = run.path("page.html", PAGE), free_port(), tool("chromium", "chromium-browser", "google-chrome")
    run.start([*(somebody(run) if sandbox else []), name, "--headless=new", *([] if sandbox else ["--no-sandbox", "--no-zygote"]), "--disable-gpu",
               "--no-first-run", f"--user-data-dir={run.folder}/profile", f"--remote-debugging-port={port}", "file://" + page])
    run.until_port(port)

    def renderers():
        used = [(processor_ticks(pid), pid) for pid in descendants_of(run.first.pid)
                if "--type=renderer" in command_line(pid) and "webui" not in command_line(pid)]
        return max(used)[1] if used and max(used)[0] > 80 else None
    run.ready(run.until(renderers, "the page's renderer works"))

    def title():
        text = ask(port, "/json").decode(errors="replace")
        return text.split('"title": "zoo ')[1].split('"')[0] if '"title": "zoo ' in text else None
    rows = run.until(title, "the page has stalled").split(",")
    run.path("log", "\n".join(rows) + "\n")
    run.until_logged(len(rows), wall=True)
    run.end()


def chromium_sandbox(run):
    chromium(run, True)
