//! Identifies the code that this process has loaded, to decide whether a cached result would be computed again.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt, path::Path};

use penfuzz_target::hash::StableHash;

/// A hash of the files whose code this process has mapped, including penfuzz itself: of their paths, sizes and
/// modification times. Files in `but` are left out.
#[must_use]
pub fn code(but: &[&Path]) -> String {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut hash = StableHash::new();
    for file in files(&maps).into_iter().filter(|file| !but.contains(&Path::new(file))) {
        hash.bytes(file.as_bytes());
        if let Ok(about) = fs::metadata(file) {
            hash.u64(about.size()).i64(about.mtime()).i64(about.mtime_nsec());
        }
    }
    format!("{:016x}", hash.finish())
}

/// The files with code in a memory map with lines `FROM-TO r-xp OFFSET DEVICE INODE      /PATH`.
fn files(maps: &str) -> BTreeSet<&str> {
    let of = |line: &'_ str| -> Option<usize> {
        let is_code = line.split(' ').nth(1)?.contains('x');
        line.find('/').filter(|_| is_code)
    };
    maps.lines().filter_map(|line| of(line).map(|at| &line[at..])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_with_code_count() {
        let maps = "55d0-55d1 r--p 00000000 fe:00 1 /usr/bin/a b\n55d1-55d2 r-xp 00001000 fe:00 1 /usr/bin/a b\n\
                    7f00-7f01 r-xp 00000000 fe:00 2                          /lib/libm.so.6\n\
                    7f02-7f03 r-xp 0 0 0 [vdso]\n\
                    7f04-7f05 rw-p 00000000 fe:00 3 /tmp/data\n";
        assert_eq!(files(maps), BTreeSet::from(["/lib/libm.so.6", "/usr/bin/a b"]));
    }

    #[test]
    fn the_program_itself_counts() {
        let own = std::env::current_exe().expect("it runs");
        assert_eq!(code(&[]), code(&[]));
        assert_ne!(code(&[]), code(&[&own]), "without it, it is other code");
    }
}
