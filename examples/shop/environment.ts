/** The settings that the programs of the shop read from their environment. */
import { nats } from '@elysia-microservices/nats'

const PORTS = { orders: 4001, stock: 4002 }

/** A variable of the environment. @throws {Error} the variable is not set */
export function given(name: string, otherwise?: string): string {
  const value = process.env[name] || otherwise
  if (value === undefined) throw new Error(`${name} is not set; "npm run dev" sets it`)
  return value
}

/** The address on which a service listens, and to which its callers connect. */
export const addressOf = (name: keyof typeof PORTS) => ({
  host: '127.0.0.1',
  port: Number(given(`${name.toUpperCase()}_PORT`, String(PORTS[name])))
})

/** The broker, which keeps events until they are handled. */
export const broker = () => nats({ url: given('NATS_URL') })
