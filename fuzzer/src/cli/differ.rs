//! `penfuzz differ A B`: finds the inputs on which two implementations of a function differ.

use std::path::PathBuf;

use penfuzz_accuracy::value::Names;
use penfuzz_error::Error;
use penfuzz_target::program::Rounding;

use super::{
    Outcome,
    accuracy::{self, Question, SearchArgs},
    target::{CallArgs, TargetArgs},
    values,
};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// One implementation, as FILE.c:NAME. Its branches are those of the report.
    #[arg(value_name = "A")]
    first: String,

    /// The other implementation, as FILE.c:NAME, with the same parameters. Differences are in ulps of its results.
    #[arg(value_name = "B")]
    second: String,

    /// Stop at the first input whose results differ in any bit (all NaNs are equal); exit status 3 if there is one.
    #[arg(long)]
    exact: bool,

    /// Member of a structure that both functions fill in, to compare instead of the returned values: r->val or val
    /// [default: the first float of the structure]. "returned" selects the returned values.
    #[arg(long, value_name = "MEMBER")]
    result: Option<String>,

    /// Compiler flag for both; may be repeated.
    #[arg(long = "cflag", value_name = "FLAG", allow_hyphen_values = true)]
    cflags: Vec<String>,

    /// Library to link with both, as -lNAME or a file; may be repeated.
    #[arg(long = "lib", value_name = "LIB", allow_hyphen_values = true)]
    libs: Vec<String>,

    /// Constraint on an argument, as 'NAME: DOMAIN'; may be repeated. Domains: 0..90, finite.
    #[arg(long = "arg", value_name = "NAME: DOMAIN", allow_hyphen_values = true, value_parser = values::statement)]
    statements: Vec<String>,

    #[command(flatten)]
    search: SearchArgs,
}

/// Searches and prints the report.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let (file, name) = args
        .first
        .rsplit_once(':')
        .filter(|(file, name)| !file.is_empty() && !name.is_empty())
        .ok_or_else(|| Error::new(format!("{}: write FILE.c:NAME", args.first)))?;
    let target = TargetArgs {
        target: Some(PathBuf::from(file)),
        function: Some(name.to_owned()),
        cflags: args.cflags.clone(),
        with: Vec::new(),
        libs: args.libs.clone(),
        rounding: Rounding::Nearest,
        args: args.statements.clone(),
        assumptions: Vec::new(),
        calls: CallArgs::default(),
    };
    let names = Names { result: args.result.as_deref(), ..args.search.names() };
    let question = Question { reference: &args.second, names, exact: args.exact, is_difference: true };
    let differs = accuracy::compare(&target, &question, &args.search)?;
    Ok(if args.exact && differs { Outcome::Found } else { Outcome::Fine })
}
