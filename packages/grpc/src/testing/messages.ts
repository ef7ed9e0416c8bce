/** Whole messages over HTTP/2: an echo, and a client that waits for an answer. */
import type { Http2Connection } from '../http2/connection.ts'
import type { Field } from '../http2/hpack/field.ts'
import type { Http2Stream, StreamEnd, StreamListener } from '../http2/stream.ts'

/** The value of a field; `undefined` if it is not there. */
export const fieldIn = (fields: readonly Field[], name: string) =>
  fields.find((field) => field.name === name)?.value

/** Answers a request with its own data as it comes, and with its field `x-echo` as a trailer. */
export function echo(stream: Http2Stream, fields: readonly Field[], isLast: boolean): void {
  const trailer = fieldIn(fields, 'x-echo')
  const end = () => {
    if (trailer === undefined) stream.data(new Uint8Array(), true)
    else stream.fields(['x-echo', trailer], true)
  }
  // Data is consumed when it is sent back, so that this side keeps no more than a window.
  const waiting: Buffer[] = []
  let isOver = isLast
  const send = () => {
    while (waiting.length > 0 && stream.hasRoom) {
      const bytes = waiting.shift() as Buffer
      stream.data(bytes, false)
      stream.consumed(bytes.length)
    }
    if (isOver && waiting.length === 0) end()
  }
  stream.listener = {
    head() {},
    data(buffer, start, stop, last) {
      isOver = last
      if (stop > start) waiting.push(Buffer.from(buffer.subarray(start, stop)))
      send()
    },
    trailers() {
      isOver = true
      send()
    },
    reset() {},
    room: send
  }
  stream.fields([':status', '200', 'content-type', 'text/plain'], false)
  if (isLast) end()
}

/** The answer to a request. */
export interface Answer {
  readonly head: readonly Field[]
  readonly body: Buffer
  readonly trailers: readonly Field[]
}

/** Sends a request, and collects its answer. Rejects with the end of a stream that has ended early. */
export function ask(
  connection: Http2Connection,
  body: Uint8Array,
  more: readonly string[] = []
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let head: readonly Field[] = []
    const chunks: Buffer[] = []
    let stream: Http2Stream | undefined
    const done = (trailers: readonly Field[] = []) => resolve({ head, body: Buffer.concat(chunks), trailers })
    const listener: StreamListener = {
      head(fields, isLast) {
        head = fields
        if (isLast) done()
      },
      data(buffer, start, end, isLast) {
        chunks.push(Buffer.from(buffer.subarray(start, end)))
        stream?.consumed(end - start)
        if (isLast) done()
      },
      trailers: done,
      reset: (end: StreamEnd) => reject(Object.assign(new Error('reset'), { end })),
      room() {}
    }
    const fields = [':method', 'POST', ':scheme', 'http', ':path', '/', ':authority', 'here', ...more]
    stream = connection.request(fields, false, listener)
    stream.data(body, true)
  })
}
