#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`anemone top` against a made-up service: what it computes, shows, and says when the service misbehaves. Prints TAP.

    test_top.py ANEMONE

The service here packs its messages by hand, after src/protocol/service.h, so that the layout is read by two sides that share nothing.
"""
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

import tap

HEADER = struct.Struct("<IHHIiII")
CLIENT = struct.Struct("<IIII64sIIIIQQQII")
PAGE = struct.Struct("<QQQQQQIIIIIIII")
MAGIC, VERSION, HELLO, STATUS, ROWS = 0x454E4153, 1, 1, 9, 20
SECOND = 10**9
PATIENCE = 60


def client(task, requests=0, engine=0, tier=2, executable=b"/usr/bin/camera", **more):
    fields = dict(pid=1000 + task, uid=0, connects=1, programs=2, depth=24, flight=3, size=5 << 20, direct=0, surfaces=4)
    fields.update(more)
    return CLIENT.pack(fields["pid"], fields["uid"], task, tier, executable, fields["connects"], fields["programs"], fields["depth"],
                       fields["flight"], requests, engine, fields["size"], fields["direct"], fields["surfaces"])


class Service:
    """Answers HELLO and STATUS. `samples` has one list of clients for each sample; the last is repeated."""

    def __init__(self, folder, samples, *, spoil=None, ends_after=None):
        self.path = os.path.join(folder, "service")
        self.samples, self.spoil, self.ends_after, self.sample = samples, spoil, ends_after, -1
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen(1)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        try:
            end, _ = self.listener.accept()
        except OSError:
            return
        with end:
            while True:
                message = end.recv(8192)
                if not message or not self.answer(end, message):
                    return

    def reply(self, end, kind, serial, body, status=0, files=(), magic=MAGIC, version=VERSION):
        head = HEADER.pack(magic, version, kind, serial, status, len(body), 0)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(files)}i", *files))] if files else []
        end.sendmsg([head + body], rights)

    def answer(self, end, message):
        magic, version, kind, serial, _, size, _ = HEADER.unpack(message[:HEADER.size])
        assert (magic, version, size) == (MAGIC, VERSION, len(message) - HEADER.size)
        if kind == HELLO:
            assert message[HEADER.size:] == struct.pack("<II", 2, 0), "an observer"
            if self.spoil == "refuse":
                self.reply(end, kind, serial, b"There are 128 sessions\x1b already.\0", status=-0x1FFFFD42)
                return True
            with tempfile.TemporaryFile() as ring:
                self.reply(end, kind, serial, struct.pack("<6I", 7, 1 << 10, 4096, 1, 0, 1) + bytes(56), files=[ring.fileno()])
            return True
        assert kind == STATUS
        (first, _) = struct.unpack("<II", message[HEADER.size:])
        if not first:
            self.sample += 1
            if self.ends_after is not None and self.sample >= self.ends_after:
                return False
        clients = self.samples[min(self.sample, len(self.samples) - 1)]
        rows = clients[first:first + ROWS]
        wrong = {"rows": 21}.get(self.spoil, len(rows))
        # Two seconds of wall time and four of virtual time between samples; 900 dispatches and three seconds of the engine.
        page = PAGE.pack((3700 + 2 * self.sample) * SECOND, 4 * self.sample * SECOND, 100 + 900 * self.sample, 3 * self.sample * SECOND, 7 << 20,
                         1 << 10, 4321, 0, len(clients), 4322, 4323, 1, 0, wrong)
        body = page + b"".join(rows).ljust(ROWS * CLIENT.size, b"\0")
        if self.spoil == "short":
            body = body[:-8]
        self.reply(end, kind, serial + (self.spoil == "serial"), body, magic=MAGIC + (self.spoil == "magic"), version=VERSION + (self.spoil == "version"))
        return True


def environment():
    return {key: value for key, value in os.environ.items() if key not in ("ANEMONE_SERVICE", "XDG_RUNTIME_DIR")}


def top(anemone, service, *words, **more):
    return subprocess.run([anemone, "top", "--socket", service.path, *words], capture_output=True, text=True, timeout=PATIENCE, env=environment(), **more)


def expect(problems, what, found, wanted):
    if found != wanted:
        problems.append(f"{what} is {found!r}, not {wanted!r}")


def rates(anemone, folder):
    """In two seconds: 600 and 300 dispatches, two and one of the engine's three seconds; a third client began meanwhile."""
    samples = [[client(1, 50, 0), client(2, 10, SECOND)],
               [client(1, 350, SECOND, tier=1), client(2, 610, 3 * SECOND, tier=0), client(3, 8, 0, tier=3, direct=1)]]
    done = top(anemone, Service(folder, samples), "--once", "--json")
    problems = []
    expect(problems, "the exit status", done.returncode, 0)
    expect(problems, "stderr", done.stderr, "")
    if problems:
        return problems
    found = json.loads(done.stdout)
    clients = found["clients"]
    expect(problems, "the order", [row["task"] for row in clients], [2, 1, 3])
    expect(problems, "dispatches", [row["dispatches_per_second"] for row in clients], [300.0, 150.0, 4.0])
    expect(problems, "the shares", [row["engine_share_percent"] for row in clients], [66.667, 33.333, 0.0])
    expect(problems, "the tiers", [row["tier"] for row in clients], ["restricted", "per-user", ""])
    expect(problems, "direct paths", [row["direct_path"] for row in clients], [False, False, True])
    expect(problems, "counters", [row["requests"] for row in clients], [610, 350, 8])
    row = clients[0]
    expect(problems, "a client", [row[key] for key in ("pid", "uid", "user", "connections", "programs", "surfaces", "queue_depth", "in_flight", "bytes", "executable")],
           [1002, 0, "root", 1, 2, 4, 24, 3, 5 << 20, "/usr/bin/camera"])
    service = found["service"]
    expect(problems, "the service", [service[key] for key in ("pid", "uid", "sessions", "requests", "dispatches_per_second", "engine_busy_percent", "wired_bytes",
                                                             "unwired_bytes", "broker_pid", "broker_restarts", "compiler_pid", "compiler_restarts")],
           [4321, 0, 3, 1000, 450.0, 75.0, 7 << 20, 1 << 10, 4322, 1, 4323, 0])
    return problems


