/** The error codes of RST_STREAM and GOAWAY, and the two kinds of errors. RFC 9113, sections 5.4 and 7. */
import { ProtocolError } from '@elysia-microservices/transport/kit'

/** The codes, by their names in the RFC. */
export const ErrorCode = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  SETTINGS_TIMEOUT: 0x4,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  CONNECT_ERROR: 0xa,
  ENHANCE_YOUR_CALM: 0xb,
  INADEQUATE_SECURITY: 0xc,
  HTTP_1_1_REQUIRED: 0xd
} as const

const NAMES: readonly string[] = Object.keys(ErrorCode)

/** The name of a code; its number if the RFC does not have it. */
export function nameOfCode(code: number): string {
  return NAMES[code] ?? `0x${code.toString(16)}`
}

/** An error of the whole connection: it is told to the peer by GOAWAY, and the connection ends. */
export class ConnectionFault extends ProtocolError {
  override name = 'ConnectionFault'
  /** One of `ErrorCode`. */
  readonly errorCode: number
  /** Why, in words for the peer. */
  readonly told: string

  /** @param told why, in words for the peer. Default: the message */
  constructor(errorCode: number, message: string, told?: string) {
    super(`${message} (HTTP/2 ${nameOfCode(errorCode)})`)
    this.errorCode = errorCode
    this.told = told ?? this.message
  }
}

/** An error of one stream: it is told to the peer by RST_STREAM, and the connection goes on. */
export class StreamFault extends ProtocolError {
  override name = 'StreamFault'
  readonly streamId: number
  /** One of `ErrorCode`. */
  readonly errorCode: number

  constructor(streamId: number, errorCode: number, message: string) {
    super(`${message} (HTTP/2 ${nameOfCode(errorCode)}, stream ${streamId})`)
    this.streamId = streamId
    this.errorCode = errorCode
  }
}

/** The peer has broken a rule of HTTP/2 for which there is no other code. */
export function protocolFault(message: string): ConnectionFault {
  return new ConnectionFault(ErrorCode.PROTOCOL_ERROR, message)
}

/** A frame has a length that its type does not allow, or that is above SETTINGS_MAX_FRAME_SIZE. */
export function frameSizeFault(message: string): ConnectionFault {
  return new ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, message)
}

/** The peer sends more of something than any honest peer needs. */
export function tooMuch(message: string): ConnectionFault {
  return new ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, message)
}

/** The words by which clients of gRPC know that they must ping less often. grpc: doc/keepalive.md. */
export const TOO_MANY_PINGS = 'too_many_pings'

/** The peer asks for signs of life too often. @param least milliseconds between two PINGs */
export function tooManyPings(least: number): ConnectionFault {
  const message = `The client sends PING more often than limits.pings (${least} ms) allows, while nothing is sent to it`
  return new ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, message, TOO_MANY_PINGS)
}
