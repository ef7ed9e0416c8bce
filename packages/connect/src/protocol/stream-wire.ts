/** The bytes of an answer in envelopes: a stream of Connect, or any answer of gRPC-Web. */
import {
  type CallFailure,
  type HeaderList,
  MessageFlag,
  prefixed,
  statusTrailers
} from '@elysia-microservices/protobuf/rpc'
import { endOfStream } from './connect-json.ts'
import type { Form } from './form.ts'

const utf8 = new TextEncoder()

/** Compresses the data of a message; `undefined` if it is better sent as it is. */
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
    return compressed === undefined ? prefixed(data) : prefixed(compressed, MessageFlag.COMPRESSED)
  }

  /** The end. @param failure default: the call has succeeded */
  end(trailers: HeaderList, failure?: CallFailure): Uint8Array<ArrayBuffer> {
    return this.#form.protocol === 'grpc-web'
      ? prefixed(trailerBlock([...trailers, ...statusTrailers(failure)]), MessageFlag.TRAILERS)
      : prefixed(endOfStream(trailers, failure), MessageFlag.END_STREAM)
  }
}

/** The trailers of gRPC-Web: lines as in HTTP/1.1, with names in lower case. */
export function trailerBlock(trailers: HeaderList): Uint8Array {
  return utf8.encode(trailers.map(([name, value]) => `${name}: ${value}\r\n`).join(''))
}
