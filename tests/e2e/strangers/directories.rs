//! Directories that other people own or write to.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::support::{Dir, fixture};

/// Returns the contents of a directory tree: files with their bytes, directories and links without.
fn tree(top: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![top.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).expect("a directory of ours").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
            if kind.is_dir() {
                open.push(path.clone());
            }
            let content = if kind.is_file() { fs::read(&path).expect("a file of ours") } else { Vec::new() };
            all.insert(path, content);
        }
    }
    all
}

/// A finished campaign in `out`.
fn finished() -> Dir {
    let dir = Dir::new();
    dir.fuzz(fixture("floats.c"), "").exits(0);
    dir
}

/// Files of a project with the names of penfuzz's files must not change.
#[test]
fn a_project_with_a_queue_is_no_campaign() {
    let dir = Dir::new();
    for name in ["queue/queue.c", "report.html", "coverage.lcov", "tests/test_floats.c"] {
        dir.file(&format!("out/{name}"), "of the project");
    }
    let before = tree(&dir.path("out"));
    for more in ["", "--fresh", "--cores 0"] {
        let run = dir.fuzz(fixture("floats.c"), more).exits(1);
        run.says("out contains files that penfuzz did not write; give a new or an empty directory as -o");
        run.expect(run.stderr.lines().count() == 1, "one line");
        run.expect(tree(&dir.path("out")) == before, "the project as it was, and nothing new");
        run.expect(!dir.path("out.old1").exists(), "nothing moved aside");
    }
}

#[test]
fn an_instance_of_afl_is_no_campaign() {
    let dir = Dir::new();
    for name in ["queue/id:000000,time:0,execs:0,orig:seed", "fuzzer_stats", "fuzzer_setup", "cmdline", "plot_data"] {
        dir.file(&format!("out/{name}"), "of AFL++");
    }
    let before = tree(&dir.path("out"));
    let run = dir.fuzz(fixture("floats.c"), "").exits(1);
    run.says("out contains files that penfuzz did not write");
    run.expect(tree(&dir.path("out")) == before, "the instance as it was");
}

#[test]
fn a_campaign_joins_instances_of_afl() {
    let dir = Dir::new();
    for name in ["queue/id:000000,time:0,execs:0,orig:seed", "fuzzer_stats", "fuzzer_setup", "cmdline", "plot_data"] {
        dir.file(&format!("out/main/{name}"), "of AFL++");
    }
    let before = tree(&dir.path("out/main"));
    let run = dir.fuzz(fixture("floats.c"), "--max-evals 1000 --sync out").run();
    run.expect(tree(&dir.path("out/main")) == before, "the instance as it was");
    assert!(dir.report("out").branches.covered > 0);
    dir.file("out/notes.txt", "mine");
    dir.fuzz(fixture("floats.c"), "--max-evals 2000 --sync out").run().says("resuming");
}

#[test]
fn an_experiment_and_a_suite_are_no_campaigns() {
    let dir = Dir::new();
    dir.file("experiment/.lock", "1 2\nmachine pid:[3]\n");
    dir.file("experiment/experiment.json", "{\"schema\": 1}");
    dir.file("suite/suite.json", "{\"schema\": 1}");
    for name in ["experiment", "suite"] {
        let before = tree(&dir.path(name));
        let run = dir.penfuzz("--max-evals 9 -o").arg(name).arg(fixture("floats.c")).exits(1);
        run.says("contains files that penfuzz did not write");
        run.expect(tree(&dir.path(name)) == before, "the directory as it was");
    }
    let suite = dir.file(
        "s.toml",
        "name = \"s\"\nsources = \".\"\n[[target]]\nname = \"a\"\nfile = \"s.toml\"\nfunction = \"a\"\n",
    );
    dir.file("other/suite.json", "mine");
    let run = dir.penfuzz("suite -o other").arg(suite).exits(1);
    run.says("other contains files that penfuzz did not write");
    run.expect(dir.files("other")["suite.json"] == b"mine", "the file as it was");
}

/// A killed process may leave a directory without `campaign.json`: this version leaves only the lock file, earlier
/// versions empty directories too.
#[test]
fn a_campaign_that_was_killed_at_its_start_goes_on() {
    for names in [&[".lock"][..], &[".lock", ".penfuzz-tmp-1-1", "queue/", "pending/", "crashes/", "hangs/"]] {
        let dir = Dir::new();
        fs::create_dir(dir.path("out")).expect("a directory can be made");
        for name in names {
            match name.strip_suffix('/') {
                Some(name) => fs::create_dir(dir.path("out").join(name)).expect("a directory can be made"),
                None => drop(dir.file(&format!("out/{name}"), "")),
            }
        }
        dir.fuzz(fixture("floats.c"), "").exits(0);
    }
}

/// For every file of a campaign, the link and its target must not change.
#[test]
fn no_file_is_written_through_a_link() {
    let dir = finished();
    let precious = dir.file("precious", "precious");
    let files: Vec<String> = dir.files("out").into_keys().filter(|n| dir.path("out").join(n).is_file()).collect();
    assert!([".lock", "plot_data", "fuzzer_stats", "status.json"].iter().all(|n| files.contains(&(*n).to_owned())));
    for name in files.iter().map(String::as_str).chain(["tests/test_floats.c"]) {
        let path = dir.path("out").join(name);
        let before = fs::read(&path).ok();
        let _ = fs::remove_file(&path);
        symlink(&precious, &path).expect("a link can be made");
        let run = dir.fuzz(fixture("floats.c"), "--max-time 1s").run();
        run.expect(fs::read(&precious).expect("it is there") == b"precious", &format!("`{name}` not written through"));
        run.expect(matches!(run.status.code(), Some(0 | 1)), "an orderly end");
        if name == ".lock" {
            run.expect(run.status.code() == Some(1), "refused");
            run.says(
                "out/.lock cannot be used as lock: it is a symbolic link, which penfuzz does not follow there; \
                      remove it",
            );
        }
        let _ = fs::remove_file(&path);
        if let Some(before) = before {
            fs::write(&path, before).expect("a file can be written");
        }
    }
}

