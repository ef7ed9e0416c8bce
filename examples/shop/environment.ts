/** The settings that the programs of the shop read from their environment. */
import { nats } from '@elysia-microservices/nats'

const PORTS = { orders: 4001, stock: 4002 }

/** @throws {Error} it is not there */
export function given(name: string, otherwise?: string): string {
  const value = process.env[name] || otherwise
  if (value === undefined) throw new Error(`${name} is not set; "npm run dev" sets it`)
  return value
}

/** Where a service listens, and where its callers find it. */
export const addressOf = (name: keyof typeof PORTS) => ({
  host: '127.0.0.1',
  port: Number(given(`${name.toUpperCase()}_PORT`, String(PORTS[name])))
})

/** The broker, which keeps events until they are handled. */
export const broker = () => nats({ servers: given('NATS_URL') })
