/** Nest's frames as raw bytes: requests encoded beforehand, answers counted without reading their JSON. */

const DIGIT_ZERO = 0x30
const HASH = 0x23
const ID_DIGITS = 21

function frame(packet: object): string {
  const json = JSON.stringify(packet)
  return `${json.length}#${json}`
}

const idAt = (index: number): string => index.toString(16).padStart(ID_DIGITS, '0')

export interface EncodedRequests {
  /** The requests one after the other, twice: any run of up to `count` of them is one slice. */
  readonly bytes: Uint8Array
  /** Every request is this long. */
  readonly frameLength: number
}

/** Encodes `count` echo requests of a payload that is ASCII as JSON, each with an id of its own, of the length Nest's have. */
export function encodeEchoRequests(payload: unknown, count: number): EncodedRequests {
  const frames = Array.from({ length: count }, (_, index) =>
    frame({ pattern: 'echo', data: payload, id: idAt(index) })
  )
  const once = frames.join('')
  return { bytes: new TextEncoder().encode(once + once), frameLength: once.length / count }
}

/** How many characters follow the `#` in the right answer to such a request. */
export const echoAnswerLength = (payload: unknown): number =>
  JSON.stringify({ response: payload, isDisposed: true, id: idAt(0) }).length

/**
 * Counts answer frames in a stream of chunks cut anywhere. It reads the length, skips as many bytes (echoes of ASCII
 * are ASCII) and takes every frame of another length than the expected one for a wrong answer.
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

  /** @throws Error if the bytes are no frames: nothing after that can be trusted */
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
