//! Corpus minimization: selects a small set of inputs that covers what all of them cover. A greedy cover over branches,
//! as for the emitted tests.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use penfuzz_directory::{
    output::{recovery::id_of, trust::Trusted},
    replay::session::ReplaySession,
    shrink::cover::{self, Kept},
};
use penfuzz_error::{Error, failed};
use penfuzz_system::files::atomic;
use serde::Serialize;

use super::directory::{self, Input, KEPT};

/// The result of minimizing a campaign's inputs.
#[derive(Debug, Serialize)]
pub struct Minimized {
    /// Number of inputs evaluated.
    pub inputs: usize,
    /// Number of these that do not return (any more).
    pub failing: usize,
    /// Number of branches that the other inputs cover.
    pub covered: usize,
    /// Number of branches in scope.
    pub total: usize,
    /// The selected inputs: files relative to the directory of the campaign.
    pub chosen: Vec<String>,
    /// The directory that they were written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// A warning for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Selects among the inputs in `queue/` and `pending/` of all clients in `dir`, and writes the selected ones into
/// `out`. With `is_trusted`, the campaign need not have been written by this user.
///
/// # Errors
/// When `dir` is not the directory of a campaign or is not trusted, `out` is not empty, or the target cannot be loaded.
pub fn run(dir: &Path, out: Option<&Path>, is_trusted: bool) -> Result<Minimized, Error> {
    let campaign = Trusted::read(dir, is_trusted)?;
    if let Some(out) = out {
        directory::refuse_used(out)?;
    }
    let inputs = directory::inputs(&directory::clients(dir)?, &KEPT)?;
    let mut session = ReplaySession::of(&campaign)?;
    let bytes: Vec<&[u8]> = inputs.iter().map(|i| i.bytes.as_slice()).collect();
    let runs = session.evaluate(&bytes)?;
    let failing = runs.iter().filter(|r| r.fault.is_some()).count();
    let kept = inputs.iter().zip(runs).filter(|(_, run)| run.fault.is_none()).map(|(input, run)| Kept {
        file: input.file.clone(),
        bytes: input.bytes.clone(),
        covers: run.covers,
    });
    let chosen = choose(kept.collect());
    if let Some(out) = out {
        write(out, &chosen)?;
    }
    let covered: HashSet<u32> = chosen.iter().flat_map(|k| k.covers.iter().copied()).collect();
    Ok(Minimized {
        inputs: inputs.len(),
        failing,
        covered: covered.len(),
        total: session.n_goals(),
        chosen: chosen.into_iter().map(|k| k.file).collect(),
        output: out.map(Path::to_path_buf),
        warning: session.change_since(campaign.manifest()),
    })
}

/// A small set with the same coverage. Of inputs with equal coverage, the shortest is used, and of several shortest
/// ones the first.
fn choose(mut kept: Vec<Kept>) -> Vec<Kept> {
    let order: Vec<String> = kept.iter().map(|k| k.file.clone()).collect();
    kept.sort_by_key(|k| k.bytes.len());
    let mut seen = HashSet::new();
    kept.retain(|k| seen.insert(k.covers.clone()));
    let mut chosen = cover::choose(kept);
    chosen.sort_by_cached_key(|k| order.iter().position(|f| *f == k.file));
    chosen
}

fn write(out: &Path, chosen: &[Kept]) -> Result<(), Error> {
    fs::create_dir_all(out).map_err(|e| failed(out, "cannot be created", e))?;
    for (number, kept) in chosen.iter().enumerate() {
        let input = Input { file: kept.file.clone(), bytes: Vec::new() };
        atomic::write(&out.join(new_name(number, &input)), &kept.bytes).map_err(Error::from_source)?;
    }
    Ok(())
}

/// Maximum length of a file name in bytes.
const LONGEST_NAME: usize = 250;

/// A name as AFL++ gives it to an imported input: a new number, the client, the old number or name, and the other
/// fields of the old name.
fn new_name(number: usize, input: &Input) -> String {
    let mut fields = vec![format!("id:{number:06}")];
    if !input.client().is_empty() {
        fields.push(format!("sync:{}", input.client()));
    }
    if let Some(id) = id_of(input.name()) {
        fields.push(format!("src:{id:06}"));
        let others = input.name().split(',').skip(1).filter(|f| !f.is_empty() && !f.starts_with("src:"));
        fields.extend(others.map(str::to_owned));
    } else {
        fields.push(format!("time:0,execs:0,orig:{}", input.name()));
    }
    let mut name = fields.join(",");
    while name.len() > LONGEST_NAME {
        name.pop();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_names_contain_the_old_ones() {
        let name = |file: &str| new_name(7, &Input { file: file.to_owned(), bytes: Vec::new() });
        assert_eq!(
            name("queue/id:000003,time:5,execs:9,op:targeted"),
            "id:000007,src:000003,time:5,execs:9,op:targeted"
        );
        assert_eq!(name("c1/pending/id:000003,src:000001,time:5"), "id:000007,sync:c1,src:000003,time:5");
        assert_eq!(name("seed"), "id:000007,time:0,execs:0,orig:seed");
        assert!(name(&format!("queue/{}", "é".repeat(200))).len() <= LONGEST_NAME);
    }
}
