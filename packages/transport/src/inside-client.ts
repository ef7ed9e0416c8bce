/** The parts of a client for packages that build on clients, such as the console; its users do not see them. */
import type { DurableCaller } from './durable/published.ts'
import type { Traits } from './transport.ts'

/** The field of a client that has its `InsideClient`. A registered symbol, because a bundle may have this file twice. */
export const INSIDE: unique symbol = Symbol.for('elysia-microservices.inside-client') as never

/** The transport behind a client. */
export interface InsideClient {
  readonly traits: Traits
  /** `undefined` if the transport stores no events. */
  readonly durable: DurableCaller | undefined
  /** The name of the transport or store that has its durable events; `undefined`: none has. */
  readonly engine: string | undefined
}

/** The transport behind a client; `undefined` for a client of a page, or of another library. */
export function insideOf(client: object): InsideClient | undefined {
  return (client as { readonly [INSIDE]?: InsideClient })[INSIDE]
}
