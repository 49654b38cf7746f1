//! `fuzzer_stats` and `plot_data` as AFL++ writes them, so that its tools can look at a campaign.

use std::{
    fmt::Write as _,
    fs::OpenOptions,
    io::Write as _,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::report::durable;

/// The figures of one moment.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Seconds of search.
    pub seconds: f64,
    /// Calls of the representing function.
    pub evaluations: u64,
    /// Inputs in `queue/`.
    pub kept: usize,
    /// Inputs in `pending/`.
    pub pending: usize,
    /// Inputs in `crashes/`.
    pub crashes: usize,
    /// Inputs in `hangs/`.
    pub hangs: usize,
    /// Goals covered.
    pub covered: usize,
    /// Goals.
    pub total: usize,
}

impl Moment {
    fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.evaluations as f64 / self.seconds } else { 0.0 }
    }

    fn percent(&self) -> f64 {
        if self.total == 0 { 100.0 } else { 100.0 * self.covered as f64 / self.total as f64 }
    }
}

/// Writes both files. Failures are not worth ending a campaign for and are ignored: the files can be written again.
pub fn write(dir: &Path, banner: &str, moment: &Moment) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let _ = durable::write(&dir.join("fuzzer_stats"), stats(banner, moment, now).as_bytes());
    let _ = append_plot(dir, moment);
}

fn stats(banner: &str, m: &Moment, now: u64) -> String {
    let mut text = String::new();
    for (key, value) in [
        ("start_time", now.saturating_sub(m.seconds as u64).to_string()),
        ("last_update", now.to_string()),
        ("run_time", (m.seconds as u64).to_string()),
        ("fuzzer_pid", std::process::id().to_string()),
        ("cycles_done", "0".to_owned()),
        ("execs_done", m.evaluations.to_string()),
        ("execs_per_sec", format!("{:.2}", m.rate())),
        ("corpus_count", m.kept.to_string()),
        ("corpus_found", m.kept.to_string()),
        ("pending_total", m.pending.to_string()),
        ("saved_crashes", m.crashes.to_string()),
        ("saved_hangs", m.hangs.to_string()),
        ("edges_found", m.covered.to_string()),
        ("total_edges", m.total.to_string()),
        ("bitmap_cvg", format!("{:.2}%", m.percent())),
        ("afl_banner", banner.to_owned()),
        ("afl_version", concat!("penfuzz ", env!("CARGO_PKG_VERSION")).to_owned()),
    ] {
        let _ = writeln!(text, "{key:<18}: {value}");
    }
    text
}

fn append_plot(dir: &Path, m: &Moment) -> std::io::Result<()> {
    let path = dir.join("plot_data");
    let is_new = !path.exists();
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if is_new {
        writeln!(
            file,
            "# relative_time, cycles_done, cur_item, corpus_count, pending_total, pending_favs, map_size, saved_crashes, saved_hangs, max_depth, execs_per_sec, total_execs, edges_found"
        )?;
    }
    writeln!(
        file,
        "{}, 0, 0, {}, {}, 0, {:.2}%, {}, {}, 1, {:.2}, {}, {}",
        m.seconds as u64,
        m.kept,
        m.pending,
        m.percent(),
        m.crashes,
        m.hangs,
        m.rate(),
        m.evaluations,
        m.covered
    )
}
