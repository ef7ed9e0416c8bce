/**
 * A minimal HTTP client: one request, encoded in advance, over a connection that stays open. Answers arrive in the
 * order of the requests; only the status, the length and the body of an answer are read.
 */
import { connectSocket, type LoadSocket } from '../../load/socket.ts'
import type { EchoClient, OpenEchoClient } from '../echo-client.ts'

const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = Buffer.from('content-length:')

interface Waiting {
  answered(answer: unknown): void
  failed(reason: unknown): void
}

export const openEchoClient: OpenEchoClient = async (host, port, { payload }) => {
  const body = Buffer.from(JSON.stringify(payload.value))
  const head = `POST /echo HTTP/1.1\r\nhost: ${host}:${port}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  const client = new HttpClient(Buffer.concat([Buffer.from(head), body]))
  await client.connect(host, port)
  return client
}

class HttpClient implements EchoClient {
  readonly #request: Uint8Array
  readonly #waiting: Waiting[] = []
  #rest: Buffer = Buffer.alloc(0)
  /** Bytes that the system has not accepted yet. */
  #unsent: Uint8Array[] = []
  #socket: LoadSocket | undefined

  constructor(request: Uint8Array) {
    this.#request = request
  }

  async connect(host: string, port: number): Promise<void> {
    this.#socket = await connectSocket(host, port, {
      received: (chunk) => this.#read(Buffer.from(chunk)),
      drained: () => this.#flush(),
      lost: (reason) => this.#lose(reason)
    })
  }

  echo(_payload: unknown, answered: Waiting['answered'], failed: Waiting['failed']): void {
    if (this.#socket === undefined) {
      failed('not connected')
      return
    }
    this.#waiting.push({ answered, failed })
    this.#unsent.push(this.#request)
    if (this.#unsent.length === 1) this.#flush()
  }

  async close(): Promise<void> {
    this.#socket?.end()
    this.#socket = undefined
  }

  #flush(): void {
    for (
      let next = this.#unsent[0];
      next !== undefined && this.#socket !== undefined;
      next = this.#unsent[0]
    ) {
      const written = Math.max(0, this.#socket.write(next, 0, next.length))
      if (written < next.length) {
        this.#unsent[0] = next.subarray(written)
        return
      }
      this.#unsent.shift()
    }
  }

  #read(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    while (true) {
      const headEnd = this.#rest.indexOf(HEAD_END)
      if (headEnd < 0) return
      const head = this.#rest.subarray(0, headEnd)
      const start = headEnd + HEAD_END.length
      const end = start + lengthIn(head)
      if (this.#rest.length < end) return
      const isOk = head.toString('latin1', 9, 12) === '200'
      const answer: unknown = isOk ? parse(this.#rest.toString('utf8', start, end)) : head.toString('latin1')
      this.#rest = this.#rest.subarray(end)
      this.#waiting.shift()?.answered(answer)
    }
  }

  #lose(reason: unknown): void {
    this.#socket = undefined
    for (const { failed } of this.#waiting.splice(0)) failed(reason)
  }
}

/** The value of content-length: servers write the name in upper or lower case. */
function lengthIn(head: Buffer): number {
  const at = Buffer.from(head.toString('latin1').toLowerCase()).indexOf(LENGTH)
  return at < 0 ? 0 : Number.parseInt(head.toString('latin1', at + LENGTH.length), 10)
}

/** Elysia answers with a text unchanged, and with everything else as JSON. */
function parse(body: string): unknown {
  return body.startsWith('{') || body.startsWith('[') ? JSON.parse(body) : body
}