def table(anemone, folder):
    done = top(anemone, Service(folder, [[client(1)], [client(1, 20, 3 * SECOND)]]), "--once")
    problems = []
    expect(problems, "the exit status", done.returncode, 0)
    expect(problems, "the table", [line.split() for line in done.stdout.splitlines()[-2:]],
           ["PID USER TIER PROGS DEPTH FLIGHT DISP/S ENGINE% MEMORY EXECUTABLE".split(),
            "1001 root unrestricted 2 24 3 10.0 100.0 5.0M /usr/bin/camera".split()])
    if "process 4321 of root, up 1:01:42, 1 session\n" not in done.stdout:
        problems.append(f"no line of the service: {done.stdout!r}")
    if "broker: process 4322, 1 restart; compile service: process 4323, 0 restarts\n" not in done.stdout:
        problems.append(f"no line of its children: {done.stdout!r}")
    return problems


def pages(anemone, folder):
    """Three pages of clients, the last one full; more than a service has are refused."""
    many = [client(task, executable=b"/bin/%d" % task) for task in range(1, 61)]
    done = top(anemone, Service(folder, [many]), "--once", "--json")
    problems = []
    expect(problems, "stderr", done.stderr, "")
    expect(problems, "the clients", [row["executable"] for row in json.loads(done.stdout)["clients"]] if done.stdout else None,
           [f"/bin/{task}" for task in range(1, 61)])
    os.unlink(os.path.join(folder, "service"))
    done = top(anemone, Service(folder, [[client(task) for task in range(1, 141)]]), "--once")
    expect(problems, "the exit status for 140 clients", done.returncode, 1)
    expect(problems, "stderr", done.stderr, "anemone: The service shows more than 128 clients.\n")
    return problems


def hostile_text(anemone, folder):
    """A client chooses the name of its executable: no control character reaches a terminal, and a name without end ends."""
    done = top(anemone, Service(folder, [[client(1, executable=b"/a\x1b[2Jb\n" + b"x" * 57)]]), "--once")
    problems = []
    expect(problems, "the last line", done.stdout.splitlines()[-1].split()[-1], "/a?[2Jb?" + "x" * 55)
    return problems


def misbehaviour(anemone, folder):
    wanted = {"magic": "What listens there does not answer as a service does.",
              "serial": "What listens there does not answer as a service does.",
              "version": "The service speaks version 2 of its messages; this command has 1.",
              "short": "A reply of the service has", "rows": "The service shows more than 128 clients.",
              "refuse": "There are 128 sessions? already."}
    problems = []
    for spoil, text in wanted.items():
        done = top(anemone, Service(folder, [[client(1)]], spoil=spoil), "--once")
        expect(problems, f"the exit status with a wrong {spoil}", done.returncode, 1)
        expect(problems, f"stdout with a wrong {spoil}", done.stdout, "")
        if not done.stderr.startswith("anemone: " + text):
            problems.append(f"with a wrong {spoil}: {done.stderr!r}")
        os.unlink(os.path.join(folder, "service"))
    return problems


