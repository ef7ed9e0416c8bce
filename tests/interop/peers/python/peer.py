"""A peer around rsocket-py; see peer-protocol.ts."""

import asyncio
import json
import sys
from base64 import b64decode, b64encode
from datetime import timedelta
from itertools import count

from reactivestreams.publisher import Publisher
from reactivestreams.subscriber import DefaultSubscriber
from reactivestreams.subscription import Subscription
from rsocket.error_codes import ErrorCode
from rsocket.exceptions import RSocketProtocolError
from rsocket.extensions.authentication import AuthenticationBearer, AuthenticationSimple
from rsocket.extensions.authentication_content import AuthenticationContent
from rsocket.extensions.composite_metadata import CompositeMetadata
from rsocket.extensions.helpers import (
    authenticate_bearer,
    authenticate_simple,
    composite,
    data_mime_type,
    metadata_item,
    route,
)
from rsocket.extensions.mimetypes import WellKnownMimeTypes
from rsocket.extensions.routing import RoutingMetadata
from rsocket.helpers import single_transport_provider
from rsocket.lease import DefinedLease
from rsocket.payload import Payload
from rsocket.request_handler import BaseRequestHandler
from rsocket.rsocket_client import RSocketClient
from rsocket.rsocket_server import RSocketServer
from rsocket.transports.tcp import TransportTCP

LINE_LIMIT = 64 * 1024 * 1024
COMPOSITE = WellKnownMimeTypes.MESSAGE_RSOCKET_COMPOSITE_METADATA

servers = {}
connections = {}
leases = {}
streams = {}
names = count(1)


def say(on, key, **what):
    print(json.dumps({"on": on, "key": key, **what}), flush=True)


def encoded(data):
    return b64encode(bytes(data or b"")).decode()


def payload_of(command, metadata=None):
    return Payload(b64decode(command["data"]), metadata)


def code_of(error):
    return error.error_code if isinstance(error, RSocketProtocolError) else ErrorCode.APPLICATION_ERROR


def say_error(key, error):
    message = error.data if isinstance(error, RSocketProtocolError) else str(error)
    say("error", key, code=code_of(error), message=message)


def error_of(command):
    if command["code"] == ErrorCode.APPLICATION_ERROR:
        return Exception(command["message"])
    return RSocketProtocolError(ErrorCode(command["code"]), command["message"])


def credentials_item(credentials):
    if credentials["type"] == "simple":
        return authenticate_simple(credentials["username"], credentials["password"])
    return authenticate_bearer(credentials["token"])


def metadata_of(command):
    items = [route(command["route"])]
    if "headers" in command:
        headers = json.dumps(command["headers"]).encode()
        items.append(metadata_item(headers, WellKnownMimeTypes.APPLICATION_JSON))
    if "credentials" in command:
        items.append(credentials_item(command["credentials"]))
    if "dataMimeType" in command:
        items.append(data_mime_type(command["dataMimeType"].encode()))
    return composite(*items)


def read_metadata(metadata):
    read = {}
    for item in CompositeMetadata().parse(bytes(metadata or b"")).items:
        if isinstance(item, RoutingMetadata):
            read["route"] = bytes(item.tags[0]).decode()
        elif isinstance(item, AuthenticationContent):
            read["credentials"] = read_credentials(item.authentication)
        elif item.encoding == WellKnownMimeTypes.APPLICATION_JSON.value.name:
            read["headers"] = json.loads(item.content)
    return read


def read_credentials(authentication):
    if isinstance(authentication, AuthenticationSimple):
        username, password = bytes(authentication.username), bytes(authentication.password)
        return {"type": "simple", "username": username.decode(), "password": password.decode()}
    if isinstance(authentication, AuthenticationBearer):
        return {"type": "bearer", "token": bytes(authentication.token).decode()}
    return None


class Source(Publisher, Subscription):
    """Sends on a stream what commands say, and tells what the other side asks for."""

    def __init__(self, key):
        self.key = key
        self.subscriber = None

    def subscribe(self, subscriber):
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n):
        say("request", self.key, n=n)

    def cancel(self):
        say("cancel", self.key)

    def do_next(self, command):
        self.subscriber.on_next(payload_of(command), command["complete"])

    def do_complete(self, command):
        self.subscriber.on_complete()

    def do_error(self, command):
        self.subscriber.on_error(error_of(command))


class Sink(DefaultSubscriber):
    """Tells what comes on a stream."""

    def __init__(self, key):
        super().__init__()
        self.key = key

    def on_next(self, value, is_complete=False):
        say("next", self.key, data=encoded(value.data))
        if is_complete:
            say("complete", self.key)

    def on_complete(self):
        say("complete", self.key)

    def on_error(self, exception):
        say_error(self.key, exception)


class Stream:
    """Both directions of a stream, as far as there are."""

    def __init__(self, source=None, subscription=None):
        self.source = source
        self.subscription = subscription

    def obey(self, command):
        do = command["do"]
        if do == "request":
            self.subscription.request(command["n"])
        elif do == "cancel":
            self.subscription.cancel()
        else:
            getattr(self.source, "do_" + do)(command)


class Answer:
    """The future of a request with one answer, at the side that answers."""

    def __init__(self, key):
        self.key = key
        self.future = asyncio.get_running_loop().create_future()
        self.future.add_done_callback(self.done)

    def done(self, future):
        if future.cancelled():
            say("cancel", self.key)

    def do_next(self, command):
        self.future.set_result(payload_of(command))

    def do_complete(self, command):
        self.future.set_result(Payload(b""))

    def do_error(self, command):
        self.future.set_exception(error_of(command))


