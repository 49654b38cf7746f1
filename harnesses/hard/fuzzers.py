"""libFuzzer with its value profile, AFL++ with CmpLog, and penfuzz, on one goal for so many CPU seconds.

The fuzzers get the function with an entry that decodes bytes to arguments and aborts at the goal, and one seed of zeros. CPU seconds
are those of the process and its children, from /proc; compilation does not count.
"""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from blackbox import entry, size
from linked import program
from synthetic import solved_at

PEERS = Path(os.environ.get("PENFUZZ_PEERS", Path.home() / ".cache/penfuzz/peers")) / "bin"
CLANG = os.environ.get("CLANG", "clang")
TICK = os.sysconf("SC_CLK_TCK")
QUIET = {"AFL_QUIET": "1", "AFL_NO_UI": "1", "AFL_NO_AFFINITY": "1", "AFL_SKIP_CPUFREQ": "1", "AFL_FAST_CAL": "1"}
QUIET |= {"AFL_FUZZER_STATS_UPDATE_INTERVAL": "1"}
QUIET |= {"AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1", "AFL_BENCH_UNTIL_CRASH": "1"}


def family(pid):
    """The living processes that descend from one, and itself: {pid: CPU seconds, with those of children that it waited for}."""
    parent, used = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        child = int(stat.parent.name)
        parent[child], used[child] = int(fields[1]), sum(int(f) for f in fields[11:15]) / TICK
    members = {pid}
    while grown := {child for child, of in parent.items() if of in members} - members:
        members |= grown
    return {member: used.get(member, 0) for member in members}


def limited(command, seconds, directory, environment=(), found=lambda: False):
    """Runs a command until it ends, has found the goal, or has spent the time: (text, CPU seconds)."""
    log = Path(directory, "log")
    with log.open("w") as file:
        settings = {"cwd": directory, "env": os.environ | dict(environment)}
        process = subprocess.Popen([str(c) for c in command], stdout=file, stderr=file, stdin=subprocess.DEVNULL, **settings)
        used = 0.0
        while process.poll() is None:
            members = family(process.pid)
            used = max(used, sum(members.values()))
            if used > seconds or found():
                end(process, members)
            time.sleep(0.02 if used < 0.5 else 0.2)
    return log.read_text(errors="replace"), used


def end(process, members):
    """AFL++ writes its numbers at the first signal. Its children have sessions of their own."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        pass
    for member in members:
        try:
            os.kill(member, signal.SIGKILL)
        except ProcessLookupError:
            pass


def build(goal, directory, compiler, environment=(), name="fuzzer"):
    source = Path(directory, "entry.c")
    source.write_text(goal.source() + entry(goal))
    command = [compiler, "-O1", "-g", "-w", "-ffp-contract=off", "-fsanitize=fuzzer", source, "-o", Path(directory, name), "-lm"]
    subprocess.run(command, check=True, env=os.environ | dict(environment), capture_output=True)


def libfuzzer(goal, directory, seconds, seed):
    build(goal, directory, CLANG)
    Path(directory, "seeds").mkdir()
    Path(directory, "seeds", "zeros").write_bytes(bytes(size(goal)))
    options = ["-use_value_profile=1", f"-max_len={size(goal)}", f"-seed={seed}", "-artifact_prefix=./", "-len_control=0"]
    text, used = limited([Path(directory, "fuzzer"), *options, "seeds"], seconds, directory)
    runs = [int(n) for n in re.findall(r"^#(\d+)", text, re.M)]
    return any(Path(directory).glob("crash-*")), max(runs, default=0), used


def afl(goal, directory, seconds, seed):
    build(goal, directory, PEERS / "afl-clang-fast", QUIET)
    build(goal, directory, PEERS / "afl-clang-fast", QUIET | {"AFL_LLVM_CMPLOG": "1"}, "fuzzer.cmplog")
    Path(directory, "seeds").mkdir()
    Path(directory, "seeds", "zeros").write_bytes(bytes(size(goal)))
    length = str(size(goal))
    options = ["-i", "seeds", "-o", "out", "-s", str(seed), "-m", "none", "-g", length, "-G", length, "-c", "./fuzzer.cmplog"]
    crashed = lambda: any(Path(directory, "out", "default", "crashes").glob("id:*"))
    _, used = limited([PEERS / "afl-fuzz", *options, "--", "./fuzzer"], seconds, directory, QUIET, crashed)
    stats = Path(directory, "out", "default", "fuzzer_stats")
    runs = re.search(r"execs_done\s*:\s*(\d+)", stats.read_text()) if stats.exists() else None
    return crashed(), int(runs.group(1)) if runs else 0, used


def penfuzz(goal, directory, seconds, seed, search="targeted"):
    """The seconds are those of the search, without solvers, until the goal was met."""
    source = Path(directory, f"{goal.name}.c")
    source.write_text(goal.source())
    command = [program(), source, "--function", goal.name, "--quiet", "-o", Path(directory, "out"), "--search", search]
    command += ["--cflag=-ffp-contract=off", "--no-prove", "--max-time", f"{seconds}s", "--seed", seed]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr)
    report = json.loads(Path(directory, "out", "report.json").read_text())
    line = next(i for i, text in enumerate(goal.source().splitlines(), 1) if "/* goal */" in text)
    at = solved_at(report, line)
    rate = report["evaluations"] / max(report["seconds"], 1e-9)
    return at is not None, report["evaluations"] if at is None else at, report["seconds"] if at is None else at / rate


FUZZERS = {"penfuzz": penfuzz, "libFuzzer": libfuzzer, "AFL++": afl}
