//! Files that are not regular files, never end, or are huge.

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{Dir, fixture};

fn pipe(path: &Path) {
    let done = Command::new("mkfifo").arg(path).status().expect("mkfifo can be run");
    assert!(done.success(), "a pipe can be made");
}

/// Creates a sparse file of 5 GB.
fn huge(path: &Path) {
    File::create(path).and_then(|f| f.set_len(5 << 30)).expect("a sparse file can be made");
}

/// A finished campaign in `out`.
fn finished(target: &str, more: &str) -> Dir {
    let dir = Dir::new();
    drop(dir.fuzz(fixture(target), more).run());
    assert!(dir.path("out/report.json").is_file(), "the campaign has finished");
    dir
}

/// In the directory of a client that does not run this time. The other clients read it at their start, the reporter at
/// its end.
#[test]
fn a_pipe_in_a_farm_ends_nothing_and_delays_nothing() {
    let dir = finished("secrets.c", "--cores 0 --search random --max-time 500ms");
    fs::create_dir_all(dir.path("out/c7")).expect("a directory can be made");
    fs::copy(dir.path("out/c0/state.json"), dir.path("out/c7/state.json")).expect("a client has a state");
    for client in ["c0", "c7"] {
        for folder in ["queue", "pending", "crashes"] {
            let path = dir.path("out").join(client).join(folder);
            fs::create_dir_all(&path).expect("a directory can be made");
            pipe(&path.join("id:000099,time:0,execs:0,op:pipe"));
        }
        pipe(&dir.path("out").join(client).join("pending/id:000098,time:0,execs:0,op:pipe"));
    }
    let begun = Instant::now();
    let run = dir.fuzz(fixture("secrets.c"), "--cores 0 --search random --max-time 2s").exits(0);
    run.expect(begun.elapsed() < Duration::from_secs(20), "an end after --max-time");
    run.expect(dir.report("out").stop_reason == "max-time", "a report");
    run.expect(!run.stderr.contains("another replaces it"), "no client was replaced");
}

#[test]
fn a_pipe_in_a_campaign_is_set_aside() {
    let dir = finished("floats.c", "");
    for folder in ["queue", "pending", "crashes", "hangs"] {
        pipe(&dir.path(format!("out/{folder}/id:000099,time:0,execs:0,op:pipe")));
    }
    huge(&dir.path("out/queue/id:000098,time:0,execs:0,op:huge"));
    let run = dir.fuzz(fixture("floats.c"), "").exits(0);
    run.says("5 files").says("are set aside in out/set-aside");
    for command in ["cmin out", "triage out", "status out", "merge out -o merged"] {
        dir.penfuzz(command).exits(0);
    }
}

/// Commands on campaigns read files that another process has put there.
#[test]
fn pipes_and_huge_files_are_left_out_of_corpora() {
    let dir = finished("floats.c", "");
    pipe(&dir.path("out/queue/id:000099,time:0,execs:0,op:pipe"));
    huge(&dir.path("out/queue/id:000098,time:0,execs:0,op:huge"));
    for command in ["cmin out", "merge out -o merged"] {
        let run = dir.penfuzz(command).exits(0);
        run.says("id:000098,time:0,execs:0,op:huge is left out: it is longer than 1 MiB; one more file is left out");
    }
    dir.penfuzz("triage out").exits(0);
    pipe(&dir.path("out/plot_data.new"));
    fs::rename(dir.path("out/plot_data.new"), dir.path("out/plot_data")).expect("a file can be replaced");
    dir.penfuzz("report out").exits(0);
}

#[test]
fn seeds_that_are_no_files_are_left_out() {
    let dir = Dir::new();
    dir.file("seeds/good", 1.5f64.to_le_bytes());
    pipe(&dir.path("seeds/pipe"));
    huge(&dir.path("seeds/huge"));
    std::os::unix::fs::symlink("/dev/zero", dir.path("seeds/zero")).expect("a link can be made");
    std::os::unix::fs::symlink(".", dir.path("seeds/loop")).expect("a link can be made");
    let run = dir.fuzz(fixture("floats.c"), "-i seeds").exits(0);
    run.says("seeds/huge is left out: it is longer than 1 MiB; 2 more files are left out");
    run.expect(dir.report("out").branches.covered == 16, "all branches covered");
    let path = "*,floats.c:7:T,*";
    let run = dir.penfuzz("reach --max-evals 1 -i seeds --path").arg(path).arg(fixture("floats.c")).run();
    run.says("seeds/huge is left out");
}

/// The run must end soon, with either exit status.
#[test]
fn the_files_of_the_system_as_seeds_have_an_end() {
    let dir = Dir::new();
    let begun = Instant::now();
    let run = dir.fuzz(fixture("floats.c"), "-i /proc --max-time 1s").run();
    run.expect(matches!(run.status.code(), Some(0 | 1)), "an orderly end");
    run.expect(begun.elapsed() < Duration::from_secs(30), "soon");
}

