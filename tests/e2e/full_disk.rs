//! A full disk: the search continues in memory with one message, damages no file that was written before, and writes
//! its finds once there is space again.

use std::{fs, path::PathBuf, process::Command};

use crate::support::{Dir, fixture, quickstart, skip};

/// A small file system in memory, unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts the file system; `None` if this user may not mount; see [`skip`].
    fn mount(at: PathBuf) -> Option<Self> {
        fs::create_dir_all(&at).expect("a directory can be made");
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"]).arg(&at).output();
        match done {
            Ok(output) if output.status.success() => Some(Self(at)),
            Ok(output) => {
                skip("the privilege to mount (CAP_SYS_ADMIN)", &String::from_utf8_lossy(&output.stderr));
                None
            }
            Err(e) => {
                skip("the program mount (package mount)", &e.to_string());
                None
            }
        }
    }

    fn fill(&self) {
        let mut size = 128 * 1024;
        for number in 0.. {
            if fs::write(self.0.join(format!("filler{number}")), vec![1; size]).is_err() {
                size /= 2;
            }
            if size < 512 {
                break;
            }
        }
    }

    fn free(&self) {
        for number in 0.. {
            if fs::remove_file(self.0.join(format!("filler{number}"))).is_err() {
                break;
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_campaign_on_a_full_disk() {
    let dir = Dir::new();
    let Some(disk) = SmallDisk::mount(dir.path("disk")) else { return };
    let target = fixture("floats.c");
    dir.penfuzz("--max-evals 40 -o disk/out").arg(&target).exits(0);
    let before = (dir.files("disk/out/queue"), dir.files("disk/out")["state.json"].clone(), dir.report("disk/out"));
    disk.fill();
    let run = dir.penfuzz("-o disk/out").arg(&target).exits(1);
    run.says("error: disk/out could not be written to the end").says("No space left").says("finds are lost");
    run.expect(run.stderr.lines().filter(|l| l.starts_with("error: ")).count() == 1, "one error");
    let queue = dir.files("disk/out/queue");
    run.expect(before.0.iter().all(|(name, bytes)| queue.get(name) == Some(bytes)), "kept inputs as before");
    run.expect(queue.values().all(|bytes| bytes.len() == 12), "no half-written input");
    run.expect(
        dir.files("disk/out")["state.json"] == before.1 && dir.report("disk/out") == before.2,
        "state and report as before",
    );
    run.expect(dir.files("disk/out").keys().all(|n| !n.starts_with(".penfuzz-tmp-")), "no temporary file left");
}

#[test]
fn finds_arrive_when_there_is_room_again() {
    let dir = Dir::new();
    let Some(disk) = SmallDisk::mount(dir.path("disk")) else { return };
    let target = fixture("unreachable_in_loop.c");
    dir.penfuzz("--search random --max-evals 1 -o disk/out").arg(&target).exits(0);
    let before = dir.files("disk/out/queue").len() + dir.files("disk/out/pending").len();
    disk.fill();
    let mut running = dir.penfuzz("--search random --max-time 50s -o disk/out").arg(&target).start();
    running.until_said("the search continues in memory");
    let during = dir.files("disk/out/queue").len() + dir.files("disk/out/pending").len();
    disk.free();
    running.until_said("the disk can be written again");
    running.signal_group(libc::SIGKILL);
    let run = running.wait();
    run.expect(during == before, "nothing written while there is no room");
    let covered = dir.report("disk/out").branches.covered;
    let whole = dir.penfuzz("--search random --max-evals 100000 -o whole").arg(&target).exits(0);
    whole.expect(dir.report("whole").branches.covered == covered, "all branches in the report, by finds on the disk");
    let after = dir.files("disk/out/queue").len() + dir.files("disk/out/pending").len();
    run.expect(after > before, "finds written");
    run.expect(run.stderr.matches("the search continues in memory").count() == 1, "one message");
}

#[test]
fn flushes_that_take_long_do_not_end_a_campaign() {
    let dir = Dir::new();
    let library = dir.path("slow.so");
    dir.other(Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(fixture("slow_flush.c")));
    // After 5.4 s without an evaluation a worker is treated as hanging.
    let run = dir.fuzz(quickstart("quadratic.c"), "--timeout 100ms").env("LD_PRELOAD", &library).exits(0);
    run.expect(!run.stderr.contains("killed"), "no worker is killed");
    run.expect(dir.report("out").branches.covered == 22, "all branches");
}
