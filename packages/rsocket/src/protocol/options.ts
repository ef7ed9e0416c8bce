/** The options of RSocket connections. */
import type {
  ByteWriter,
  Dispatcher,
  Logger,
  PendingCall,
  Recover,
  Timer,
  TimerOwner
} from '@elysia-microservices/transport/kit'
import type { Reason } from '../connection/connection-errors.ts'
import type { SharedLimits } from '../limits/server-limits.ts'
import type { AnswerWatch } from './answer-watch.ts'
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
  /** Most bytes that may be received and wait to be handled. */
  readonly maxBufferSize: number
  /** Most bytes that may wait to be sent. */
  readonly maxUnsent: number
  /** Most bytes of a sent frame. Default: the limit of the protocol. */
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
  /** Adds entries to the metadata of SETUP, such as the client's name. Default: none. */
  introduce?(out: ByteWriter): void
  /** The timeout that `introduce` tells, so that calls which have it need not. Default: 0, no limit. */
  readonly knownTimeout?: number
  /** The server's address for messages, such as `tcp://localhost:4000`. */
  readonly where: string
  /** Says why the socket was lost. Default: the message of its error. */
  readonly reasonOf?: Reason | undefined
  /**
   * Makes the side that answers the server's requests, with `clientResponder`. Without it, the server's requests are
   * refused.
   */
  readonly responder: NewResponder | undefined
  readonly dataMimeType: string
  readonly toWireError: ToWireError
  /** Milliseconds between KEEPALIVE frames. */
  readonly keepaliveInterval: number
  /** Milliseconds without any frame after which the server counts as dead. */
  readonly keepaliveLifetime: number
  /**
   * Makes the watch on the server's answers, with `answersWithin`: to SETUP, to RESUME, and to a check after a call has
   * timed out while nothing arrived. Default: only `keepaliveLifetime` counts.
   */
  answers?(timer: Timer): AnswerWatch
  /** Milliseconds for a call without its own timeout; 0 for no limit. */
  readonly timeout: number
  /** Whether the client waits for the server's leases. */
  readonly lease: boolean
  /** Options for resuming a lost connection; `undefined`: the connection is not resumed. */
  readonly resume: Required<ResumeOptions> | undefined
  /** Called before a call fails; returns true if the function has taken the call over. */
  readonly recover?: Recover | undefined
  /** The name of the server, for the errors of calls. Default: the server has no name. */
  readonly endpoint?: string | undefined
  /** The server has refused an event that had left this process. Default: nothing happens. */
  eventRefused?(pattern: string, error: Error): void
  /** The server goes away: no new calls may be made on this connection. */
  goingAway(): void
  /**
   * Takes a call that was not sent, because it waits for a lease of a server that goes away. Default: such calls wait for
   * the end of the connection.
   */
  handOver?(call: PendingCall): void
  /** A lost connection was resumed over another socket. Default: does nothing. */
  resumed?(): void
}

/** Options of a server's connections, the same for all of them. */
export interface ServerConnectionOptions extends ConnectionOptions {
  /** The name of the transport, as messages have it. */
  readonly transport: string
  readonly dispatcher: Dispatcher
  readonly authenticate: Judge | undefined
  /**
   * Why an accepted user may not have a further connection; `undefined` if the user may. Default: every user may.
   * @param resumed the connection that the user resumes, which does not count; `undefined`: a new connection
   */
  refuses?(user: string, resumed?: object): string | undefined
  /** Most milliseconds until a connection is set up and authenticated; 0 for no limit. */
  readonly handshakeTimeout: number
  readonly limits: SharedLimits
  /** Returns the reader for a metadata MIME type, which all connections of a server share. */
  metadataReader(mimeType: string): MetadataReader
  /** The connections that can be resumed; `undefined` if resuming is off. */
  readonly resumable: ResumableConnections | undefined
  /**
   * Whether the token of a lost connection is enough to resume it, because clients send no credentials before RESUME.
   * Default: false, the same user must ask.
   */
  readonly resumesByToken?: boolean
}
