/** What an RSocket connection is made with. */
import type { Connection, Dispatcher } from '../../dispatch.ts'
import type { SharedLimits } from '../../limits/server-limits.ts'
import type { Logger } from '../../logger.ts'
import type { Timer } from '../connection.ts'
import type { Recover } from '../pending-call.ts'
import type { Credentials } from './composite-metadata.ts'
import type { LeaseOptions } from './lease.ts'
import type { MetadataReader } from './request-metadata.ts'
import type { ResumableConnections } from './resumable-connections.ts'
import type { ResumeOptions } from './resume.ts'

/** Whether a peer, or a request of it, is who it says. */
export interface AuthenticationRequest {
  /** What came as authentication metadata; `undefined` if nothing came. */
  readonly credentials: Credentials | undefined
  /** The route, when a request is asked about; `undefined` for the connection as a whole. */
  readonly route: string | undefined
  readonly connection: Connection
}

/** Throws, or rejects, or gives `false` to refuse. */
export type Authenticate = (request: AuthenticationRequest) => unknown

/** Options of both roles. */
export interface RSocketOptions {
  /** Who answers the other side's requests; without one they are refused. */
  readonly dispatcher: Dispatcher | undefined
  readonly logger: Logger
  readonly connection: Connection
  /** Bytes of metadata and data one message may have, fragments together. */
  readonly maxPayloadSize: number
  /** Bytes that may be received and wait to be handled. */
  readonly maxBufferSize: number
  /** Bytes that may wait to be sent. */
  readonly maxSendBufferSize: number
  /** Bytes a frame that is sent may have. */
  readonly fragmentSize: number
  /** Metadata that came by METADATA_PUSH. */
  readonly onMetadataPush?: ((metadata: Uint8Array) => void) | undefined
  readonly timer: Timer
}

/** Options of the side that connects. */
export interface RSocketClientOptions extends RSocketOptions {
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

/** Options of the side that is connected to. */
export interface RSocketServerOptions extends RSocketOptions {
  /** Requests of one connection that may be in flight; granted by leases to clients that honour them. */
  readonly lease: LeaseOptions | undefined
  readonly authenticate: Authenticate | undefined
  /** Milliseconds from the first byte until a connection must be set up and authenticated; 0 for no limit. */
  readonly handshakeTimeout: number
  readonly limits: SharedLimits
  /** The reader of a metadata MIME type, shared by the connections of a server. */
  metadataReader(mimeType: string): MetadataReader
  /** The connections that may be resumed; `undefined` if none may. */
  readonly resumable: ResumableConnections | undefined
}
