//! The broker: a process that hands every client what the others found.
//!
//! It is LibAFL's `LlmpBroker` with one hook: what was said before is not said again. So a client may tell everything it knows
//! whenever it is new, or the broker is, or a link to another machine was cut; and the pages, which the broker keeps for those
//! that come later, hold each find once.

use core::{convert::Infallible, sync::atomic::Ordering};
use std::{
    collections::HashSet,
    net::{Ipv4Addr, TcpListener},
    thread,
    time::Duration,
};

use libafl_bolts::{
    ClientId, Error as LibaflError,
    llmp::{Flags, Listener, LlmpBroker, LlmpBrokerInner, LlmpHook, LlmpMsgHookResult, Tag},
    shmem::ShMemProvider,
    tuples::tuple_list,
};
use penfuzz_engine::error::Error;

use super::{
    BrokerInfo,
    message::{TAG, hash},
    peer_link,
    shmem::{VanishingShMem, VanishingShMemProvider},
};

/// Pause between two looks at the clients.
const LOOK_EVERY: Duration = Duration::from_millis(3);

/// Lets through what is ours and new.
#[derive(Debug, Default)]
struct OnlyNew(HashSet<u64>);

impl LlmpHook<VanishingShMem, VanishingShMemProvider> for OnlyNew {
    fn on_new_message(
        &mut self,
        _broker: &mut LlmpBrokerInner<VanishingShMem, VanishingShMemProvider>,
        _client: ClientId,
        tag: &mut Tag,
        _flags: &mut Flags,
        message: &mut [u8],
        _more: &mut Vec<(Tag, Flags, Vec<u8>)>,
    ) -> Result<LlmpMsgHookResult, LibaflError> {
        let is_news = *tag == TAG && self.0.insert(hash(&*message));
        Ok(if is_news { LlmpMsgHookResult::ForwardToClients } else { LlmpMsgHookResult::Handled })
    }
}

/// Runs the broker in this process for ever. Brokers of other machines may connect to `public`; `remote` are those that this
/// one connects to.
///
/// # Errors
/// When it cannot listen, or the messages of a client make no sense: another broker should take over.
pub fn run(shm: &'static BrokerInfo, public: Option<TcpListener>, remote: &[String]) -> Result<Infallible, Error> {
    let failed = |e: &dyn std::fmt::Display| Error::new(format!("the broker fails: {e}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| failed(&e))?;
    let port = listener.local_addr().map_err(|e| failed(&e))?.port();
    let provider = VanishingShMemProvider::new().map_err(|e| failed(&e))?;
    let mut broker = LlmpBroker::new(provider, tuple_list!(OnlyNew::default())).map_err(|e| failed(&e))?;
    broker.inner_mut().launch_listener(Listener::Tcp(listener)).map_err(|e| failed(&e))?;
    if let Some(public) = public {
        thread::spawn(move || peer_link::accept(&public, port, shm));
    }
    for address in remote {
        let address = address.clone();
        thread::spawn(move || peer_link::connect(&address, port, shm));
    }
    shm.announce(port);
    loop {
        // What it returns tells of the last client only.
        broker.broker_once().map_err(|e| failed(&e))?;
        shm.beat.fetch_add(1, Ordering::Relaxed);
        thread::sleep(LOOK_EVERY);
    }
}
