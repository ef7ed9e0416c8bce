/** What carries messages: TCP. */
import { tcp } from 'elysia-microservices/tcp'

const { ORDERS_HOST = 'localhost', ORDERS_PORT = '4000' } = process.env

/** For the service, which listens there, and for its callers. */
export function newTransport() {
  return tcp({ host: ORDERS_HOST, port: Number(ORDERS_PORT) })
}
