//! `penfuzz reach --all K`: prints the paths of a function, one JSON object per line.

use penfuzz_directory::{rendering::arguments::arguments, replay::session::ReplaySession};
use penfuzz_error::Error;
use penfuzz_mutators::minimizer::MINIMIZERS;
use penfuzz_path_search::{Options, Query};
use penfuzz_questions::reach::{
    enumerate::{Bounds, enumerate},
    spec::Conditionals,
};
use penfuzz_report::literal;
use penfuzz_system::console;

use super::{super::Outcome, Args};

/// Default maximum number of evaluations for each prefix.
const EVALUATIONS: u64 = 20_000;

/// Enumerates the paths and prints them.
pub(super) fn print(
    args: &Args,
    session: &mut ReplaySession,
    names: &Conditionals,
    seeds: Vec<Vec<u8>>,
    rounds: u32,
) -> Result<Outcome, Error> {
    let query = Query { scope: session.scope.clone(), counts: names.branches(), paths: Vec::new(), parts: Vec::new() };
    let options = Options {
        search: args.search,
        seed: args.seed,
        max_time: args.max_time,
        max_evals: args.max_evals.unwrap_or(EVALUATIONS),
        timeout: session.timeout(),
        simplify: false,
        seeds,
        minimizer: MINIMIZERS[0].0.to_owned(),
    };
    let all = enumerate(&mut session.evaluator, &query, &options, rounds, [], &Bounds::NONE)?;
    for (path, bytes) in &all.found {
        let line = serde_json::json!({
            "path": format!("{},$", names.path(path, usize::MAX)),
            "steps": path.len(),
            "input": literal::hex(bytes),
            "args": arguments(session.evaluator.function(), bytes),
        });
        console::out_json(&line.to_string());
    }
    for prefix in &all.missing {
        console::out_json(&serde_json::json!({ "not_found": names.path(prefix, usize::MAX) }).to_string());
    }
    let counts = serde_json::json!({
        "paths": all.found.len(),
        "prefixes_not_found": all.missing.len(),
        "rounds": rounds,
        "evaluations": all.evaluations,
        "complete": all.is_complete,
    });
    console::out_json(&counts.to_string());
    Ok(Outcome::Fine)
}
