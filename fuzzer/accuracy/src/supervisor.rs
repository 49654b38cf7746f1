//! Supervises the search in child processes: merges their messages, and replaces a process that ends before its work is
//! done.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use penfuzz_directory::replay::{exhaust, session::silence};
use penfuzz_error::Error;
use penfuzz_system::process::{
    child::{self, Ending, Limit},
    interrupts,
};

use super::{
    Answer, Class, Compared, Found, Options, exhaustive,
    objective::Objective,
    pair::Pair,
    sources,
    store::Store,
    worker::{self, Message},
};

/// Number of processes that function or reference may end before the search is given up.
const DEATHS: u64 = 100;

/// Runs the search. With an output directory it continues from the stored results of earlier runs with this seed,
/// stores its own as it finds them, and returns the merged answer of all runs there.
///
/// # Errors
/// When the box is too large for an exhaustive search, or nothing can be compared: the reference faults or is NaN
/// everywhere.
pub fn run(pair: &mut Pair, options: &Options, mut store: Option<&mut Store>) -> Result<Answer, Error> {
    let _watch = interrupts::SignalGuard::begin();
    let inputs = options.exhaust.then(|| exhaustive::inputs(pair.layout())).transpose()?;
    let mut known = store.as_mut().map(|store| store.load_previous(pair, options)).unwrap_or_default();
    let begun = Instant::now();
    let until = begun + options.max_time;
    let patience = pair.timeout() * 2 + Duration::from_secs(2);
    let options = &Options {
        max_evals: options.max_evals.saturating_add(known.counts.evaluations),
        max_cpu: options.max_cpu.saturating_add(Duration::try_from_secs_f64(known.counts.cpu).unwrap_or_default()),
        kept: store.is_some().then(|| known.peaks.clone()),
        tried: known.tried,
        ..options.clone()
    };
    known.peaks.retain(|peak| peak.value > 0.0);
    let pair = RefCell::new(pair);
    let mut course = SearchState::new(known, store, inputs);
    let mut deaths = 0;
    loop {
        let before = course.answer.counts;
        let worst = course.answer.found.last().map(|f| f.compared);
        let seed = options.seed.wrapping_add(course.processes() << 32);
        let work = |send: &mut dyn FnMut(&Message)| {
            silence();
            // This is a child process: nothing else borrows the pair here.
            let mut pair = pair.borrow_mut();
            if pair.detach_from_supervisor().is_ok() {
                worker::run(Objective::new(&mut pair, options, until, before, worst, send), options, seed);
            }
        };
        let ending =
            child::run(work, |message| course.receive(message, &pair.borrow()), Limit::Interruptible(until + patience));
        let is_over =
            interrupts::requested() || Instant::now() >= until || course.answer.counts.evaluations >= options.max_evals;
        let is_done = course.has_ended && ending == Ending::Done;
        deaths += u64::from(!is_done && !is_over);
        course.answer.counts.deaths += u64::from(!is_done && !is_over);
        // Another process would start again with the first input.
        if is_done || is_over || options.exhaust || deaths > DEATHS {
            break;
        }
    }
    let (mut answer, store) = course.end(begun.elapsed());
    let pair = pair.into_inner();
    check_comparable(pair, &answer)?;
    if let Some(store) = store {
        answer = store.merge_others(pair, options, answer);
    }
    answer.sources = answer.found.last().and_then(|worst| sources::find(pair, options, worst));
    Ok(answer)
}

/// State of the search in the supervising process.
struct SearchState<'a> {
    answer: Answer,
    store: Option<&'a mut Store>,
    /// Number of processes that were started.
    processes: u64,
    has_ended: bool,
    bar: Option<ProgressBar>,
}

impl<'a> SearchState<'a> {
    fn new(known: Answer, store: Option<&'a mut Store>, inputs: Option<u64>) -> Self {
        Self { answer: known, store, processes: 0, has_ended: false, bar: inputs.and_then(exhaust::progress) }
    }

    /// Returns the number of processes that were started before the next one, and counts that.
    fn processes(&mut self) -> u64 {
        self.has_ended = false;
        let n = self.store.as_mut().map_or(self.processes, |store| store.next_process());
        self.processes += 1;
        n
    }

    fn receive(&mut self, message: Message, pair: &Pair) {
        let answer = &mut self.answer;
        let is_find = matches!(message, Message::Better(_) | Message::Wrong(_) | Message::Passed(..));
        let is_checkpoint = matches!(message, Message::Peaks(_));
        match message {
            Message::Better(found) => {
                (answer.counts.evaluations, answer.counts.cpu) = (found.evaluations, found.cpu);
                answer.found.push(found);
            }
            Message::Wrong(found) => answer.add_wrong(found),
            Message::Region(found) => answer.add_region(found),
            Message::Peaks(peaks) => peaks.into_iter().for_each(|peak| answer.add_peak(peak)),
            Message::Tried(n) => self.bar.iter().for_each(|bar| bar.set_position(n)),
            Message::Passed(n, counts) => {
                answer.tried = n;
                answer.counts = counts;
            }
            Message::Sources(sources) => answer.sources = Some(sources),
            Message::End(counts) => {
                answer.counts = counts;
                self.has_ended = true;
            }
        }
        if let Some(store) = self.store.as_mut().filter(|_| is_find || is_checkpoint) {
            store.keep(&self.answer);
            if is_checkpoint {
                store.publish_interim(pair, &self.answer);
            }
        }
    }

    fn end(self, time: Duration) -> (Answer, Option<&'a mut Store>) {
        let Self { mut answer, mut store, bar, .. } = self;
        bar.iter().for_each(ProgressBar::finish_and_clear);
        answer.counts.seconds += time.as_secs_f64();
        answer.sort_regions();
        if let Some(store) = &mut store {
            store.keep_durably(&answer);
        }
        (answer, store)
    }
}

/// Returns an error if no evaluation was comparable.
fn check_comparable(pair: &Pair, answer: &Answer) -> Result<(), Error> {
    let counts = &answer.counts;
    let reference = pair.reference().text();
    let is_other = |f: &Found| matches!(f.compared, Compared::Wrong(Class::Different | Class::Errno));
    if counts.compared > 0 || !answer.found.is_empty() || answer.wrong.iter().any(is_other) {
        return Ok(());
    }
    let n = counts.evaluations;
    Err(Error::new(if counts.reference_faults > 0 {
        format!(
            "the reference {reference} never returned normally: it faulted in {} of {n} evaluations",
            counts.reference_faults
        )
    } else if counts.faults > 0 {
        format!("the function never returned normally: it faulted in {} of {n} evaluations", counts.faults)
    } else if counts.deaths > 0 {
        format!("the function or the reference {reference} ended its process {} times", counts.deaths)
    } else {
        format!("the reference {reference} is NaN in all of {n} evaluations; restrict the arguments with --arg")
    }))
}
