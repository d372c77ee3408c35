"""Kafka's broker, PostgreSQL and a stand-in for S3 on the loopback, in folders of their own, for the checks of scripts/flink."""
import glob
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import urllib.parse
import urllib.request

from flink_cluster import FLINK, kill, until


def listens(port):
    with socket.socket() as s:
        s.settimeout(1)
        return s.connect_ex(("127.0.0.1", port)) == 0


class Kafka:
    """One broker in KRaft mode, out of the jars that get-flink --all fetched."""

    def __init__(self, folder, port):
        self.folder, self.port, self.process = folder, port, None
        self.address = f"localhost:{port}"
        self.config = os.path.join(folder, "server.properties")
        os.makedirs(folder)
        with open(self.config, "w", encoding="ascii") as f:
            f.write(f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:{port + 1}
listeners=PLAINTEXT://localhost:{port},CONTROLLER://localhost:{port + 1}
controller.listener.names=CONTROLLER
log.dirs={folder}/log
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
offsets.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
""")
        self.java("kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", self.config)

    def command(self, name, *arguments, heap="256m"):
        return ["java", f"-Xmx{heap}", "-XX:+UseSerialGC", "-cp", os.path.join(FLINK, "kafka", "*"), name, *arguments]

    def java(self, name, *arguments):
        subprocess.run(self.command(name, *arguments), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        kill(self.process.pid)
        self.process.wait()

    def start(self):
        with open(os.path.join(self.folder, "broker.log"), "ab") as log:
            self.process = subprocess.Popen(self.command("kafka.Kafka", self.config, heap="400m"), stdout=log, stderr=log)
        if not until(60, lambda: listens(self.port)):
            raise RuntimeError(f"no broker: see {self.folder}/broker.log")

    def produce(self, topic, folder):
        """Puts the files of a folder into a topic of four partitions, a message each."""
        path = os.path.join(FLINK, "stallkit-job.jar") + ":" + os.path.join(FLINK, "lib", "*")
        command = self.command("stallkit.tools.Produce", self.address, topic, folder)
        command[command.index("-cp") + 1] += ":" + path
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        """kill -9; True if it was running."""
        running = self.process.poll() is None
        self.process.kill()
        self.process.wait()
        return running


class S3:
    """The object store: moto, in the version that get-flink --all fetches, because other versions
    do not answer as S3 does."""

    def __init__(self, folder, port):
        self.folder, self.port, self.process = folder, port, None
        self.settings = os.path.join(folder, "s3.yaml")

    @staticmethod
    def find():
        """The folder of moto's modules; None if it was not fetched."""
        folder = os.path.join(FLINK, "moto")
        return folder if os.path.isdir(folder) else None

    def __enter__(self):
        os.makedirs(self.folder)
        with open(self.settings, "w", encoding="ascii") as f:
            f.write(f"s3.endpoint: http://localhost:{self.port}\ns3.path.style.access: true\ns3.access-key: test\ns3.secret-key: test\n"
                    "s3.endpoint.region: us-east-1\n")
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)], stdout=log, stderr=log,
                                            env=dict(os.environ, PYTHONPATH=S3.find()))
        if not until(60, lambda: listens(self.port)):
            raise RuntimeError(f"no moto: see {self.folder}/log")
        self.request("/stalls", "PUT")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def request(self, path, method="GET", data=None):
        request = urllib.request.Request(f"http://localhost:{self.port}{path}", method=method, data=data, headers={"Content-Type": "application/octet-stream"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def put_folder(self, folder, prefix):
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as f:
                self.request(f"/stalls/{prefix}/{name}", "PUT", f.read())

    def get_folder(self, prefix, folder):
        """Copies the objects below a prefix to a folder, except those in progress."""
        listed = self.request(f"/stalls?list-type=2&max-keys=1000&prefix={prefix}/").decode()
        for key in re.findall("<Key>([^<]*)</Key>", listed):
            path = os.path.join(folder, key[len(prefix) + 1:])
            if not os.path.basename(path).startswith((".", "_")):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as f:
                    f.write(self.request(f"/stalls/{urllib.parse.quote(key)}"))


class Postgres:
    """A server of its own, without a password, in a folder of the user postgres if root asks."""

    def __init__(self, folder, port):
        self.folder, self.port = folder, port
        self.url = f"jdbc:postgresql://localhost:{port}/postgres?user=stall"
        self.programs = Postgres.find()
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []

    @staticmethod
    def find():
        """The folder of PostgreSQL's programs; None if there is none that can run here."""
        folders = [os.path.dirname(shutil.which("initdb") or ""), *sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)]
        folder = next((f for f in folders if f and os.path.exists(os.path.join(f, "initdb"))), None)
        if folder and os.geteuid() == 0:
            try:
                pwd.getpwnam("postgres")
            except KeyError:
                return None
        return folder

    def program(self, name, *arguments, **more):
        return subprocess.run([*self.user, os.path.join(self.programs, name), *arguments], check=True, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd="/", **more)

    def __enter__(self):
        os.makedirs(self.folder)
        if self.user:
            shutil.chown(self.folder, "postgres", "postgres")
        self.program("initdb", "-D", f"{self.folder}/data", "-U", "stall", "-A", "trust", "--no-sync")
        self.start()
        return self

    def __exit__(self, *_):
        self.stop("immediate")

    def start(self):
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=localhost -c fsync=off"
        self.program("pg_ctl", "-D", f"{self.folder}/data", "-l", f"{self.folder}/log", "-o", options, "-w", "start")

    def stop(self, mode):
        self.program("pg_ctl", "-D", f"{self.folder}/data", "-m", mode, "-w", "stop")

    def has_rows(self):
        try:
            return self.rows("SELECT 1 FROM stall_rows LIMIT 1") == [["1"]]
        except subprocess.CalledProcessError:
            return False # there is no table yet

    def rows(self, query):
        """The answer's rows, as lists of texts."""
        done = subprocess.run([*self.user, shutil.which("psql") or f"{self.programs}/psql", "-h", "localhost", "-p", str(self.port), "-U", "stall", "-d", "postgres",
                               "-At", "-F", "\t", "-c", query], text=True, capture_output=True, check=True, cwd="/")
        return [line.split("\t") for line in done.stdout.splitlines()]

