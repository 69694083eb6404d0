# SPDX-License-Identifier: Apache-2.0
"""
Whole programs under `anemone accel`: test_accel_program.py COMMAND CLIENT STATIC_CLIENT SOURCE_ROOT. STATIC_CLIENT may be
empty. Prints TAP. Where the kernel refuses user notification all of it is skipped, with the command's own sentence.
"""
import contextlib
import ctypes
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

COMMAND, CLIENT, STATIC, ROOT = sys.argv[1:5]
SANITIZED = os.environ.get('SANITIZED') == '1'
SECONDS = 120  # no program takes this long
REFUSED = 'User notification is refused'

# y = a + b over [1, 8, 1, 32] halves: a in buffer 6, b in buffer 5, y in buffer 4.
NETWORK = '''descriptor
  EON=1 SPL=1 TSR=1 TSE=1 SrcLoc=1 DstLoc=1
  RBase0=6 RBE0=1 RBase1=5 RBE1=1 WBase=4 WBE=1
  write Common
    InDim Win=32 Hin=1
    InDepth Din=1
    ChCfg InFmt=2 Src2InFmt=2 OutFmt=2
    Cin Cin=8
    Cout Cout=8
    OutDim Wout=32 Hout=1
    OutDepth Dout=1
    GroupConvCfg NumGroups=%d
    Cfg Sources=3 TaskType=3
  write TileDMASrc
    DMAConfig En=1
    RowStride 64
    PlaneStride 64
    Src2RowStride 64
    Src2PlaneStride 64
    Fmt FmtMode=1 Truncate=3 MemFmt=2 Interleave=1
    Src2Fmt Truncate=3 MemFmt=2
  write L2
    SourceCfg SourceType=2 DMAFmt=1 DMAInterleave=1 Source2ByDMA=1
    ResultCfg ResultType=2 DMAFmt=1 DMAInterleave=1
  write PE
    PECfg Src2Mode=2
    BiasScale Scale=0x3c00
    PreScale PreScale=0x3c00
    FinalScale 0x3f800000
  write TileDMADst
    DMAConfig En=1
    RowStride 64
    PlaneStride 64
    Fmt FmtMode=1 Truncate=3 MemFmt=2 Interleave=1
'''


class Place:
    """The command, the clients and the networks in a folder that every user can read."""

    def __init__(self, folder):
        self.folder = folder
        os.chmod(folder, 0o755)
        self.command = self.copy(COMMAND, 'anemone')
        self.client = self.copy(CLIENT, 'client')
        self.static = self.copy(STATIC, 'static') if STATIC else None
        self.script = self.copy(os.path.join(ROOT, 'tests', 'accel_client.py'), 'client.py')
        self.network = self.assemble('add', NETWORK % 1)
        self.stuck = self.assemble('stuck', NETWORK % 0)

    def copy(self, source, name):
        path = os.path.join(self.folder, name)
        shutil.copy(source, path)
        os.chmod(path, 0o755)
        return path

    def assemble(self, name, text):
        """The file, the words of the first descriptor and their count, as a client takes them."""
        path = os.path.join(self.folder, name + '.bin')
        done = subprocess.run([self.command, 'assemble', '-', '--output', path], input=text.encode(), capture_output=True,
                              check=True)
        said = done.stderr.decode().split()
        os.chmod(path, 0o644)
        return [path, said[-2], said[1]]

    def words(self, *mode, client=None, generation='C'):
        return [client or self.client, generation, *self.network, *mode]

    def accel(self, *words, options=()):
        return [self.command, 'accel', *options, '--', *words]


def run(words, **options):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, **options)


def right(words, **options):
    done = run(words, **options)
    assert done.returncode == 0 and done.stdout.endswith(b'right\n'), (words, done)
    return done


@contextlib.contextmanager
def started(words, **options):
    """A process that is asked for lines and told to go on; what is left of it is killed."""
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def expect(process, word):
    """The next line: this word and a process's number."""
    said = process.stdout.readline().split()
    assert said and said[0] == word.encode(), (said, word)
    return int(said[1])


def go_on(process):
    process.stdin.write(b'\n')
    process.stdin.flush()


def held(process):
    """What a process holds: descriptors, mappings, threads, and its resident memory in KiB."""
    status = dict(line.split(':', 1) for line in open('/proc/%d/status' % process))
    return (len(os.listdir('/proc/%d/fd' % process)), len(open('/proc/%d/maps' % process).readlines()),
            int(status['Threads']), int(status['VmRSS'].split()[0]))


def parent(process):
    return int(next(line for line in open('/proc/%d/status' % process) if line.startswith('PPid:')).split()[1])


def gone(process):
    """Waits for the end of a process that may have become this one's child."""
    for _ in range(SECONDS * 100):
        try:
            if os.waitpid(process, os.WNOHANG)[0] == process:
                return True
        except ChildProcessError:
            if not os.path.exists('/proc/%d' % process):
                return True
        time.sleep(0.01)
    return False


