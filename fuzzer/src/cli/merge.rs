//! `penfuzz merge DIR... -o OUT`: merges several campaigns into one.

use std::path::PathBuf;

use penfuzz_campaign::{
    Options,
    corpus::merge::{self, Merger},
};
use penfuzz_engine::saturation::{Goals, ScopeKind};
use penfuzz_error::Error;
use penfuzz_system::{errln, outln};
use penfuzz_target::program::Rounding;

use super::{
    Outcome, choices,
    target::{CallArgs, TargetArgs},
    values::{self, TrustArgs},
};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Output directories of campaigns on one function or of AFL++, or directories of inputs. They are not changed.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,

    /// New or empty directory for the merged campaign; `penfuzz TARGET -o` continues it.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Target of the inputs: source, bitcode or linked file [default: the target of the first campaign].
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,

    /// Function under test, with --target.
    #[arg(long, short = 'f', value_name = "NAME", requires = "target")]
    function: Option<String>,

    /// Compiler flag for the sources, with --target; may be repeated.
    #[arg(long = "cflag", value_name = "FLAG", allow_hyphen_values = true, requires = "target")]
    cflags: Vec<String>,

    /// Further source file to compile with the target, with --target; may be repeated.
    #[arg(long = "with", value_name = "FILE", requires = "target")]
    with: Vec<PathBuf>,

    /// Library to link with the sources, with --target; may be repeated.
    #[arg(long = "lib", value_name = "LIB", allow_hyphen_values = true, requires = "target")]
    libs: Vec<String>,

    /// Rounding modes in which the function is called, with --target.
    #[arg(long, value_parser = choices::rounding(), default_value = "nearest", requires = "target")]
    rounding: Rounding,

    /// Constraint on an argument, as 'NAME: DOMAIN', with --target; may be repeated.
    #[arg(
        long = "arg",
        value_name = "NAME: DOMAIN",
        allow_hyphen_values = true,
        value_parser = values::statement,
        requires = "target"
    )]
    statements: Vec<String>,

    /// Condition over the arguments, with --target; may be repeated.
    #[arg(long = "assume", value_name = "EXPR", allow_hyphen_values = true, requires = "function")]
    assumptions: Vec<String>,
    #[command(flatten)]
    calls: CallArgs,

    /// Functions whose branches are goals, with --target [default: function; for LLVMFuzzerTestOneInput: all].
    #[arg(long, value_parser = choices::scope(), requires = "target")]
    scope: Option<ScopeKind>,

    #[command(flatten)]
    trust: TrustArgs,
}

impl Args {
    /// The options of a campaign on the target that `--target` names, if any.
    fn options(&self) -> Result<Option<Options>, Error> {
        let Some(target) = &self.target else { return Ok(None) };
        let args = TargetArgs {
            target: Some(target.clone()),
            function: self.function.clone(),
            cflags: self.cflags.clone(),
            with: self.with.clone(),
            libs: self.libs.clone(),
            rounding: self.rounding,
            args: self.statements.clone(),
            assumptions: self.assumptions.clone(),
            calls: self.calls.clone(),
        };
        let linked = args.link(Goals::Branches)?;
        let settings = args.settings(&linked, Goals::Branches)?;
        Ok(Some(Options { function: self.function.clone(), scope: self.scope, ..Options::new(settings) }))
    }
}

/// Merges the campaigns and prints what the result covers.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    penfuzz_campaign::corpus::directory::refuse_used(&args.output)?;
    let given = args.options()?.map(|options| merge::given(&options)).transpose()?;
    let merger = Merger::new(&args.dirs, given, args.trust.trust)?;
    if let Some(warning) = merger.warning() {
        errln!("penfuzz: {warning}");
    }
    let done = merger.write(&args.output)?;
    outln!(
        "{} of {} inputs cover {} of {} branches; {} crashes and {} hangs at distinct places",
        done.kept,
        done.inputs,
        done.covered,
        done.total,
        done.crashes,
        done.hangs
    );
    outln!("written to {}", args.output.display());
    Ok(if done.crashes + done.hangs > 0 { Outcome::Found } else { Outcome::Fine })
}
