# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Messages arrive whole or not at all, and nobody else can send one."""

from __future__ import annotations

import os
import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencute.lab.channel import PROGRESS, RESULT, Receiver, Sender

pytestmark = pytest.mark.t0


def sent(secret: bytes, *messages: tuple[bytes, dict[str, object]]) -> bytes:
    read, write = os.pipe()
    sender = Sender(write, secret)
    for kind, message in messages:
        sender.send(kind, message)
    os.close(sender._fd)
    with os.fdopen(read, "rb") as pipe:
        return pipe.read()


@given(st.binary(max_size=40), st.integers(1, 7))
def test_messages_survive_junk_and_any_splitting(junk: bytes, step: int) -> None:
    secret = secrets.token_bytes(32)
    data = junk + sent(secret, (PROGRESS, {"stage": "s"})) + junk
    data += sent(secret, (RESULT, {"correct": False, "text": "x" * 50}))
    receiver = Receiver(secret)
    for i in range(0, len(data), step):
        receiver.feed(data[i : i + step])
    assert receiver.stage == "s"
    assert receiver.result == {"correct": False, "text": "x" * 50}


def test_messages_with_another_secret_are_ignored() -> None:
    receiver = Receiver(secrets.token_bytes(32))
    receiver.feed(sent(secrets.token_bytes(32), (RESULT, {"correct": True})))
    receiver.feed(b'{"correct": true}\n')
    assert receiver.result is None


def test_a_forged_message_with_the_right_magic_is_skipped() -> None:
    secret = secrets.token_bytes(32)
    good = sent(secret, (RESULT, {"n": 1}))
    forged = good.replace(b'"n": 1', b'"n": 2')
    receiver = Receiver(secret)
    receiver.feed(forged)
    assert receiver.result is None
    receiver.feed(good)
    assert receiver.result == {"n": 1}


def test_a_forked_copy_cannot_send() -> None:
    read, write = os.pipe()
    sender = Sender(write, secrets.token_bytes(32))
    sender._pid += 1  # what a copy sees: another process started the sender
    assert not sender.owned()
    sender.send(RESULT, {"correct": True})
    os.close(sender._fd)
    assert os.read(read, 10) == b""
    os.close(read)