def generations(place):
    for generation in 'BC':
        right(place.accel(*place.words('once', generation=generation)))
    right(place.accel(*place.words('once'), options=['--chip', 't6000', '--numerics=ieee', '--threads', '2', '--lenient']))


def without_the_command(place):
    done = run(place.words('once'))
    assert done.returncode == 1 and b'no accel node' in done.stderr, done


def static(place):
    if not place.static:
        return 'no static C library'
    for mode in (['once'], ['fork'], ['exec']):
        right(place.accel(*place.words(*mode, client=place.static)))


def fork(place):
    for generation in 'BC':
        right(place.accel(*place.words('fork', generation=generation)))


def threads(place):
    right(place.accel(*place.words('threads', '8')))
    # More than the notifier has: calls are late and not lost.
    right(place.accel(*place.words('threads', '64')))


def exec_chain(place):
    right(place.accel('sh', '-c', 'exec "$@"', 'sh', *place.words('exec')))
    right(place.accel('sh', '-c', '"$@" && "$@"', 'sh', *place.words('exec', generation='B')))


def python(place):
    right(place.accel(sys.executable, place.script, *place.network))


def closed(place):
    right(place.accel(*place.words('close')))


def system_calls(place):
    right(place.accel(*place.words('paths')))
    right(place.accel(*place.words('pointers')))


def grows_not(place, mode, times):
    with started(place.accel(*place.words(mode, times))) as process:
        expect(process, 'warm')
        before = held(process.pid)
        go_on(process)
        expect(process, 'done')
        after = held(process.pid)
        go_on(process)
        assert process.wait(SECONDS) == 0
    # Threads of the notifier are made when they are needed, and take a stack.
    assert after[0] <= before[0], (mode, before, after)
    assert after[1] - before[1] <= 2 * (after[2] - before[2]) + 2, (mode, before, after)
    # A sanitizer keeps freed memory.
    assert SANITIZED or after[3] - before[3] < 4096, (mode, before, after)


def growth(place):
    grows_not(place, 'repeat', '10000')
    grows_not(place, 'reopen', '200')


def program_killed(place):
    grows_not(place, 'killed', '40')


def command_killed(place):
    for _ in range(5):
        with started(place.accel(*place.words('family'))) as process:
            numbers = [int(process.stdout.readline().split()[1]) for _ in range(2)]
            keepers = {parent(number) for number in numbers}
            assert len(keepers) == 1 and parent(next(iter(keepers))) == process.pid, (numbers, keepers)
            process.kill()
            process.wait(SECONDS)
            for number in [*numbers, *keepers]:
                assert gone(number), number


def signals(place):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        with started(place.accel(*place.words('endless'))) as process:
            client = expect(process, 'running')
            process.send_signal(number)
            assert process.wait(SECONDS) == 128 + number, process.returncode
            assert gone(client)


def daemons(place):
    """A signal after the program's own end ends what it has left behind; the status is the program's."""
    for number in (signal.SIGTERM, signal.SIGINT):
        with started(place.accel('sh', '-c', 'setsid sleep 100 & echo left $!; exit 3')) as process:
            child = expect(process, 'left')
            while open('/proc/%d/comm' % parent(child)).read() != 'anemone-keeper\n':
                time.sleep(0.01)
            while process.poll() is None:  # the first may come before the end of the shell is noticed
                process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(3)
            assert process.returncode == 3, process.returncode
            assert gone(child)


def terminal(place):
    """The terminal's interrupt reaches the program once, and the command waits for what the program makes of it."""
    script = 'trap "echo caught; exit 9" INT; echo ready; while :; do sleep 0.05; done'
    words = place.accel('sh', '-c', script)
    try:
        process, master = pty.fork()
    except OSError:
        return 'no pseudo-terminals here'
    if process == 0:
        os.execv(words[0], words)
    seen = b''
    with contextlib.suppress(OSError):  # EIO: no process has the terminal any more
        while data := os.read(master, 1024):
            if b'ready' in data:
                os.write(master, b'\x03')
            seen += data
    os.close(master)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert status == 9 and seen.count(b'caught') == 1, (status, seen)


def limits(place):
    """What is refused is said, with status 1: nothing was executed."""
    def limited(what, most):
        return run(place.accel('true'), preexec_fn=lambda: resource.setrlimit(what, (most, most)))
    for what, most in ((resource.RLIMIT_FSIZE, 4096), (resource.RLIMIT_NOFILE, 8)):
        done = limited(what, most)
        assert done.returncode == 1 and done.stderr.startswith(b'anemone: '), (what, done)


def other_proc(place):
    """A /proc with the process numbers of another namespace is found out before anything is executed."""
    apart = ['unshare', '--user', '--map-root-user', '--pid', '--fork']
    if not shutil.which('unshare') or run([*apart, 'true']).returncode:
        return 'no namespaces here'
    done = run([*apart, *place.accel('echo', 'executed')])
    assert done.returncode == 1 and b'needs /proc' in done.stderr and not done.stdout, done
    return None


