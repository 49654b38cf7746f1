//! Campaigns from strangers, and the cache.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        process::ExitStatusExt,
    },
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::support::{Dir, Penfuzz, Run, children, fixture, skip};

/// The file that a stranger's library creates when it is loaded.
const TRACE: &str = "trace";

/// A finished campaign in `out`.
fn campaign(dir: &Dir) {
    dir.fuzz(fixture("floats.c"), "").exits(0);
}

/// Builds a library that creates [`TRACE`] when it is loaded.
fn trap(dir: &Dir) -> PathBuf {
    let source = dir.file(
        "trap.c",
        format!(
            "#include <stdio.h>\n__attribute__((constructor)) static void trap(void) {{ fclose(fopen(\"{}\", \"w\")); \
             }}\n",
            dir.path(TRACE).display()
        ),
    );
    let library = dir.path("trap.so");
    dir.other(Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source));
    library
}

/// Changes a JSON file as a stranger could.
fn edit(dir: &Dir, file: &str, change: impl FnOnce(&mut Value)) {
    let path = dir.path(file);
    let mut json: Value = serde_json::from_slice(&fs::read(&path).expect("the file is there")).expect("JSON");
    change(&mut json);
    fs::write(path, json.to_string()).expect("the file can be written");
}

/// Changes the campaign so that its target is a library that a stranger has linked.
fn plant(dir: &Dir, library: &Path) {
    edit(dir, "out/campaign.json", |json| {
        json["linked"] = json!(library);
        json["sources"] = json!([]);
    });
}

/// The commands that run the target that `campaign.json` names.
const COMMANDS: [&str; 3] = ["triage out", "cmin out", "merge out -o merged"];

/// Every command must refuse the campaign, name `named`, and run none of its code; with the user's consent it must run.
fn expect_consent_is_needed(dir: &Dir, named: &[&str]) {
    for command in COMMANDS {
        let run = dir.penfuzz(command).exits(2);
        run.says("--trust").says("belongs to you").expect(run.stderr.lines().count() == 1, "one sentence");
        for text in named {
            run.says(text);
        }
        run.expect(!dir.path(TRACE).exists() && !dir.path("merged").exists(), "nothing runs, nothing is written");
    }
    for command in COMMANDS {
        // An empty cache, so that each command compiles.
        let cache = dir.path(command.replace(' ', "-"));
        dir.penfuzz(command).arg("--trust").env("XDG_CACHE_HOME", cache).run();
        assert!(dir.path(TRACE).exists(), "{command} --trust: the library would have left its trace before");
        fs::remove_file(dir.path(TRACE)).expect("the trace can be removed");
    }
}

#[test]
fn a_strangers_library_is_not_loaded() {
    let dir = Dir::new();
    campaign(&dir);
    let library = trap(&dir);
    plant(&dir, &library);
    expect_consent_is_needed(&dir, &["trap.so", "would be loaded"]);
}

#[test]
fn a_strangers_flags_do_not_reach_the_compiler() {
    let dir = Dir::new();
    campaign(&dir);
    let flag = format!("-fplugin={}", trap(&dir).display());
    edit(&dir, "out/campaign.json", |json| {
        json["linked"] = json!(dir.path("none.pen"));
        json["flags"] = json!([flag]);
    });
    expect_consent_is_needed(&dir, &[&flag, "floats.c", "would be compiled"]);
}

/// The user names the target, so the command ignores every target that the directory names.
#[test]
fn a_target_on_the_command_line_needs_no_consent() {
    let dir = Dir::new();
    campaign(&dir);
    let library = trap(&dir);
    plant(&dir, &library);
    dir.penfuzz("merge out -o merged --target").arg(fixture("floats.c")).exits(0);
    dir.penfuzz("cmin merged").exits(0);
    dir.fuzz(fixture("floats.c"), "").exits(0);
    dir.penfuzz("cmin out").exits(0);
    assert!(!dir.path(TRACE).exists(), "the stranger's library is not loaded");
}

/// Ordinary use: the user's own campaign needs no consent, also after it was moved and after the cache was emptied.
#[test]
fn ones_own_campaign_is_trusted() {
    let dir = Dir::new();
    let cache = dir.path("cache");
    let penfuzz = |arguments: &str| dir.penfuzz(arguments).env("XDG_CACHE_HOME", &cache);
    penfuzz("-o out").arg(fixture("floats.c")).exits(0);
    fs::rename(dir.path("out"), dir.path("moved")).expect("a directory can be renamed");
    penfuzz("triage moved").exits(0);
    fs::remove_dir_all(&cache).expect("the cache can be removed");
    for command in ["cmin moved", "merge moved -o merged", "cmin merged", "report moved"] {
        penfuzz(command).exits(0);
    }
}

