/** The public interface for servers. Users cannot import anything that is not listed here. */
export type { Credentials, ServerResumeOptions } from '@elysia-microservices/rsocket'
export type { Exposing } from './exposing.ts'
export type {
  Upgrade,
  User,
  WebSocketAuthenticate,
  WebSocketAuthentication,
  WebSocketLimits,
  WebSocketOptions
} from './options.ts'
export type { WebSocketStats } from './server/door.ts'
export { websocket } from './websocket.ts'
