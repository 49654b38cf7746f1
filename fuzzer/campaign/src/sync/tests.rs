use std::{
    ffi::CString,
    fs::{self, File},
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    time::SystemTime,
};

use super::*;

/// A directory, and the time that is passed to its importer.
struct Scene {
    dir: tempfile::TempDir,
    now: Instant,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir, now: Instant::now() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file that is a minute old.
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.young(name, bytes);
        let old = SystemTime::now() - Duration::from_mins(1);
        File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        path
    }

    /// Writes a file that is modified now.
    fn young(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    fn importer(&self, dir: &str, own: &str) -> Importer {
        Importer::new(&[self.path(dir)], &self.path(own)).unwrap()
    }

    /// Polls after the longest pause.
    fn poll(&mut self, importer: &mut Importer) -> Vec<Import> {
        self.now += Duration::from_hours(1);
        importer.poll(self.now)
    }

    fn contents(&mut self, importer: &mut Importer) -> Vec<String> {
        let text = |i: Import| String::from_utf8(i.bytes).unwrap();
        let mut all: Vec<_> = self.poll(importer).into_iter().map(text).collect();
        all.sort();
        all
    }
}

#[test]
fn all_instances_of_a_directory_are_polled() {
    let mut scene = Scene::new();
    scene.file("sync/a/queue/id:000000,orig:x", b"1");
    scene.file("sync/b/queue/id:000003,src:000001", b"2");
    scene.file("sync/b/crashes/id:000000", b"crash");
    let mut importer = scene.importer("sync", "own");
    let from: Vec<_> = scene.poll(&mut importer).into_iter().map(|i| i.from).collect();
    assert_eq!(from, ["sync:a,src:000000", "sync:b,src:000003"]);
}

#[test]
fn one_instance_may_be_named_directly() {
    let mut scene = Scene::new();
    scene.file("afl/queue/id:000000,orig:x", b"1");
    let mut importer = scene.importer("afl", "own");
    assert_eq!(scene.contents(&mut importer), ["1"]);
}

#[test]
fn a_single_afl_keeps_its_queue_in_default() {
    let mut scene = Scene::new();
    scene.file("out/default/queue/id:000000,orig:x", b"1");
    let mut importer = scene.importer("out", "own");
    assert_eq!(scene.contents(&mut importer), ["1"]);
}

#[test]
fn a_flat_corpus_has_any_names() {
    let mut scene = Scene::new();
    scene.file("corpus/da39a3ee5e6b4b0d3255bfef95601890afd80709", b"1");
    let mut importer = scene.importer("corpus", "own");
    let from: Vec<_> = scene.poll(&mut importer).into_iter().map(|i| i.from).collect();
    assert_eq!(from, ["sync:corpus,src:da39a3ee5e6b4b0d3255bfef95601890afd80709"]);
}

#[test]
fn names_cannot_break_ours() {
    let mut scene = Scene::new();
    scene.file("cor,time:9/a,time:7 \n$(b)", b"1");
    let mut importer = scene.importer("cor,time:9", "own");
    assert_eq!(scene.poll(&mut importer)[0].from, "sync:cor_time_9,src:a_time_7____b_");
}

#[test]
fn nothing_comes_twice() {
    let mut scene = Scene::new();
    scene.file("corpus/a", b"1");
    let mut importer = scene.importer("corpus", "own");
    assert_eq!(scene.contents(&mut importer), ["1"]);
    scene.file("corpus/b", b"2");
    assert_eq!(scene.contents(&mut importer), ["2"]);
}

#[test]
fn foreign_files_in_a_queue_are_left_alone() {
    let mut scene = Scene::new();
    for name in ["README.txt", ".state/deterministic_done/id:000000", ".id:000001", "id:", "x"] {
        scene.file(&format!("sync/a/queue/{name}"), b"no");
    }
    scene.file("sync/a/queue/id:000002", b"yes");
    let mut importer = scene.importer("sync", "own");
    assert_eq!(scene.contents(&mut importer), ["yes"]);
}