class Handler(BaseRequestHandler):
    """Answers what the other side of a connection asks: by telling, and doing what is said then."""

    def __init__(self, key, server=None, refuse=None):
        self.key = key
        self.server = server
        self.refuse = refuse

    async def on_setup(self, data_encoding, metadata_encoding, payload):
        if self.refuse is not None:
            raise Exception(self.refuse)
        credentials = read_metadata(payload.metadata).get("credentials")
        say(
            "accepted",
            self.server,
            connection=self.key,
            dataMimeType=bytes(data_encoding).decode(),
            metadataMimeType=bytes(metadata_encoding).decode(),
            **({} if credentials is None else {"credentials": credentials}),
        )

    def requested(self, kind, payload, stream):
        key = f"{self.key}.{next(names)}"
        streams[key] = stream(key)
        metadata = read_metadata(payload.metadata)
        say("requested", self.key, stream=key, kind=kind, data=encoded(payload.data), **metadata)
        return streams[key]

    async def request_response(self, payload):
        return self.requested("response", payload, lambda key: Stream(Answer(key))).source.future

    async def request_stream(self, payload):
        return self.requested("stream", payload, lambda key: Stream(Source(key))).source

    async def request_channel(self, payload):
        stream = self.requested("channel", payload, lambda key: Stream(Source(key)))
        sink = Sink(stream.source.key)
        stream.subscription = Lazy(sink)
        return stream.source, sink

    async def request_fire_and_forget(self, payload):
        self.requested("event", payload, lambda key: Stream())

    async def on_metadata_push(self, payload):
        say("pushed", self.key, data=encoded(payload.metadata))

    async def on_error(self, error_code, payload):
        say("closed", self.key, code=error_code, message=bytes(payload.data).decode())

    async def on_keepalive_timeout(self, time_since_last_keepalive, rsocket):
        # The library tells, and leaves it to the application to close: not from within its own task.
        self.closing = asyncio.create_task(close(self.key))

    async def on_close(self, rsocket, exception=None):
        say("closed", self.key)


class Lazy:
    """The subscription that a sink is going to have."""

    def __init__(self, sink):
        self.sink = sink

    def request(self, n):
        self.sink.subscription.request(n)

    def cancel(self):
        self.sink.subscription.cancel()


class Leases(Publisher):
    """Grants the leases that commands say."""

    def subscribe(self, subscriber):
        self.subscriber = subscriber

    def grant(self, command):
        time_to_live = timedelta(milliseconds=command["timeToLive"])
        self.subscriber.on_next(DefinedLease(command["requests"], time_to_live))


async def listen(key, command):
    if "resume" in command:
        raise Exception("rsocket-py resumes no connections")

    async def accept(reader, writer):
        connection = f"{key}.{next(names)}"
        options = {}
        if command.get("lease"):
            leases[connection] = options["lease_publisher"] = Leases()
        connections[connection] = RSocketServer(
            TransportTCP(reader, writer),
            handler_factory=lambda: Handler(connection, key, command.get("refuse")),
            fragment_size_bytes=command.get("fragmentSize"),
            **options,
        )

    servers[key] = await asyncio.start_server(accept, "127.0.0.1", 0)
    say("listening", key, port=servers[key].sockets[0].getsockname()[1])


async def connect(key, command):
    if "resume" in command:
        raise Exception("rsocket-py resumes no connections")
    transport = TransportTCP(*await asyncio.open_connection("127.0.0.1", command["port"]))
    options = {}
    if "credentials" in command:
        options["setup_payload"] = Payload(b"", composite(credentials_item(command["credentials"])))
    connections[key] = RSocketClient(
        single_transport_provider(transport),
        handler_factory=lambda: Handler(key),
        honor_lease=command.get("lease", False),
        data_encoding=command.get("dataMimeType", "application/json").encode(),
        metadata_encoding=COMPOSITE,
        keep_alive_period=timedelta(milliseconds=command.get("keepaliveInterval", 20_000)),
        max_lifetime_period=timedelta(milliseconds=command.get("keepaliveLifetime", 90_000)),
        fragment_size_bytes=command.get("fragmentSize"),
        **options,
    )
    await connections[key].connect()
    say("connected", key)


def tell_answer(key, future):
    if future.cancelled():
        return
    if future.exception() is not None:
        return say_error(key, future.exception())
    say("next", key, data=encoded(future.result().data))
    say("complete", key)


def ask(key, command):
    rsocket = connections[command["connection"]]
    payload = payload_of(command, metadata_of(command))
    kind = command["kind"]
    if kind == "response":
        future = asyncio.ensure_future(rsocket.request_response(payload))
        future.add_done_callback(lambda done: tell_answer(key, done))
        streams[key] = Stream(subscription=future)
    elif kind == "event":
        rsocket.fire_and_forget(payload).add_done_callback(lambda _: say("complete", key))
    else:
        source = None if command["complete"] or kind == "stream" else Source(key)
        asked = rsocket.request_stream(payload) if kind == "stream" else rsocket.request_channel(payload, source)
        streams[key] = Stream(source, asked)
        asked.initial_request_n(command["n"]).subscribe(Sink(key))


async def close(key):
    if key in servers:
        servers.pop(key).close()
    elif key in connections:
        await connections.pop(key).close()


async def obey(command):
    do, key = command["do"], command["key"]
    if do == "listen":
        await listen(key, command)
    elif do == "connect":
        await connect(key, command)
    elif do == "close":
        await close(key)
    elif do == "open":
        ask(key, command)
    elif do == "push":
        await connections[key].metadata_push(b64decode(command["data"]))
    elif do == "grant":
        leases[key].grant(command)
    else:
        streams[key].obey(command)


async def main():
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        command = json.loads(line)
        try:
            await obey(command)
        except Exception as error:
            say("failed", command["key"], message=str(error))


asyncio.run(main())