#[test]
fn no_directory_is_used_through_a_link() {
    for (name, more) in [
        ("queue", ""),
        ("pending", ""),
        ("crashes", ""),
        ("hangs", ""),
        ("tests", ""),
        ("set-aside", ""),
        ("c0", "--cores 0"),
    ] {
        let dir = finished();
        let precious = dir.path("precious");
        dir.file("precious/id:000000,mine", "precious");
        dir.file("precious/.penfuzz-tmp-1-1", "precious");
        let before = tree(&precious);
        let path = dir.path("out").join(name);
        let _ = fs::remove_dir_all(&path);
        symlink(&precious, &path).expect("a link can be made");
        // A foreign file, so that `set-aside` is needed.
        if name == "set-aside" {
            dir.file("out/queue/foreign", "foreign");
        }
        let run = dir.fuzz(fixture("floats.c"), &format!("--max-time 1s {more}")).exits(1);
        run.says(&format!("out/{name} cannot be used as directory: it is a symbolic link"));
        run.expect(tree(&precious) == before, "what the link leads to is as it was");
    }
}

/// The output directory itself may be a link, because the user named it.
#[test]
fn the_output_directory_may_be_a_link() {
    let dir = Dir::new();
    fs::create_dir(dir.path("large-disk")).expect("a directory can be made");
    symlink("large-disk", dir.path("out")).expect("a link can be made");
    for _ in 0..2 {
        dir.fuzz(fixture("floats.c"), "").exits(0);
    }
    assert!(dir.path("large-disk/report.json").is_file(), "the report is on the other disk");
}

#[test]
fn a_report_is_not_written_through_a_link() {
    let dir = finished();
    fs::remove_dir_all(dir.path("out/tests")).expect("it is there");
    fs::create_dir(dir.path("precious")).expect("a directory can be made");
    symlink(dir.path("precious"), dir.path("out/tests")).expect("a link can be made");
    dir.penfuzz("report out").exits(1).says("out/tests").says("it is a symbolic link");
    assert!(dir.files("precious").is_empty(), "nothing is written there");
}

#[test]
fn a_suite_writes_through_no_link() {
    let dir = Dir::new();
    dir.file("f.c", "int f(double x) { return x > 1.0; }\n");
    let suite = "name = \"s\"\nsources = \".\"\n[[target]]\nname = \"f\"\nfile = \"f.c\"\nfunction = \"f\"\n";
    dir.file("s.toml", suite);
    dir.file("precious", "precious");
    fs::create_dir_all(dir.path("elsewhere")).expect("a directory can be made");
    dir.file("out/suite.json", "{\"schema\": 1}");
    symlink(dir.path("precious"), dir.path("out/f.log")).expect("a link can be made");
    dir.penfuzz("suite -o out --resume s.toml").exits(0);
    assert_eq!(dir.files(".")["precious"], b"precious");
    fs::remove_dir_all(dir.path("out/f")).expect("it is there");
    symlink(dir.path("elsewhere"), dir.path("out/f")).expect("a link can be made");
    let run = dir.penfuzz("suite -o out --resume s.toml").exits(1);
    run.expect(run.stdout.contains("it is a symbolic link"), "the reason in the table");
    run.expect(dir.files("elsewhere").is_empty(), "nothing is written there");
}

#[test]
fn a_name_that_is_no_text_is_refused_before_anything_is_written() {
    let dir = Dir::new();
    let name = OsStr::from_bytes(b"out\xff");
    let run = dir.penfuzz("--max-evals 9 -o").arg(name).arg(fixture("floats.c")).exits(1);
    run.says("is not a UTF-8 name; give another -o");
    run.expect(run.stderr.lines().count() == 1, "one line");
    run.expect(!dir.path(name).exists(), "nothing is written");
}

#[test]
fn finds_that_somebody_removed_are_not_called_safe() {
    let dir = Dir::new();
    let mut running = dir.fuzz(fixture("unreachable_in_loop.c"), "--search random --max-time 50s").start();
    let queue = dir.path("out/queue");
    let is_input = |entry: fs::DirEntry| entry.file_name().as_bytes().starts_with(b"id:");
    running.until("an input in queue/", || fs::read_dir(&queue).is_ok_and(|d| d.flatten().any(is_input)));
    // Waits until the file with this name is on the disk. If the directory were removed before that, the find would
    // count as one that could not be written.
    thread::sleep(Duration::from_secs(1));
    fs::remove_dir_all(dir.path("out")).expect("it is there");
    running.signal(libc::SIGINT);
    let run = running.wait();
    run.expect(run.status.code() == Some(1), "exit status 1");
    run.says("finds are lost, none is on the disk");
    run.expect(!run.stderr.contains("every find is on the disk"), "no find is on the disk");
    run.expect(!dir.path("out").exists(), "the directory is not made again");
}