#[test]
fn single_inputs_must_be_files() {
    let dir = Dir::new();
    pipe(&dir.path("pipe"));
    huge(&dir.path("huge"));
    let target = fixture("floats.c");
    for (input, why) in [
        ("/dev/zero", "it is a device, not a regular file"),
        ("pipe", "it is a pipe, not a regular file"),
        ("huge", "it is longer than 1 MiB"),
        (".", "it is a directory"),
    ] {
        for command in ["replay", "tmin"] {
            let run = dir.penfuzz(command).arg(&target).arg(input).exits(1);
            run.says(&format!("error: {input} cannot be read: {why}"));
        }
    }
    for (file, why) in
        [("/dev/zero", "it is a device"), ("pipe", "it is a pipe"), ("huge", "it is longer than 256 MiB")]
    {
        let run = dir.penfuzz("reach --max-evals 1").arg(&target).arg(format!("--path=@{file}")).exits(1);
        run.says(&format!("error: {file} cannot be read: {why}"));
    }
}

#[test]
fn files_of_a_campaign_must_be_files() {
    let dir = Dir::new();
    for (name, command) in [
        ("campaign.json", "cmin out"),
        ("campaign.json", "triage out"),
        ("campaign.json", "merge out -o merged"),
        ("report.json", "report out"),
        ("experiment.json", "report out"),
        ("status.json", "status out"),
    ] {
        let _ = fs::remove_dir_all(dir.path("out"));
        fs::create_dir(dir.path("out")).expect("a directory can be made");
        pipe(&dir.path("out").join(name));
        let run = dir.penfuzz(command).exits(1);
        run.expect(run.stderr.lines().count() == 1, "one line");
    }
    pipe(&dir.path("suite.toml"));
    dir.penfuzz("suite suite.toml").exits(1).says("it is a pipe");
}

/// Replaces a value of a JSON file.
fn edit(dir: &Dir, file: &str, key: &str, value: Value) {
    let path = dir.path(file);
    let mut all: Value = serde_json::from_slice(&fs::read(&path).expect("the file is there")).expect("it is JSON");
    *all.pointer_mut(key).unwrap_or_else(|| panic!("{file} has no {key}")) = value;
    fs::write(path, all.to_string()).expect("it can be written");
}

#[test]
fn a_campaign_of_impossible_limits_is_refused_in_one_sentence() {
    let dir = finished("floats.c", "");
    let whole = fs::read(dir.path("out/campaign.json")).expect("it is there");
    for (key, value, why) in [
        ("/fuel", json!(-5), "its fuel is -5, not at least 1"),
        ("/fuel", json!(0), "its fuel is 0"),
        ("/timeout", json!(-1.0), "its timeout is -1 s, not 1 ms to ten years"),
        ("/timeout", json!(1e19), "its timeout is"),
        ("/memory_limit", json!(0), "its memory limit is 0 bytes"),
        ("/symbol", json!(""), "it names no function"),
    ] {
        fs::write(dir.path("out/campaign.json"), &whole).expect("it can be written");
        edit(&dir, "out/campaign.json", key, value);
        for command in ["cmin out", "triage out", "merge out -o merged"] {
            let run = dir.penfuzz(command).exits(1);
            run.says("out/campaign.json cannot be used: ").says(why);
            run.expect(run.stderr.lines().count() == 1, "one line");
        }
        // The state is valid: the same command resumes the campaign, and writes its description again.
        dir.fuzz(fixture("floats.c"), "").exits(0);
    }
}

#[test]
fn a_state_of_impossible_figures_does_no_harm() {
    for (key, value) in [
        ("/seconds", json!(-1e300)),
        ("/seconds", json!(1e300)),
        ("/evaluations", json!(u64::MAX)),
        ("/workers", json!(u32::MAX)),
        ("/starts", json!(u32::MAX)),
        ("/spent", json!([u64::MAX, u64::MAX])),
        ("/taken_at", json!(vec![u64::MAX; 999])),
        ("/given_up", json!([u32::MAX])),
        ("/faults", json!({"../precious": {"kind": "crash", "key": 1, "reason": "", "place": "", "is_cheap": true}})),
    ] {
        let dir = finished("floats.c", "");
        edit(&dir, "out/state.json", key, value);
        for command in ["cmin out", "triage out", "merge out -o merged", "status out"] {
            dir.penfuzz(command).exits(0);
        }
        dir.fuzz(fixture("floats.c"), "").exits(0);
        dir.fuzz(fixture("floats.c"), "--cores 0 --max-time 1s").exits(0);
    }
}

#[test]
fn a_report_of_impossible_figures_is_refused_in_one_sentence() {
    let dir = finished("floats.c", "");
    let whole = fs::read(dir.path("out/report.json")).expect("it is there");
    for (key, value) in [
        ("/tests/0/covers", json!([[99, 0]])),
        ("/branches/covered", json!(u64::MAX)),
        ("/branches/total", json!(0)),
        ("/seconds", json!(-1)),
        ("/sites/0/line", json!(u32::MAX)),
    ] {
        fs::write(dir.path("out/report.json"), &whole).expect("it can be written");
        edit(&dir, "out/report.json", key, value);
        let run = dir.penfuzz("report out").exits(1);
        run.says("out/report.json: not a report that penfuzz wrote");
        run.expect(run.stderr.lines().count() == 1, "one line");
    }
}
