/** An answer of Connect with one message: the body is the message, and a failure has an HTTP status. */
import type { CallFailure } from '../protocol/call-failure.ts'
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

  message(data: Uint8Array): void {
    this.#data = data as Uint8Array<ArrayBuffer>
  }

  end(): void {
    const compressed = this.#compress?.(this.#data)
    const headers = headersOf(singleHeaders(this.#form, compressed !== undefined))
    this.#settle(new Response((compressed ?? this.#data) as Uint8Array<ArrayBuffer>, { headers }))
  }

  failure(failure: CallFailure): void {
    this.#settle(failedResponse(failure))
  }
}
