/** An HTTP connection that a caller keeps: it sends the same request repeatedly, one at a time. */
import { connectSocket, type LoadSocket } from '../../load/socket.ts'
import { type Deferred, deferred } from '../../process/deferred.ts'

export interface HttpAnswer {
  readonly status: number
  readonly body: string
}

const HEAD_END = '\r\n\r\n'
const LAST_CHUNK = '0\r\n\r\n'

export class HttpConnection {
  readonly #host: string
  readonly #port: number
  readonly #request: Uint8Array
  #socket: LoadSocket | undefined
  #waiting: Deferred<HttpAnswer> | undefined
  #received: Buffer = Buffer.alloc(0)

  constructor(host: string, port: number, request: string) {
    this.#host = host
    this.#port = port
    this.#request = Buffer.from(request)
  }

  /**
   * Sends the request, and connects before if necessary. Rejects if the connection is lost before the answer has
   * arrived.
   */
  async ask(): Promise<HttpAnswer> {
    this.#socket ??= await connectSocket(this.#host, this.#port, {
      received: (chunk) => this.#read(chunk),
      drained: () => {},
      lost: (reason) => this.#lose(reason)
    })
    this.#waiting = deferred<HttpAnswer>()
    this.#socket.write(this.#request, 0, this.#request.length)
    return this.#waiting.promise
  }

  close(): void {
    this.#socket?.terminate()
    this.#socket = undefined
  }

  #read(chunk: Uint8Array): void {
    this.#received = Buffer.concat([this.#received, chunk])
    const end = this.#received.indexOf(HEAD_END)
    if (end < 0) return
    const head = this.#received.toString('latin1', 0, end)
    const start = end + HEAD_END.length
    const length = /^content-length: *(\d+)/im.exec(head)?.[1]
    const isWhole =
      length === undefined
        ? this.#received.subarray(-LAST_CHUNK.length).toString('latin1') === LAST_CHUNK
        : this.#received.length >= start + Number(length)
    if (!isWhole) return
    const answer = { status: Number(head.slice(9, 12)), body: this.#received.toString('utf8', start) }
    this.#received = Buffer.alloc(0)
    // Express and others close the connection after some errors.
    if (/^connection: *close/im.test(head)) this.close()
    this.#waiting?.resolve(answer)
  }

  #lose(reason: unknown): void {
    this.#socket = undefined
    this.#received = Buffer.alloc(0)
    this.#waiting?.reject(reason instanceof Error ? reason : new Error(String(reason)))
  }
}
