//! Tests of the tags of `campaign.json`, and of the key.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use super::*;

const KEY: Key = *b"0123456789abcdef";

fn manifest() -> Manifest {
    let text = include_str!("../../../../tests/fixtures/old-campaign/campaign.json");
    manifest::parse(text.as_bytes(), Path::new(manifest::FILE)).unwrap()
}

fn signed_text() -> String {
    String::from_utf8(signed_with(&manifest(), Some(&KEY)).unwrap()).unwrap()
}

#[test]
fn a_written_manifest_is_trusted_and_read_back() {
    let dir = tempfile::tempdir().unwrap();
    manifest().write(dir.path()).unwrap();
    assert_eq!(*Trusted::read(dir.path(), false).unwrap().manifest(), manifest());
    let copy = tempfile::tempdir().unwrap();
    fs::copy(dir.path().join(manifest::FILE), copy.path().join(manifest::FILE)).unwrap();
    Trusted::read(copy.path(), false).expect("a copied directory is the same campaign");
}

/// A campaign that was resumed with command-line options belongs to the user.
#[test]
fn writing_the_same_manifest_adds_the_tag() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(manifest::FILE), signed_with(&manifest(), None).unwrap()).unwrap();
    assert!(Trusted::read(dir.path(), false).is_err());
    manifest().write(dir.path()).unwrap();
    Trusted::read(dir.path(), false).expect("the tag was added");
}

#[test]
fn neither_order_nor_spaces_count_but_every_value_does() {
    let text = signed_text();
    assert!(has_valid_tag(text.as_bytes(), &KEY));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert!(has_valid_tag(&serde_json::to_vec(&value).unwrap(), &KEY), "without spaces");
    for (key, at) in value.as_object().unwrap() {
        let mut changed = value.clone();
        changed[key] = Value::from(format!("{at}x"));
        assert!(!has_valid_tag(&serde_json::to_vec(&changed).unwrap(), &KEY), "{key}");
    }
    let mut more = value.clone();
    more["new"] = Value::Null;
    assert!(!has_valid_tag(&serde_json::to_vec(&more).unwrap(), &KEY), "a key of another version");
}

#[test]
fn without_the_key_there_is_no_valid_tag() {
    let text = signed_text();
    assert!(!has_valid_tag(text.as_bytes(), b"0123456789abcdeF"), "of another user");
    assert!(!has_valid_tag(&signed_with(&manifest(), None).unwrap(), &KEY), "none");
    for bad in ["", "[]", "{}", "{\"tag\": null}", "{\"tag\": 0}", "{\"tag\": \"\"}"] {
        assert!(!has_valid_tag(bad.as_bytes(), &KEY), "{bad}");
    }
}

/// A parser must not use another value than the hashed one.
#[test]
fn a_key_that_occurs_twice_is_refused() {
    let text = signed_text().replacen('{', "{\"linked\": \"/evil.so\",", 1);
    assert!(manifest::parse(text.as_bytes(), Path::new(manifest::FILE)).is_err());
}

#[test]
fn distrust_message_describes_the_code_and_has_its_own_type() {
    let dir = tempfile::tempdir().unwrap();
    let mut bad = manifest();
    bad.settings.linked = "/none/evil.so".into();
    bad.settings.sources = vec!["/src/a\u{1b}[2J.c".into()];
    bad.settings.flags = vec!["-fplugin=/evil.so".to_owned()];
    fs::write(dir.path().join(manifest::FILE), signed_with(&bad, None).unwrap()).unwrap();
    let e = Trusted::read(dir.path(), false).unwrap_err();
    let text = e.to_string();
    assert!(Untrusted::is_cause_of(&e), "{text}");
    assert!(text.contains(r#"["/src/a\u{1b}[2J.c"] would be compiled with the flags ["-fplugin=/evil.so"]"#), "{text}");
    assert!(text.contains("belongs to you") && text.contains("--trust") && !text.contains('\u{1b}'), "{text}");
    Trusted::read(dir.path(), true).expect("the user consents");
}

#[test]
fn the_key_is_secret_and_stays_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(KEY_FILE);
    assert_eq!(read_key(&path).unwrap(), None);
    create_key(&path).unwrap();
    let key = read_key(&path).unwrap().unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    create_key(&path).unwrap();
    assert_eq!(read_key(&path).unwrap(), Some(key), "a key is never replaced");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file may be left");
}

#[test]
fn a_key_that_others_may_know_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(KEY_FILE);
    create_key(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(read_key(&path).unwrap_err().to_string().contains("remove it"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let link = dir.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(read_key(&link).is_err(), "a link");
    fs::write(&path, "short").unwrap();
    assert!(read_key(&path).is_err(), "another size");
}
