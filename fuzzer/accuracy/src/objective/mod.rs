//! The objective function of the search: evaluates function and reference, within the limits of the search.

mod cancelled;
mod traced;
mod window;

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use penfuzz_abi::{Traced, action};
use penfuzz_executor::evaluator::RunStatus;
use penfuzz_mutators::{
    evaluate::Stop,
    extremes::{self, COORDINATES, NoisyObjective, Peak, Roundings, WindowCost},
    line,
    view::Kind,
};
use penfuzz_system::process::{cpu_time, errno, interrupts};

use self::window::Series;
use super::{
    Class, Compared, Counts, Found, Options, comparator,
    errno::Errno,
    kept::WRONG,
    local::Local,
    pair::Pair,
    reference::Reference,
    roundings,
    value::{self, CallValues, Measure},
    worker::Message,
};

/// Number of evaluations between two readings of the clock.
const TICK: u64 = 256;
/// Returns the error bound of the comparing function for a result of this type, in ulps and as a share. Errors that are
/// below the largest one by less than this are recomputed by MPFR.
const fn cheap_error(result: Kind) -> f64 {
    // The reference is computed in the next wider type.
    if matches!(result, Kind::F32) { 1e-6 } else { 0.002 }
}

/// Factor on that bound, as a share of absolute and relative errors: the bound is for one ulp, and errors down to a
/// fifth of an ulp count.
const MARGIN: f64 = 5.0;

/// Maximum number of recorded operations and movements of a run whose roundings are computed.
const OPERATIONS: usize = 2048;

/// Maximum number of iterations to find the integer that the reference returns.
const STEPS: usize = 4;

/// Maximum number of points whose error by MPFR is cached.
const SETTLED: usize = 4096;

/// Time between two messages with the largest errors of all regions, if results are stored.
const CHECKPOINT: Duration = Duration::from_secs(10);

/// The error of the function as an objective function ([`NoisyObjective`]), within the limits of a search.
pub struct Objective<'a> {
    pair: &'a mut Pair,
    send: &'a mut dyn FnMut(&Message),
    x: Vec<u8>,
    both: Vec<u8>,
    best: f64,
    /// The point of the largest error, if this search found it.
    worst: Option<Vec<u64>>,
    exact: bool,
    /// Whether `errno` is compared.
    errno: bool,
    /// When the largest errors of all regions were last sent; `None` if results are not stored.
    checkpoint: Option<Instant>,
    known: HashSet<(Class, Vec<u64>)>,
    /// Counters, including those of earlier processes; `cpu` is that at the last reading of the clock.
    counts: Counts,
    until: Instant,
    max_cpu: f64,
    max_evals: u64,
    tick: u64,
    /// CPU time of earlier processes less that of this process before the search, in seconds.
    cpu_before: f64,
    /// The last window that was entered, and the polynomial for the reference there.
    window: (u64, u64),
    local: Option<Local>,
    /// Buffers for calls in series; `None` if calls are made one by one.
    series: Option<Series>,
    /// Cache of errors by MPFR at candidates for the worst point: swarms evaluate the same points again.
    exact_errors: HashMap<Vec<u64>, f64>,
    /// Recorded operations of a run, and of the run after a step along each coordinate.
    traced: [Vec<Traced>; 1 + COORDINATES],
    roundings: roundings::Roundings,
}

impl<'a> Objective<'a> {
    /// Evaluates until the deadline. `before` has the counters of earlier processes; `worst` is the largest known
    /// error.
    pub(super) fn new(
        pair: &'a mut Pair,
        options: &Options,
        until: Instant,
        before: Counts,
        worst: Option<Compared>,
        send: &'a mut dyn FnMut(&Message),
    ) -> Self {
        let held = pair.inputs.held().to_vec();
        Self {
            both: vec![0; held.len() + pair.result().size() + size_of::<f64>() + size_of::<i32>()],
            x: held,
            series: (pair.session.evaluator.can_run_series() && pair.value.is_returned()).then(Series::default),
            exact_errors: HashMap::new(),
            traced: core::array::from_fn(|_| Vec::with_capacity(OPERATIONS)),
            roundings: roundings::Roundings::default(),
            pair,
            send,
            best: if let Some(Compared::Ulps(ulps)) = worst { ulps } else { 0.0 },
            worst: None,
            exact: options.exact,
            errno: options.errno,
            checkpoint: options.kept.is_some().then(Instant::now),
            known: HashSet::new(),
            counts: before,
            until,
            max_cpu: options.max_cpu.as_secs_f64(),
            max_evals: options.max_evals,
            tick: 0,
            cpu_before: before.cpu - cpu_time(),
            window: (0, 0),
            local: None,
        }
    }

