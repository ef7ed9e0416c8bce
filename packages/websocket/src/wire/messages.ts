/**
 * Converts frames to WebSocket messages and back. By default a message is one frame without its length, as RSocket
 * specifies. With the subprotocol `TURNS`, which both ends agree on in the upgrade, a message has several whole
 * frames with their lengths, as over TCP. So the frames that one end writes in a turn of the event loop cost the
 * other end one task, and not one task each (docs/protocol.md, "WebSocket").
 */
import { concatBytes, readUint24 } from '@elysia-microservices/transport/kit'

/** The subprotocol in which a message has all frames of a turn. */
export const TURNS = 'turns.rsocket.elysia-microservices'
/** RSocket's own subprotocol, which other libraries offer. */
export const RSOCKET = 'rsocket'

/** Largest size of a message in bytes. */
export const LONGEST_MESSAGE = 256 * 1024
const LENGTH_FIELD = 3
/** Largest size of a frame in bytes, without its length field. Longer messages of RSocket are sent in fragments. */
export const LONGEST_FRAME = LONGEST_MESSAGE - LENGTH_FIELD

/**
 * Chooses a subprotocol among those that the client offers; `undefined` if none fits.
 * @param offered the header of the upgrade
 */
export function subprotocolOf(offered: string | null | undefined): string | undefined {
  const names = (offered ?? '').split(',').map((name) => name.trim())
  return [TURNS, RSOCKET].find((name) => names.includes(name))
}

/**
 * Passes frames to `send`, as messages.
 * @param bytes whole frames with their lengths; only the first `length` bytes are used
 */
export function sendFrames(
  bytes: Uint8Array,
  length: number,
  byTurns: boolean,
  send: (message: Uint8Array) => void
): void {
  if (byTurns && length <= LONGEST_MESSAGE) return send(bytes.subarray(0, length))
  let begin = 0
  for (let at = 0; at < length; ) {
    const end = at + LENGTH_FIELD + readUint24(bytes, at)
    if (!byTurns) send(bytes.subarray(at + LENGTH_FIELD, end))
    else if (end - begin > LONGEST_MESSAGE && at > begin) {
      send(bytes.subarray(begin, at))
      begin = at
    }
    at = end
  }
  if (byTurns) send(bytes.subarray(begin, length))
}

/** The frames of a message in the form in which TCP sends them, with their lengths. */
export function framesOf(message: Uint8Array, byTurns: boolean): Uint8Array {
  if (byTurns) return message
  const { length } = message
  return concatBytes([new Uint8Array([length >>> 16, length >>> 8, length]), message])
}
