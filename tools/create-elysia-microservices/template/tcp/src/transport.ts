/** The transport of all messages, TCP, and the store of durable events: a file. */
import { sqlite } from '@elysia-microservices/sqlite'
import { tcp } from 'elysia-microservices/tcp'

const { ORDERS_HOST = 'localhost', ORDERS_PORT = '4000' } = process.env
const { STOCK_HOST = 'localhost', STOCK_PORT = '4001', EVENTS_FILE = 'stock.db' } = process.env

const ADDRESSES = {
  orders: { host: ORDERS_HOST, port: Number(ORDERS_PORT) },
  stock: { host: STOCK_HOST, port: Number(STOCK_PORT) }
}

/** Makes the transport of a service, which listens at its address, or of its callers, which connect there. */
export function newTransport(service: keyof typeof ADDRESSES) {
  return tcp(ADDRESSES[service])
}

/** Makes the store of the durable events of `stock`, because TCP stores none. One process owns the file. */
export function newStore() {
  return sqlite(EVENTS_FILE)
}
