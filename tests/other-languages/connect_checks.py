"""
The client of Connect for Python, with the code that its generator makes of shop.proto. Arguments: an address, a protocol,
and a format. Prints what it got as JSON.
"""

import asyncio
import json
import sys

from connectrpc.compat import google_protobuf_binary_codec, google_protobuf_json_codec
from connectrpc.errors import ConnectError
from connectrpc.protocol import ProtocolType
from gen.shop_connect import OrdersClient
from gen.shop_pb2 import GetOrderRequest, Order
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Value
from google.rpc.error_details_pb2 import ErrorInfo
from pyqwest import Client, HTTPTransport, HTTPVersion

ADDRESS, PROTOCOL, FORMAT = sys.argv[1:]


async def failure(call):
    try:
        await call
    except ConnectError as error:
        details = {detail.type_name: detail.message_bytes for detail in error.details}
        info = details.get("google.rpc.ErrorInfo")
        value = details.get("google.protobuf.Value")
        return {
            "code": error.code.value,
            "message": error.message,
            "reason": info and ErrorInfo.FromString(info).reason,
            "details": value and MessageToDict(Value.FromString(value)),
        }


async def read(stream, count):
    prices = []
    async for order in stream:
        prices.append(order.price)
        if len(prices) == count:
            break
    # Leaves the stream.
    await stream.aclose()
    return prices


async def orders_up():
    for name in ["8", "9"]:
        yield Order(id=name)


async def outcome(orders):
    order = await orders.get_order(GetOrderRequest(id="tea ü"))
    return {
        "one": {"id": order.id, "price": order.price},
        "prices": await read(orders.watch_orders(GetOrderRequest(id="tea")), 4),
        "endless": len(await read(orders.watch_orders(GetOrderRequest(id="endless")), 1_000)),
        "added": (await orders.add_orders(orders_up())).count,
        "error": await failure(orders.get_order(GetOrderRequest(id="0"))),
        "detailed": await failure(orders.get_order(GetOrderRequest(id="gone"))),
        "deadline": (await failure(orders.get_order(GetOrderRequest(id="never"), timeout_ms=300)))["code"],
    }


async def main():
    version = HTTPVersion.HTTP2 if PROTOCOL == "GRPC" else HTTPVersion.HTTP1
    transport = HTTPTransport(http_version=version)
    codec = google_protobuf_json_codec() if FORMAT == "json" else google_protobuf_binary_codec()
    async with OrdersClient(
        ADDRESS, protocol=ProtocolType[PROTOCOL], codec=codec, http_client=Client(transport)
    ) as orders:
        print(json.dumps(await outcome(orders)))


asyncio.run(main())
