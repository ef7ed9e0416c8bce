/**
 * The exports for carrying RSocket over a transport: the protocol of both ends, the interfaces between a protocol and
 * its connection, and limits.
 */
export {
  cannotConnect,
  connectionClosed,
  type Reason,
  sendBufferFull
} from './connection/connection-errors.ts'
export { ConnectionPeer, type PeerSide } from './connection/peer.ts'
export type {
  ClientProtocol,
  FrameOutput,
  Output,
  ProtocolConnection,
  WaitingStream
} from './connection/protocol.ts'
export { reasonOf } from './connection/system-errors.ts'
export {
  ADAPTIVE_DEFAULTS,
  type AdaptiveConcurrencyOptions,
  type ConcurrencyBounds
} from './limits/adaptive-concurrency.ts'
export { Admission } from './limits/admission.ts'
export { counting } from './limits/counting.ts'
export { NO_LIMITS, ServerLimits, type SharedLimits } from './limits/server-limits.ts'
export {
  type AskCredentials,
  credentialsOption,
  type KeepaliveOptions,
  type RSocketClientOptions,
  type RSocketServerOptions,
  rsocketClientOptions,
  rsocketNames,
  rsocketServerOptions
} from './options/rsocket-options.ts'
export { type AnswerWatch, answersWithin, NEST_HINT } from './protocol/answer-watch.ts'
export {
  Accepted,
  type Authenticate,
  type Authentication,
  type AuthenticationRequest,
  type Judge,
  type User,
  type Verdict,
  verdictOf
} from './protocol/authenticate.ts'
export { writeCaller, writeName } from './protocol/caller-entry.ts'
export { ClientConnection } from './protocol/client-connection.ts'
export { clientResponder } from './protocol/client-responder.ts'
export type { Credentials } from './protocol/composite-metadata.ts'
export { writeDefaultTimeout } from './protocol/default-timeout.ts'
export { type ToWireError, toWireError, type WireError } from './protocol/failure-codes.ts'
export { ErrorCode } from './protocol/frame-type.ts'
export { writeError } from './protocol/frames.ts'
export type { ClientConnectionOptions, NewResponder, ServerConnectionOptions } from './protocol/options.ts'
export { MetadataReader } from './protocol/request-metadata.ts'
export { ResumableConnections } from './protocol/resumable-connections.ts'
export { type ResumeOptions, SERVER_RESUME_DEFAULTS, type ServerResumeOptions } from './protocol/resume.ts'
export { ServerHandshake } from './protocol/server-handshake.ts'
