/** The messages of a request in envelopes, read as the handler asks for them. */

import type { MessageCodec } from '@elysia-microservices/protobuf'
import { CallFailure } from '@elysia-microservices/protobuf/rpc'
import { canceledByCaller, ProtocolError } from '@elysia-microservices/transport/kit'
import { TextReader } from '../protocol/base64-text.ts'
import type { Form } from '../protocol/form.ts'
import { type RequestMessage, RequestMessages } from '../protocol/request-messages.ts'
import { nextChunk, readerOf } from './body.ts'
import { decompressed } from './gzip.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads one message. @throws {CallFailure} `invalid_argument`: the bytes are no such message */
export function messageOf(data: Uint8Array, codec: MessageCodec, { isJson }: Form): unknown {
  return reading(codec.typeName, () =>
    isJson ? codec.fromJson(JSON.parse(utf8.decode(data))) : codec.decode(data)
  )
}

/** Runs a codec on what a caller has sent. @throws {CallFailure} `invalid_argument`: it is not such a message */
function reading<Value>(typeName: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (error instanceof ProtocolError) throw new CallFailure('invalid_argument', error.message)
    // Any other error, such as that of a stack that is too deep, says nothing to a caller.
    const why = error instanceof SyntaxError ? `: ${error.message}` : ''
    throw new CallFailure('invalid_argument', `The message cannot be read as ${typeName}${why}`)
  }
}

/** The parameters of `MessagesIn`. */
export interface MessagesInit {
  readonly request: Request
  readonly codec: MessageCodec
  readonly form: Form
  /** Whether the request says that messages may be compressed. */
  readonly isGzip: boolean
  /** Largest size of a message in bytes. */
  readonly limit: number
}

/** The messages of one request. */
export class MessagesIn {
  readonly #init: MessagesInit
  readonly #messages: RequestMessages
  readonly #text: TextReader | undefined
  readonly #reader: ReturnType<typeof readerOf>
  /** The reason why the call is over. */
  #failure: Error | undefined
  #isOver = false

  constructor(init: MessagesInit) {
    this.#init = init
    this.#messages = new RequestMessages(init.limit)
    if (init.form.isText) this.#text = new TextReader()
    this.#reader = readerOf(init.request)
  }

  /**
   * The only message.
   * @throws {CallFailure} there is none, there are several, or it cannot be read
   */
  async single(): Promise<unknown> {
    const first = await this.#next()
    if (first === undefined) throw new CallFailure('unimplemented', 'The request has no message')
    const second = await this.#next()
    if (second !== undefined)
      throw new CallFailure('unimplemented', 'The request has several messages, but the method takes one')
    return this.#decoded(first.data)
  }

  /**
   * All messages, for a handler. A message is read when the handler asks for it.
   * @param failed is called when they cannot be read to the end, which ends the call
   */
  async *values(failed: (failure: CallFailure) => void): AsyncGenerator<unknown, void, undefined> {
    try {
      for (;;) {
        const next = await this.#next()
        if (next === undefined) return
        yield this.#decoded(next.data)
      }
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      failed(error)
      throw error.code === 'canceled' ? canceledByCaller() : new ProtocolError(error.message)
    }
  }

  /**
   * The call is over: a handler that waits for a message, or asks for one, gets this error. The rest of the body is left
   * to the HTTP server, because some servers cut the connection of a request whose body is cancelled.
   */
  end(failure: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#failure = failure
    try {
      this.#reader?.releaseLock()
    } catch {
      // An older runtime does not release a reader that waits.
    }
  }

  async #next(): Promise<{ readonly data: Uint8Array } | undefined> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure
      const found = this.#messages.next()
      if (found !== undefined) return { data: this.#opened(found) }
      const chunk = await this.#chunk()
      if (chunk === undefined) {
        this.#text?.end()
        this.#messages.end()
        return undefined
      }
      this.#messages.push(this.#text === undefined ? chunk : this.#text.read(chunk))
    }
  }

  async #chunk(): Promise<Uint8Array | undefined> {
    try {
      return await nextChunk(this.#reader)
    } catch (error) {
      throw this.#failure ?? error
    }
  }

  #opened({ isCompressed, data }: RequestMessage): Uint8Array {
    if (!isCompressed) return data
    if (!this.#init.isGzip)
      throw new CallFailure('internal', 'A message is compressed, but the request names no compression')
    return decompressed(data, this.#init.limit)
  }

  #decoded(data: Uint8Array): unknown {
    return messageOf(data, this.#init.codec, this.#init.form)
  }
}
