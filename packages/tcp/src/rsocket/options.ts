/** What an RSocket connection is made with. */
import type { Dispatcher, Logger, Recover, Timer } from '@elysia-microservices/transport/kit'
import type { SharedLimits } from '../limits/server-limits.ts'
import type { Authenticate } from './authenticate.ts'
import type { Credentials } from './composite-metadata.ts'
import type { MetadataReader } from './request-metadata.ts'
import type { ResumableConnections } from './resumable-connections.ts'
import type { ResumeOptions } from './resume.ts'

/** Options of both roles. */
export interface ConnectionOptions {
  readonly logger: Logger
  /** Bytes of metadata and data that messages which come in fragments may have together. */
  readonly maxMessageSize: number
  /** Bytes that may be received and wait to be handled. */
  readonly maxBufferSize: number
  /** Bytes that may wait to be sent. */
  readonly maxUnsent: number
  /** Bytes a frame that is sent may have. Default: as many as the protocol allows. */
  readonly maxFrameLength?: number
  /** Makes the timer of a connection. */
  newTimer(wake: (now: number) => void): Timer
}

/** Options of the side that connects. */
export interface ClientConnectionOptions extends ConnectionOptions {
  /** Where the server is, in messages: `tcp://localhost:4000`. */
  readonly where: string
  /** Who answers the server's requests; without one they are refused. */
  readonly dispatcher: Dispatcher | undefined
  readonly dataMimeType: string
  /** Milliseconds between KEEPALIVE frames. */
  readonly keepaliveInterval: number
  /** Milliseconds without any frame after which the server is taken for dead. */
  readonly keepaliveLifetime: number
  /** Milliseconds for a call that says nothing else; 0 for no limit. */
  readonly timeout: number
  readonly tellTimeout: boolean
  /** Wait for the server's leases. */
  readonly lease: boolean
  readonly credentials: Credentials | undefined
  /** Keep what is needed to resume a lost connection. */
  readonly resume: Required<ResumeOptions> | undefined
  /** Is asked before a call fails. */
  readonly recover?: Recover | undefined
  /** The server has said that it is going away: make no new calls on this connection. */
  goingAway(): void
}

/** Options of the side that is connected to: the same for all connections of a server. */
export interface ServerConnectionOptions extends ConnectionOptions {
  readonly dispatcher: Dispatcher
  readonly authenticate: Authenticate | undefined
  /** Milliseconds from the first byte until a connection must be set up and authenticated; 0 for no limit. */
  readonly handshakeTimeout: number
  readonly limits: SharedLimits
  /** The reader of a metadata MIME type, shared by the connections of a server. */
  metadataReader(mimeType: string): MetadataReader
  /** The connections that may be resumed; `undefined` if none may. */
  readonly resumable: ResumableConnections | undefined
}