def absence(anemone, folder):
    path = os.path.join(folder, "service")
    problems = []
    for words, more, text in (([], {"ANEMONE_SERVICE": "none"}, "ANEMONE_SERVICE is none, so no service is used here; --socket names one."),
                              (["--socket", path], {}, f"no service runs: nothing answers at {path}."),
                              ([], {"ANEMONE_SERVICE": path}, f"no service runs: nothing answers at {path}."),
                              (["--socket", "x" * 108], {}, "A socket's path has at most 107 characters: "),
                              ([], {"XDG_RUNTIME_DIR": folder}, f"no service runs: nothing answers at {folder}/anemone/service or /run/anemone/service.")):
        done = subprocess.run([anemone, "top", *words], capture_output=True, text=True, timeout=PATIENCE, env={**environment(), **more})
        # A service may run on this host, at the place for all users.
        if os.path.exists("/run/anemone/service") and "XDG_RUNTIME_DIR" in more:
            continue
        expect(problems, f"the exit status with {words} and {more}", done.returncode, 1)
        if not done.stderr.startswith("anemone: " + text):
            problems.append(f"with {words} and {more}: {done.stderr!r}")
    for words in (["--json"], ["--socket"], ["word"]):
        done = subprocess.run([anemone, "top", *words], capture_output=True, text=True, timeout=PATIENCE, env=environment())
        expect(problems, f"the exit status with {words}", done.returncode, 2)
    return problems


def plain(anemone, folder):
    """Not a terminal: one table after the other, no control characters, until the service ends."""
    done = top(anemone, Service(folder, [[client(1)]], ends_after=3), stdin=subprocess.DEVNULL)
    problems = []
    expect(problems, "the exit status", done.returncode, 1)
    expect(problems, "tables", done.stdout.count("EXECUTABLE"), 2)
    expect(problems, "control characters", "\033" in done.stdout, False)
    expect(problems, "stderr", done.stderr, "anemone: The service has ended, or has ended this session.\n")
    return problems


def interrupted(anemone, folder):
    service = Service(folder, [[client(1)]])
    process = subprocess.Popen([anemone, "top", "--socket", service.path], stdout=subprocess.PIPE, text=True, env=environment())
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    problems = []
    expect(problems, "the exit status after SIGINT", process.returncode, 0)
    return problems


def read_until(master, text, seen=b""):
    while text not in seen:
        if not select.select([master], [], [], PATIENCE)[0]:
            break
        try:
            part = os.read(master, 4096)
        except OSError:
            break
        if not part:
            break
        seen += part
    return seen


def terminal(anemone, folder):
    """On a terminal: drawn in place, as many clients as it has lines for, q ends it, and the terminal is as it was."""
    import fcntl
    import termios
    service = Service(folder, [[client(task) for task in range(1, 31)]])
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 16, 120, 0, 0))
    before = termios.tcgetattr(slave)
    process = subprocess.Popen([anemone, "top", "--socket", service.path], stdin=slave, stdout=slave, stderr=slave, env=environment())
    seen = read_until(master, b"more\r\n")
    during = termios.tcgetattr(slave)
    os.write(master, b"q")
    problems = []
    expect(problems, "the exit status after q", process.wait(PATIENCE), 0)
    expect(problems, "the terminal during", bool(during[3] & (termios.ICANON | termios.ECHO)), False)
    expect(problems, "the terminal afterwards", termios.tcgetattr(slave), before)
    expect(problems, "where it is drawn", seen[:7], b"\033[H\033[2J")
    expect(problems, "clients", seen.count(b"/usr/bin/camera"), 10)
    expect(problems, "the rest", b"and 20 more" in seen, True)
    os.close(master)
    os.close(slave)
    return problems


def has_terminals():
    try:
        pair = pty.openpty()
    except OSError:
        return False
    for end in pair:
        os.close(end)
    return True


def main():
    anemone = os.path.abspath(sys.argv[1])
    results = []
    looks = [rates, table, pages, hostile_text, misbehaviour, absence, plain, interrupted]
    if has_terminals():
        looks.append(terminal)
    else:
        print("# The look at a terminal is skipped: this host has no pseudo-terminals.")
    for look in looks:
        with tempfile.TemporaryDirectory() as folder:
            results.append((f"anemone top: {look.__name__}", look(anemone, folder)))
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
