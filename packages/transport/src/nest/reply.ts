/** Reads reply packets as Nest's client does, and makes errors of this library of their errors. */
import { errorOf, PatternNotFoundError, RpcError } from '../errors/index.ts'
import { fieldsOfError } from '../wire-error.ts'
import type { NestPacket } from './packet.ts'
import { INTERNAL_ERROR, NO_MESSAGE_HANDLER } from './words.ts'

/**
 * Whether a packet comes from another system, because it has a key that Nest never writes. Then the whole packet is the
 * value.
 */
export function isForeign(packet: NestPacket): boolean {
  for (const key in packet) {
    if (key !== 'response' && key !== 'isDisposed' && key !== 'id' && key !== 'err' && key !== 'status')
      return true
  }
  return false
}

/**
 * Makes an error from `err` of a packet. Usually `err` is `{ status, message }`, from our services with `code` and
 * `details`, but a Nest handler may send any value. The error has that value in `received`. Its code is `INTERNAL` if
 * the handler failed unexpectedly, and `UNKNOWN` if `err` has no code.
 */
export function readRemoteError(err: unknown): RpcError {
  if (err === NO_MESSAGE_HANDLER) return new PatternNotFoundError(NO_MESSAGE_HANDLER, err)
  if (typeof err !== 'object' || err === null) return new RpcError({ message: String(err) }, err)
  const { code, message, details } = fieldsOfError(err)
  if (code === undefined && message === INTERNAL_ERROR.message) {
    return new RpcError({ code: 'INTERNAL', message, details }, err)
  }
  const text = typeof message === 'string' ? message : JSON.stringify(message ?? code ?? err)
  return code !== undefined
    ? errorOf(code, message === undefined ? code : text, details, err)
    : new RpcError({ message: text, details }, err)
}