#[test]
fn a_campaign_of_another_machine_needs_consent_until_it_is_resumed() {
    let dir = Dir::new();
    campaign(&dir);
    let there = |arguments: &str| dir.penfuzz(arguments).env("XDG_STATE_HOME", dir.path("state"));
    there("cmin out").exits(2).says("was not written by penfuzz of this user on this machine");
    there("cmin out --trust").exits(0);
    // The command line names the target, so the campaign's description counts as the user's own again.
    there("-o out").arg(fixture("floats.c")).exits(0);
    there("cmin out").exits(0);
    let mode = fs::metadata(dir.path("state/penfuzz/key")).expect("there is a key").mode();
    assert_eq!(mode & 0o777, 0o600, "only the user may read the key");
}

#[test]
fn the_owner_of_a_foreign_campaign_is_named() {
    let dir = Dir::new();
    campaign(&dir);
    edit(&dir, "out/campaign.json", |json| json["libs"] = json!(["-lm"]));
    if let Err(e) = chown(dir.path("out/campaign.json"), Some(65534), None) {
        return skip("the privilege to give files away", &e.to_string());
    }
    dir.penfuzz("triage out").exits(2).says("belongs to user 65534");
}

const SECRET: &str = "hunter2-is-the-password";

/// A report may name any file of the machine. The content of such a file must not be copied into a page that may be
/// published.
#[test]
fn a_strangers_report_discloses_no_file() {
    let dir = Dir::new();
    campaign(&dir);
    let secret = dir.file("secret", format!("{SECRET}\n").repeat(200));
    for file in [secret.display().to_string(), "/dev/zero".to_owned()] {
        edit(&dir, "out/report.json", |json| {
            json["signature"]["file"] = json!(file);
            json["sources"] = json!([file]);
            for site in json["sites"].as_array_mut().expect("sites") {
                site["file"] = json!(file);
                for branch in site["branches"].as_array_mut().expect("branches") {
                    branch["status"] = json!("uncovered");
                }
            }
        });
        let run = dir.penfuzz("report out").exits(0);
        let page = fs::read_to_string(dir.path("out/report.html")).expect("a page");
        run.expect(!run.stdout.contains(SECRET) && !page.contains(SECRET), "no line of the secret file");
    }
}

/// The user's own report shows its source until the source changes.
#[test]
fn the_source_is_shown_as_it_was() {
    let dir = Dir::new();
    let text = "int own(double x) { if (x * 3.0 > 123.0) return 1; /* a remark */ return 0; }\n";
    let source = dir.file("own.c", text);
    let page = || fs::read_to_string(dir.path("out/report.html")).expect("a page");
    dir.fuzz(&source, "").exits(0);
    assert!(page().contains("a remark"), "written by the campaign");
    dir.penfuzz("report out").exits(0);
    assert!(page().contains("a remark"), "written again");
    fs::write(&source, format!("{text}/* secret now */")).expect("a file can be written");
    dir.penfuzz("report out").exits(0);
    assert!(!page().contains("a remark") && !page().contains("secret now"), "not what was tested");
}

/// Writing the pages of a campaign again runs none of its code. The examination of exceptions runs it, and needs
/// consent.
#[test]
fn a_report_runs_nothing() {
    let dir = Dir::new();
    dir.penfuzz("exceptions -o out").arg(fixture("floats.c")).run();
    let library = trap(&dir);
    plant(&dir, &library);
    edit(&dir, "out/report.json", |json| {
        json.as_object_mut().expect("an object").remove("exceptions").expect("the examination");
    });
    let run = dir.penfuzz("report out").exits(0);
    run.says("not examined").says("--trust").expect(!dir.path(TRACE).exists(), "nothing is loaded");
    dir.penfuzz("report out --trust").run();
    assert!(dir.path(TRACE).exists(), "the library would have left its trace before");
}

/// Creates a cache for this test only, in which one target was compiled.
fn own_cache(dir: &Dir) -> PathBuf {
    dir.file("own.c", "int own(double x) { return x > 1.0; }");
    with_cache(dir).exits(0);
    dir.path("cache/penfuzz")
}

