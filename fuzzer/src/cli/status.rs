//! `penfuzz status DIR...`: how campaigns are doing, from what they write into their directories.

use std::{
    fmt::Write as _,
    io::{IsTerminal, Write as _},
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use penfuzz_app::watch::status::{self, Life, Status};
use penfuzz_engine::error::Error;
use serde::Serialize;

use super::Outcome;

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Output directories of campaigns.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,

    /// Print one JSON object per directory and line.
    #[arg(long)]
    json: bool,

    /// Print again every second, until no campaign is running.
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

/// Tells of every directory; one that cannot be read does not hide the others.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    loop {
        let (text, running, error) = look(args)?;
        show(args, &text);
        if let Some(e) = error {
            return Err(e);
        }
        if !args.watch || !running {
            return Ok(Outcome::Fine);
        }
        sleep(LOOK_EVERY);
    }
}

/// The text, whether a campaign is running, and the first directory's error.
fn look(args: &Args) -> Result<(String, bool, Option<Error>), Error> {
    let (mut text, mut running, mut error) = (String::new(), false, None);
    for (i, dir) in args.dirs.iter().enumerate() {
        let status = match status::read(dir) {
            Ok(status) => status,
            Err(e) if error.is_none() => {
                error = Some(e);
                continue;
            }
            Err(e) => {
                eprintln!("error: {e}");
                continue;
            }
        };
        running |= status.life == Life::Running;
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
    // From the top of an empty screen, unless it goes to a file or to a program.
    let clear = args.watch && !args.json && std::io::stdout().is_terminal();
    let mut out = std::io::stdout().lock();
    let text = format!("{}{text}", if clear { "\x1b[2J\x1b[H" } else { "" });
    // Nobody reads what cannot be written.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
