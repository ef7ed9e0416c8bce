/** Decides whether a server accepts a SETUP and its sender. Protocol.md, "SETUP Frame". */
import {
  hasCodec,
  isThenable,
  knownMimeTypes,
  quietLog,
  whenSettled
} from '@elysia-microservices/transport/kit'
import { ConnectionPeer, type PeerSide } from '../connection/peer.ts'
import { type Verdict, verdictOf } from './authenticate.ts'
import type { Credentials } from './composite-metadata.ts'
import { ErrorCode, MAJOR_VERSION, MINOR_VERSION } from './frame-type.ts'
import { MimeType } from './mime-type.ts'
import type { ServerConnectionOptions } from './options.ts'
import { parseComposite } from './request-metadata.ts'
import type { Setup } from './setup.ts'

/** Most log lines in 10 seconds about refused clients, because peers choose how often they connect. */
const MOST_REFUSED = 20

/** The code and message with which a SETUP is refused. */
export interface SetupRefusal {
  readonly code: number
  readonly message: string
}

/** The reason for which a server cannot accept a SETUP; `undefined` if the server can. */
export function setupRefusal(
  setup: Setup,
  { limits, resumable }: Pick<ServerConnectionOptions, 'limits' | 'resumable'>
): SetupRefusal | undefined {
  const { majorVersion, minorVersion, dataMimeType, resumeToken } = setup
  if (majorVersion !== MAJOR_VERSION || minorVersion !== MINOR_VERSION) {
    const message = `Version ${majorVersion}.${minorVersion} is not supported; 1.0 is`
    return { code: ErrorCode.UNSUPPORTED_SETUP, message }
  }
  if (setup.keepaliveInterval === 0 || setup.maxLifetime === 0) {
    const message = 'Keepalive interval and lifetime must be more than 0 ms'
    return { code: ErrorCode.INVALID_SETUP, message }
  }
  const { maxHeaderSize } = limits
  const headerSize = setup.metadata?.length ?? 0
  if (headerSize > maxHeaderSize) {
    const message = `The metadata of SETUP has ${headerSize} bytes; limits.headerSize allows ${maxHeaderSize}`
    limits.refused('headers', message)
    return { code: ErrorCode.INVALID_SETUP, message }
  }
  if (resumeToken !== undefined && resumable === undefined) {
    const message = 'This server does not resume connections; connect without a resume token'
    return { code: ErrorCode.REJECTED_SETUP, message }
  }
  if (resumeToken !== undefined && resumable?.has(resumeToken)) {
    return { code: ErrorCode.REJECTED_SETUP, message: 'The resume token belongs to another connection' }
  }
  if (!hasCodec(dataMimeType)) {
    const known = knownMimeTypes().join(', ')
    const message = `There is no codec for data of type ${dataMimeType}; there are ${known}`
    return { code: ErrorCode.UNSUPPORTED_SETUP, message }
  }
  return undefined
}

/**
 * Returns the verdict of `authenticate` on the sender of SETUP or RESUME; a promise if `authenticate` answers later. An
 * error that `authenticate` throws refuses the sender and is logged.
 * @param credentials reads the credentials that were sent
 */
export function judged(
  { authenticate, logger }: Pick<ServerConnectionOptions, 'authenticate' | 'logger'>,
  credentials: () => Credentials | undefined,
  side: PeerSide
): Verdict | Promise<Verdict> {
  if (authenticate === undefined) return true
  const refuse = (error: unknown) => {
    quietLog(logger).warn('refused client', 'A client was refused: authenticate failed', error, MOST_REFUSED)
    return false
  }
  try {
    const peer = new ConnectionPeer(side)
    const answer: unknown = authenticate({ credentials: credentials(), route: undefined, peer })
    if (typeof answer !== 'object' || answer === null || !isThenable(answer)) return verdictOf(answer)
    return whenSettled(answer, verdictOf, refuse)
  } catch (error) {
    return refuse(error)
  }
}

/**
 * Returns the credentials in a SETUP; `undefined` if there are none.
 * @throws {ProtocolError} the metadata is not valid composite metadata
 */
export function setupCredentials(setup: Setup): Credentials | undefined {
  if (setup.metadata === undefined || setup.metadataMimeType !== MimeType.COMPOSITE_METADATA) return undefined
  return parseComposite(setup.metadata).credentials
}
