//! What a client of a farm tells the others, and what it makes of what it hears.

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
    /// Exchanges news with the other clients, if it is time to.
    pub(super) fn talk<Z>(
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
        let heard = broker_client.hear();
        if !heard.is_empty() {
            take_in(heard, fuzzer, executor, state, manager)?;
            self.sync(executor, state)?;
        }
        // On disk before anybody is told: nobody else keeps a crash that he knows of.
        if self.store.unwritten() > 0 && !self.disk.is_failing() {
            self.settle(executor, state)?;
        }
        self.tell(state)
    }

    fn tell(&mut self, state: &State) -> Result<(), Error> {
        let Some(broker_client) = self.broker_client.as_mut() else { return Ok(()) };
        let saturation = state.metadata::<Saturation>()?;
        if broker_client.knows_nobody() || self.told_generation != saturation.generation {
            self.told_generation = saturation.generation;
            let corpus = state.corpus();
            for id in corpus.ids() {
                broker_client.tell(Body::Input(corpus.cloned_input_for_id(id)?.into()));
            }
            for pending in &saturation.pending {
                broker_client.tell(Body::Input(pending.bytes.clone()));
            }
            for b in 0..saturation.len() {
                if saturation.is_given_up(b) {
                    broker_client.tell(Body::GivenUp(b as u32));
                }
                if saturation.is_covered_by_crash(b) {
                    broker_client.tell(Body::CoveredByCrash(b as u32));
                }
            }
            for key in &state.metadata::<KnownPlaces>()?.0 {
                broker_client.tell(Body::Fault(*key));
            }
        }
        if let Ok(spent) = state.metadata::<Spent>() {
            broker_client.tell_spent(&spent.evaluations);
        }
        Ok(())
    }

    /// What the other clients have in their directories: also those that are not running this time.
    pub(super) fn of_the_others(&self) -> Vec<Vec<u8>> {
        let Some(farm) = &self.place.farm else { return Vec::new() };
        let others = cluster::client_directories(&farm.root).into_iter().filter(|dir| dir != self.store.dir());
        others.flat_map(|dir| store::peek(&dir).1).map(|(_, bytes)| bytes).collect()
    }
}

/// Evaluates inputs, believes verdicts.
fn take_in<Z>(
    heard: Vec<Body>,
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
    for body in heard {
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
    // First: what an input covers is not given up.
    finds::submit(inputs, fuzzer, executor, state, manager)?;
    for branch in given_up {
        if branch < n && state.metadata::<Saturation>()?.is_goal(branch) {
            finds::give_up(branch, fuzzer, executor, state, manager)?;
        }
    }
    Ok(())
}
