#!/usr/bin/env python3
"""Disturbs a farm at random; checks that it recovers each time and loses nothing that it announced.

    python3 tests/chaos/chaos.py --penfuzz target/release/penfuzz --minutes 30

The disturbances: SIGKILL to clients, their replays, broker and supervisor; SIGSTOP to clients and broker; no process or no
descriptor to spare; a full disk (a small tmpfs, which needs root); files truncated or overwritten, of which another copy
exists; jumps of the clock (with Debian's faketime, which does not change the machine's clock). For root, the farm runs as
the user `nobody`, because no limit on processes holds for root. Prints one line per disturbance and a summary in JSON. Exit status 1 if a check failed.
"""

import argparse
import json
import os
import random
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import target

NOBODY = 65534
KEPT = ("queue", "crashes", "hangs")
DISK_MB = 48
INSIDE = "PENFUZZ_CHAOS_INSIDE"  # set once in a namespace of its own


class Failure(Exception):
    """A check failed."""


class Finished(Exception):
    """The campaign has ended by itself, with its report: it gave up the branches that it does not find."""


def processes(root: int) -> dict[int, str]:
    """The living processes in the tree of `root`, itself included: name by process ID."""
    parents, names = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                name = stat[stat.index("(") + 1 : stat.rindex(")")]
                state, parent = stat[stat.rindex(")") + 2 :].split()[:2]
            except (OSError, ValueError):
                continue
            if state not in "ZX":
                parents[int(entry.name)], names[int(entry.name)] = int(parent), name
    below = {root} if root in names else set()
    grew = True
    while grew:
        new = {p for p, parent in parents.items() if parent in below} - below
        below |= new
        grew = bool(new)
    return {p: names[p] for p in below}


def covered_in(report: dict) -> set:
    """The branches that a report says were taken."""
    taken = ("saturated", "covered", "covered_by_crash")

    def is_taken(site: dict, branch: dict) -> bool:
        # What a hostile line does, such as `setpgid`, can end differently in a test program, and is named then.
        named = branch["status"] == "without_test" and target.HOSTILE in source_line(site["file"], site["line"])
        return named or branch["status"] in taken

    return {(s["line"], s["column"], b["outcome"]) for s in report["sites"] for b in s["branches"] if is_taken(s, b)}


def source_line(file: str, line: int) -> str:
    return Path(file).read_text().splitlines()[line - 1]


def free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def memory_mb(pids) -> float:
    """Private memory (RssAnon) of these processes together, in MB."""
    total = 0
    for pid in pids:
        try:
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("RssAnon:"):
                    total += int(line.split()[1])
        except OSError:
            pass
    return total / 1024


def segments() -> dict[str, tuple[int, int]]:
    """The System V segments that exist: bytes of each, and the process that made it."""
    lines = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return {line[1]: (int(line[3]), int(line[4])) for line in lines}


def shared_bytes(makers, before) -> int:
    """Bytes in segments that these processes made and that still exist. Those from before may have the number of one of them, used again."""
    return sum(size for name, (size, maker) in segments().items() if maker in makers and name not in before)


