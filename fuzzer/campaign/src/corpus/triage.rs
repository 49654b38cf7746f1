//! Groups the crashes and hangs of a campaign or a farm: one entry per distinct place, over all clients.
//!
//! Faults in the state of a client are used as recorded. Inputs without a recorded fault (of another fuzzer, or of a
//! state that was lost), and faults without a stack, are run again.

use std::path::Path;

use penfuzz_directory::{output::trust::Trusted, rendering::arguments::arguments, replay::session::ReplaySession};
use penfuzz_error::Error;
use penfuzz_executor::{Fault, FaultKind};
use penfuzz_report::{Arg, format::shell_word};
use serde::Serialize;

use super::directory::{self, Client, FAILING, Input};

/// The groups of failing inputs.
#[derive(Debug, Serialize)]
pub struct Triage {
    /// The target as given on the command line.
    pub target: String,
    /// The function under test.
    pub function: String,
    /// One entry per distinct place: crashes first, then in the order in which they were found.
    pub places: Vec<FaultGroup>,
    /// Inputs in `crashes/` and `hangs/` that return when run again, and for which no state has a fault.
    pub returning: Vec<String>,
    /// A warning for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The failing inputs of one place.
#[derive(Debug, Clone, Serialize)]
pub struct FaultGroup {
    /// `crash` or `hang`.
    pub kind: &'static str,
    /// Number of inputs that fail there.
    pub inputs: usize,
    /// The clients that found it; empty if there is only one.
    pub clients: Vec<String>,
    /// Seconds until the first find, from the start of the client that made it; `None` if no file name has the time.
    pub first_seconds: Option<f64>,
    /// The reason of the fault.
    pub reason: String,
    /// The place of the fault.
    pub place: String,
    /// The stack frames, innermost first.
    pub stack: Vec<String>,
    /// The input that was found first: a file relative to the directory of the campaign.
    pub file: String,
    /// Its arguments; empty if the target cannot be loaded.
    pub args: Vec<Arg>,
    /// The command that runs it again.
    pub replay: String,
    #[serde(skip)]
    keys: Vec<u64>,
    #[serde(skip)]
    is_cheap: bool,
}

/// Triages the campaign or farm in `dir`. With `is_trusted`, it need not have been written by this user.
///
/// # Errors
/// When `dir` is not a campaign, cannot be read, or is not trusted.
pub fn run(dir: &Path, is_trusted: bool) -> Result<Triage, Error> {
    let campaign = Trusted::read(dir, is_trusted)?;
    let manifest = campaign.manifest();
    let clients = directory::clients(dir)?;
    let inputs = directory::inputs(&clients, &FAILING)?;
    let mut notes: Vec<Option<Fault>> = inputs.iter().map(|i| noted(&clients, i)).collect();
    let (session, warning) = match ReplaySession::of(&campaign) {
        Ok(session) => {
            let change = session.change_since(manifest);
            (Some(session), change)
        }
        Err(e) => (None, Some(format!("inputs are not run again and arguments are not shown: {e}"))),
    };
    let mut session = session.filter(|_| !inputs.is_empty());
    if let Some(session) = &mut session {
        run_again(session, &inputs, &mut notes)?;
    }
    let mut triage = Triage {
        target: manifest.settings.target.display().to_string(),
        function: manifest.function.clone(),
        places: Vec::new(),
        returning: Vec::new(),
        warning,
    };
    for (input, fault) in inputs.iter().zip(notes) {
        match fault {
            Some(fault) => add(&mut triage.places, input, fault),
            None if session.is_some() => triage.returning.push(input.file.clone()),
            None => add(&mut triage.places, input, unknown(input)),
        }
    }
    for place in &mut triage.places {
        let found = inputs.iter().find(|i| i.file == place.file);
        if let (Some(session), Some(input)) = (&session, found) {
            place.args = arguments(session.evaluator.function(), &input.bytes);
        }
        place.replay = replay(&dir.join(&place.file), is_trusted);
    }
    triage.places.sort_by(|a, b| a.kind.cmp(b.kind).then(time_of(a).total_cmp(&time_of(b))));
    Ok(triage)
}

fn time_of(place: &FaultGroup) -> f64 {
    place.first_seconds.unwrap_or(f64::INFINITY)
}

/// The fault of an input that is recorded in the state of its client.
#[must_use]
pub fn noted(clients: &[Client], input: &Input) -> Option<Fault> {
    let client = clients.iter().find(|c| c.name == input.client())?;
    let in_client = input.file.strip_prefix(&client.name).unwrap_or(&input.file).trim_start_matches('/');
    client.saved.as_ref()?.faults.get(in_client).cloned()
}

/// Runs the inputs without a recorded fault, and those whose fault has no stack although it can be repeated.
fn run_again(session: &mut ReplaySession, inputs: &[Input], notes: &mut [Option<Fault>]) -> Result<(), Error> {
    let is_open = |note: &Option<Fault>| note.as_ref().is_none_or(|f| f.is_cheap && f.stack.is_empty());
    let open: Vec<usize> = (0..inputs.len()).filter(|i| is_open(&notes[*i])).collect();
    let bytes: Vec<&[u8]> = open.iter().map(|i| inputs[*i].bytes.as_slice()).collect();
    for (i, run) in open.into_iter().zip(session.evaluate(&bytes)?) {
        if run.fault.is_some() {
            notes[i] = run.fault;
        }
    }
    Ok(())
}

/// The fault of an input without a recorded fault if the target cannot be loaded.
fn unknown(input: &Input) -> Fault {
    let is_hang = input.file.contains("hangs/");
    Fault {
        kind: if is_hang { FaultKind::Hang } else { FaultKind::Crash },
        key: 0,
        reason: "not recorded".to_owned(),
        place: "an unknown place".to_owned(),
        stack: Vec::new(),
        is_cheap: true,
        is_out_of_fuel: false,
    }
}

fn add(places: &mut Vec<FaultGroup>, input: &Input, fault: Fault) {
    let kind = if fault.kind == FaultKind::Crash { "crash" } else { "hang" };
    // For an input that kills its process, the key depends on the coverage of its client at that time, but the place
    // does not.
    let is_same = |p: &&mut FaultGroup| {
        let is_deadly = !p.is_cheap && !fault.is_cheap;
        p.kind == kind
            && (p.keys.contains(&fault.key) || (is_deadly && p.reason == fault.reason && p.place == fault.place))
    };
    let seconds = input.number("time").map(|ms| ms as f64 / 1e3);
    let client = input.client();
    let Some(place) = places.iter_mut().find(is_same) else {
        places.push(FaultGroup {
            kind,
            inputs: 1,
            clients: if client.is_empty() { Vec::new() } else { vec![client.to_owned()] },
            first_seconds: seconds,
            reason: fault.reason,
            place: fault.place,
            stack: fault.stack,
            file: input.file.clone(),
            args: Vec::new(),
            replay: String::new(),
            keys: vec![fault.key],
            is_cheap: fault.is_cheap,
        });
        return;
    };
    place.inputs += 1;
    place.keys.push(fault.key);
    if !client.is_empty() && place.clients.iter().all(|c| c != client) {
        place.clients.push(client.to_owned());
    }
    if seconds.is_some_and(|s| s < time_of(place)) {
        (place.first_seconds, place.file) = (seconds, input.file.clone());
        (place.reason, place.place) = (fault.reason, fault.place);
        if !fault.stack.is_empty() {
            place.stack = fault.stack;
        }
    }
}

/// The shell command that runs `input` again. The campaign of the input provides the target.
fn replay(input: &Path, is_trusted: bool) -> String {
    let trust = if is_trusted { "--trust " } else { "" };
    format!("penfuzz replay {trust}{}", shell_word(&input.to_string_lossy()))
}
