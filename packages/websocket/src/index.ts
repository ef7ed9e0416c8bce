/** The public interface for servers. Users cannot import anything that is not listed here. */
export type { Authentication, Credentials, ServerResumeOptions, User } from '@elysia-microservices/rsocket'
export type { Exposing } from './exposing.ts'
export type {
  Upgrade,
  WebSocketAuthenticate,
  WebSocketAuthentication,
  WebSocketLimits,
  WebSocketOptions
} from './options.ts'
export type { WebSocketStats } from './server/door.ts'
export { websocket } from './websocket.ts'
