/** The carriers of lives, and what each can do. */

export const CARRIERS = [
  'rsocket',
  'websocket',
  'nest',
  'memory',
  'redis',
  'rabbitmq',
  'mqtt',
  'nats',
  'kafka',
  'sqlite'
] as const
export type CarrierName = (typeof CARRIERS)[number]

/** Carriers whose clients have connections to their services. */
export const SOCKETS: ReadonlySet<CarrierName> = new Set(['rsocket', 'websocket', 'nest'])
/** Carriers with RSocket, whose services can call their clients. */
export const RSOCKETS: ReadonlySet<CarrierName> = new Set(['rsocket', 'websocket'])
/** Engines with a server that can be lost. */
export const ENGINES: ReadonlySet<CarrierName> = new Set(['redis', 'rabbitmq', 'mqtt', 'nats', 'kafka'])
/** Carriers that store events. */
export const STORES: ReadonlySet<CarrierName> = new Set([
  'memory',
  'redis',
  'rabbitmq',
  'nats',
  'kafka',
  'sqlite',
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
  'mqtt'
])
/** Carriers that keep events until their time. */
export const FUTURES: ReadonlySet<CarrierName> = new Set(['memory', 'redis', 'sqlite', 'mqtt'])
