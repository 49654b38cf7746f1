//! Reads the number of covered branches over time from the `plot_data` of a campaign's clients.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

use penfuzz_system::files::foreign;

/// The file that each client appends to.
const FILE: &str = "plot_data";

/// File size in bytes above which the file is sampled instead of read completely: weeks of fuzzing make many megabytes,
/// and the page is rewritten every few seconds.
const SAMPLING_SIZE: u64 = 64 * 1024;

/// Number of samples of a large file.
const SAMPLES: u64 = 200;

/// Size of a sample in bytes: enough for one whole line after a partial one.
const SAMPLE_SIZE: usize = 512;

/// The curves of all clients.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// One per client, sorted by name.
    pub curves: Vec<Curve>,
}

/// The curve of one client.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Name of the client; empty when there is only one.
    pub client: String,
    /// Seconds of search and branches covered at that time, ascending.
    pub points: Vec<(f64, f64)>,
}

impl History {
    /// The time of the last point, in seconds; 0 without points.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.curves.iter().filter_map(|c| c.points.last()).map(|p| p.0).fold(0.0, f64::max)
    }
}

/// Reads `DIR/plot_data` and `DIR/*/plot_data`. Files and lines that cannot be read or parsed are left out.
#[must_use]
pub fn read(dir: &Path) -> History {
    let mut curves = Vec::new();
    let own = curve(&dir.join(FILE), "");
    let subdirectories = fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in subdirectories.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())) {
        curves.extend(curve(&entry.path().join(FILE), &entry.file_name().to_string_lossy()));
    }
    curves.sort_by(|a, b| a.client.cmp(&b.client));
    curves.splice(0..0, own);
    History { curves }
}

/// Reads the `plot_data` of one client at `path`; `None` if the file is missing or unreadable.
#[must_use]
pub fn curve(path: &Path, client: &str) -> Option<Curve> {
    let file = foreign::open_own(path).ok()?;
    let lines = lines(&file).ok()?;
    let (time, covered) = columns(lines.first()?)?;
    let mut points: Vec<(f64, f64)> = lines.iter().filter_map(|l| point(l, time, covered)).collect();
    // The last line may be partial if the campaign was killed; then it may parse as any number.
    points.retain(|(s, c)| s.is_finite() && c.is_finite() && *s >= 0.0 && *c >= 0.0);
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    Some(Curve { client: client.to_owned(), points })
}

/// The column indices of time and branches, found by the names in the first line.
fn columns(head: &str) -> Option<(usize, usize)> {
    let names: Vec<&str> = head.trim_start_matches('#').split(',').map(str::trim).collect();
    let place = |name: &str| names.iter().position(|n| *n == name);
    Some((place("relative_time")?, place("edges_found")?))
}

fn point(line: &str, time: usize, covered: usize) -> Option<(f64, f64)> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    Some((fields.get(time)?.parse().ok()?, fields.get(covered)?.parse().ok()?))
}

/// All lines of a small file; the first, the last and some lines between of a large one.
fn lines(file: &File) -> io::Result<Vec<String>> {
    let size = file.metadata()?.len();
    let whole = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect::<Vec<_>>();
    if size <= SAMPLING_SIZE {
        return Ok(whole(&read_at(file, 0, size as usize)?));
    }
    let mut lines: Vec<String> = whole(&read_at(file, 0, SAMPLE_SIZE)?).into_iter().take(2).collect();
    for i in 1..SAMPLES {
        let bytes = read_at(file, size / SAMPLES * i, SAMPLE_SIZE)?;
        // The first line of a sample is usually partial, and so is the last.
        lines.extend(whole(&bytes).into_iter().nth(1));
    }
    lines.extend(whole(&read_at(file, size - SAMPLE_SIZE as u64, SAMPLE_SIZE)?).pop());
    Ok(lines)
}

fn read_at(file: &File, offset: u64, size: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; size];
    let mut got = 0;
    while got < size {
        match file.read_at(&mut bytes[got..], offset + got as u64)? {
            0 => break,
            n => got += n,
        }
    }
    bytes.truncate(got);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# relative_time, cycles_done, total_execs, edges_found\n";

    fn written(files: &[(&str, &str)]) -> History {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{HEAD}{text}")).unwrap();
        }
        read(dir.path())
    }

    #[test]
    fn columns_are_found_by_their_names() {
        let history = written(&[("plot_data", "0, 0, 500, 3\n5, 0, 900, 7\n")]);
        assert_eq!(history.curves, [Curve { client: String::new(), points: vec![(0.0, 3.0), (5.0, 7.0)] }]);
    }

    #[test]
    fn each_client_has_a_curve() {
        let history = written(&[("c1/plot_data", "1, 0, 5, 3\n"), ("c0/plot_data", "2, 0, 5, 4\n")]);
        assert_eq!(history.curves.iter().map(|c| c.client.as_str()).collect::<Vec<_>>(), ["c0", "c1"]);
        assert!((history.end() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn unparsable_lines_are_skipped() {
        let history = written(&[("plot_data", "0, 0, 500, 3\nx\n\n5, 0, 9, -7\n6, 0, 900, nan\n7, 0, 1")]);
        assert_eq!(history.curves[0].points, [(0.0, 3.0)]);
        assert_eq!(written(&[]), History::default());
    }

    #[test]
    fn large_files_are_sampled() {
        use std::fmt::Write;
        let mut text = String::new();
        for i in 0..200_000 {
            writeln!(text, "{i}, 0, {}, {}", i * 7, i / 1000).unwrap();
        }
        let points = written(&[("plot_data", &text)]).curves.remove(0).points;
        assert!((150..=202).contains(&points.len()), "{}", points.len());
        assert_eq!((points[0], points[points.len() - 1]), ((0.0, 0.0), (199_999.0, 199.0)));
        assert!(points.iter().all(|(s, c)| ((s / 1000.0).floor() - c).abs() < 0.5), "no partial line is taken");
    }
}