class Farm:
    """The campaign under test: its processes, its files, and what it has announced so far."""

    def __init__(self, options, work: Path):
        self.options, self.work = options, work
        self.disk = work / "disk"
        self.disk.mkdir()
        self.mounted = mount(self.disk)
        self.rounds = 0
        self.source = work / "ladder.c"
        self.ports = [free_port(), free_port()] if options.hostile else None
        self.scrapes: list[float] = []
        secret = work / "secret"
        secret.touch(0o600)
        secret.write_text(secrets.token_hex(32))
        self.clock = work / "clock"
        self.clock.write_text("+0\n")
        if os.getuid() == 0:
            for path in (work, self.disk, secret, self.clock):
                os.chown(path, NOBODY, -1)
        self.log = open(work / "log", "ab")
        self.process = None
        self.starts = 0
        self.seen: set[int] = set()
        self.begin()

    def begin(self):
        """A new campaign, on another target of the same kind."""
        self.out = self.disk / f"out{self.rounds}"
        self.source.write_text(target.source(self.options.seed + self.rounds, hostile=self.options.hostile))
        if os.getuid() == 0:
            os.chown(self.source, NOBODY, -1)
        self.rounds += 1
        self.known: dict[str, bytes] = {}
        self.spoiled: set[bytes] = set()
        self.covered: set = set()
        self.announced = 0
        self.start()

    def check_end(self):
        """What the campaign showed is in its report, and on disk."""
        self.look(scrape=False)
        report = self.look_at_report()
        if report["branches"]["covered"] < self.announced:
            raise Failure(f"{self.announced} branches were announced, the report has {report['branches']['covered']}")
        self.check_anew()

    def environment(self):
        env = dict(os.environ) | {"HOME": str(self.work)}
        library = faketime()
        if library:
            env |= {
                "LD_PRELOAD": library,
                "FAKETIME_TIMESTAMP_FILE": str(self.clock),
                "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            }
        return env

    def start(self):
        command = [self.options.penfuzz, str(self.source), "--cores", self.options.cores, "-o", str(self.out)]
        command += ["--max-time", "100h", "--seed", str(self.options.seed), "--monitor", "lines"]
        if self.ports:
            command += ["--broker-port", str(self.ports[0]), "--broker-secret", str(self.work / "secret")]
            command += ["--monitor", f"prometheus=127.0.0.1:{self.ports[1]}"]
        if os.getuid() == 0:
            command = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", *command]
        self.process = subprocess.Popen(
            command, env=self.environment(), stdout=self.log, stderr=self.log, start_new_session=True
        )
        self.starts += 1

    def alive(self) -> dict[int, str]:
        found = processes(self.process.pid)
        self.seen |= set(found)
        return found

    def pids(self, what: str) -> list[int]:
        return [p for p, name in self.alive().items() if name.startswith(f"penfuzz {what}")]

    def evaluations(self) -> int:
        total = 0
        for stats in self.out.glob("c*/fuzzer_stats"):
            for line in stats.read_text(errors="replace").splitlines():
                if line.startswith("execs_done"):
                    total += int(line.split(":")[1])
        return total

    def status(self) -> dict:
        try:
            return json.loads((self.out / "status.json").read_text())
        except (OSError, ValueError):
            return {}

    def files(self, folders=KEPT) -> dict[str, bytes]:
        found = {}
        for folder in folders:
            for path in self.out.glob(f"c*/{folder}/id:*"):
                try:
                    found[str(path.relative_to(self.out))] = path.read_bytes()
                except OSError:
                    pass
        return found

    def attack(self, seconds: float):
        """Starts the attacker; `None` when nobody is to attack."""
        if not self.ports:
            return None
        command = [sys.executable, Path(__file__).with_name("attacker.py"), "--seconds", str(seconds)]
        command += ["--broker", str(self.ports[0]), "--metrics", str(self.ports[1]), "--seed", str(self.options.seed)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def scrape(self):
        """Reads the metrics, while others attack the port."""
        began = time.monotonic()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[1]}/metrics", timeout=20) as answer:
                if b"penfuzz" not in answer.read():
                    raise Failure("the metrics are empty")
        except OSError as error:
            if self.process.poll() is None:
                raise Failure(f"the metrics cannot be read: {error}") from None
        self.scrapes.append(time.monotonic() - began)

    def check_anew(self):
        """Evaluates all kept inputs in a new campaign: what the report claims must be taken there too."""
        seeds, out = self.work / f"seeds{self.rounds}", self.work / f"anew{self.rounds}"
        seeds.mkdir()
        for i, content in enumerate(self.files((*KEPT, "pending")).values()):
            (seeds / f"{i:06}").write_bytes(content)
        command = [self.options.penfuzz, str(self.source), "-i", str(seeds), "-o", str(out), "--search", "random"]
        done = subprocess.run([*command, "--max-evals", "1", "--quiet"], capture_output=True, text=True)
        if done.returncode not in (0, 3):
            raise Failure(f"the kept inputs cannot be evaluated anew: {done.stderr[-500:]}")
        forged = self.covered - covered_in(json.loads((out / "report.json").read_text()))
        if forged:
            raise Failure(f"no kept input takes {sorted(forged)}")

    def look(self, scrape=True):
        self.alive()
        if self.ports and scrape:
            self.scrape()
        self.check_files()

    def check_files(self):
        """Checks that all files seen before still exist, and remembers the present ones."""
        now = self.files()
        contents = set(now.values())
        for name, content in self.known.items():
            if content not in contents and content not in self.spoiled:
                raise Failure(f"{name} is lost")
        self.known = {n: c for n, c in now.items() if c and c not in self.spoiled}
        status = self.status()
        self.announced = max(self.announced, status.get("branches", {}).get("covered", 0))

    def look_at_report(self):
        try:
            report = json.loads((self.out / "report.json").read_text())
        except (OSError, ValueError):
            return None
        covered = covered_in(report)
        if not self.covered <= covered:
            raise Failure(f"the report has lost {sorted(self.covered - covered)}")
        self.covered = covered
        return report

    def wait_for_progress(self, patience: float) -> float:
        """Seconds until the number of evaluations grows; it is an error if the campaign has ended."""
        began, before = time.monotonic(), self.status().get("evaluations", 0)
        while time.monotonic() - began < patience:
            if self.process.poll() is not None:
                if self.process.returncode in (0, 3):
                    raise Finished
                raise Failure(f"the campaign has ended with status {self.process.returncode}: {self.tail()}")
            status = self.status()
            if status.get("pid") == self.process.pid and status.get("evaluations", 0) > before:
                return time.monotonic() - began
            if status.get("pid") != self.process.pid:
                before = 0
            time.sleep(0.2)
        raise Failure(f"no progress for {patience:.0f} s: {self.tail()}")

    def tail(self) -> str:
        self.log.flush()
        return (self.work / "log").read_text(errors="replace")[-1500:]


def mount(at: Path) -> bool:
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(at)], capture_output=True)
    if done.returncode:
        print(f"no small disk: {done.stderr.decode().strip()}; the disk is not filled", flush=True)
    return done.returncode == 0


