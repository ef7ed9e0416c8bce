"""A peer written with rsocket-py: `client PORT` asks a server and prints what came, `server` answers.

Every line of output is one JSON value. The server prints its port first and ends with its input.
"""

import asyncio
import json
import sys

from rsocket.awaitable.awaitable_rsocket import AwaitableRSocket
from rsocket.extensions.helpers import composite, route
from rsocket.extensions.mimetypes import WellKnownMimeTypes
from rsocket.helpers import create_future, single_transport_provider
from rsocket.payload import Payload
from rsocket.routing.request_router import RequestRouter
from rsocket.routing.routing_request_handler import RoutingRequestHandler
from rsocket.rsocket_client import RSocketClient
from rsocket.rsocket_server import RSocketServer
from rsocket.streams.stream_from_generator import StreamFromGenerator
from rsocket.transports.tcp import TransportTCP

FRAGMENT_SIZE = 1000


def say(name, value):
    print(json.dumps([name, value]), flush=True)


def request(pattern, value):
    return Payload(json.dumps(value).encode(), composite(route(pattern)))


def value_of(payload):
    return json.loads(bytes(payload.data))


async def client(port):
    connection = await asyncio.open_connection("127.0.0.1", port)
    async with RSocketClient(
        single_transport_provider(TransportTCP(*connection)),
        metadata_encoding=WellKnownMimeTypes.MESSAGE_RSOCKET_COMPOSITE_METADATA,
        data_encoding=WellKnownMimeTypes.APPLICATION_JSON,
        fragment_size_bytes=FRAGMENT_SIZE,
    ) as rsocket:
        asking = AwaitableRSocket(rsocket)
        for value in ["text €😀", {"a": [1, None, False]}]:
            say("response", value_of(await asking.request_response(request("echo", value))))
        megabyte = "é" * 500_000
        say("megabyte", value_of(await asking.request_response(request("echo", megabyte))) == megabyte)
        values = await asking.request_stream(request("count", 10), limit_rate=3)
        say("stream", [value_of(payload) for payload in values])
        for pattern in ["fail", "bug", "nobody"]:
            try:
                await asking.request_response(request(pattern, 1))
                say(pattern, "no error")
            except Exception as error:
                say(pattern, str(error))
        rsocket.fire_and_forget(request("event", {"id": 7}))
        say("after the event", value_of(await asking.request_response(request("echo", 1))))


def router():
    routes = RequestRouter()

    @routes.response("echo")
    async def echo(payload):
        return create_future(Payload(bytes(payload.data)))

    @routes.response("fail")
    async def fail():
        raise Exception("python says no")

    @routes.stream("count")
    async def count(payload):
        to = value_of(payload)

        def values():
            for n in range(to):
                yield Payload(json.dumps(n).encode()), n == to - 1

        return StreamFromGenerator(values)

    @routes.fire_and_forget("event")
    async def event(payload):
        say("event", value_of(payload))

    return routes


async def server():
    async def accept(reader, writer):
        RSocketServer(
            TransportTCP(reader, writer),
            handler_factory=lambda: RoutingRequestHandler(router()),
            fragment_size_bytes=FRAGMENT_SIZE,
        )

    listening = await asyncio.start_server(accept, "127.0.0.1", 0)
    say("port", listening.sockets[0].getsockname()[1])
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(client(int(sys.argv[2])) if sys.argv[1] == "client" else server())
