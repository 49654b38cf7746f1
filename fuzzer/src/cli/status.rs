//! `penfuzz status DIR...`: prints the progress of campaigns, from the files in their output directories.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use penfuzz_campaign::watch::status::{self, RunState, Status};
use penfuzz_error::Error;
use penfuzz_system::{console, errln};
use serde::Serialize;

use super::Outcome;

/// Time between two prints with `--watch`.
const PRINT_EVERY: Duration = Duration::from_secs(1);

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Output directories of campaigns.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,

    /// Print one JSON object per directory, each on a line.
    #[arg(long)]
    json: bool,

    /// Print every second until no campaign is running.
    #[arg(long, short)]
    watch: bool,
}

/// One line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    directory: &'a Path,
    #[serde(flatten)]
    status: &'a Status,
}

/// Prints the status of every directory. A directory that cannot be read does not prevent the others from being
/// printed.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    loop {
        let (text, running, error) = read_all(args)?;
        show(args, &text);
        if let Some(e) = error {
            return Err(e);
        }
        if !args.watch || !running || console::has_failed() {
            return Ok(Outcome::Fine);
        }
        sleep(PRINT_EVERY);
    }
}

/// Reads every status: the text, whether a campaign is running, and the first error.
fn read_all(args: &Args) -> Result<(String, bool, Option<Error>), Error> {
    let (mut text, mut running, mut error) = (String::new(), false, None);
    for (i, dir) in args.dirs.iter().enumerate() {
        let status = match status::read(dir) {
            Ok(status) => status,
            Err(e) if error.is_none() => {
                error = Some(e);
                continue;
            }
            Err(e) => {
                errln!("error: {e}");
                continue;
            }
        };
        running |= status.life == RunState::Running;
        if args.json {
            let line = serde_json::to_string(&Line { directory: dir, status: &status })
                .map_err(|e| Error::because(format!("the status of {} cannot be written", dir.display()), e))?;
            let _ = writeln!(text, "{line}");
        } else {
            text += if i > 0 && !text.is_empty() { "\n" } else { "" };
            text += &status::text(&status, dir);
        }
    }
    Ok((text, running, error))
}

fn show(args: &Args, text: &str) {
    if args.json {
        return text.lines().for_each(console::out_json);
    }
    // On a terminal, the new output replaces the last one.
    if args.watch {
        console::clear();
    }
    console::out(text);
}