    /// Returns the point of the largest error, if this search found it.
    pub(super) fn worst_point(&self) -> Option<Vec<u64>> {
        self.worst.clone()
    }

    /// Returns function and reference.
    pub(super) fn pair(&self) -> &Pair {
        self.pair
    }

    pub(super) fn send(&mut self, message: &Message) {
        (self.send)(message);
    }

    /// Sends the counters.
    pub(super) fn end(&mut self) {
        let counts = self.counts();
        self.send(&Message::End(counts));
    }

    /// Returns the current counters.
    pub(super) fn counts(&mut self) -> Counts {
        self.look_at_clock();
        self.counts
    }

    /// Returns whether results should be sent to be stored now.
    pub(super) fn is_checkpoint(&mut self) -> bool {
        let is_due = self.checkpoint.is_some_and(|last| last.elapsed() >= CHECKPOINT);
        if is_due {
            self.checkpoint = Some(Instant::now());
        }
        is_due
    }

    /// Sends the largest error of each region, if it is above 0.
    pub(super) fn send_peaks(&mut self, peaks: &[Peak]) {
        self.send(&Message::Peaks(peaks.iter().filter(|p| p.value > 0.0).cloned().collect()));
    }

    /// Evaluates an input given by its bytes; as [`Self::examine`].
    pub(super) fn examine_bytes(&mut self, bytes: &[u8]) -> Option<Found> {
        let slots = self.pair.layout().slots();
        let at: Vec<u64> = slots.iter().map(|slot| line::position(slot.kind, slot.get(bytes))).collect();
        self.examine(&at)
    }

    /// Evaluates a point and returns the comparison with the branches that the input covers; `None` if there is nothing
    /// to compare.
    pub(super) fn examine(&mut self, at: &[u64]) -> Option<Found> {
        self.place(at);
        let x = self.x.clone();
        let run = self.pair.session.evaluate_here(&x);
        self.pair.session.evaluator.arm(|_| 0);
        let compared = self.compare()?;
        let mut found = self.found(compared.0, compared.1);
        found.covers = run.covers;
        Some(found)
    }

    /// Calls `work` with a function that returns the branches that a point covers.
    pub(super) fn with_branches<T>(&mut self, work: impl FnOnce(&mut dyn FnMut(&[u64]) -> Vec<u32>) -> T) -> T {
        let scope = self.pair.session.scope.clone();
        self.pair.session.evaluator.arm(|b| if scope.requested[b] { action::RECORD } else { 0 });
        let result = work(&mut |at| {
            self.place(at);
            let mut taken = Vec::new();
            // A fault counts as a branch of its own.
            let ran = self.pair.session.evaluator.run(&self.x);
            self.pair.session.evaluator.take_hits(&mut taken);
            taken.extend((ran == RunStatus::Faulted).then_some(u32::MAX));
            taken
        });
        self.pair.session.evaluator.arm(|_| 0);
        result
    }

    /// Returns the binade of the result at a point; `u32::MAX` without a result.
    pub(super) fn binade(&mut self, at: &[u64]) -> u32 {
        self.place(at);
        let evaluator = &mut self.pair.session.evaluator;
        let returned = evaluator.run(&self.x) != RunStatus::Faulted;
        let result = returned.then(|| self.pair.value.read(evaluator)).flatten();
        result.map_or(u32::MAX, |seen| (self.pair.result().to_real(seen.result).abs().to_bits() >> 52) as u32)
    }

    fn place(&mut self, at: &[u64]) {
        for (slot, position) in self.pair.inputs.free().slots().iter().zip(at) {
            slot.set_position(&mut self.x, *position);
        }
    }

    /// Returns the result and its error by the comparing function; `None` if function or reference faults, or there is
    /// no result.
    fn compare(&mut self) -> Option<(CallValues, Compared)> {
        if !self.errno {
            let seen = self.call()?;
            return Some((seen, self.measure(seen)?));
        }
        let (seen, left) = errno::errno_after(|| self.call());
        let mut seen = seen?;
        let (compared, of_reference) = errno::errno_after(|| self.measure(seen));
        seen.errno = Some(if let Reference::Source { .. } = self.pair.reference() {
            Errno { left, expected: of_reference }
        } else {
            let r = self.rounded_reference()?;
            self.pair.errno_of_math(&self.x, r, left)
        });
        Some((seen, compared?))
    }

    fn call(&mut self) -> Option<CallValues> {
        if self.pair.session.evaluator.run(&self.x) == RunStatus::Faulted {
            self.counts.faults += 1;
            return None;
        }
        self.pair.value.read(&self.pair.session.evaluator)
    }

