"""tests/kafka/groups.py - asks a broker about a consumer group without becoming its member.

Source: the Kafka protocol, DescribeGroups version 0 and OffsetFetch version 1.
"""
import collections
import socket
import struct

DESCRIBE_GROUPS, OFFSET_FETCH = 15, 9

Group = collections.namedtuple("Group", "state members")


class Answer:
    """Bytes that are taken from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        value, = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return value

    def text(self):
        return self.take(f'{self.take("h")}s').decode()


def text(value):
    return struct.pack(f">h{len(value)}s", len(value), value.encode())


def ask(address, api, version, body):
    host, port = address.split(":")
    request = struct.pack(">hhih", api, version, 0, -1) + body
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        with connection.makefile("rb") as answers:
            answer = Answer(answers.read(struct.unpack(">i", answers.read(4))[0]))
    answer.take("i")  # the request's number
    return answer


def describe(address, group):
    """State (Empty, Stable, PreparingRebalance, ...) and number of members."""
    answer = ask(address, DESCRIBE_GROUPS, 0, struct.pack(">i", 1) + text(group))
    answer.take("i")  # groups
    answer.take("h")  # error
    answer.text()
    state = answer.text()
    answer.text()  # protocol's type
    answer.text()  # protocol
    return Group(state, answer.take("i"))


def committed(address, group, topic, partition=0):
    """-1: nothing is committed."""
    body = text(group) + struct.pack(">i", 1) + text(topic) + struct.pack(">ii", 1, partition)
    answer = ask(address, OFFSET_FETCH, 1, body)
    answer.take("i")  # topics
    answer.text()
    answer.take("i")  # partitions
    answer.take("i")
    return answer.take("q")
