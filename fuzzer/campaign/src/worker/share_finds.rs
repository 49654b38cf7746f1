//! Sends the finds of a client of a farm to the others, and processes the messages that it receives.
//!
//! A statement about the target is an input, which is evaluated here before it counts. Budgets reported by other
//! machines only lower the priority of a branch ([`Origin`]).

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use libafl::{HasMetadata, corpus::Corpus, inputs::BytesInput, state::HasCorpus};
use penfuzz_directory::output::store;
use penfuzz_engine::{
    saturation::{Saturation, feedback::KnownPlaces},
    stages::{budget::Spent, finds},
};
use penfuzz_error::Error;
use penfuzz_executor::HasEvaluator;

use super::{Campaign, Executor, Manager, State};
use crate::cluster::{
    self,
    broker_client::BrokerClient,
    message::{Body, Origin},
};

/// Maximum time for received messages between two rounds of the search: a restarted farm sends thousands at once.
const SLICE: Duration = Duration::from_millis(100);

/// Costly failing inputs get at most one part in this number of the time, because each may take the whole time limit of
/// an evaluation.
const COSTLY_SHARE: u32 = 10;

/// The messages that a client has received and not processed yet.
pub(super) struct Exchange {
    client: BrokerClient,
    waiting: VecDeque<(Origin, Body)>,
    /// Failing inputs that may take long.
    costly: VecDeque<(Origin, Vec<u8>)>,
    next_costly: Instant,
}

impl Exchange {
    pub(super) fn new(client: BrokerClient) -> Self {
        Self { client, waiting: VecDeque::new(), costly: VecDeque::new(), next_costly: Instant::now() }
    }

    fn receive(&mut self) {
        for (origin, body) in self.client.receive() {
            match body {
                Body::Failing { bytes, is_costly: true } => self.costly.push_back((origin, bytes)),
                body => self.waiting.push_back((origin, body)),
            }
        }
    }

    fn next_costly(&mut self) -> Option<(Origin, Vec<u8>)> {
        if Instant::now() < self.next_costly {
            return None;
        }
        self.costly.pop_front()
    }
}