    fn measure(&mut self, seen: CallValues) -> Option<Compared> {
        if self.pair.comparator.is_none() {
            let exact = self.pair.exact(&self.x, seen.result)?;
            return Some(value::measured(&self.pair.value, &exact, seen.estimate));
        }
        let code = self.call_comparator(seen, u8::from(self.exact))?;
        Some(Class::of_code(code).map_or(Compared::Ulps(code.min(f64::MAX)), Compared::Wrong))
    }

    /// Returns the value of the reference at `x`, rounded to the type of the result.
    fn rounded_reference(&mut self) -> Option<f64> {
        let kind = self.pair.result();
        if self.pair.comparator.is_none() {
            return Some(kind.to_real(self.pair.exact(&self.x, 0)?.rounded));
        }
        let r = self.call_comparator(CallValues::zero(), comparator::DIFFERENCE)?;
        Some(kind.to_real(kind.from_real(r)))
    }

    /// Calls the comparing function for a result at `x`; `None` if it faults.
    fn call_comparator(&mut self, seen: CallValues, what: u8) -> Option<f64> {
        let comparator = self.pair.comparator.as_mut()?;
        let n = self.x.len();
        let claim = n + self.pair.value.kind().size();
        self.both[..n].copy_from_slice(&self.x);
        self.both[n..claim].copy_from_slice(&seen.result.to_le_bytes()[..claim - n]);
        let last = claim + seen.estimate.map_or(0, |_| size_of::<f64>());
        if let Some(estimate) = seen.estimate {
            self.both[claim..last].copy_from_slice(&estimate.to_le_bytes());
        }
        self.both[last] = what;
        let end = last + size_of::<i32>();
        if comparator.evaluator.run(&self.both[..end]) == RunStatus::Faulted {
            self.counts.reference_faults += 1;
            return None;
        }
        Some(f64::from_bits(comparator.evaluator.result()))
    }

    /// Returns the value of the reference at `x`, as raw bits of the type of the result, for a reference that MPFR does
    /// not compute.
    fn bits_of_reference(&mut self, seen: CallValues) -> Option<u64> {
        let kind = self.pair.result();
        if kind.is_float() {
            return self.rounded_reference().map(|r| kind.from_real(r));
        }
        // The difference of large integers is rounded; each iteration leaves a smaller one.
        let mut bits = seen.result;
        for _ in 0..STEPS {
            let difference = self.call_comparator(CallValues { result: bits, ..seen }, comparator::DIFFERENCE)?.round();
            if difference == 0.0 {
                return Some(bits);
            }
            bits = bits.wrapping_add_signed(difference as i64) & kind.mask();
        }
        None
    }

    fn may_be_largest(&self, ulps: f64) -> bool {
        if !self.pair.result().is_float() {
            return ulps > self.best;
        }
        let wrong_by = cheap_error(self.pair.result());
        // For errors of half an ulp and more, the share is at most twice the bound; smaller errors are rarely the
        // largest.
        ulps > self.best
            - if self.pair.value.measure() == Measure::Ulp {
                wrong_by * self.best.max(1.0)
            } else {
                MARGIN * wrong_by * self.best
            }
    }

    fn found(&mut self, seen: CallValues, compared: Compared) -> Found {
        let exact = self.pair.exact(&self.x, seen.result);
        let of_reference = if self.pair.is_exact() { None } else { self.bits_of_reference(seen) };
        let errno = seen.errno.map(|errno| match &exact {
            Some(exact) => self.pair.errno_of_math(&self.x, self.pair.result().to_real(exact.rounded), errno.left),
            None => errno,
        });
        Found {
            bytes: self.x.clone(),
            result: seen.result,
            estimate: seen.estimate,
            errno,
            compared: match &exact {
                _ if compared == Compared::Wrong(Class::Errno) => {
                    if errno.is_some_and(Errno::is_right) {
                        Compared::Ulps(0.0)
                    } else {
                        compared
                    }
                }
                Some(exact) => value::measured(&self.pair.value, exact, seen.estimate),
                // The value is not known to enough bits, or the input is outside of the reference's domain.
                None if self.pair.is_exact() => Compared::Ulps(0.0),
                None => compared,
            },
            exact,
            of_reference,
            evaluations: self.counts.evaluations,
            cpu: self.counts.cpu,
            covers: Vec::new(),
        }
    }

