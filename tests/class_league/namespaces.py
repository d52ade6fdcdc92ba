"""Network namespaces as machines: each with its own address, all on one bridge that is in none.

Everything lies inside the namespaces, so that taking them away leaves nothing behind.
"""

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from class_league.classroom import Machine

NETWORK = "10.77.0"
NETWORK_6 = "fd77::"  # Where there is IPv6.
WITH_HOSTS = 'mount --bind "$1" /etc/hosts && shift && exec "$@"'


def ip(*words):
    """One command of iproute2; what went wrong, or nothing."""
    done = subprocess.run(["ip", *map(str, words)], capture_output=True, text=True, timeout=20)
    return done.stderr.strip() or (f"exit {done.returncode}" if done.returncode else "")


def must(*words):
    problem = ip(*words)
    if problem:
        pytest.skip(f"no network namespaces here: ip {' '.join(map(str, words))}: {problem}")


@contextmanager
def network(numbers):
    """Machines by the last byte of their addresses; skips the test where that is not permitted."""
    if not shutil.which("ip") or os.geteuid() != 0:
        pytest.skip("network namespaces need root, and the command ip")
    name = f"league-{os.getpid()}"
    switch, made = f"{name}-switch", []
    try:
        made.append(switch)
        must("netns", "add", switch)
        must("-n", switch, "link", "add", "br0", "type", "bridge")
        must("-n", switch, "link", "set", "br0", "up")
        for number in numbers:
            made.append(f"{name}-{number}")
            _plug_in(switch, made[-1], number)
        yield {number: machine(f"{name}-{number}", number) for number in numbers}
    finally:
        for each in made:
            ip("netns", "del", each)


def machine(namespace, number):
    return Machine(f"{NETWORK}.{number}", prefix=("ip", "netns", "exec", namespace))


def _plug_in(switch, namespace, number):
    port = f"port{number}"
    must("netns", "add", namespace)
    wire = ("link", "add", "eth0", "netns", namespace, "type", "veth")
    must(*wire, "peer", "name", port, "netns", switch)
    must("-n", switch, "link", "set", port, "master", "br0", "up")
    must("-n", namespace, "link", "set", "lo", "up")
    must("-n", namespace, "address", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
    must("-n", namespace, "link", "set", "eth0", "up")
    ip("-n", namespace, "address", "add", f"{NETWORK_6}{number}/64", "dev", "eth0", "nodad")


def knowing(machine, hosts):
    """The same machine with its own file of names; nobody else sees that."""
    return Machine(machine.address, (*machine.words(), "sh", "-c", WITH_HOSTS, "sh", str(hosts)))


def close_port(machine, port):
    """A firewall: what comes in at this port is never answered; what goes out is."""
    namespace = machine.words()[-1]
    must("-n", namespace, "rule", "add", "ipproto", "tcp", "sport", port, "blackhole")


def open_port(machine, port):
    """Somebody lets others in."""
    namespace = machine.words()[-1]
    must("-n", namespace, "rule", "del", "ipproto", "tcp", "sport", port, "blackhole")
