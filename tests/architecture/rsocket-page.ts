/**
 * A program for a page, bundled and run by `browser.test.ts`: a client and a server of RSocket, connected in memory.
 * Writes the results of a request, an error, a stream, a channel, a deadline and a lost connection to
 * `globalThis.outcome`.
 */
import {
  ClientConnection,
  MetadataReader,
  NO_LIMITS,
  type ServerConnectionOptions,
  ServerHandshake,
  toWireError
} from '@elysia-microservices/rsocket'
import {
  NOBODY,
  newTimer,
  Session,
  type SessionOptions,
  type Socket,
  type SocketListener
} from '@elysia-microservices/rsocket/session'
import {
  type IncomingMessage,
  type Logger,
  PatternNotFoundError,
  PendingCaller,
  RpcError
} from '@elysia-microservices/transport/kit'

const lines: string[] = []
const logger: Logger = { error: (line) => void lines.push(line), warn: (line) => void lines.push(line) }
const buffers = { maxMessageSize: 1_000_000, maxBufferSize: 1_000_000, maxUnsent: 1_000_000 }

/**
 * One end of a connection in memory: what is written arrives at the other end in a later task, in pieces of at most
 * `PIECE` bytes.
 */
class MemorySocket implements Socket {
  readonly remoteAddress = undefined
  readonly remotePort = undefined
  readonly unsent = 0
  other!: MemorySocket
  listener: SocketListener = NOBODY
  readonly #sent: Uint8Array[] = []
  #isClosed = false

  write(text: string): void {
    this.writeBytes(new TextEncoder().encode(text), text.length)
  }

  writeBytes(bytes: Uint8Array, length: number): void {
    this.#sent.push(bytes.slice(0, length))
    // Only one timer at a time, because nested timers may overtake each other in browsers.
    if (this.#sent.length === 1) setTimeout(() => this.#deliver())
  }

  #deliver(): void {
    for (const sent of this.#sent.splice(0))
      for (let at = 0; at < sent.length; at += PIECE) this.other.listener.data(sent.slice(at, at + PIECE))
  }

  pause(): void {}
  resume(): void {}

  end(): void {
    setTimeout(() => this.destroy())
  }

  destroy(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.listener.close()
    this.other.destroy()
  }
}

const PIECE = 1_000

function dispatch({ route, data, signal }: IncomingMessage): unknown {
  if (route === 'echo') return data
  if (route === 'later') return new Promise((resolve) => setTimeout(() => resolve(data), 5))
  if (route === 'fail') throw new RpcError({ code: 'E', message: 'ä', details: { d: [1] } })
  if (route === 'count') return count(data as number)
  if (route === 'sum') return sum(data as AsyncIterable<number>)
  if (route === 'never')
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  throw PatternNotFoundError.of(String(route))
}

async function* count(to: number): AsyncGenerator<number> {
  for (let n = 0; n < to; n++) yield n
}

async function sum(values: AsyncIterable<number>): Promise<number> {
  let total = 0
  for await (const value of values) total += value
  return total
}

/** A connected client, and its socket. */
function connect(): { caller: PendingCaller; socket: MemorySocket } {
  const [near, far] = [new MemorySocket(), new MemorySocket()]
  near.other = far
  far.other = near
  const server: ServerConnectionOptions = {
    ...buffers,
    transport: 'page',
    dispatcher: { routes: () => [], request: dispatch, event: () => {} },
    logger,
    newTimer,
    authenticate: undefined,
    handshakeTimeout: 1_000,
    limits: NO_LIMITS,
    metadataReader: (mimeType) => new MetadataReader(mimeType),
    resumable: undefined
  }
  const client = new ClientConnection({
    toWireError,
    ...buffers,
    where: 'page:',
    responder: undefined,
    logger,
    newTimer,
    dataMimeType: 'application/json',
    keepaliveInterval: 20_000,
    keepaliveLifetime: 90_000,
    timeout: 10_000,
    lease: false,
    resume: undefined,
    goingAway: () => {}
  })
  const options: SessionOptions = {
    logger,
    incompleteMessageTimeout: 1_000,
    maxUnsent: 1_000_000,
    protocol: (session) => new ServerHandshake(server, session),
    closed: (_session, protocol, error) => protocol?.close(error)
  }
  far.listener = new Session(far, options)
  const session = new Session(near, options, client)
  near.listener = session
  client.open(session, { type: 'bearer', token: 'é' })
  return { caller: new PendingCaller((call) => client.calls.start(call), 10_000), socket: near }
}

const nameOf = (call: Promise<unknown>) => call.then(String, (error: Error) => error.name)

async function run(): Promise<unknown> {
  const { caller, socket } = connect()
  const large = `${'é€😀'.repeat(20_000)}`
  const values: unknown[] = []
  const outcome = {
    values: await Promise.all(
      [1, 'é€😀', { a: [null, 1.5] }].flatMap((value) => [
        caller.request('echo', value),
        caller.request('later', value)
      ])
    ),
    large: (await caller.request('echo', large)) === large,
    error: await caller
      .request('fail', 0)
      .catch(({ code, message, details }) => ({ code, message, details })),
    unknown: await nameOf(caller.request('nobody', 0)),
    stream: await new Promise((resolve, reject) => {
      caller.stream('count', 3_000, {
        next: (value) => void values.push(value),
        complete: () => resolve(values.every((value, index) => value === index) && values.length),
        error: reject
      })
    }),
    channel: await caller.request('sum', count(2_000)),
    deadline: await nameOf(caller.request('never', 0, { timeout: 20 })),
    lost: '',
    lines
  }
  const lost = nameOf(caller.request('never', 0))
  setTimeout(() => socket.destroy(), 5)
  outcome.lost = await lost
  return outcome
}

Object.assign(globalThis, { outcome: run() })
