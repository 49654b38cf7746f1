//! Tests of which messages the broker forwards to which clients and links.

use super::*;

/// A broker with `n` clients and no link.
struct Farm {
    broker: Broker,
    clients: Vec<UnixDatagram>,
    to_broker: Sender<LinkEvent>,
    incoming: Receiver<LinkEvent>,
}

fn farm(n: usize) -> Farm {
    let (to_broker, incoming) = channel();
    let (clients, ends): (Vec<_>, Vec<_>) = (0..n).map(|_| sockets::pair().unwrap()).unzip();
    Farm { broker: Broker::new(ends), clients, to_broker, incoming }
}

impl Farm {
    fn turn(&mut self) {
        self.broker.receive_from_clients().unwrap();
        self.broker.receive_from_links(&self.incoming);
        self.broker.send_to_clients().unwrap();
    }

    fn send(&self, client: usize, packet: &[u8]) {
        assert!(sockets::send(&self.clients[client], packet).unwrap());
    }

    fn received(&self, client: usize) -> Vec<Vec<u8>> {
        let mut buffer = Vec::new();
        core::iter::from_fn(|| sockets::receive(&self.clients[client], &mut buffer).unwrap().map(<[u8]>::to_vec))
            .collect()
    }
}

#[test]
fn each_message_goes_once_to_every_client_that_said_hello() {
    let mut farm = farm(3);
    farm.send(0, &[kind::HELLO]);
    farm.send(1, &[kind::HELLO]);
    farm.send(0, &[kind::LOCAL, 7]);
    farm.send(0, &[kind::LOCAL, 7]);
    farm.turn();
    farm.turn();
    assert_eq!(farm.received(1), [[kind::LOCAL, 7]]);
    assert!(farm.received(0).is_empty(), "not to the one that sent it");
    assert!(farm.received(2).is_empty(), "it has not said hello");
    farm.send(2, &[kind::HELLO]);
    farm.turn();
    assert_eq!(farm.received(2), [[kind::LOCAL, 7]]);
}

#[test]
fn a_client_that_replaces_another_gets_what_that_one_sent() {
    let mut farm = farm(1);
    farm.send(0, &[kind::HELLO]);
    farm.send(0, &[kind::LOCAL, 7]);
    farm.send(0, &[kind::HELLO]);
    farm.turn();
    assert_eq!(farm.received(0), [[kind::LOCAL, 7]]);
}

#[test]
fn a_client_cannot_pass_for_another_machine_or_send_nonsense() {
    let mut farm = farm(2);
    farm.send(1, &[kind::HELLO]);
    for packet in [&[kind::REMOTE, 7][..], &[99, 1], &[kind::LOCAL], &[kind::HELLO, 1], &vec![kind::LOCAL; LONGEST + 1]]
    {
        farm.send(0, packet);
    }
    farm.turn();
    assert!(farm.received(1).is_empty());
}

#[test]
fn remote_messages_are_marked_and_not_sent_back() {
    let mut farm = farm(1);
    farm.send(0, &[kind::HELLO]);
    farm.send(0, &[kind::LOCAL, 1]);
    farm.turn();
    let (to, out) = channel();
    farm.to_broker.send(LinkEvent::Joined { id: 5, to }).unwrap();
    // The first message equals one of the local client.
    for message in [vec![1], vec![2]] {
        farm.to_broker.send(LinkEvent::Message { id: 5, message }).unwrap();
    }
    farm.turn();
    assert_eq!(farm.received(0), [[kind::REMOTE, 1], [kind::REMOTE, 2]]);
    assert_eq!(out.try_iter().map(|m| m.to_vec()).collect::<Vec<_>>(), [[1]], "all messages of this machine");
    farm.to_broker.send(LinkEvent::Left { id: 5 }).unwrap();
    farm.turn();
    farm.send(0, &[kind::LOCAL, 3]);
    farm.turn();
    assert_eq!(out.try_iter().count(), 0);
}

#[test]
fn a_client_that_does_not_read_delays_nobody() {
    const MESSAGES: u8 = 100;
    let mut farm = farm(3);
    farm.send(1, &[kind::HELLO]);
    farm.send(2, &[kind::HELLO]);
    farm.turn();
    let mut received = 0;
    for n in 0..MESSAGES {
        farm.send(0, &[&[kind::LOCAL, n][..], &vec![n; 30_000]].concat());
        farm.turn();
        received += farm.received(1).len();
    }
    assert_eq!(received, usize::from(MESSAGES));
    assert!(farm.broker.seats[2].is_blocked, "its socket has no room for all");
    let mut late = 0;
    for _ in 0..MESSAGES {
        late += farm.received(2).len();
        farm.turn();
    }
    assert_eq!(late, usize::from(MESSAGES), "it gets all when it reads");
}
