/** The exports for connecting a protocol with a socket. */
export { ConnectionTimes, type TimeLimits } from './connection/connection-times.ts'
export { Outbox } from './connection/outbox.ts'
export { Session, type SessionOptions } from './connection/session.ts'
export { NOBODY, type Socket, type SocketListener } from './connection/socket.ts'
export { newTimer } from './connection/timer.ts'
