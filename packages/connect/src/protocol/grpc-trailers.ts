/** The last envelope of an answer in gRPC-Web: lines as in HTTP/1.1, with names in lower case. */
import { toBase64 } from './base64.ts'
import type { CallFailure } from './call-failure.ts'
import { CODES } from './codes.ts'
import type { HeaderList } from './connect-json.ts'
import { statusBytes } from './details.ts'
import { percentEncoded } from './percent.ts'

const utf8 = new TextEncoder()

/** The trailers that tell how a call has ended. */
export function statusTrailers(failure?: CallFailure): HeaderList {
  if (failure === undefined) return [['grpc-status', '0']]
  const { code, message, details } = failure
  return [
    ['grpc-status', String(CODES[code].number)],
    ['grpc-message', percentEncoded(message)],
    ...(details.length > 0 ? ([['grpc-status-details-bin', toBase64(statusBytes(failure))]] as const) : [])
  ]
}

/** The data of the last envelope. */
export function trailerBlock(trailers: HeaderList): Uint8Array {
  return utf8.encode(trailers.map(([name, value]) => `${name}: ${value}\r\n`).join(''))
}
