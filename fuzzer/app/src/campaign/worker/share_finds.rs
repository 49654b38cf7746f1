//! What a client of a farm sends to the others, and how it uses what it receives.

use libafl::{HasMetadata, corpus::Corpus, inputs::BytesInput, state::HasCorpus};
use penfuzz_engine::{
    error::Error,
    saturation::{Saturation, feedback::KnownPlaces},
    stages::{budget::Spent, finds},
};

use super::{Campaign, Executor, Manager, State};
use crate::{
    campaign::cluster::{self, message::Body},
    output::store,
};

impl Campaign<'_> {
    /// Receives finds of the other clients and sends its own, if it is time to.
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
        let Some(broker_client) = self.broker_client.as_mut().filter(|e| e.is_due()) else { return Ok(()) };
        broker_client.attach(&self.shm.llmp_id);
        let received = broker_client.receive();
        if !received.is_empty() {
            use_received(received, fuzzer, executor, state, manager)?;
            self.sync(executor, state)?;
        }
        // On disk before it is sent: other clients do not keep a crash whose place they have received.
        if self.store.unwritten() > 0 && !self.disk.is_failing() {
            self.flush(executor, state)?;
        }
        self.send_finds(state)
    }

    fn send_finds(&mut self, state: &State) -> Result<(), Error> {
        let Some(broker_client) = self.broker_client.as_mut() else { return Ok(()) };
        let saturation = state.metadata::<Saturation>()?;
        if broker_client.must_send_all() || self.sent_generation != saturation.generation {
            self.sent_generation = saturation.generation;
            let corpus = state.corpus();
            for id in corpus.ids() {
                broker_client.send(Body::Input(corpus.cloned_input_for_id(id)?.into()));
            }
            for pending in &saturation.pending {
                broker_client.send(Body::Input(pending.bytes.clone()));
            }
            for b in 0..saturation.len() {
                if saturation.is_given_up(b) {
                    broker_client.send(Body::GivenUp(b as u32));
                }
                if saturation.is_covered_by_crash(b) {
                    broker_client.send(Body::CoveredByCrash(b as u32));
                }
            }
            for key in &state.metadata::<KnownPlaces>()?.0 {
                broker_client.send(Body::Fault(*key));
            }
        }
        if let Ok(spent) = state.metadata::<Spent>() {
            broker_client.send_spent(&spent.evaluations);
        }
        Ok(())
    }

    /// The inputs in the directories of the other clients, also of those that do not run this time.
    pub(super) fn inputs_of_other_clients(&self) -> Vec<Vec<u8>> {
        let Some(farm) = &self.place.farm else { return Vec::new() };
        let others = cluster::client_directories(&farm.root).into_iter().filter(|dir| dir != self.store.dir());
        others.flat_map(|dir| store::peek(&dir).1).map(|(_, bytes)| bytes).collect()
    }
}

/// Evaluates received inputs; takes over branches given up, faults and budgets as they are.
fn use_received<Z>(
    received: Vec<Body>,
    fuzzer: &mut Z,
    executor: &mut Executor,
    state: &mut State,
    manager: &mut Manager,
) -> Result<(), Error>
where
    Z: libafl::Evaluator<Executor, Manager, BytesInput, State>,
{
    let n = state.metadata::<Saturation>()?.len();
    let (mut inputs, mut given_up) = (Vec::new(), Vec::new());
    for body in received {
        match body {
            Body::Input(bytes) => inputs.push(bytes),
            Body::GivenUp(branch) => given_up.push(branch as usize),
            Body::Fault(key) => {
                state.metadata_mut::<KnownPlaces>()?.0.insert(key);
            }
            Body::CoveredByCrash(branch) if (branch as usize) < n => {
                state.metadata_mut::<Saturation>()?.cover(&[branch], true);
            }
            Body::CoveredByCrash(_) => {}
            Body::Spent { client, branches } => {
                let spent = state.metadata_or_insert_with(Spent::default);
                spent.ensure(n);
                given_up.extend(spent.note_elsewhere(client, &branches));
            }
        }
    }
    // Before branches are given up: those that an input covers are not.
    finds::submit(inputs, fuzzer, executor, state, manager)?;
    for branch in given_up {
        if branch < n && state.metadata::<Saturation>()?.is_goal(branch) {
            finds::give_up(branch, fuzzer, executor, state, manager)?;
        }
    }
    Ok(())
}
