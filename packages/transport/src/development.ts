/**
 * Lets services tell the development command that they listen. The two do not import each other: the command loads a
 * module into each process, and that module stores a function under a symbol that both know. Without the command there
 * is no such function, and nothing happens.
 */
import type { DispatchSettings } from './durable/dispatchers.ts'
import { type StoreQuestion, storeAnswer } from './durable/store-questions.ts'
import type { Address, ServerTransport, StoreTraits } from './transport.ts'

/** Tells that a service listens. */
export interface Announcement {
  /** The name of the service; `undefined` if the service has no name. */
  readonly service: string | undefined
  /** The transports of its calls. */
  readonly transports: readonly { readonly name: string; readonly address: Address | undefined }[]
  /** The store of its durable events, if that is beside the transports. */
  readonly store?: AnnouncedStore
}

/** A store that is asked through a process of its service: no other process may open a file that one has open. */
export interface AnnouncedStore {
  readonly name: string
  readonly stores: StoreTraits
  /** @throws the store's error */
  ask(question: StoreQuestion): Promise<unknown>
}

/** The symbol under which the process stores the function. */
const ANNOUNCE: unique symbol = Symbol.for('elysia-microservices.announce')

type Announced = { [ANNOUNCE]?: (announcement: Announcement) => void }

/** Whether the development command has started this process. */
export function isInDevelopment(): boolean {
  return (globalThis as Announced)[ANNOUNCE] !== undefined
}

/** Tells the development command that a service listens. @param servers those that have started */
export function announce(
  { name, storing, logger }: Pick<DispatchSettings, 'name' | 'storing' | 'logger'>,
  servers: readonly ServerTransport[]
): void {
  const carrying = servers.filter((server) => server !== storing?.server)
  const store = storing && {
    name: storing.store.name,
    stores: storing.store.stores,
    ask: (question: StoreQuestion) => storeAnswer(storing.store, { logger, name }, question)
  }
  ;(globalThis as Announced)[ANNOUNCE]?.({
    service: name,
    transports: carrying.map((server) => ({ name: server.name, address: server.address })),
    ...(store && { store })
  })
}
