#!/usr/bin/env python3
"""Attacks the ports of a running farm as another local user; prints in JSON what it did.

    python3 tests/chaos/attacker.py --broker 7777 --metrics 9184 --seconds 60

Works as the user nobody when it is started by root. It knows no secret and can read no file of the farm.
"""

import argparse
import collections
import json
import os
import random
import socket
import struct
import time

NOBODY = 65534


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=2)


def send(port: int, data: bytes, rest: bytes = b"", seconds: float = 0.5) -> None:
    """Sends `data`, then `rest` again and again for some seconds or until the other side closes."""
    with connect(port) as stream:
        stream.sendall(data)
        end = time.monotonic() + seconds
        while rest and time.monotonic() < end:
            stream.sendall(rest)
        stream.settimeout(0.2)
        stream.recv(4096)


def silent(port: int, rng, held: list) -> None:
    """Opens connections that say nothing, and keeps the last few hundred open."""
    held += [connect(port) for _ in range(rng.randrange(1, 60))]
    while len(held) > 300:
        held.pop(0).close()


def slow(port: int, rng, held: list) -> None:
    """One byte now and then on the connections that are open."""
    for stream in held:
        stream.sendall(bytes([rng.randrange(256)]))


def llmp_hello(port: int, rng, held: list) -> None:
    """What LibAFL's brokers say to each other, which gave the inputs of a farm away once."""
    request = b"\x01" + bytes([5]) + b"host1"
    send(port, struct.pack(">I", len(request)) + request)


def noise(port: int, rng, held: list) -> None:
    """A packet of the length of a handshake, and others that promise more than they hold."""
    for length in (48, 0, 65535, rng.randrange(65536)):
        send(port, struct.pack(">H", length) + rng.randbytes(min(length, 48)))


def nonsense(port: int, rng, held: list) -> None:
    send(port, rng.randbytes(rng.randrange(1, 4096)))


def hang_up(port: int, rng, held: list) -> None:
    for _ in range(50):
        connect(port).close()


def large_body(port: int, rng, held: list) -> None:
    send(port, b"GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999\r\n\r\n", b"x" * 65536)


def endless_headers(port: int, rng, held: list) -> None:
    send(port, b"GET /metrics HTTP/1.1\r\n", b"X: " + b"a" * 60000 + b"\r\n")


def pipelined(port: int, rng, held: list) -> None:
    send(port, b"", b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 1000)


def other_methods(port: int, rng, held: list) -> None:
    for method in (b"POST", b"PUT", b"TRACE", b"CONNECT", b"\xff\xfe"):
        send(port, method + b" / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")


ANY = (silent, slow, llmp_hello, noise, nonsense, hang_up)
HTTP = (*ANY, large_body, endless_headers, pipelined, other_methods)


def listening() -> list[int]:
    """The TCP ports of this machine on which somebody listens."""
    ports = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="utf-8") as lines:
            for line in list(lines)[1:]:
                fields = line.split()
                if fields[3] == "0A":
                    ports.append(int(fields[1].rsplit(":", 1)[1], 16))
    return ports


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--broker", type=int, required=True)
    parser.add_argument("--metrics", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # Loaded now: nobody may not read the library.
    "localhost".encode("idna")
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    rng = random.Random(options.seed)
    counts: collections.Counter = collections.Counter()
    held: dict[int, list] = {options.broker: [], options.metrics: []}
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        port = rng.choice(list(held))
        attack = rng.choice(HTTP if port == options.metrics else ANY)
        try:
            attack(port, rng, held[port])
        except OSError:
            # Refused or closed, as it should be.
            counts["ended by the other side"] += 1
            held[port] = [stream for stream in held[port] if stream.fileno() >= 0][-200:] if attack is not slow else []
        counts[attack.__name__] += 1
        time.sleep(rng.uniform(0, 0.05))
    print(json.dumps({"user": os.getuid(), "attacks": dict(counts), "ports_seen": sorted(set(listening()))}))


if __name__ == "__main__":
    main()
