//! The origin of a report that this process makes.

use std::path::{Path, PathBuf};

use penfuzz_report::origin::Origin;
use penfuzz_system::files::foreign;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

pub(super) fn now(sources: &[PathBuf]) -> Origin {
    let now = OffsetDateTime::now_utc();
    let now = now.replace_nanosecond(0).unwrap_or(now);
    Origin {
        program: format!("penfuzz {}", env!("CARGO_PKG_VERSION")),
        compiler: format!("clang {}", penfuzz_cc::LLVM_MAJOR),
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        commit: sources.first().and_then(|source| commit_of(source)),
        date: now.format(&Rfc3339).unwrap_or_default(),
    }
}

/// The commit that is checked out in the git repository that contains a file. Reads the files of the repository,
/// because a worker starts no programs.
fn commit_of(file: &Path) -> Option<String> {
    let path = std::path::absolute(file).ok()?;
    let link = path.ancestors().skip(1).map(|ancestor| ancestor.join(".git")).find(|git| git.exists())?;
    // The file `.git` of a work tree names the directory.
    let git = match text(&link) {
        Some(link_text) => link.parent()?.join(link_text.strip_prefix("gitdir: ")?),
        None => link,
    };
    let head = text(&git.join("HEAD"))?;
    let Some(branch) = head.strip_prefix("ref: ") else { return is_commit(&head).then_some(head) };
    let common = text(&git.join("commondir")).map_or_else(|| git.clone(), |common| git.join(common));
    let packed = || {
        let all = text(&common.join("packed-refs"))?;
        all.lines().find_map(|line| line.strip_suffix(branch)?.strip_suffix(' ').map(str::to_owned))
    };
    text(&common.join(branch)).or_else(packed).filter(|commit| is_commit(commit))
}

/// The content of a file without the line end; `None` if it cannot be read.
fn text(path: &Path) -> Option<String> {
    Some(String::from_utf8(foreign::read(path, foreign::LONGEST_TEXT).ok()?).ok()?.trim_end().to_owned())
}

fn is_commit(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::*;

    fn git(dir: &Path, args: &[&str]) -> String {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let done = Command::new("git").args(identity).args(args).current_dir(dir).output().expect("git runs");
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
    }

    #[test]
    fn the_commit_is_that_of_git() {
        let dir = tempfile::tempdir().expect("a directory");
        let (main, other) = (dir.path().join("main"), dir.path().join("other"));
        fs::create_dir_all(main.join("src")).expect("a directory");
        let file = main.join("src/f.c");
        assert_eq!(commit_of(&file), None);
        git(&main, &["init", "--quiet"]);
        assert_eq!(commit_of(&file), None, "there is no commit");
        git(&main, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
        let first = git(&main, &["rev-parse", "HEAD"]);
        assert_eq!(commit_of(&file).as_ref(), Some(&first));
        git(&main, &["worktree", "add", "--quiet", "../other", "-b", "aside"]);
        git(&other, &["commit", "--quiet", "--allow-empty", "-m", "second"]);
        let second = git(&other, &["rev-parse", "HEAD"]);
        assert_eq!(commit_of(&other.join("f.c")).as_ref(), Some(&second));
        git(&main, &["pack-refs", "--all"]);
        assert_eq!(commit_of(&other.join("f.c")), Some(second));
        git(&main, &["checkout", "--quiet", "--detach"]);
        assert_eq!(commit_of(&file), Some(first));
    }
}
