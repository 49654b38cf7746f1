//! Writes `fuzzer_setup`, `fuzzer_stats` and `plot_data` as AFL++ does, so that its tools can show a campaign.
//!
//! `afl-whatsup` reads `fuzzer_stats` as a shell script in which every value becomes a variable. A missing value keeps
//! that of the previous instance, a value may be a divisor and must not be zero, and a quotation mark would end the
//! quotation. It reads only directories with a `fuzzer_setup`. `afl-plot` reads the columns of `plot_data`.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use penfuzz_system::files::{atomic, foreign, own};

/// Shortest and longest time between two lines of `plot_data`, in seconds. In between, the time is a sixtieth of the
/// time so far, so that a week takes 0.9 MB (calculated).
const LINE_EVERY: (f64, f64) = (5.0, 60.0);

/// Maximum size of a `fuzzer_stats` in bytes; it has about thirty lines.
const LONGEST: u64 = 1 << 16;

/// Seconds that `execs_ps_last_min` is averaged over.
const LAST_MINUTE: f64 = 60.0;

/// The figures of a campaign at one moment.
#[derive(Debug, Clone, Copy)]
pub struct CampaignFigures {
    /// Seconds of search.
    pub seconds: f64,
    /// Number of evaluations.
    pub evaluations: u64,
    /// Number of inputs in `queue/`.
    pub kept: usize,
    /// Number of inputs in `queue/` that other fuzzers found.
    pub imported: usize,
    /// Number of inputs in `pending/`.
    pub pending: usize,
    /// Number of inputs in `crashes/`.
    pub crashes: usize,
    /// Number of inputs in `hangs/`.
    pub hangs: usize,
    /// Number of goals covered.
    pub covered: usize,
    /// Number of goals.
    pub total: usize,
    /// Number of rounds of the search over all open branches.
    pub rounds: u64,
    /// Wall time limit of one evaluation, in milliseconds.
    pub timeout: u128,
}

impl CampaignFigures {
    fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.evaluations as f64 / self.seconds } else { 0.0 }
    }

    fn percent(&self) -> f64 {
        if self.total == 0 { 100.0 } else { 100.0 * self.covered as f64 / self.total as f64 }
    }

    fn finds(&self) -> [usize; 3] {
        [self.kept + self.covered, self.crashes, self.hangs]
    }
}

/// Writes the files of one campaign, and keeps the history that they record. Errors are ignored: they do not justify
/// ending a campaign, and the files can be written again.
#[derive(Debug, Default)]
pub struct Statistics {
    /// Times of the last find, crash and hang: seconds since 1970, 0 for never.
    last: [u64; 3],
    finds: Option<[usize; 3]>,
    round_of_find: u64,
    /// Pairs of seconds and evaluations in the last minute.
    minute: Vec<(f64, u64)>,
    last_line: Option<f64>,
}

impl Statistics {
    /// Continues the files of an earlier part of the campaign in `dir`.
    #[must_use]
    pub fn begin(dir: &Path) -> Self {
        if !dir.join("fuzzer_setup").exists() {
            // Tools only check that the file exists.
            let line: Vec<_> = std::env::args_os().map(|a| format!("'{}'", a.to_string_lossy())).collect();
            let text = format!("# environment variables:\n# command line:\n{}\n", line.join(" "));
            let _ = atomic::write(&dir.join("fuzzer_setup"), text.as_bytes());
        }
        let before = foreign::read_own(&dir.join("fuzzer_stats"), LONGEST).unwrap_or_default();
        let before = String::from_utf8_lossy(&before);
        let last = ["last_find", "last_crash", "last_hang"].map(|key| number(&before, key));
        Self { last, ..Self::default() }
    }

