/** An answer in envelopes, as fast as the client reads it. */
import { type AnswerHeaderLists, type CallFailure, NO_HEADERS } from '@elysia-microservices/protobuf/rpc'
import { toText } from '../protocol/base64-text.ts'
import type { Form } from '../protocol/form.ts'
import { type Compress, StreamWire } from '../protocol/stream-wire.ts'
import type { Outlet } from './outlet.ts'
import { headersOf, streamHeaders } from './response-heads.ts'

/** Bytes that are made ahead of the socket. */
const AHEAD = 65_536

/** The call that an answer belongs to. */
export interface Answered {
  /** The client takes messages again. */
  resume(): void
  /** The client has left. */
  cancel(): void
}

/** Makes a response of one answer. */
export class StreamAnswer implements Outlet {
  /** Resolves at the first message, or at the end if there is none. */
  readonly response: Promise<Response>
  /** The call; set before it starts. */
  call: Answered | undefined
  readonly #wire: StreamWire
  readonly #form: Form
  readonly #mayCompress: boolean
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #settle: (response: Response) => void = () => {}
  #hasBegun = false
  #set = NO_HEADERS

  /** @param compress default: the client does not take compressed answers */
  constructor(form: Form, compress?: Compress) {
    this.#form = form
    this.#wire = new StreamWire(form, compress)
    this.#mayCompress = compress !== undefined
    this.response = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  get hasRoom(): boolean {
    // Before the first message there is no stream yet, and room for that message.
    return !this.#hasBegun || (this.#controller?.desiredSize ?? 0) > 0
  }

  set({ headers, trailers }: AnswerHeaderLists): void {
    this.#set = {
      headers: [...this.#set.headers, ...headers],
      trailers: [...this.#set.trailers, ...trailers]
    }
  }

  message(data: Uint8Array): void {
    this.#write(this.#wire.message(data))
  }

  end(): void {
    this.#close()
  }

  failure(failure: CallFailure): void {
    this.#close(failure)
  }

  #close(failure?: CallFailure): void {
    this.#write(this.#wire.end(this.#set.trailers, failure))
    this.#controller?.close()
    this.#controller = undefined
  }

  #write(bytes: Uint8Array): void {
    if (!this.#hasBegun) this.#begin()
    this.#controller?.enqueue(this.#form.isText ? toText(bytes) : bytes)
  }

  #begin(): void {
    this.#hasBegun = true
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => this.call?.resume(),
        cancel: () => {
          this.#controller = undefined
          this.call?.cancel()
        }
      },
      { highWaterMark: AHEAD, size: (chunk) => chunk?.byteLength ?? 0 }
    )
    const headers = headersOf([...streamHeaders(this.#form, this.#mayCompress), ...this.#set.headers])
    this.#settle(new Response(body, { headers }))
  }
}
