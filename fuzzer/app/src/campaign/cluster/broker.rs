//! The broker: a process that forwards to every client what the others found.
//!
//! It is LibAFL's `LlmpBroker` with one hook, which drops repeated messages. So a client may send all its finds whenever it is
//! new, or the broker is, or a link to another machine was cut; and the pages, which the broker keeps for clients that attach
//! later, hold each find once.

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
use penfuzz_engine::{
    error::{Error, Source},
    hash::of_bytes,
};

use super::{
    BrokerInfo,
    message::TAG,
    peer_link,
    shmem::{VanishingShMem, VanishingShMemProvider},
};

/// Pause between two polls of the clients.
const POLL_EVERY: Duration = Duration::from_millis(3);

/// Forwards messages of penfuzz that are new; holds the hashes of those that were forwarded.
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
        let is_new = *tag == TAG && self.0.insert(of_bytes(message));
        Ok(if is_new { LlmpMsgHookResult::ForwardToClients } else { LlmpMsgHookResult::Handled })
    }
}

/// Runs the broker in this process for ever. Brokers of other machines may connect to `public`; `remote` are those that this
/// one connects to.
///
/// # Errors
/// When it cannot listen, or the messages of a client cannot be read: another broker should replace it.
pub fn run(info: &'static BrokerInfo, public: Option<TcpListener>, remote: &[String]) -> Result<Infallible, Error> {
    let failed = |e: Source| Error::because("the broker fails", e);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| failed(e.into()))?;
    let port = listener.local_addr().map_err(|e| failed(e.into()))?.port();
    let provider = VanishingShMemProvider::new().map_err(|e| failed(e.into()))?;
    let mut broker = LlmpBroker::new(provider, tuple_list!(OnlyNew::default())).map_err(|e| failed(e.into()))?;
    broker.inner_mut().launch_listener(Listener::Tcp(listener)).map_err(|e| failed(e.into()))?;
    if let Some(public) = public {
        thread::spawn(move || peer_link::accept(&public, port, info));
    }
    for address in remote {
        let address = address.clone();
        thread::spawn(move || peer_link::connect(&address, port, info));
    }
    info.announce(port);
    loop {
        // Its result is about the last client only.
        broker.broker_once().map_err(|e| failed(e.into()))?;
        info.beat.fetch_add(1, Ordering::Relaxed);
        thread::sleep(POLL_EVERY);
    }
}