    /// Writes `fuzzer_stats`, and a line of `plot_data` if one is due or the campaign `ends`.
    pub fn write(&mut self, dir: &Path, target: &Path, moment: &CampaignFigures, ends: bool) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        self.note(moment, now);
        let _ = atomic::write(&dir.join("fuzzer_stats"), self.stats(target, moment, now).as_bytes());
        if self.is_time(moment.seconds) || ends {
            let _ = append_plot(dir, moment);
        }
    }

    /// Whether a line of `plot_data` is due. If so, `seconds` is recorded as the time of the last line.
    fn is_time(&mut self, seconds: f64) -> bool {
        let pause = (seconds / 60.0).clamp(LINE_EVERY.0, LINE_EVERY.1);
        // The clock may be read slightly early or late.
        let is_time = self.last_line.is_none_or(|last| seconds - last > 0.9 * pause);
        if is_time {
            self.last_line = Some(seconds);
        }
        is_time
    }

    fn note(&mut self, moment: &CampaignFigures, now: u64) {
        let finds = moment.finds();
        // Inputs that exist at the start were found before, unless no find was recorded before.
        let before = self.finds.replace(finds).unwrap_or(if self.last[0] == 0 { [0; 3] } else { finds });
        for ((last, found), before) in self.last.iter_mut().zip(finds).zip(before) {
            if found > before {
                *last = now;
            }
        }
        if finds[0] > before[0] || moment.rounds < self.round_of_find {
            self.round_of_find = moment.rounds;
        }
        self.minute.retain(|(seconds, _)| moment.seconds - seconds <= LAST_MINUTE);
        self.minute.push((moment.seconds, moment.evaluations));
    }

    /// Evaluations per second in the last minute.
    fn rate_of_minute(&self, moment: &CampaignFigures) -> f64 {
        match self.minute.first() {
            Some((seconds, evaluations)) if moment.seconds > *seconds => {
                moment.evaluations.saturating_sub(*evaluations) as f64 / (moment.seconds - seconds)
            }
            _ => moment.rate(),
        }
    }

    fn stats(&self, target: &Path, m: &CampaignFigures, now: u64) -> String {
        let mut text = String::new();
        for (key, value) in [
            ("start_time", now.saturating_sub(m.seconds as u64).to_string()),
            ("last_update", now.to_string()),
            ("run_time", (m.seconds as u64).to_string()),
            ("fuzzer_pid", std::process::id().to_string()),
            ("cycles_done", m.rounds.to_string()),
            ("cycles_wo_finds", (m.rounds - self.round_of_find).to_string()),
            // Used as a divisor.
            ("execs_done", m.evaluations.max(1).to_string()),
            ("execs_per_sec", format!("{:.2}", m.rate())),
            ("execs_ps_last_min", format!("{:.2}", self.rate_of_minute(m))),
            // Used as a divisor.
            ("corpus_count", m.kept.max(1).to_string()),
            ("corpus_favored", m.kept.to_string()),
            ("corpus_found", (m.kept - m.imported.min(m.kept)).to_string()),
            ("corpus_imported", m.imported.to_string()),
            ("max_depth", "1".to_owned()),
            ("cur_item", "0".to_owned()),
            ("pending_favs", "0".to_owned()),
            ("pending_total", m.pending.to_string()),
            ("stability", "100.00%".to_owned()),
            ("bitmap_cvg", format!("{:.2}%", m.percent())),
            ("saved_crashes", m.crashes.to_string()),
            ("saved_hangs", m.hangs.to_string()),
            ("last_find", self.last[0].to_string()),
            ("last_crash", self.last[1].to_string()),
            ("last_hang", self.last[2].to_string()),
            ("exec_timeout", m.timeout.to_string()),
            ("edges_found", m.covered.to_string()),
            ("total_edges", m.total.to_string()),
            ("afl_banner", banner(target)),
            ("afl_version", concat!("penfuzz ", env!("CARGO_PKG_VERSION")).to_owned()),
            ("target_mode", "default".to_owned()),
            ("command_line", "penfuzz".to_owned()),
        ] {
            let _ = writeln!(text, "{key:<18}: {value}");
        }
        text
    }
}

/// The value of a key in a `fuzzer_stats`; 0 if there is none.
#[must_use]
pub fn number(stats: &str, key: &str) -> u64 {
    let value = stats.lines().filter_map(|l| l.split_once(':')).find(|(k, _)| k.trim() == key);
    value.and_then(|(_, v)| v.trim().parse().ok()).unwrap_or(0)
}

/// The file name of the target, with `_` for characters that are special to a shell.
fn banner(target: &Path) -> String {
    let name = target.file_name().unwrap_or(target.as_os_str()).to_string_lossy();
    name.chars().map(|c| if c.is_alphanumeric() || "._+-".contains(c) { c } else { '_' }).collect()
}

