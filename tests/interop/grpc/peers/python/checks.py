"""grpcio, Google's core in C: `serve` prints its port, and ends with its standard input; `call PORT` does the checks of
checks.ts."""

import json
import queue
import sys
import threading
import time
from concurrent import futures

import grpc
from google.protobuf.wrappers_pb2 import StringValue

AHEAD = 1_000
OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),
]


def write(text):
    return StringValue(value=text).SerializeToString()


def read(data):
    return StringValue.FromString(data).value


class Caller:
    """One connection."""

    def __init__(self, port):
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", OPTIONS)

        def method(make, name):
            return make(f"/checks.Checks/{name}", request_serializer=write, response_deserializer=read)

        self.echoes = method(self.channel.unary_unary, "Echo")
        self.down = method(self.channel.unary_stream, "Down")
        self.up = method(self.channel.stream_unary, "Up")
        self.both = method(self.channel.stream_stream, "Both")

    def echo(self, text, user=None, timeout=60):
        return self.echoes(text, timeout=timeout, metadata=() if user is None else (("x-user", user),))

    def state(self):
        told, made, waiting = (int(number) for number in self.echo("state").split())
        return told, made, waiting

    def close(self):
        self.channel.close()


def until(what, is_so):
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end, f"not within 30 s: {what}"
        time.sleep(0.02)


def is_told(caller, before):
    until("the other end is told", lambda: caller.state()[0] > before[0])


def fails(call, code):
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() == code, f"{error.code()}: {error.details()}"
        return error.details()
    raise AssertionError("the call did not fail")


def at_once(count, run):
    with futures.ThreadPoolExecutor(count) as pool:
        list(pool.map(run, range(count)))


def check_values(values, first, count, size):
    letters = "x" * size
    at = first
    for value in values:
        assert value == f"{at}:{letters}", f"value {at}"
        at += 1
    assert at == count, f"{at} values"


def unary(caller):
    for text in ["hello", "ü€😀", ""]:
        assert caller.echo(text) == text


def many_calls(caller):
    def run(one):
        for n in range(30):
            assert caller.echo(f"{one}.{n}") == f"{one}.{n}"

    at_once(100, run)


def error(caller):
    details = fails(lambda: caller.echo("fail", user="me"), grpc.StatusCode.NOT_FOUND)
    assert details == "No order of me: ü", details


def down(caller):
    check_values(caller.down("20000 10"), 0, 20_000, 10)


def up(caller):
    assert caller.up("x" * 10 for _ in range(20_000)) == "20000 200000"


def ping_pong(caller):
    sent = queue.Queue()
    answers = caller.both(iter(sent.get, None))
    for turn in range(500):
        sent.put(str(turn))
        assert next(answers) == f"<{turn}>"
    sent.put(None)
    assert list(answers) == []


def both_large(caller):
    answers = list(caller.both("x" * 300_000 for _ in range(10)))
    assert [len(one) for one in answers] == [300_002] * 10


def huge(caller):
    text = "x" * 20_000_000
    assert caller.echo(text) == text


def large_at_once(caller):
    def run(at):
        text = str(at % 10) * 300_000
        assert caller.echo(text) == text

    at_once(40, run)


def deadline(caller):
    before = caller.state()
    fails(lambda: caller.echo("wait", timeout=0.3), grpc.StatusCode.DEADLINE_EXCEEDED)
    is_told(caller, before)


def cancel(caller):
    before = caller.state()
    call = caller.echoes.future("wait")
    until("the call is there", lambda: caller.state()[2] > before[2])
    call.cancel()
    assert call.code() == grpc.StatusCode.CANCELLED, call.code()
    is_told(caller, before)


def cancel_stream(caller):
    before = caller.state()
    values = caller.down("1000000 100")
    for _ in range(5):
        next(values)
    values.cancel()
    is_told(caller, before)
    assert caller.state()[1] < 1_000_000


