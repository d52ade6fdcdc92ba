"""Start Python scripts, above all `league`, from a process that has imported the package.

A fresh interpreter spends 0.15 s and more on imports, and the suite starts a thousand. The child is
a fork that runs the same script with its own arguments, environment, directory, streams and default
signal handlers, and ends as any interpreter does; only its imports are done before. `make test-all`
sets FRESH_PROCESSES and forks nothing, and what this cannot copy is started fresh always.

Run as a program, this file is the server; it ends with the process that started it.
"""

import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import struct
import subprocess
import sys
from contextlib import suppress

ENVIRONMENT = {**os.environ, "PYTHONUNBUFFERED": "1"}  # before any test changes it
AT_START = ("PYTHON", "LC_", "LANG", "LD_", "COVERAGE")  # what an interpreter reads once
SCRIPTS = (os.path.join(os.path.dirname(sys.executable), "league"),)
PACKAGES = ("cli", "cli.commands", "games", "player", "records", "runtime", "sdk", "storage")


def can_copy(words, env, options):
    """Whether a child that is forked would be like a fresh process."""
    is_script = words[0] in SCRIPTS or (words[0] == sys.executable and words[1].endswith(".py"))
    return (
        is_script
        and sys.platform == "linux"
        and not os.environ.get("FRESH_PROCESSES")
        and options.keys() <= {"stdin", "stdout", "stderr", "text", "cwd", "env", "input"}
        and _at_start(env) == _at_start(ENVIRONMENT)
    )


def _at_start(env):
    return {name: value for name, value in env.items() if name.startswith(AT_START)}


@functools.cache
def server():
    """The server of this test process, and the connection to it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=ENVIRONMENT,
        )
    return process, ours


def stop():
    """End the server, and with it all that still runs."""
    if server.cache_info().currsize:
        process, control = server()
        control.close()
        process.wait()
        server.cache_clear()


class ForkedProcess(subprocess.Popen):
    """Like Popen, for a Python script with or without the interpreter before it."""

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest):
        _, _, _, stdin, to_stdin, from_stdout, stdout, from_stderr, stderr, *_ = rest
        self._status, status = os.pipe()
        streams = [mine if mine != -1 else n for n, mine in enumerate((stdin, stdout, stderr))]
        argv = args[1:] if args[0] == sys.executable else args
        request = {"argv": argv, "cwd": os.path.abspath(cwd or "."), "env": env}
        socket.send_fds(server()[1], [json.dumps(request).encode()], [*streams, status])
        os.close(status)
        self.pid = struct.unpack("i", os.read(self._status, 4))[0]
        self._child_created = True
        self._close_pipe_fds(stdin, to_stdin, from_stdout, stdout, from_stderr, stderr)

    def _try_wait(self, wait_flags):
        os.set_blocking(self._status, not wait_flags & os.WNOHANG)
        try:
            told = os.read(self._status, 4)
        except BlockingIOError:
            return 0, 0
        os.close(self._status)
        return self.pid, struct.unpack("i", told)[0] if told else signal.SIGKILL

    def _internal_poll(self, _deadstate=None, **_):
        with self._waitpid_lock:
            if self.returncode is None:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)
        return self.returncode


def serve(control):
    """Fork a child for each request; returns in the child alone, with its arguments."""
    children = {}  # process id -> the pipe that takes its exit status
    signal.signal(signal.SIGCHLD, lambda *_: report_exits(children))
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1 << 20, 4)
        if not data:  # The tests are over.
            for pid in children:
                os.kill(pid, signal.SIGKILL)
            os._exit(0)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        pid = os.fork()
        if pid == 0:
            control.close()
            return become(json.loads(data), descriptors)
        *streams, status = descriptors
        for descriptor in streams:
            os.close(descriptor)
        os.write(status, struct.pack("i", pid))
        children[pid] = status
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def report_exits(children):
    """Tell the exit status of each child that has ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:  # The last ones, while this was interrupted by itself.
            return
        if pid == 0:
            return
        pipe = children.pop(pid)
        with suppress(BrokenPipeError):  # Nobody waits for it any more.
            os.write(pipe, struct.pack("i", status))
        os.close(pipe)


def become(request, descriptors):
    """Be the process that was asked for; its arguments."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    for number, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, number)
    os.closerange(3, max(descriptors) + 1)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    return request["argv"]


def main():
    for package in PACKAGES:
        home = importlib.import_module(f"agentleague.{package}")
        for module in pkgutil.iter_modules(home.__path__):
            importlib.import_module(f"agentleague.{package}.{module.name}")
    gc.freeze()
    try:
        sys.argv = serve(socket.socket(fileno=int(sys.argv[1])))
    except KeyboardInterrupt:
        os._exit(0)
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
