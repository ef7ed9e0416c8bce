/** NestJS's frames as bytes: requests are encoded in advance, and answers are counted without reading their JSON. */

const DIGIT_ZERO = 0x30
const HASH = 0x23
const ID_DIGITS = 21

function frame(packet: object): string {
  const json = JSON.stringify(packet)
  return `${json.length}#${json}`
}

const idAt = (index: number): string => index.toString(16).padStart(ID_DIGITS, '0')

export interface EncodedRequests {
  /** All requests twice in a row: any run of up to `count` requests is one slice. */
  readonly bytes: Uint8Array
  /** The length of every request. */
  readonly frameLength: number
}

/**
 * Encodes `count` echo requests, each with its own id, in the length that NestJS's requests have. The payload must be
 * ASCII as JSON.
 */
export function encodeEchoRequests(payload: unknown, count: number): EncodedRequests {
  const frames = Array.from({ length: count }, (_, index) =>
    frame({ pattern: 'echo', data: payload, id: idAt(index) })
  )
  const once = frames.join('')
  return { bytes: new TextEncoder().encode(once + once), frameLength: once.length / count }
}

/** The number of characters behind the `#` in the right answer. */
export const echoAnswerLength = (payload: unknown): number =>
  JSON.stringify({ response: payload, isDisposed: true, id: idAt(0) }).length

/**
 * Counts answer frames in chunks of any size. It reads the length of each frame and skips as many bytes (the echo of
 * ASCII is ASCII). A frame with another length than expected counts as a wrong answer.
 */
export class AnswerCounter {
  right = 0
  wrong = 0
  readonly #expected: number
  #length = 0
  #left = 0

  constructor(expectedLength: number) {
    this.#expected = expectedLength
  }

  /** @throws Error if the bytes are not frames: no further bytes can be trusted */
  feed(chunk: Uint8Array): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#left === 0) {
        at = this.#header(chunk, at)
      } else {
        const skipped = Math.min(this.#left, chunk.length - at)
        at += skipped
        this.#left -= skipped
        if (this.#left === 0) this.#finish()
      }
    }
  }

  #header(chunk: Uint8Array, from: number): number {
    let at = from
    while (at < chunk.length) {
      const byte = chunk[at++]!
      if (byte === HASH && this.#length > 0) {
        this.#left = this.#length
        return at
      }
      if (byte < DIGIT_ZERO || byte > DIGIT_ZERO + 9) {
        throw new Error(`the server sent no frame: expected <length>#, got byte 0x${byte.toString(16)}`)
      }
      this.#length = this.#length * 10 + byte - DIGIT_ZERO
    }
    return at
  }

  #finish(): void {
    if (this.#length === this.#expected) this.right++
    else this.wrong++
    this.#length = 0
  }
}
