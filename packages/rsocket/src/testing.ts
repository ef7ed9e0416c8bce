/** The exports for testing a transport over RSocket: connections without sockets, frames as bytes and as text. */
export * from './testing/describe-frames.ts'
export * from './testing/peer.ts'
export * from './testing/queues.ts'
export * from './testing/rsocket-frames.ts'
export * from './testing/rsocket-peer.ts'
export * from './testing/service.ts'
export * from './testing/timers.ts'
export * from './testing/told.ts'
