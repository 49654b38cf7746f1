//! `penfuzz functions TARGET`: lists the functions that can be tested.

use std::{fmt::Write, path::Path};

use penfuzz_directory::replay::{expendable::in_child, open};
use penfuzz_engine::saturation::Goals;
use penfuzz_error::Error;
use penfuzz_executor::{evaluator::EvaluationLimits, sandbox::Sandbox};
use penfuzz_system::console::{self, shown};
use penfuzz_target::program::{
    Target,
    catalog::{Entry, catalog},
    names::is_name_of,
};

use super::{Outcome, target::TargetArgs};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Lists the functions of the target, or only the one that `--function` names.
pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let linked = args.target.link(Goals::Branches)?;
    let entries = in_child(&linked.file, || entries(args, &linked.file))?;
    if args.json {
        console::out_json(&serde_json::to_string_pretty(&entries).map_err(Error::from_source)?);
    } else {
        console::out(&table(&entries));
    }
    Ok(Outcome::Fine)
}

/// Loads the target and returns its functions, or only the one that `--function` names.
fn entries(args: &Args, linked: &Path) -> Result<Vec<Entry>, Error> {
    let target = Target::load(linked)?.named(args.target.path()?);
    let wanted = args.target.function.as_deref();
    let mut entries: Vec<_> = catalog(&target)
        .into_iter()
        .filter(|e| wanted.is_none_or(|w| is_name_of(w, &e.name) || e.symbol == w))
        .collect();
    if let ([entry], Some(_)) = (&mut entries[..], wanted) {
        find_sizes(entry, linked, &args.target)?;
    }
    Ok(entries)
}

/// Calls the function that is named, to find the sizes of the memory that its pointers lead to.
fn find_sizes(entry: &mut Entry, linked: &Path, said: &TargetArgs) -> Result<(), Error> {
    let calls = said.calls.calls();
    if entry.obstacle.is_some() && calls.is_nothing() {
        return Ok(());
    }
    let mut hold = Sandbox::before_loading();
    let mut target = Target::load(linked)?;
    hold.loaded();
    let function = open::select(&mut target, Some(&entry.symbol), &calls)?;
    entry.obstacle = None;
    let target = open::with_inputs(target, function, &said.args, EvaluationLimits::default(), &hold)?;
    let f = &target.functions[function];
    entry.inputs = f.model.as_ref().map_or_else(Vec::new, |model| model.described());
    Ok(())
}

fn table(entries: &[Entry]) -> String {
    let mut out = String::from("branches  function\n");
    for e in entries {
        let linkage = if e.is_static { "static " } else { "" };
        let _ = writeln!(out, "{:8}  {linkage}{}", e.branches, shown(&e.signature));
        let _ = writeln!(out, "          {}:{}", shown(&e.file), e.line);
        for input in &e.inputs {
            let _ = writeln!(out, "          {}", shown(&input.to_string()));
        }
        if !e.initialisers.is_empty() && e.inputs.iter().all(|i| i.made_by.is_none()) {
            let names: Vec<_> = e.initialisers.iter().map(|name| shown(name)).collect();
            let _ = writeln!(out, "          initialisers: {} (--init {})", names.join(", "), names[0]);
        }
        if !e.globals.is_empty() {
            let names: Vec<_> = e.globals.iter().map(|name| shown(name)).collect();
            let _ = writeln!(out, "          globals it reads: {} (--global {})", names.join(", "), names[0]);
        }
        if let Some(why) = &e.obstacle {
            let _ = writeln!(out, "          cannot be called without a harness: {}", shown(why));
        }
    }
    out
}