fn with_cache(dir: &Dir) -> Penfuzz<'_> {
    dir.fuzz("own.c", "--fresh").env("XDG_CACHE_HOME", dir.path("cache"))
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("one's own file");
}

fn with_extension(directory: &Path, extension: &str) -> PathBuf {
    let entries = fs::read_dir(directory).expect("a directory").flatten().map(|e| e.path());
    entries.into_iter().find(|p| p.extension().is_some_and(|e| e == extension)).expect("such a file")
}

/// Other users could have put a plugin or a target into such a cache.
#[test]
fn a_cache_that_others_can_write_is_refused() {
    let dir = Dir::new();
    let cache = own_cache(&dir);
    for part in [cache.clone(), cache.join("targets"), dir.path("cache")] {
        let before = fs::metadata(&part).expect("a directory").permissions();
        set_mode(&part, 0o777);
        with_cache(&dir).exits(1).says("other users can write").says(&part.display().to_string());
        fs::set_permissions(&part, before).expect("one's own directory");
    }
    with_cache(&dir).exits(0);
}

#[test]
fn a_changed_plugin_is_not_loaded() {
    let dir = Dir::new();
    let plugin = with_extension(&own_cache(&dir), "so");
    let size = fs::metadata(&plugin).expect("the plugin").len();
    fs::copy(trap(&dir), &plugin).expect("the plugin can be replaced");
    fs::OpenOptions::new().write(true).open(&plugin).and_then(|f| f.set_len(size)).expect("the same size");
    dir.file("own.c", "int own(double x) { return x > 2.0; }");
    with_cache(&dir).exits(0);
    assert!(!dir.path(TRACE).exists(), "clang loads the plugin of this penfuzz");
}

#[test]
fn a_target_that_others_could_write_is_compiled_again() {
    let dir = Dir::new();
    let target = with_extension(&own_cache(&dir).join("targets"), "pen");
    fs::copy(trap(&dir), &target).expect("the target can be replaced");
    set_mode(&target, 0o666);
    let again = || dir.penfuzz("cmin out").env("XDG_CACHE_HOME", dir.path("cache"));
    again().exits(0);
    with_cache(&dir).exits(0);
    assert!(!dir.path(TRACE).exists(), "the planted target is not loaded");
    // The directory of the user's own campaign, in a cache that others can write.
    set_mode(&dir.path("cache/penfuzz/targets"), 0o777);
    again().exits(1).says("other users can write");
}

/// The permissions of files that are executed later must not depend on the umask.
#[test]
fn with_umask_0_others_can_write_nothing() {
    let dir = Dir::new();
    dir.file("own.c", "int own(double x) { return x > 1.0; }");
    with_cache(&dir).env("XDG_STATE_HOME", dir.path("state")).umask(0).exits(0);
    for top in ["cache", "state", "out"] {
        expect_closed(&dir.path(top));
    }
}

fn expect_closed(path: &Path) {
    let found = fs::symlink_metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(found.mode() & 0o022, 0, "{} has mode {:o}", path.display(), found.mode());
    if found.is_dir() {
        fs::read_dir(path).expect("a directory").flatten().for_each(|entry| expect_closed(&entry.path()));
    }
}

/// Sends a signal to penfuzz while its compiler waits for ever: the source includes a FIFO to which nobody writes.
fn interrupted_compilation(dir: &Dir, signal: i32) -> Run<'_> {
    dir.file("own.c", "#include \"slow.h\"\nint own(double x) { return x > 1.0; }");
    let _ = fs::remove_file(dir.path("slow.h"));
    dir.other(Command::new("mkfifo").arg("slow.h"));
    let mut running = with_cache(dir).start();
    let mut compilers = Vec::new();
    let pid = running.pid();
    running.until("a compiler", || {
        compilers = children(pid);
        compilers.iter().any(|(_, name)| name.starts_with("clang"))
    });
    running.signal(signal);
    let run = running.wait();
    for (pid, name) in compilers {
        let runs = fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"));
        run.expect(!runs, &format!("an end of {name}"));
    }
    run
}

#[test]
fn a_signal_ends_the_compiler_and_leaves_no_files() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let dir = Dir::new();
        let run = interrupted_compilation(&dir, signal);
        run.expect(run.status.signal() == Some(signal), &format!("an end by signal {signal}"));
        let left = dir.files("cache/penfuzz/targets");
        run.expect(left.is_empty(), &format!("no files in the cache, and not {:?}", left.keys()));
    }
}