fn append_plot(dir: &Path, m: &CampaignFigures) -> io::Result<()> {
    let mut file = own::append(&dir.join("plot_data"))?;
    let mut text = String::new();
    if file.metadata()?.len() == 0 {
        text.push_str(
            "# relative_time, cycles_done, cur_item, corpus_count, pending_total, pending_favs, map_size, \
             saved_crashes, saved_hangs, max_depth, execs_per_sec, total_execs, edges_found\n",
        );
    } else if !ends_a_line(&mut file)? {
        // A kill or a full disk has left an incomplete line.
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "{}, {}, 0, {}, {}, 0, {:.2}%, {}, {}, 1, {:.2}, {}, {}",
        m.seconds as u64,
        m.rounds,
        m.kept,
        m.pending,
        m.percent(),
        m.crashes,
        m.hangs,
        m.rate(),
        m.evaluations,
        m.covered
    );
    file.write_all(text.as_bytes())
}

/// Whether the last byte of the file is a line feed.
fn ends_a_line(file: &mut File) -> io::Result<bool> {
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const EARLY: CampaignFigures = CampaignFigures {
        seconds: 10.0,
        evaluations: 1000,
        kept: 2,
        imported: 0,
        pending: 1,
        crashes: 0,
        hangs: 0,
        covered: 3,
        total: 8,
        rounds: 1,
        timeout: 1000,
    };

    fn stats(statistics: &mut Statistics, moment: &CampaignFigures, now: u64) -> String {
        statistics.note(moment, now);
        statistics.stats(Path::new("dir/solve.c"), moment, now)
    }

    #[test]
    fn the_last_find_is_when_something_was_new() {
        let mut statistics = Statistics::default();
        assert_eq!(number(&stats(&mut statistics, &EARLY, 100), "last_find"), 100);
        assert_eq!(number(&stats(&mut statistics, &EARLY, 200), "last_find"), 100);
        let later = CampaignFigures { covered: 4, ..EARLY };
        assert_eq!(number(&stats(&mut statistics, &later, 300), "last_find"), 300);
    }

    #[test]
    fn the_last_find_of_an_earlier_part_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("fuzzer_stats"), "last_find         : 50\nlast_crash        : 40\n").unwrap();
        let mut statistics = Statistics::begin(dir.path());
        let text = stats(&mut statistics, &CampaignFigures { crashes: 1, ..EARLY }, 100);
        assert_eq!((number(&text, "last_find"), number(&text, "last_crash")), (50, 40));
    }

    #[test]
    fn rounds_without_finds_are_counted_from_the_last_find() {
        let mut statistics = Statistics::default();
        stats(&mut statistics, &EARLY, 100);
        let text = stats(&mut statistics, &CampaignFigures { rounds: 5, ..EARLY }, 200);
        assert_eq!(number(&text, "cycles_wo_finds"), 4);
    }

    #[test]
    fn the_rate_of_the_last_minute_forgets_what_was_before() {
        let mut statistics = Statistics::default();
        stats(&mut statistics, &EARLY, 0);
        stats(&mut statistics, &CampaignFigures { seconds: 100.0, evaluations: 50_000, ..EARLY }, 0);
        let text = stats(&mut statistics, &CampaignFigures { seconds: 110.0, evaluations: 50_100, ..EARLY }, 0);
        assert!(text.contains("execs_ps_last_min : 10.00\n"), "{text}");
    }

    #[test]
    fn nothing_divides_by_zero() {
        let nothing = CampaignFigures { evaluations: 0, kept: 0, ..EARLY };
        let text = stats(&mut Statistics::default(), &nothing, 0);
        assert_eq!((number(&text, "execs_done"), number(&text, "corpus_count")), (1, 1));
    }

    #[test]
    fn a_name_is_no_shell_command() {
        assert_eq!(banner(Path::new("a/$(b) \"c\".c")), "__b___c_.c");
    }

    #[test]
    fn lines_become_rarer() {
        let mut statistics = Statistics::default();
        let mut lines =
            |from: u32, to: u32| (from..to).step_by(5).filter(|s| statistics.is_time(f64::from(*s))).count();
        assert_eq!(lines(0, 300), 60, "every 5 s");
        lines(300, 3600);
        let later = lines(3600, 5 * 3600);
        assert!((4 * 55..=4 * 66).contains(&later), "one a minute after an hour, not {later} in 4 hours");
    }

    #[test]
    fn a_broken_line_spoils_no_other() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("plot_data"), "# head\n5, 0, 0").unwrap();
        append_plot(dir.path(), &EARLY).unwrap();
        let text = fs::read_to_string(dir.path().join("plot_data")).unwrap();
        assert_eq!(text.lines().nth(2), Some("10, 1, 0, 2, 1, 0, 37.50%, 0, 0, 1, 100.00, 1000, 3"));
    }
}
