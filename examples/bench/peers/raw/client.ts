/**
 * A minimal client: a socket that sends the payload's bytes, and counts as many received bytes as the answer. No
 * frames, ids or encoding. Answers arrive in the order of the requests; requests of one tick are one write.
 */
import { RepeatedBytes } from '../../load/repeated-bytes.ts'
import { connectSocket, type LoadSocket } from '../../load/socket.ts'
import { type Payload, payloadBytes } from '../../payload/payload.ts'
import type { EchoClient, OpenEchoClient } from '../echo-client.ts'

/** The approximate size of the buffer from which requests are sent, which is the longest write. */
const LAP = 256 * 1024

interface Waiting {
  answered(answer: unknown): void
  failed(reason: unknown): void
}

export const openEchoClient: OpenEchoClient = async (host, port, { payload }) => {
  if (payload.bytes === 0) throw new Error('an empty payload cannot be echoed without a protocol')
  const client = new SocketClient(payload)
  await client.connect(host, port)
  return client
}

class SocketClient implements EchoClient {
  readonly #value: unknown
  readonly #bytes: Uint8Array
  readonly #requests: RepeatedBytes
  #waiting: Waiting[] = []
  /** The index of the oldest waiting request: removing it from the array would cost more than the answer. */
  #next = 0
  /** The bytes of the current answer that have arrived. */
  #received = 0
  /** Whether the due bytes will be written in this tick anyway. */
  #flushes = false
  #socket: LoadSocket | undefined
  #lostBy: unknown = 'not connected'

  constructor(payload: Payload) {
    this.#value = payload.value
    this.#bytes = payloadBytes(payload)
    this.#requests = new RepeatedBytes(twiceALap(payload))
  }

  async connect(host: string, port: number): Promise<void> {
    this.#socket = await connectSocket(host, port, {
      received: (chunk) => this.#read(chunk),
      drained: () => this.#flush(),
      lost: (reason) => this.#lose(reason)
    })
  }

  echo(_payload: unknown, answered: Waiting['answered'], failed: Waiting['failed']): void {
    if (this.#socket === undefined) {
      failed(this.#lostBy)
      return
    }
    this.#waiting.push({ answered, failed })
    this.#requests.owe(this.#bytes.length)
    if (this.#flushes) return
    this.#flushes = true
    queueMicrotask(this.#flush)
  }

  async close(): Promise<void> {
    this.#socket?.end()
    this.#socket = undefined
  }

  readonly #flush = (): void => {
    this.#flushes = false
    if (this.#socket !== undefined) this.#requests.flush(this.#socket)
  }

  #read(chunk: Uint8Array): void {
    const { length } = this.#bytes
    const end = this.#received + chunk.length
    // Checks one byte of each chunk: bytes that are lost, added or mixed up are noticed there sooner or later.
    const isEcho = chunk[chunk.length - 1] === this.#bytes[(end - 1) % length]
    this.#received = end % length
    this.#flushes = true
    for (let left = Math.floor(end / length); left > 0; left--) {
      const waiting = this.#waiting[this.#next++]
      waiting?.answered(isEcho ? this.#value : undefined)
    }
    if (this.#next > this.#waiting.length / 2) {
      this.#waiting = this.#waiting.slice(this.#next)
      this.#next = 0
    }
    this.#flush()
  }

  #lose(reason: unknown): void {
    if (this.#socket === undefined) return
    this.#socket = undefined
    this.#lostBy = reason
    const lost = this.#waiting.slice(this.#next)
    this.#waiting = []
    this.#next = 0
    for (const { failed } of lost) failed(reason)
  }
}

/** The bytes to send, shared by all connections. */
const laps = new WeakMap<Payload, Uint8Array>()

function twiceALap(payload: Payload): Uint8Array {
  let lap = laps.get(payload)
  if (lap === undefined) {
    const bytes = payloadBytes(payload)
    const times = 2 * Math.ceil(LAP / bytes.length)
    lap = new Uint8Array(bytes.length * times)
    for (let index = 0; index < times; index++) lap.set(bytes, index * bytes.length)
    laps.set(payload, lap)
  }
  return lap
}
