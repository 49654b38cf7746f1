//! Tests that a directory written by an older version is resumed as the same campaign. `tests/fixtures/old-campaign`
//! was written by the version before hashes had an algorithm of their own, by `penfuzz
//! harnesses/quickstart/thermocouple.c --max-evals 1000`; its paths are relative to the top of the repository, its
//! reports are left out. The hash in its fingerprint is newer, from when operands of `||` got columns of their own.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{directory::lock, manifest, store::Store, trust::Trusted};
use crate::replay::session::ReplaySession;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let other = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &other);
        } else {
            fs::copy(entry.path(), other).unwrap();
        }
    }
}

#[test]
fn a_campaign_of_an_older_version_is_resumed() {
    let dir = tempfile::tempdir().unwrap();
    copy(&top().join("tests/fixtures/old-campaign"), dir.path());
    let mut manifest = manifest::read(dir.path()).unwrap();
    manifest.settings.sources = vec![top().join(&manifest.settings.sources[0])];
    let session = ReplaySession::of(&Trusted::own(manifest.clone())).unwrap();
    assert_eq!(session.fingerprint, manifest.fingerprint, "the same target has the same fingerprint");
    assert_eq!(session.change_since(&manifest), None);

    let size = Some(session.evaluator.input_size());
    let lock = lock(dir.path(), std::process::id()).unwrap();
    let mut store = Store::open(dir.path(), lock, &session.fingerprint, size).unwrap();
    assert!(store.is_resumed() && store.messages.is_empty(), "{:?}", store.messages);
    assert_eq!(store.saved.evaluations, 1000);
    let before = store.counts();
    assert_eq!((before.kept, before.pending, before.crashes, before.hangs), (4, 0, 1, 0));

    let (crash, fault) = store.saved.faults.first_key_value().map(|(f, fault)| (f.clone(), fault.clone())).unwrap();
    let bytes = store.fault_inputs()[&crash].clone();
    assert!(!store.keep_fault(&bytes, &fault, 0), "the crash is known by its key");
    store.keep(&store.queue()[0].1.clone(), 0, 0, "again");
    assert_eq!(store.counts(), before, "nothing that was kept is kept twice");
}
