/** The messages of a request in envelopes, cut out of its chunks. */
import { CallFailure, MessageReader, type WrongMessage } from '@elysia-microservices/protobuf/rpc'

/** A message as it was sent. */
export interface RequestMessage {
  readonly isCompressed: boolean
  /** Valid as long as the caller likes: these bytes are never overwritten. */
  readonly data: Uint8Array
}

/** Cuts chunks into messages. Holds at most one incomplete message and the messages of one chunk. */
export class RequestMessages {
  readonly #reader: MessageReader
  readonly #limit: number
  #found: RequestMessage[] = []
  /** The first message of `#found` that was not taken. */
  #at = 0
  #wrong: WrongMessage | undefined

  /** @param limit largest length of a message as it is sent */
  constructor(limit: number) {
    this.#limit = limit
    this.#reader = new MessageReader(limit, (isCompressed, buffer, start, end) => {
      this.#found.push({ isCompressed, data: buffer.subarray(start, end) })
    })
  }

  /** Takes the next chunk of the request, which nobody may overwrite. */
  push(chunk: Uint8Array): void {
    if (this.#wrong !== undefined) return
    const result = this.#reader.push(chunk, 0, chunk.length)
    if (typeof result !== 'number') this.#wrong = result
  }

  /**
   * The next message; `undefined` if it is not complete yet.
   * @throws {CallFailure} `resource_exhausted`: it is longer than the limit, whether it has arrived or not;
   * `invalid_argument`: its flags are those of no message
   */
  next(): RequestMessage | undefined {
    const message = this.#found[this.#at++]
    if (message !== undefined) return message
    this.#found = []
    this.#at = 0
    if (this.#wrong === 'too long') throw tooLarge(this.#limit)
    if (this.#wrong !== undefined) throw new CallFailure('invalid_argument', `A message has ${this.#wrong}`)
    return undefined
  }

  /** The request has ended. @throws {CallFailure} `invalid_argument`: it ended within a message */
  end(): void {
    if (this.#reader.buffered > 0)
      throw new CallFailure('invalid_argument', 'The request ends within a message')
  }
}

/** The failure of a message that is larger than allowed. @param size its bytes, if they are known */
export function tooLarge(limit: number, size?: number): CallFailure {
  const found = size === undefined ? 'The message has more bytes' : `The message has ${size} bytes, more`
  return new CallFailure('resource_exhausted', `${found} than limits.messageSize allows (${limit})`)
}
