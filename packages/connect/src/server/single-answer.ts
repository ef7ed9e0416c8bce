/** An answer of Connect with one message: the body is the message, and a failure has an HTTP status. */
import {
  type AnswerHeaderLists,
  type CallFailure,
  type HeaderList,
  NO_HEADERS
} from '@elysia-microservices/protobuf/rpc'
import type { Form } from '../protocol/form.ts'
import type { Compress } from '../protocol/stream-wire.ts'
import type { Outlet } from './outlet.ts'
import { failedResponse, headersOf, singleHeaders } from './response-heads.ts'

/** Makes a response of one answer. */
export class SingleAnswer implements Outlet {
  readonly hasRoom = true
  /** Resolves when the answer is complete. */
  readonly response: Promise<Response>
  readonly #form: Form
  readonly #compress: Compress | undefined
  #set = NO_HEADERS
  #data = new Uint8Array()
  #settle: (response: Response) => void = () => {}

  /** @param compress default: the client does not take compressed answers */
  constructor(form: Form, compress?: Compress) {
    this.#form = form
    this.#compress = compress
    this.response = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  set({ headers, trailers }: AnswerHeaderLists): void {
    this.#set = {
      headers: [...this.#set.headers, ...headers],
      trailers: [...this.#set.trailers, ...trailers]
    }
  }

  message(data: Uint8Array): void {
    this.#data = data as Uint8Array<ArrayBuffer>
  }

  end(): void {
    const compressed = this.#compress?.(this.#data)
    const headers = headersOf([...singleHeaders(this.#form, compressed !== undefined), ...this.#own])
    this.#settle(new Response((compressed ?? this.#data) as Uint8Array<ArrayBuffer>, { headers }))
  }

  failure(failure: CallFailure): void {
    this.#settle(failedResponse(failure, this.#own))
  }

  /** The handler's headers and trailers. A response with one message has no trailers: they are headers with a prefix. */
  get #own(): HeaderList {
    const { headers, trailers } = this.#set
    return [...headers, ...trailers.map(([name, value]) => [`trailer-${name}`, value] as const)]
  }
}
