//! Tests of handshakes between sides with equal and different secrets, and with third parties on the connection.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt, thread};

use tempfile::tempdir;

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

fn ends() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

fn handshake(connects: &Secret, accepts: &Secret) -> (io::Result<SecureConnection>, io::Result<SecureConnection>) {
    let (one, other) = ends();
    let accepts = accepts.clone();
    let other = thread::spawn(move || SecureConnection::new(other, Side::Accepts, &accepts, PATIENCE));
    let one = SecureConnection::new(one, Side::Connects, connects, PATIENCE);
    (one, other.join().unwrap())
}

#[test]
fn messages_arrive_between_sides_with_the_same_secret() {
    let (one, other) = handshake(&Secret([7; 32]), &Secret([7; 32]));
    let (one, other) = (one.unwrap(), other.unwrap());
    let (mut sender, mut receiver) = (one.sender(), other.receiver());
    for message in [&b""[..], b"hello", &vec![9; LONGEST]] {
        sender.send(message).unwrap();
        assert_eq!(receiver.receive(Some(Instant::now() + PATIENCE)).unwrap(), message);
    }
    other.sender().send(b"back").unwrap();
    assert_eq!(one.receiver().receive(None).unwrap(), b"back");
}

#[test]
fn sides_with_other_secrets_do_not_meet() {
    for secret in [Secret([8; 32]), Secret::none()] {
        let (one, other) = handshake(&secret, &Secret([7; 32]));
        assert_eq!(other.err().unwrap().kind(), ErrorKind::PermissionDenied);
        assert!(one.is_err());
    }
}

#[test]
fn a_message_that_is_repeated_or_changed_on_the_way_is_noticed() {
    for change in [0, 1] {
        let (one, other) = handshake(&Secret([7; 32]), &Secret([7; 32]));
        let (one, other) = (one.unwrap(), other.unwrap());
        let mut packet = vec![0; 5 + TAG];
        one.keys.write_message(0, b"hello", &mut packet).unwrap();
        let mut receiver = other.receiver();
        write_packet(&one.stream, &packet).unwrap();
        assert_eq!(receiver.receive(None).unwrap(), b"hello");
        packet[0] ^= change;
        write_packet(&one.stream, &packet).unwrap();
        assert_eq!(receiver.receive(None).unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
}

#[test]
fn a_silent_or_slow_stranger_is_not_waited_for() {
    for bytes in [&[][..], &[0, 48, 1]] {
        let (mut one, other) = ends();
        one.write_all(bytes).unwrap();
        let begun = Instant::now();
        let refused = SecureConnection::new(other, Side::Accepts, &Secret::none(), Duration::from_millis(100));
        assert!(refused.is_err() && begun.elapsed() < PATIENCE);
    }
}

#[test]
fn nonsense_is_refused() {
    for bytes in [&b"GET / HTTP/1.0\r\n\r\n"[..], &[0xff; 200], &[0, 0], &[0; 300]] {
        let (mut one, other) = ends();
        one.write_all(bytes).unwrap();
        assert!(SecureConnection::new(other, Side::Accepts, &Secret::none(), PATIENCE).is_err());
    }
}

#[test]
fn a_secret_is_long_and_only_its_owner_can_read_it() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("secret");
    let read = |bytes: &[u8], mode| {
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        Secret::read(&path).map(|secret| secret.0).map_err(|e| e.to_string())
    };
    let good = read(&[b'x'; 32], 0o600).unwrap();
    assert_eq!(read(b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", 0o400), Ok(good), "an editor adds a line feed");
    assert_ne!(read(&[b'y'; 32], 0o600).unwrap(), good);
    assert!(read(&[b'x'; 31], 0o600).unwrap_err().contains("31 bytes"));
    assert!(read(&[b'x'; 5000], 0o600).is_err());
    assert!(read(&[b'x'; 32], 0o640).unwrap_err().contains("chmod 600"));
    assert!(Secret::read(dir.path()).is_err());
    assert!(Secret::read(&dir.path().join("none")).is_err());
}
