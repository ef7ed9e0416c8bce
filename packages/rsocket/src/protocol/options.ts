/** The options of RSocket connections. */
import type {
  ByteWriter,
  Dispatcher,
  Logger,
  Recover,
  Timer,
  TimerOwner
} from '@elysia-microservices/transport/kit'
import type { SharedLimits } from '../limits/server-limits.ts'
import type { Judge } from './authenticate.ts'
import type { ToWireError } from './failure-codes.ts'
import type { MetadataReader } from './request-metadata.ts'
import type { ResponderInit, RSocketResponder } from './responder.ts'
import type { ResumableConnections } from './resumable-connections.ts'
import type { ResumeOptions } from './resume.ts'

/** Options of client and server connections. */
export interface ConnectionOptions {
  readonly logger: Logger
  /** Most bytes, metadata and data together, of all incomplete fragmented messages. */
  readonly maxMessageSize: number
  /** Most bytes received and waiting to be handled. */
  readonly maxBufferSize: number
  /** Most bytes that may wait to be sent. */
  readonly maxUnsent: number
  /** Most bytes of a sent frame. Default: the protocol's limit. */
  readonly maxFrameLength?: number
  /** Makes the timer of a connection. */
  newTimer(owner: TimerOwner): Timer
}

/** Makes the answering side of a connection. */
export type NewResponder = (
  connection: Pick<ResponderInit, 'wire' | 'logger' | 'codec' | 'timer' | 'settled'>
) => RSocketResponder

/** Options of a client's connection. */
export interface ClientConnectionOptions extends ConnectionOptions {
  /** Adds to the metadata of SETUP what the client calls itself. Default: it says nothing. */
  sayCaller?(out: ByteWriter): void
  /** The server's address for messages, such as `tcp://localhost:4000`. */
  readonly where: string
  /** Makes the side that answers the server's requests, by `clientResponder`; without it they are refused. */
  readonly responder: NewResponder | undefined
  readonly dataMimeType: string
  readonly toWireError: ToWireError
  /** Milliseconds between KEEPALIVE frames. */
  readonly keepaliveInterval: number
  /** Milliseconds without any frame after which the server counts as dead. */
  readonly keepaliveLifetime: number
  /** Milliseconds for a call without its own timeout; 0 for no limit. */
  readonly timeout: number
  readonly tellTimeout: boolean
  /** Whether to wait for the server's leases. */
  readonly lease: boolean
  /** Resuming of a lost connection; `undefined`: it is not resumed. */
  readonly resume: Required<ResumeOptions> | undefined
  /** Is asked before a call fails. */
  readonly recover?: Recover | undefined
  /** The name of the server, for the errors of calls. Default: it has none. */
  readonly endpoint?: string | undefined
  /** The server goes away: no new calls may be made on this connection. */
  goingAway(): void
  /** A lost connection goes on, over another socket. Default: nobody is told. */
  resumed?(): void
}

/** Options of a server's connections, the same for all of them. */
export interface ServerConnectionOptions extends ConnectionOptions {
  /** The name of the transport, as messages have it. */
  readonly transport: string
  readonly dispatcher: Dispatcher
  readonly authenticate: Judge | undefined
  /** Why a user that is let in may have no further connection; `undefined`: it may. Default: every user may. */
  refuses?(user: string): string | undefined
  /** Milliseconds in which a connection must be set up and authenticated; 0 for no limit. */
  readonly handshakeTimeout: number
  readonly limits: SharedLimits
  /** The reader for a metadata MIME type, shared by all connections of a server. */
  metadataReader(mimeType: string): MetadataReader
  /** The connections that can be resumed; `undefined` if none can. */
  readonly resumable: ResumableConnections | undefined
}
