//! Files outside the output directory that the command line names, such as `--junit FILE`.
//!
//! A campaign may take hours, and its result must not be lost because of a typing error. Before it starts,
//! [`Destination::check`] checks that the file can be written. Afterwards, [`Destination::write`] replaces an existing
//! file atomically. A symbolic link is replaced as well and not followed, as in output directories. A device or a pipe,
//! such as `/dev/stdout`, is refused, because it would be replaced too.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use penfuzz_error::{Error, plain};

use super::atomic;
use crate::files::foreign;

/// A file that was checked to be writable.
#[derive(Debug, Clone)]
pub struct Destination(PathBuf);

/// The error for a file that cannot be used. The exit status is that of invalid arguments.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(pub String);

impl Unusable {
    /// Whether it is the cause of this error.
    #[must_use]
    pub fn is_cause_of(e: &Error) -> bool {
        std::error::Error::source(e).is_some_and(<dyn std::error::Error>::is::<Self>)
    }
}

impl Destination {
    /// Checks the file given with the option `option`. It must not lie in `output`, whose files belong to a campaign or
    /// suite, and which may be renamed at its start.
    ///
    /// # Errors
    /// With the source [`Unusable`]: when it is not a regular file, or its directory is missing, cannot be written, or
    /// lies in `output`.
    pub fn check(option: &str, path: &Path, output: Option<&Path>) -> Result<Self, Error> {
        let refuse = |why: String| {
            Error::from_source(Unusable(format!("{option} {}: {why}; give another file", path.display())))
        };
        if let Some(output) = output.filter(|output| is_inside(path, output)) {
            return Err(refuse(format!("lies in the output directory {}", output.display())));
        }
        match fs::metadata(path) {
            Ok(about) => foreign::check(&about).map_err(|e| refuse(plain(&e)))?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(refuse(plain(&e))),
        }
        if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(refuse("names a directory".to_owned()));
        }
        atomic::try_directory_of(path)
            .map_err(|e| refuse(format!("its directory cannot be written: {}", plain(&e))))?;
        Ok(Self(path.to_owned()))
    }

    /// Replaces the file, atomically and durably.
    ///
    /// # Errors
    /// File system errors, with the path.
    pub fn write(&self, text: &str) -> Result<(), Error> {
        atomic::write(&self.0, text.as_bytes()).map_err(Error::from_source)
    }
}

/// Whether the file is in the directory or below it. Links in the paths are followed as far as the directories exist.
fn is_inside(path: &Path, directory: &Path) -> bool {
    resolved(path).starts_with(resolved(directory))
}

/// The absolute path, with links resolved up to the last directory that exists.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for ancestor in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), absolute.strip_prefix(ancestor)) {
            return real.join(rest);
        }
    }
    absolute
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn refusal(path: &Path, output: Option<&Path>) -> String {
        let error = Destination::check("--junit", path, output).expect_err("it must be refused");
        assert!(Unusable::is_cause_of(&error));
        error.to_string()
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("junit.xml");
        for text in ["one", "two"] {
            Destination::check("--junit", &path, None).unwrap().write(text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "the check leaves no file");
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (precious, link) = (dir.path().join("precious"), dir.path().join("link"));
        fs::write(&precious, "precious").unwrap();
        symlink(&precious, &link).unwrap();
        Destination::check("--junit", &link, None).unwrap().write("new").unwrap();
        assert_eq!(
            (fs::read_to_string(&link).unwrap(), fs::read_to_string(&precious).unwrap()),
            ("new".to_owned(), "precious".to_owned())
        );
    }

    #[test]
    fn unwritable_destination_is_refused_in_one_sentence() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let device = dir.path().join("stdout");
        symlink("/dev/null", &device).unwrap();
        for (path, why) in [
            (dir.path().to_owned(), "directory"),
            (dir.path().join("new/"), "directory"),
            (dir.path().join("missing/junit.xml"), "its directory cannot be written: no such file or directory"),
            (file.join("junit.xml"), "not a directory"),
            (device, "it is a device, not a regular file"),
            (PathBuf::from("/proc/junit.xml"), "its directory cannot be written"),
        ] {
            let error = refusal(&path, None);
            assert!(error.contains(why) && error.lines().count() == 1, "{}: {error}", path.display());
        }
    }

    #[test]
    fn the_output_directory_holds_no_other_files() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        for path in [out.join("junit.xml"), dir.path().join("./out/new/junit.xml")] {
            assert!(refusal(&path, Some(&out)).contains("lies in the output directory"));
        }
        fs::create_dir(&out).unwrap();
        let link = dir.path().join("link");
        symlink(&out, &link).unwrap();
        assert!(refusal(&link.join("junit.xml"), Some(&out)).contains("lies in the output directory"));
        Destination::check("--junit", &dir.path().join("out.xml"), Some(&out)).unwrap();
    }
}