def faketime() -> str | None:
    found = list(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    return str(found[0]) if found else None


# Disturbances: each returns a short description of what it did, or None if it was not possible.


def kill_client(farm, rng):
    return kill(farm, rng, "c", signal.SIGKILL)


def kill_broker(farm, rng):
    return kill(farm, rng, "broker", signal.SIGKILL)


def kill_report(farm, rng):
    return kill(farm, rng, "report", signal.SIGKILL)


def kill(farm, rng, what, number):
    pids = farm.pids(what)
    if what == "c":
        pids = [p for p in pids if p in farm.pids("c0") + farm.pids("c1") + farm.pids("c2") + farm.pids("c3")]
    if not pids:
        return None
    pid = rng.choice(pids)
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return None
    return f"pid {pid}"


def kill_several(farm, rng):
    pids = [p for p in farm.alive() if p != farm.process.pid]
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return f"{len(pids)} processes"


def kill_supervisor(farm, rng):
    group = farm.alive()
    farm.process.kill()
    farm.process.wait()
    time.sleep(rng.choice([0.0, 0.0, 0.5, 2.0]))
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{p}").exists() and processes(p) for p in group if p != farm.process.pid):
        if time.monotonic() > deadline:
            raise Failure("processes outlive the supervisor")
        time.sleep(0.1)
    farm.start()
    return "started again"


def interrupt(farm, rng):
    end_by_ctrl_c(farm)
    farm.start()
    return "ended, started again"


def stop_client(farm, rng):
    done = kill(farm, rng, "c", signal.SIGSTOP)
    if done is None:
        return None
    pid = int(done.split()[1])
    seconds = rng.choice([1, 5, 15, 0])
    if seconds:
        time.sleep(seconds)
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass
        return f"{done} for {seconds} s"
    return f"{done} for ever"


def stop_broker(farm, rng):
    return kill(farm, rng, "broker", signal.SIGSTOP)


def fill_disk(farm, rng):
    if not farm.mounted:
        return None
    filler = farm.disk / "filler"
    size = 1 << 20
    with open(filler, "wb", buffering=0) as file:
        while size >= 1:
            try:
                file.write(b"\1" * size)
            except OSError:
                size //= 2
    seconds = rng.choice([2, 10, 20])
    time.sleep(seconds)
    filler.unlink()
    return f"for {seconds} s"


def spoil_file(farm, rng):
    """Truncates, empties or overwrites a file. Among the finds it takes only files of which another copy exists."""
    files = farm.files()
    copies: dict[bytes, list[str]] = {}
    for name, content in files.items():
        copies.setdefault(content, []).append(name)
    spare = [n for c, names in copies.items() if len(names) > 1 for n in names[1:]]
    others = [str(p.relative_to(farm.out)) for p in farm.out.glob("c*/state.json")]
    others += [n for n in ("report.json", "status.json", "coverage.lcov") if (farm.out / n).exists()]
    others += [str(p.relative_to(farm.out)) for p in farm.out.glob("c*/fuzzer_stats")]
    name = rng.choice(others if not spare or rng.random() < 0.4 else spare)
    path = farm.out / name
    if name == "report.json":
        farm.look_at_report()
    content = path.read_bytes()
    how = rng.choice(["empty", "half", "garbage"])
    new = {"empty": b"", "half": content[: len(content) // 2], "garbage": rng.randbytes(len(content) or 7)}[how]
    path.write_bytes(new)
    farm.known.pop(name, None)
    if name.split("/")[1:2] and name.split("/")[1] in KEPT:
        farm.spoiled.add(new)
    return f"{how}: {name}"


def kill_replays(farm, rng):
    """Kills the processes below the clients: those that evaluate inputs anew."""
    clients = {p for what in ("c0", "c1", "c2", "c3") for p in farm.pids(what) if parent(p) == farm.process.pid}
    pids = [p for client in clients for p in processes(client) if p != client]
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return f"{len(pids)} processes" if pids else None


def take_processes(farm, rng):
    """Allows so many processes more than the user has."""
    user = NOBODY if os.getuid() == 0 else os.getuid()
    spare = rng.choice([0, 0, 1, 3])
    seconds = limit(farm, rng, resource.RLIMIT_NPROC, lambda _: threads_of(user) + spare)
    return f"{spare} left for {seconds} s"


def take_descriptors(farm, rng):
    """Allows each process so many descriptors more than it has."""
    spare = rng.choice([0, 1, 3])

    def allowed(pid):
        return max(map(int, os.listdir(f"/proc/{pid}/fd")), default=0) + 1 + spare

    seconds = limit(farm, rng, resource.RLIMIT_NOFILE, allowed)
    return f"{spare} left for {seconds} s"


def limit(farm, rng, what, allowed) -> int:
    """Lowers a limit of all processes of the farm for some seconds; those that start meanwhile inherit it."""
    hard = resource.getrlimit(what)[1]
    for pid in farm.alive():
        try:
            set_limit(pid, what, allowed(pid))
        except OSError:
            pass  # it has ended
    seconds = rng.choice([1, 5, 15])
    time.sleep(seconds)
    for pid in farm.alive():
        set_limit(pid, what, "unlimited" if hard < 0 else hard)
    return seconds


def set_limit(pid, what, soft):
    """Sets the soft limit of a process, as its user: root may not, in a container."""
    name = {resource.RLIMIT_NPROC: "nproc", resource.RLIMIT_NOFILE: "nofile"}[what]
    command = ["prlimit", "--pid", str(pid), f"--{name}={soft}:"]
    if os.getuid() == 0:
        command = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", *command]
    subprocess.run(command, capture_output=True)


def parent(pid) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat[stat.rindex(")") + 2 :].split()[1])


def threads_of(user) -> int:
    """How many threads a user has: these count for the limit on processes."""
    count = 0
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and entry.stat().st_uid == user:
                count += len(os.listdir(entry / "task"))
        except OSError:
            pass
    return count


def jump_clock(farm, rng):
    if not faketime():
        return None
    jump = rng.choice(["+0", "+3600", "-3600", "+86400", "-864000", "+31536000"])
    farm.clock.write_text(jump + "\n")
    return f"{jump} s"


DISTURBANCES = {
    kill_client: 5,
    kill_broker: 3,
    kill_report: 1,
    kill_replays: 3,
    kill_several: 2,
    kill_supervisor: 4,
    interrupt: 2,
    stop_client: 3,
    stop_broker: 2,
    fill_disk: 3,
    spoil_file: 4,
    jump_clock: 2,
    take_processes: 4,
    take_descriptors: 4,
}


def run(options) -> int:
    rng = random.Random(options.seed)
    work = Path(tempfile.mkdtemp(prefix="penfuzz-chaos-", dir=options.work))
    shm_before, segments_before = set(os.listdir("/dev/shm")), set(segments())
    farm = Farm(options, work)
    counts: dict[str, int] = {}
    recoveries: list[float] = []
    memory: list[float] = []
    shared: list[int] = []
    failures: list[str] = []
    end = time.monotonic() + options.minutes * 60
    attacker = None
    try:
        farm.wait_for_progress(60)
        attacker = farm.attack(options.minutes * 60)
        while time.monotonic() < end:
            time.sleep(rng.uniform(1, options.pause))
            farm.look()
            farm.look_at_report()
            disturb = rng.choices(list(DISTURBANCES), list(DISTURBANCES.values()))[0]
            word = disturb(farm, rng)
            if word is None:
                continue
            counts[disturb.__name__] = counts.get(disturb.__name__, 0) + 1
            try:
                recoveries.append(farm.wait_for_progress(60))
            except Finished:
                farm.check_end()
                shutil.rmtree(farm.out)
                farm.begin()
                recoveries.append(farm.wait_for_progress(60))
            farm.look()
            memory.append(memory_mb(farm.alive()))
            shared.append(shared_bytes(farm.seen, segments_before))
            print(
                f"{options.minutes * 60 - (end - time.monotonic()):7.1f} s  {disturb.__name__:16} {word:40.40}"
                f" back after {recoveries[-1]:5.1f} s, {len(farm.known)} files, {farm.announced} branches,"
                f" {memory[-1]:.0f} MB, {shared[-1] >> 20} MB shared",
                flush=True,
            )
        farm.look()
        end_by_ctrl_c(farm)
        farm.check_end()
    except Failure as failure:
        failures.append(str(failure))
    except OSError as error:
        failures.append(f"the script itself: {error}")
    finally:
        left = farm.alive()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        if attacker and failures:
            attacker.kill()
    attacks = attacker.communicate()[0] if attacker else None
    time.sleep(1)
    if shared_bytes(farm.seen, segments_before):
        failures.append(f"{shared_bytes(farm.seen, segments_before)} bytes of shared memory are left")
    # faketime leaves files of its own when a process is killed.
    left_files = {name for name in set(os.listdir("/dev/shm")) - shm_before if "faketime" not in name}
    if left_files:
        failures.append(f"left in /dev/shm: {left_files}")
    if options.limit_mb and memory and max(memory) > options.limit_mb:
        failures.append(f"{max(memory):.0f} MB of memory, more than {options.limit_mb}")
    half = len(memory) // 2
    summary = {
        "minutes": options.minutes,
        "seed": options.seed,
        "disturbances": counts,
        "starts": farm.starts,
        "campaigns": farm.rounds,
        "recovery_seconds": {
            "median": sorted(recoveries)[len(recoveries) // 2] if recoveries else None,
            "most": max(recoveries, default=None),
        },
        "attacker": json.loads(attacks) if attacks else None,
        "scrapes": {"number": len(farm.scrapes), "slowest_seconds": max(farm.scrapes, default=None)},
        "files": len(farm.known),
        "branches": {"announced": farm.announced, "in_report": len(farm.covered)},
        "memory_mb": {
            "first_half": sum(memory[:half]) / max(half, 1),
            "second_half": sum(memory[half:]) / max(len(memory) - half, 1),
            "most": max(memory, default=0),
        },
        "shared_mb_most": max(shared, default=0) / 2**20,
        "failures": failures,
    }
    print(json.dumps(summary, indent=2))
    farm.log.close()
    if farm.mounted:
        if failures:
            shutil.copytree(farm.out, work / "out", symlinks=True, ignore_dangling_symlinks=True)
        subprocess.run(["umount", "-l", str(farm.disk)], check=False)
    if failures:
        print(f"everything is kept in {work}")
        return 1
    shutil.rmtree(work, ignore_errors=True)
    return 0


def end_by_ctrl_c(farm):
    farm.process.send_signal(signal.SIGINT)
    try:
        farm.process.wait(90)
    except subprocess.TimeoutExpired:
        raise Failure("Ctrl-C does not end it within 90 s") from None
    if farm.process.returncode not in (0, 3):
        raise Failure(f"Ctrl-C ends it with status {farm.process.returncode}: {farm.tail()}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--penfuzz", default="target/release/penfuzz")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--cores", default="0-1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=8, help="longest pause between disturbances, in seconds")
    parser.add_argument("--limit-mb", type=float, help="most memory of all processes together; 1500, with --hostile 3500")
    parser.add_argument("--hostile", action="store_true", help="attack the ports, with a hostile target")
    parser.add_argument("--work", default=None, help="where to work")
    options = parser.parse_args()
    # A hostile target may take as much as --memory allows, in each client at once.
    options.limit_mb = options.limit_mb or (3500 if options.hostile else 1500)
    if options.hostile:
        enter_namespace()
    return run(options)


def enter_namespace():
    """Goes on in a namespace of processes of its own: the hostile target tries to signal all processes that it sees."""
    if os.environ.get(INSIDE):
        return
    command = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    for rights in ([], ["--user", "--map-root-user"]):
        try:
            made = subprocess.run([*command, *rights, "true"], capture_output=True)
        except FileNotFoundError:
            break
        if made.returncode == 0:
            os.environ[INSIDE] = "1"
            os.execvp(command[0], [*command, *rights, sys.executable, "-B", *sys.argv])
    sys.exit("chaos.py: --hostile needs `unshare --pid`, so that a target that breaks out harms no other program")


if __name__ == "__main__":
    sys.exit(main())
