//! `penfuzz generate RECIPE.toml`: generates a suite from the functions of a library.

use std::path::PathBuf;

use penfuzz_error::{Error, at, failed};
use penfuzz_suite as suite;
use penfuzz_system::{
    errln,
    files::{atomic, foreign},
    outln,
};

use super::Outcome;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Recipe: a suite without targets, with a [generate] table that selects the functions. Or the compilation database
    /// (JSON) of a build, or a library (.a, .so) or program that pen-cc has built: all functions that can be tested.
    recipe: PathBuf,

    /// Suite file to write [default: suite.toml next to the recipe].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write nothing; fail if the suite file differs from what the recipe generates.
    #[arg(long)]
    check: bool,
}

/// Generates or checks the suite.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let made = suite::generate(&args.recipe)?;
    for r in &made.rejected {
        let mut lines = r.messages.lines();
        let first = lines.clone().find(|line| line.contains("error")).or(lines.next()).unwrap_or_default();
        let advice = if r.is_support { " (take it out of `support` as well)" } else { "" };
        errln!("penfuzz: {} is left out{advice}: {first}", r.file.display());
    }
    let output = args.output.clone().unwrap_or_else(|| args.recipe.with_file_name("suite.toml"));
    if args.check {
        let there = foreign::read_text(&output).map_err(|e| failed(&output, "cannot be read", e))?;
        if there != made.text {
            let recipe = args.recipe.display();
            return Err(at(
                &output,
                format!("differs from the suite that {recipe} generates; run penfuzz generate without --check"),
            ));
        }
    } else {
        atomic::write(&output, made.text.as_bytes()).map_err(Error::from_source)?;
    }
    outln!("{}: {} targets", output.display(), made.targets);
    for (why, functions) in &made.left_out {
        outln!("  left out, {why}: {functions}");
    }
    Ok(Outcome::Fine)
}
