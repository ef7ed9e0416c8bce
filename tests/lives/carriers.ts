/** The carriers of lives, and what each can do. */

export const CARRIERS = [
  'rsocket',
  'websocket',
  'nest',
  'grpc',
  'memory',
  'redis',
  'rabbitmq',
  'mqtt',
  'nats',
  'kafka',
  'sqlite',
  'postgres'
] as const
export type CarrierName = (typeof CARRIERS)[number]

/** Stores that may stand beside any transport. Alone, as carriers, they stand beside a transport within the process. */
export const BESIDE = ['sqlite', 'postgres'] as const satisfies readonly CarrierName[]
export type StoreName = (typeof BESIDE)[number]

/** Carriers whose clients have connections to their services. */
export const SOCKETS: ReadonlySet<CarrierName> = new Set(['rsocket', 'websocket', 'nest', 'grpc'])
/** Carriers with RSocket, whose services can call their clients. */
export const RSOCKETS: ReadonlySet<CarrierName> = new Set(['rsocket', 'websocket'])
/** Engines with a server that can be lost. */
export const ENGINES: ReadonlySet<CarrierName> = new Set(['redis', 'rabbitmq', 'mqtt', 'nats', 'kafka'])
/** Engines whose server can lose messages while all connections stay. */
export const MUTES: ReadonlySet<CarrierName> = new Set(['redis', 'nats'])
/** Carriers that store events. */
export const STORES: ReadonlySet<CarrierName> = new Set([
  'memory',
  'redis',
  'rabbitmq',
  'nats',
  'kafka',
  'sqlite',
  'postgres',
  // MQTT stores none; the process does.
  'mqtt'
])

/** Carriers whose dead letters can be given back one by one. */
export const REDRIVES: ReadonlySet<CarrierName> = new Set([
  'memory',
  'redis',
  'nats',
  'kafka',
  'sqlite',
  'postgres',
  'mqtt'
])
/** Carriers that keep events until their time. */
export const FUTURES: ReadonlySet<CarrierName> = new Set([
  'memory',
  'redis',
  'nats',
  'sqlite',
  'postgres',
  'mqtt'
])
/** Carriers that tell a group's backlog whole. */
export const BACKLOGS: ReadonlySet<CarrierName> = new Set(['memory', 'redis', 'sqlite', 'postgres', 'mqtt'])
/** Carriers that delete events by their age. */
export const AGES: ReadonlySet<CarrierName> = new Set(['redis', 'nats', 'kafka', 'sqlite', 'postgres'])
/** Carriers that tell of each event that a group had not taken when it was deleted. */
export const TELL_AGES: ReadonlySet<CarrierName> = new Set(['sqlite', 'postgres'])
/** Carriers that acknowledge events in transactions. */
export const TRANSACTIONAL: ReadonlySet<CarrierName> = new Set(BESIDE)

/** Carriers whose services and clients are in one process. */
export const WITHIN: ReadonlySet<CarrierName> = new Set(['memory', ...BESIDE])

/** The carrier or store that keeps the events of a life; `undefined`: none does. */
export function storeOf({
  carrier,
  store
}: {
  readonly carrier: CarrierName
  readonly store?: StoreName | undefined
}): CarrierName | undefined {
  return store ?? (STORES.has(carrier) ? carrier : undefined)
}
/** Stores whose processes begin no event of a paused group, also none that they had received before. */
export const HOLD_BACK: ReadonlySet<CarrierName> = new Set(['rabbitmq', 'kafka'])
