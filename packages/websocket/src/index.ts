/** The public interface for servers. What is not listed here does not exist for users. */
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