impl Campaign<'_> {
    /// Receives finds of the other clients and sends its own, if an exchange is due.
    pub(super) fn share_finds<Z>(
        &mut self,
        fuzzer: &mut Z,
        executor: &mut Executor,
        state: &mut State,
        manager: &mut Manager,
    ) -> Result<(), Error>
    where
        Z: libafl::Evaluator<Executor, Manager, BytesInput, State>,
    {
        let Some(exchange) = self.exchange.as_mut().filter(|e| e.client.is_due()) else { return Ok(()) };
        exchange.client.attach();
        exchange.receive();
        self.use_received(fuzzer, executor, state, manager)?;
        // Written to disk before sending, because a client does not keep the failing inputs of others on the same
        // machine.
        if self.store.unwritten() > 0 && !self.disk.is_failing() {
            self.flush(executor, state)?;
        }
        self.send_finds(state)
    }

    fn send_finds(&mut self, state: &State) -> Result<(), Error> {
        let Some(client) = self.exchange.as_mut().map(|e| &mut e.client) else { return Ok(()) };
        let saturation = state.metadata::<Saturation>()?;
        let now = (saturation.generation, self.store.saved.faults.len());
        if client.must_send_all() || self.sent != now {
            self.sent = now;
            let corpus = state.corpus();
            for id in corpus.ids() {
                client.send(Body::Input(corpus.cloned_input_for_id(id)?.into()));
            }
            for pending in &saturation.pending {
                client.send(Body::Input(pending.bytes.clone()));
            }
            for (file, bytes) in self.store.fault_inputs() {
                let is_costly = self.store.saved.faults.get(file).is_none_or(|fault| !fault.is_cheap);
                client.send(Body::Failing { bytes: bytes.clone(), is_costly });
            }
            for b in (0..saturation.len()).filter(|b| saturation.is_given_up(*b)) {
                client.send(Body::GivenUp(b as u32));
            }
        }
        if let Ok(spent) = state.metadata::<Spent>() {
            client.send_spent(&spent.units);
        }
        client.flush();
        Ok(())
    }

    /// The inputs in the directories of the other clients, also of those that do not run this time.
    pub(super) fn inputs_of_other_clients(&self) -> Vec<Vec<u8>> {
        let Some(farm) = &self.place.farm else { return Vec::new() };
        let others = cluster::client_directories(&farm.root).into_iter().filter(|dir| dir != self.store.dir());
        others.flat_map(|dir| store::peek(&dir).1).map(|(_, bytes)| bytes).collect()
    }

    /// Processes received messages in the order of arrival, for at most [`SLICE`].
    fn use_received<Z>(
        &mut self,
        fuzzer: &mut Z,
        executor: &mut Executor,
        state: &mut State,
        manager: &mut Manager,
    ) -> Result<(), Error>
    where
        Z: libafl::Evaluator<Executor, Manager, BytesInput, State>,
    {
        let begun = Instant::now();
        let mut has_used = false;
        while begun.elapsed() < SLICE && !self.clock.is_over(executor.evaluator()) {
            let Some((origin, body)) = self.exchange.as_mut().and_then(|e| e.waiting.pop_front()) else { break };
            has_used = true;
            match body {
                Body::Input(bytes) => {
                    if let Some(bytes) = self.fitted(bytes, executor) {
                        finds::submit(vec![bytes], fuzzer, executor, state, manager)?;
                    }
                }
                Body::Failing { bytes, .. } => self.use_failing(origin, bytes, fuzzer, executor, state, manager)?,
                Body::GivenUp(branch) => {
                    let branch = branch as usize;
                    match origin {
                        Origin::Local => give_up(&[branch], fuzzer, executor, state, manager)?,
                        Origin::Remote => spent(state)?.add_unverified(branch, u64::MAX),
                    }
                }
                Body::Spent { client, branches } => match origin {
                    Origin::Local => {
                        let given_up = spent(state)?.note_elsewhere(client, &branches);
                        give_up(&given_up, fuzzer, executor, state, manager)?;
                    }
                    Origin::Remote => {
                        let spent = spent(state)?;
                        for (branch, n) in branches {
                            spent.add_unverified(branch as usize, n);
                        }
                    }
                },
            }
        }
        if let Some((origin, bytes)) = self.exchange.as_mut().and_then(Exchange::next_costly) {
            has_used = true;
            let begun = Instant::now();
            self.use_costly(origin, bytes, fuzzer, executor, state, manager)?;
            if let Some(exchange) = &mut self.exchange {
                exchange.next_costly = Instant::now() + begun.elapsed() * (COSTLY_SHARE - 1);
            }
        }
        if has_used { self.sync(executor, state) } else { Ok(()) }
    }

    /// Evaluates an input that failed on another client. The place of its fault then counts as known, and its branches
    /// as covered by a failing input. A client of this machine already has its file; an input of another machine is
    /// kept by the first client.
    fn use_failing<Z>(
        &mut self,
        origin: Origin,
        bytes: Vec<u8>,
        fuzzer: &mut Z,
        executor: &mut Executor,
        state: &mut State,
        manager: &mut Manager,
    ) -> Result<(), Error>
    where
        Z: libafl::Evaluator<Executor, Manager, BytesInput, State>,
    {
        let Some(bytes) = self.fitted(bytes, executor) else { return Ok(()) };
        if !self.keeps(origin) {
            let fuel = executor.evaluator().fuel();
            executor.evaluator_mut().set_fuel_cap(fuel);
            let (_, hits) = executor.evaluator_mut().record(&self.scope.branches, &bytes);
            if let Some(key) = executor.evaluator().fault_key() {
                state.metadata_mut::<KnownPlaces>()?.0.insert(key);
                state.metadata_mut::<Saturation>()?.cover(&hits, true);
                return Ok(());
            }
        }
        finds::submit(vec![bytes], fuzzer, executor, state, manager)?;
        Ok(())
    }

    /// Processes an input that may kill its process: it is first run in a separate process.
    fn use_costly<Z>(
        &mut self,
        origin: Origin,
        bytes: Vec<u8>,
        fuzzer: &mut Z,
        executor: &mut Executor,
        state: &mut State,
        manager: &mut Manager,
    ) -> Result<(), Error>
    where
        Z: libafl::Evaluator<Executor, Manager, BytesInput, State>,
    {
        if self.store.fault_inputs().values().any(|own| *own == bytes) {
            return Ok(());
        }
        let Some(fitted) = self.fitted(bytes.clone(), executor) else { return Ok(()) };
        let (death, taken) = match self.run_again(&fitted, executor.evaluator_mut()) {
            Ok(Some(death)) => death,
            Ok(None) => return self.use_failing(origin, bytes, fuzzer, executor, state, manager),
            // The system cannot create a process, because the target has leaked too much memory. The worker that
            // replaces this one receives the message again.
            Err(_) => return Ok(()),
        };
        if self.keeps(origin) {
            self.keep_death(death, &fitted, &taken, executor.evaluator(), state)
        } else {
            state.metadata_mut::<Saturation>()?.cover(&taken, true);
            Ok(())
        }
    }

    fn keeps(&self, origin: Origin) -> bool {
        origin == Origin::Remote && self.place.number == 0
    }
}

fn spent(state: &mut State) -> Result<&mut Spent, Error> {
    let n = state.metadata::<Saturation>()?.len();
    let spent = state.metadata_or_insert_with(Spent::default);
    spent.ensure(n);
    Ok(spent)
}

fn give_up<Z>(
    branches: &[usize],
    fuzzer: &mut Z,
    executor: &mut Executor,
    state: &mut State,
    manager: &mut Manager,
) -> Result<(), Error>
where
    Z: libafl::Evaluator<Executor, Manager, BytesInput, State>,
{
    let saturation = state.metadata::<Saturation>()?;
    let open: Vec<usize> =
        branches.iter().copied().filter(|b| *b < saturation.len() && saturation.is_goal(*b)).collect();
    finds::give_up(&open, fuzzer, executor, state, manager)?;
    Ok(())
}
