/** The trailers that tell how a call has ended, in gRPC and gRPC-Web. */
import { toBase64 } from './base64.ts'
import { CODES } from './codes.ts'
import { statusBytes } from './details.ts'
import type { Failure } from './failure.ts'
import type { HeaderList } from './metadata.ts'
import { writePercent } from './percent.ts'

/** The room for trailers. Without it there is no limit. */
export interface TrailerRoom {
  /** Most characters of `grpc-message`; the text is cut there. */
  readonly message: number
  /** Most bytes of `grpc-status-details-bin` before they are encoded; larger details are left out. */
  readonly details: number
  /** Details were left out. */
  tooLarge(size: number): void
}

/**
 * The trailers that tell how a call of gRPC has ended: status, message and details.
 *
 * @param failure default: the call has succeeded
 */
export function statusTrailers(failure?: Failure, room?: TrailerRoom): HeaderList {
  if (failure === undefined) return [['grpc-status', '0']]
  const { code, message, details } = failure
  const trailers: [string, string][] = [['grpc-status', String(CODES[code].number)]]
  if (message !== '')
    trailers.push(['grpc-message', writePercent(message, room?.message ?? Number.POSITIVE_INFINITY)])
  if (details.length === 0) return trailers
  const bytes = statusBytes(failure)
  if (room !== undefined && bytes.length > room.details) room.tooLarge(bytes.length)
  else trailers.push(['grpc-status-details-bin', toBase64(bytes)])
  return trailers
}
