/**
 * Frames as messages of a WebSocket. By default a message is one frame without its length, as RSocket says. With the
 * subprotocol `TURNS`, which both ends agree on in the upgrade, it is whole frames with their lengths, as over TCP: what
 * one turn of the event loop writes costs the other end one task, not one for each frame (docs/protocol.md, "WebSocket").
 */
import { concatBytes, readUint24 } from '@elysia-microservices/transport/kit'

/** The subprotocol by which a message has all frames of a turn. */
export const TURNS = 'turns.rsocket.elysia-microservices'
/** RSocket's own name, which other libraries offer. */
export const RSOCKET = 'rsocket'

/** Most bytes of a message. */
export const LONGEST_MESSAGE = 256 * 1024
const LENGTH_FIELD = 3
/** Most bytes of a frame without its length field; longer messages of RSocket are sent in fragments. */
export const LONGEST_FRAME = LONGEST_MESSAGE - LENGTH_FIELD

/**
 * The subprotocol that a server takes of those that are offered; `undefined`: none.
 * @param offered the header of the upgrade
 */
export function subprotocolOf(offered: string | null | undefined): string | undefined {
  const names = (offered ?? '').split(',').map((name) => name.trim())
  return [TURNS, RSOCKET].find((name) => names.includes(name))
}

/**
 * Gives frames to `send` as messages.
 * @param bytes whole frames with their lengths; only the first `length` bytes count
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

/** The bytes of a message as over TCP: with the lengths of its frames. */
export function framesOf(message: Uint8Array, byTurns: boolean): Uint8Array {
  if (byTurns) return message
  const { length } = message
  return concatBytes([new Uint8Array([length >>> 16, length >>> 8, length]), message])
}