#[test]
fn hidden_and_temporary_files_are_no_corpus() {
    let mut scene = Scene::new();
    for name in [".penfuzz-tmp-1-2", ".synced/x", "README.txt", "a.tmp", "a~"] {
        scene.file(&format!("corpus/{name}"), b"no");
    }
    let mut importer = scene.importer("corpus", "own");
    assert_eq!(scene.contents(&mut importer), [""; 0]);
}

#[test]
fn our_own_queue_is_not_imported() {
    let mut scene = Scene::new();
    scene.file("sync/pen/queue/id:000000", b"ours");
    scene.file("sync/pen.old1/queue/id:000000", b"ours, set aside");
    scene.file("sync/afl/queue/id:000000", b"theirs");
    let mut importer = scene.importer("sync", "sync/pen");
    assert_eq!(scene.contents(&mut importer), ["theirs"]);
}

#[test]
fn a_farm_does_not_import_from_its_clients() {
    let mut scene = Scene::new();
    scene.file("sync/campaign.json", b"{}");
    scene.file("sync/c0/queue/id:000000", b"ours");
    scene.file("sync/c1/queue/id:000000", b"ours");
    scene.file("sync/afl/queue/id:000000", b"theirs");
    for own in ["sync", "sync/c1"] {
        let mut importer = scene.importer("sync", own);
        assert_eq!(scene.contents(&mut importer), ["theirs"], "with {own} as ours");
    }
}

#[test]
fn our_own_directory_is_recognised_by_any_path() {
    let mut scene = Scene::new();
    scene.file("sync/pen/queue/id:000000", b"ours");
    std::os::unix::fs::symlink(scene.path("sync"), scene.path("link")).unwrap();
    let mut importer = scene.importer("link", "sync/pen");
    assert_eq!(scene.contents(&mut importer), [""; 0]);
}

#[test]
fn a_directory_with_our_files_only_is_no_flat_corpus() {
    let mut scene = Scene::new();
    for name in ["campaign.json", "report.json", "status.json"] {
        scene.file(&format!("sync/{name}"), b"{}");
    }
    let mut importer = scene.importer("sync", "sync");
    assert_eq!(scene.contents(&mut importer), [""; 0]);
}

#[test]
fn an_empty_file_is_awaited() {
    let mut scene = Scene::new();
    let path = scene.file("corpus/a", b"");
    let mut importer = scene.importer("corpus", "own");
    assert_eq!(scene.contents(&mut importer), [""; 0]);
    // This does not change the directory.
    File::options().write(true).open(&path).unwrap();
    fs::write(&path, b"1").unwrap();
    scene.file("corpus/a", b"1");
    assert_eq!(scene.contents(&mut importer), ["1"]);
}

#[test]
fn a_file_that_is_being_written_is_awaited() {
    let mut scene = Scene::new();
    let path = scene.young("corpus/a", b"hal");
    let ahead = SystemTime::now() + Duration::from_hours(2);
    let date = |path: &Path| File::options().write(true).open(path).unwrap().set_modified(ahead).unwrap();
    date(&path);
    let mut importer = scene.importer("corpus", "own");
    assert_eq!(scene.contents(&mut importer), [""; 0], "it is too young");
    fs::write(&path, b"whole").unwrap();
    date(&path);
    assert_eq!(scene.contents(&mut importer), [""; 0], "it has changed");
    assert_eq!(scene.contents(&mut importer), ["whole"]);
}

#[test]
fn long_files_are_left_out_with_one_message() {
    let mut scene = Scene::new();
    for name in ["a", "b"] {
        scene.file(&format!("corpus/{name}"), &vec![0; (1 << 20) + 1]);
    }
    scene.file("corpus/c", b"1");
    let mut importer = scene.importer("corpus", "own");
    assert_eq!(scene.contents(&mut importer), ["1"]);
    let messages = importer.messages();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].contains("longer than 1 MiB"), "{messages:?}");
}

