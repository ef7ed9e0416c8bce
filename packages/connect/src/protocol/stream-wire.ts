/** The bytes of an answer in envelopes: a stream of Connect, or any answer of gRPC-Web. */
import type { CallFailure } from './call-failure.ts'
import { endOfStream, type HeaderList } from './connect-json.ts'
import { EnvelopeFlag, envelope } from './envelope.ts'
import type { Form } from './form.ts'
import { statusTrailers, trailerBlock } from './grpc-trailers.ts'

/** Compresses the data of an envelope; `undefined` if it is better sent as it is. */
export type Compress = (data: Uint8Array) => Uint8Array | undefined

/** Writes the envelopes of one answer. */
export class StreamWire {
  readonly #form: Form
  readonly #compress: Compress | undefined

  /** @param compress default: nothing is compressed */
  constructor(form: Form, compress?: Compress) {
    this.#form = form
    this.#compress = compress
  }

  /** A value. */
  message(data: Uint8Array): Uint8Array<ArrayBuffer> {
    const compressed = this.#compress?.(data)
    return compressed === undefined ? envelope(0, data) : envelope(EnvelopeFlag.COMPRESSED, compressed)
  }

  /** The end. @param failure default: the call has succeeded */
  end(trailers: HeaderList, failure?: CallFailure): Uint8Array<ArrayBuffer> {
    return this.#form.protocol === 'grpc-web'
      ? envelope(EnvelopeFlag.TRAILERS, trailerBlock([...trailers, ...statusTrailers(failure)]))
      : envelope(EnvelopeFlag.END_STREAM, endOfStream(trailers, failure))
  }
}
