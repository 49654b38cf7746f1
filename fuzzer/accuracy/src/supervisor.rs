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
    Answer, Class, Compared, Counts, Found, Message, Options, exhaustive, objective::Objective, pair::Pair, search,
    sources, store::Store,
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
        max_evals: options.max_evals.saturating_add(known.evaluations),
        max_cpu: options.max_cpu.saturating_add(Duration::try_from_secs_f64(known.cpu).unwrap_or_default()),
        kept: store.is_some().then(|| known.peaks.clone()),
        tried: known.tried,
        ..options.clone()
    };
    known.peaks.retain(|peak| peak.value > 0.0);
    let pair = RefCell::new(pair);
    let mut course = SearchState::new(known, store, inputs);
    let mut deaths = 0;
    loop {
        let (before, cpu) = (course.answer.evaluations, course.answer.cpu);
        let worst = course.answer.found.last().map(|f| f.compared);
        let seed = options.seed.wrapping_add(course.processes() << 32);
        let work = |send: &mut dyn FnMut(&Message)| {
            silence();
            // This is a child process: nothing else borrows the pair here.
            let mut pair = pair.borrow_mut();
            if pair.detach_from_supervisor().is_ok() {
                search(Objective::new(&mut pair, options, (until, before, cpu), worst, send), options, seed);
            }
        };
        let ending =
            child::run(work, |message| course.receive(message, &pair.borrow()), Limit::Interruptible(until + patience));
        let is_over =
            interrupts::requested() || Instant::now() >= until || course.answer.evaluations >= options.max_evals;
        let is_done = course.has_ended && ending == Ending::Done;
        deaths += u64::from(!is_done && !is_over);
        course.answer.deaths += u64::from(!is_done && !is_over);
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
    /// Counts of earlier runs: faults of the function, faults of the reference, comparisons; and their seconds.
    counts: (u64, u64, u64),
    seconds: f64,
    /// Number of processes that were started.
    processes: u64,
    has_ended: bool,
    bar: Option<ProgressBar>,
}

impl<'a> SearchState<'a> {
    fn new(known: Answer, store: Option<&'a mut Store>, inputs: Option<u64>) -> Self {
        Self {
            counts: (known.faults, known.reference_faults, known.compared),
            seconds: known.seconds,
            answer: known,
            store,
            processes: 0,
            has_ended: false,
            bar: inputs.and_then(exhaust::progress),
        }
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
                (answer.evaluations, answer.cpu) = (found.evaluations, found.cpu);
                answer.found.push(found);
            }
            Message::Wrong(found) => answer.add_wrong(found),
            Message::Region(found) => answer.add_region(found),
            Message::Peaks(peaks) => peaks.into_iter().for_each(|peak| answer.add_peak(peak)),
            Message::Tried(n) => self.bar.iter().for_each(|bar| bar.set_position(n)),
            Message::Passed(n, counts) => {
                answer.tried = n;
                answer.count(counts, self.counts);
            }
            Message::Sources(sources) => answer.sources = Some(sources),
            Message::End(counts) => {
                answer.count(counts, self.counts);
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
        let Self { mut answer, mut store, seconds, bar, .. } = self;
        bar.iter().for_each(ProgressBar::finish_and_clear);
        answer.seconds = seconds + time.as_secs_f64();
        answer.sort_regions();
        if let Some(store) = &mut store {
            store.keep_durably(&answer);
        }
        (answer, store)
    }
}

impl Answer {
    /// Adopts the counters of a process; `before` has the faults of the function, faults of the reference, and
    /// comparisons of earlier runs.
    fn count(&mut self, counts: Counts, before: (u64, u64, u64)) {
        (self.evaluations, self.cpu) = (counts.evaluations, counts.cpu);
        self.faults = before.0 + counts.faults;
        self.reference_faults = before.1 + counts.reference_faults;
        self.compared = before.2 + counts.compared;
    }
}

/// Returns an error if no evaluation was comparable.
fn check_comparable(pair: &Pair, answer: &Answer) -> Result<(), Error> {
    let reference = pair.reference().text();
    let is_other = |f: &Found| matches!(f.compared, Compared::Wrong(Class::Different | Class::Errno));
    if answer.compared > 0 || !answer.found.is_empty() || answer.wrong.iter().any(is_other) {
        return Ok(());
    }
    let n = answer.evaluations;
    Err(Error::new(if answer.reference_faults > 0 {
        format!(
            "the reference {reference} never returned normally: it faulted in {} of {n} evaluations",
            answer.reference_faults
        )
    } else if answer.faults > 0 {
        format!("the function never returned normally: it faulted in {} of {n} evaluations", answer.faults)
    } else if answer.deaths > 0 {
        format!("the function or the reference {reference} ended its process {} times", answer.deaths)
    } else {
        format!("the reference {reference} is NaN in all of {n} evaluations; restrict the arguments with --arg")
    }))
}