def slow_reader(caller):
    values = caller.down("2000 50000")
    next(values)
    made = [-1]

    def stands_still():
        before = made[0]
        made[0] = caller.state()[1]
        time.sleep(0.3)
        return made[0] == before

    until("the other end stands still", stands_still)
    assert made[0] <= AHEAD, f"{made[0]} values of 50 KB were made; one was read"
    check_values(values, 1, 2_000, 50_000)


def connections(_caller):
    callers = [Caller(PORT) for _ in range(200)]
    futures_ = [one.echoes.future(str(at)) for at, one in enumerate(callers)]
    answers = [one.result(60) for one in futures_]
    for one in callers:
        one.close()
    assert answers == [str(at) for at in range(200)]


CHECKS = {
    "unary": unary,
    "3,000 calls by 100 callers": many_calls,
    "error": error,
    "20,000 values down": down,
    "20,000 values up": up,
    "ping-pong": ping_pong,
    "300 KB both ways": both_large,
    "20 MB": huge,
    "40 x 300 KB at once": large_at_once,
    "deadline, both ends": deadline,
    "cancel": cancel,
    "cancel of a stream": cancel_stream,
    "slow reader": slow_reader,
    "200 connections": connections,
}


def print_checks():
    caller = Caller(PORT)
    for name, run in CHECKS.items():
        line = {"check": name}
        failed = []

        def attempt():
            try:
                run(caller)
            except BaseException as error:  # noqa: BLE001
                failed.append(error)

        thread = threading.Thread(target=attempt, daemon=True)
        thread.start()
        thread.join(60)
        if thread.is_alive():
            line["error"] = "not within 60 s"
        elif failed:
            line["error"] = (repr(failed[0]) or type(failed[0]).__name__)[:500]
        print(json.dumps(line), flush=True)
    caller.close()


class State:
    """What the handlers were told, and have made."""

    def __init__(self):
        self.lock = threading.Lock()
        self.told = 0
        self.made = 0
        self.waiting = 0


def serve():
    state = State()

    def add(name, number):
        with state.lock:
            setattr(state, name, getattr(state, name) + number)

    def echo(text, context):
        if text == "fail":
            user = dict(context.invocation_metadata())["x-user"]
            context.abort(grpc.StatusCode.NOT_FOUND, f"No order of {user}: ü")
        if text == "state":
            return f"{state.told} {state.made} {state.waiting}"
        if text != "wait":
            return text
        gone = threading.Event()
        add("waiting", 1)
        if context.add_callback(gone.set):
            gone.wait()
        add("waiting", -1)
        add("told", 1)
        return ""

    def down(text, context):
        count, size = (int(number) for number in text.split())
        letters = "x" * size
        state.made = 0
        done = threading.Event()
        context.add_callback(lambda: None if done.is_set() else add("told", 1))
        for at in range(count):
            state.made += 1
            yield f"{at}:{letters}"
        done.set()

    def up(values, _context):
        count = letters = 0
        for value in values:
            count += 1
            letters += len(value)
        return f"{count} {letters}"

    def both(values, _context):
        for value in values:
            yield f"<{value}>"

    def handler(make, run):
        return make(run, request_deserializer=read, response_serializer=write)

    handlers = {
        "Echo": handler(grpc.unary_unary_rpc_method_handler, echo),
        "Down": handler(grpc.unary_stream_rpc_method_handler, down),
        "Up": handler(grpc.stream_unary_rpc_method_handler, up),
        "Both": handler(grpc.stream_stream_rpc_method_handler, both),
    }
    server = grpc.server(futures.ThreadPoolExecutor(64), options=OPTIONS)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("checks.Checks", handlers),))
    print(json.dumps({"port": server.add_insecure_port("127.0.0.1:0")}), flush=True)
    server.start()
    sys.stdin.read()
    server.stop(0)


if sys.argv[1] == "serve":
    serve()
else:
    PORT = int(sys.argv[2])
    print_checks()