def opens(place):
    """A node that cannot be opened is said once, with the reason."""
    script = """import os
for i in range(500):
    try:
        os.open('/dev/accel/accel0', os.O_RDWR)
    except OSError as error:
        print(error.errno)"""
    done = run(place.accel('/usr/bin/python3', '-c', script))
    assert done.stdout == b'23\n' * 244, done  # ENFILE after 256
    assert done.stderr.count(b'cannot be opened: The device is open 256 times') == 1, done.stderr
    assert done.stderr.endswith(b' 243 more times so far.\n'), done.stderr


def statuses(place):
    for words, status in ((['sh', '-c', 'exit 7'], 7), (['sh', '-c', 'kill -SEGV $$'], 128 + signal.SIGSEGV),
                          (['/nowhere/program'], 127), (['no-such-program-anywhere'], 127), ([place.folder], 126),
                          ([place.network[0]], 126)):
        done = run(place.accel(*words))
        assert done.returncode == status, (words, done)
        assert status < 126 or status > 127 or b'cannot be executed' in done.stderr, done
    for words in ([], ['--'], ['true'], ['--chip', 'x', '--', 'true'], ['--bogus', '--', 'true']):
        assert run([place.command, 'accel', *words]).returncode == 2, words


def untouched(place):
    words = ['sh', '-c', 'cat; ls -l /usr | wc -l; echo here >&2; ls /dev/accelerator; exit 3']
    plain, under = run(words), run(place.accel(*words))
    assert (plain.returncode, plain.stdout, plain.stderr) == (under.returncode, under.stdout, under.stderr), (plain, under)


def hang(place):
    done = right(place.accel(*place.words('hang', *place.stuck[:2])))
    assert b'GroupConvCfg' in done.stderr, done.stderr
    script = 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do "$0" "$@"; done'
    done = right(place.accel('sh', '-c', script, *place.words('hang', *place.stuck[:2])))
    assert done.stdout.count(b'right') == 13 and done.stderr.count(b'ETIMEDOUT') == 1, done
    for count in (b' 1 more time ', b' 10 more times ', b' 12 more times '):
        assert done.stderr.count(count) == 1, (count, done.stderr)
    assert done.stderr.count(b' more time') == 3, done.stderr


def traced(place):
    for name in ('trace.txt', 'trace.bin', 'trace.json'):
        path = os.path.join(place.folder, name)
        right(place.accel(*place.words('once'), options=['--trace', path]))
        assert os.path.getsize(path) > 1000, name
    done = run(place.accel('true', options=['--trace', '/nowhere/trace']))
    assert done.returncode == 1 and b'/nowhere/trace' in done.stderr, done


def other_user(place):
    if os.getuid():
        return 'not root'
    other = dict(user=65534, group=65534, extra_groups=[], cwd='/')
    right(place.accel(*place.words('once')), **other)
    script = shutil.which('python3', path='/usr/bin:/bin')
    if script:
        right(place.accel(script, place.script, *place.network), **other)
    right(place.accel(*place.words('fork', generation='B')), **other)


def refused(place):
    for call, code, why in (('seccomp', 22, b'refuses a listener'), ('seccomp', 38, b'has no seccomp user notification'),
                            ('seccomp', 1, b'forbids seccomp'), ('process_vm_readv', 1, b'ptrace_scope')):
        done = run([place.client, 'refuse', call, str(code), *place.accel('echo', 'not run')])
        assert done.returncode == 1 and not done.stdout, done
        assert why in done.stderr and b'LD_PRELOAD' in done.stderr, done
    done = run(place.accel(*place.accel('echo', 'not run')))
    assert done.returncode == 1 and b'supervised' in done.stderr and b'LD_PRELOAD' in done.stderr, done


TESTS = [generations, without_the_command, static, fork, threads, exec_chain, python, closed, system_calls, growth,
         program_killed, command_killed, signals, daemons, terminal, limits, other_proc, opens, statuses, untouched, hang,
         traced, other_user, refused]


def main():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)  # programs inherit what is ignored, as under nohup
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans of what is killed come here
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        done = run(place.accel('true'))
        if REFUSED.encode() in done.stderr:
            print('1..0 # SKIP ' + done.stderr.decode().strip())
            return 0
        only = sys.argv[5:]
        chosen = [test for test in TESTS if not only or test.__name__ in only]
        failed = 0
        print('1..%d' % len(chosen))
        for number, test in enumerate(chosen, 1):
            try:
                skipped = test(place)
                print('ok %d - %s%s' % (number, test.__name__, ' # SKIP ' + skipped if skipped else ''))
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                failed += 1
                print('not ok %d - %s' % (number, test.__name__))
                print('# ' + repr(error).replace('\n', '\n# '))
            sys.stdout.flush()
        return 1 if failed else 0


sys.exit(main())