    /// Returns the error of a candidate for the largest one: by MPFR, if that is the reference. Sends it if it is the
    /// largest.
    #[cold]
    fn confirm(&mut self, at: &[u64], seen: CallValues, compared: Compared) -> f64 {
        if let Some(ulps) = self.exact_errors.get(at) {
            return *ulps;
        }
        self.look_at_clock();
        let found = self.found(seen, compared);
        let ulps = if let Compared::Ulps(ulps) = found.compared { ulps } else { 0.0 };
        if self.exact_errors.len() == SETTLED {
            self.exact_errors.clear();
        }
        self.exact_errors.insert(at.to_vec(), ulps);
        if ulps > self.best {
            self.best = ulps;
            self.worst = Some(at.to_vec());
            self.send(&Message::Better(found));
        }
        ulps
    }

    #[cold]
    fn wrong(&mut self, at: &[u64], seen: CallValues, class: Class) {
        if self.known.iter().filter(|(known, _)| *known == class).count() >= WRONG {
            return;
        }
        // At most one for each combination of binades.
        let bits = |(slot, p): (&penfuzz_mutators::view::Slot, &u64)| p >> slot.kind.fraction_bits();
        let place = self.pair.layout().slots().iter().zip(at).map(bits).collect();
        if !self.known.insert((class, place)) {
            return;
        }
        let found = self.found(seen, Compared::Wrong(class));
        if matches!(found.compared, Compared::Wrong(_)) {
            self.send(&Message::Wrong(found));
        }
    }

    fn look_at_clock(&mut self) {
        self.counts.cpu = self.cpu_before + cpu_time();
    }

    #[cold]
    fn is_over(&mut self) -> bool {
        self.tick = TICK;
        self.look_at_clock();
        Instant::now() >= self.until
            || self.counts.cpu >= self.max_cpu
            || interrupts::requested()
            || self.pair.session.evaluator.needs_restart()
    }
}

impl NoisyObjective for Objective<'_> {
    fn value_at(&mut self, at: &[u64]) -> Result<f64, Stop> {
        if self.counts.evaluations >= self.max_evals || self.tick == 0 && self.is_over() {
            return Err(Stop::End);
        }
        self.tick -= 1;
        self.counts.evaluations += 1;
        self.place(at);
        if let Some(ulps) = self.ulps_in_window(at[0]) {
            self.counts.compared += 1;
            return Ok(ulps);
        }
        let Some((seen, compared)) = self.compare() else { return Ok(0.0) };
        if seen.errno.is_some_and(|errno| !errno.is_right()) {
            self.wrong(at, seen, Class::Errno);
            if self.exact {
                return Err(Stop::Found);
            }
        }
        let is_nan = self.pair.result().to_real(seen.result).is_nan();
        match compared {
            Compared::Ulps(ulps) => {
                self.counts.compared += u64::from(ulps >= 0.0 && !is_nan);
                if self.may_be_largest(ulps) && ulps > 0.0 {
                    return Ok(self.confirm(at, seen, compared));
                }
                Ok(ulps)
            }
            Compared::Wrong(class) => {
                // In this class exactly one of both is NaN: the reference is a number if the result is NaN.
                self.counts.compared += u64::from(class != Class::Nan || is_nan);
                self.wrong(at, seen, class);
                if self.exact { Err(Stop::Found) } else { Ok(0.0) }
            }
        }
    }

    fn values_at(&mut self, at: &[u64], values: &mut [f64]) -> Result<(), Stop> {
        if self.tick < values.len() as u64 && self.is_over() {
            return Err(Stop::End);
        }
        if at.len() != values.len() || !self.ulps_of_series(at, values) {
            return extremes::one_by_one(self, at, values);
        }
        for (x, value) in at.iter().zip(values) {
            if value.is_nan() || self.may_be_largest(value.abs()) {
                *value = self.value_at(core::slice::from_ref(x))?.copysign(*value);
            }
        }
        Ok(())
    }

    fn enter(&mut self, window: &[(u64, u64)]) -> WindowCost {
        let kinds = (self.pair.layout().slots().first().map(|slot| slot.kind), self.pair.result());
        if window.len() != 1 || kinds != (Some(Kind::F64), Kind::F64) || self.exact || !self.pair.value.is_in_ulps() {
            return WindowCost::Usual;
        }
        if self.window != window[0] {
            self.window = window[0];
            self.local = Local::fit(window[0], self.best, |x| self.reference(x));
        }
        if self.local.is_some() { WindowCost::Cheap } else { WindowCost::Rough }
    }

    fn roundings(&mut self, at: u64, jumps: [i64; COORDINATES]) -> Option<Roundings> {
        self.roundings_at(at, jumps)
    }

    fn checkpoint(&mut self, peaks: &[Peak]) {
        if self.is_checkpoint() {
            self.send_peaks(peaks);
        }
    }
}
