/** Reads reply packets as Nest's client does, and turns wire errors into the error family. */
import { errorOf, PatternNotFoundError, RpcError } from '../errors/index.ts'
import type { NestPacket } from './packet.ts'
import { INTERNAL_ERROR, NO_MESSAGE_HANDLER } from './words.ts'

/** Whether a packet is of another system: it has a key Nest does not write. All of it is the value then. */
export function isForeign(packet: NestPacket): boolean {
  for (const key in packet) {
    if (key !== 'response' && key !== 'isDisposed' && key !== 'id' && key !== 'err' && key !== 'status')
      return true
  }
  return false
}

/**
 * The error for what came as `err`: usually `{ status, message }`, ours with `code` and `details`, but a
 * Nest handler may send any value. It is kept whole in `received`. Code `INTERNAL`: the handler failed and may not
 * say how; `UNKNOWN`: the error has no code.
 */
export function readRemoteError(err: unknown): RpcError {
  if (err === NO_MESSAGE_HANDLER) return new PatternNotFoundError(NO_MESSAGE_HANDLER, err)
  if (typeof err !== 'object' || err === null) return new RpcError({ message: String(err) }, err)
  const { code, message, details } = err as { code?: unknown; message?: unknown; details?: unknown }
  if (code === undefined && message === INTERNAL_ERROR.message) {
    return new RpcError({ code: 'INTERNAL', message, details }, err)
  }
  const text = typeof message === 'string' ? message : JSON.stringify(message ?? err)
  return typeof code === 'string'
    ? errorOf(code, text, details, err)
    : new RpcError({ message: text, details }, err)
}
