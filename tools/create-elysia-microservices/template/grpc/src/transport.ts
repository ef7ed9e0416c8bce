/** The transport of all messages, gRPC, and the store of durable events: a file. */
import { grpc } from '@elysia-microservices/grpc'
import { serviceProto } from '@elysia-microservices/protobuf'
import { sqlite } from '@elysia-microservices/sqlite'
import { orders, stock } from './contracts.ts'
import ordersNumbers from './orders.proto.json' with { type: 'json' }
import stockNumbers from './stock.proto.json' with { type: 'json' }

const { ORDERS_HOST = 'localhost', ORDERS_PORT = '50051' } = process.env
const { STOCK_HOST = 'localhost', STOCK_PORT = '50052', EVENTS_FILE = 'stock.db' } = process.env

const SERVICES = {
  orders: {
    host: ORDERS_HOST,
    port: Number(ORDERS_PORT),
    proto: serviceProto(orders, { numbers: ordersNumbers })
  },
  stock: {
    host: STOCK_HOST,
    port: Number(STOCK_PORT),
    proto: serviceProto(stock, { numbers: stockNumbers })
  }
}

/** Makes the transport of a service, which listens at its address, or of its callers, which connect there. */
export function newTransport(service: keyof typeof SERVICES) {
  return grpc(SERVICES[service])
}

/** Makes the store of the durable events of `stock`, because gRPC stores none. One process owns the file. */
export function newStore() {
  return sqlite(EVENTS_FILE)
}