#[test]
fn blocking_files_are_not_opened() {
    let mut scene = Scene::new();
    fs::create_dir_all(scene.path("corpus/directory")).unwrap();
    let pipe = CString::new(scene.path("corpus/pipe").as_os_str().as_bytes()).unwrap();
    // SAFETY: a plain system call on a zero-terminated path.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    scene.file("corpus/a", b"1");
    let mut importer = scene.importer("corpus", "own");
    assert_eq!(scene.contents(&mut importer), ["1"]);
}

#[test]
fn a_directory_may_come_later() {
    let mut scene = Scene::new();
    let mut importer = scene.importer("sync", "own");
    assert!(importer.messages()[0].contains("cannot import from"));
    assert_eq!(scene.contents(&mut importer), [""; 0]);
    scene.file("sync/a/queue/id:000000", b"1");
    assert_eq!(scene.contents(&mut importer), ["1"]);
}

#[test]
fn a_directory_that_vanishes_is_reported_once_and_polled_again() {
    let mut scene = Scene::new();
    scene.file("corpus/a", b"1");
    let mut importer = scene.importer("corpus", "own");
    scene.poll(&mut importer);
    fs::rename(scene.path("corpus"), scene.path("gone")).unwrap();
    for _ in 0..3 {
        scene.poll(&mut importer);
    }
    let messages = importer.messages();
    assert_eq!(messages.len(), 1, "{messages:?}");
    fs::rename(scene.path("gone"), scene.path("corpus")).unwrap();
    scene.file("corpus/b", b"2");
    assert_eq!(scene.contents(&mut importer), ["2"]);
}

#[test]
fn a_file_is_no_directory() {
    let scene = Scene::new();
    let path = scene.file("a", b"1");
    let error = Importer::new(&[path], &scene.path("own")).unwrap_err().to_string();
    assert!(error.contains("is not a directory"), "{error}");
}

#[test]
fn a_large_corpus_comes_in_parts() {
    let mut scene = Scene::new();
    for i in 0..2500 {
        scene.file(&format!("corpus/{i}"), b"1");
    }
    let mut importer = scene.importer("corpus", "own");
    assert_eq!(scene.poll(&mut importer).len(), 2000);
    assert!(importer.has_more());
    assert_eq!(scene.poll(&mut importer).len(), 500);
    assert!(!importer.has_more());
}

#[test]
fn pauses_grow_while_nothing_comes() {
    let mut scene = Scene::new();
    fs::create_dir(scene.path("corpus")).unwrap();
    let mut importer = scene.importer("corpus", "own");
    assert!(importer.poll(scene.now).is_empty());
    scene.file("corpus/a", b"1");
    assert!(importer.poll(scene.now + Duration::from_millis(900)).is_empty(), "the pause is not over");
    assert_eq!(importer.poll(scene.now + Duration::from_millis(1600)).len(), 1);
    for _ in 0..20 {
        scene.poll(&mut importer);
    }
    assert_eq!(importer.pause, LONGEST_PAUSE);
}

#[test]
fn unreadable_directories_are_reported_once() {
    let mut scene = Scene::new();
    scene.file("sync/a/queue/id:000000", b"1");
    fs::set_permissions(scene.path("sync/a/queue"), fs::Permissions::from_mode(0o000)).unwrap();
    let mut importer = scene.importer("sync", "own");
    if fs::read_dir(scene.path("sync/a/queue")).is_ok() {
        // The superuser may read everything.
        return;
    }
    scene.poll(&mut importer);
    scene.poll(&mut importer);
    assert_eq!(importer.messages().len(), 1);
    fs::set_permissions(scene.path("sync/a/queue"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(scene.contents(&mut importer), ["1"]);
}
