/** Controls a peer program: sends commands to it, and keeps its events by key. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type {
  Command,
  ConnectOptions,
  EventOf,
  Kind,
  ListenOptions,
  PeerEvent,
  RequestMetadata
} from './peer-protocol.ts'

/** Milliseconds after which an event counts as missing: far longer than any peer needs. */
const PATIENCE = 10_000

type EventName = PeerEvent['on']
type CommandWithoutKey = Command extends infer Each
  ? Each extends Command
    ? Omit<Each, 'key'>
    : never
  : never

interface Waiting {
  readonly on: EventName
  take(event: PeerEvent): void
  fail(error: Error): void
}

/** The events of one key, until a test reads them. */
class Mailbox {
  readonly #key: string
  readonly #events: PeerEvent[] = []
  readonly #waiting: Waiting[] = []
  #tellClosed = () => {}
  /** Resolves with the event that says that the server, connection or stream has ended. */
  readonly closed = new Promise<void>((resolve) => {
    this.#tellClosed = resolve
  })

  constructor(key: string) {
    this.#key = key
  }

  put(event: PeerEvent): void {
    if (event.on === 'closed') this.#tellClosed()
    const index = this.#waiting.findIndex(({ on }) => on === event.on)
    if (index >= 0) return this.#waiting.splice(index, 1)[0]?.take(event)
    if (event.on === 'failed' || event.on === 'error') {
      this.#failAll(`the peer tells: ${event.message}`)
    }
    this.#events.push(event)
  }

  take<On extends EventName>(on: On): Promise<EventOf<On>> {
    const index = this.#events.findIndex((event) => event.on === on)
    if (index >= 0) return Promise.resolve(this.#events.splice(index, 1)[0] as EventOf<On>)
    const failure = this.#events.find((event) => event.on === 'failed' || event.on === 'error')
    if (failure !== undefined) return Promise.reject(this.#unexpected(on, JSON.stringify(failure)))
    return new Promise((resolve, reject) => {
      const late = () => {
        waiting.fail(
          this.#unexpected(on, `nothing for ${PATIENCE} ms; before: ${JSON.stringify(this.#events)}`)
        )
      }
      const timer = setTimeout(late, PATIENCE)
      const waiting: Waiting = {
        on,
        take(event) {
          clearTimeout(timer)
          resolve(event as EventOf<On>)
        },
        fail(error) {
          clearTimeout(timer)
          reject(error)
        }
      }
      this.#waiting.push(waiting)
    })
  }

  count(on: EventName): number {
    return this.#events.filter((event) => event.on === on).length
  }

  close(reason: string): void {
    this.#tellClosed()
    this.#failAll(reason)
  }

  #failAll(reason: string): void {
    for (const { on, fail } of this.#waiting.splice(0)) fail(this.#unexpected(on, reason))
  }

  #unexpected(on: EventName, instead: string): Error {
    return new Error(`Expected the event '${on}' of ${this.#key}, got: ${instead.slice(0, 1_000)}`)
  }
}

/** A running peer program. */
export class Peer {
  readonly #process: ChildProcess
  readonly #mailboxes = new Map<string, Mailbox>()
  #named = 0
  #errors = ''
  #ended: string | undefined

  /** @param command the program and its arguments */
  constructor([program = '', ...parameters]: readonly string[]) {
    this.#process = spawn(program, parameters, { stdio: 'pipe' })
    this.#process.stderr!.on('data', (text: Buffer) => {
      this.#errors = (this.#errors + text.toString()).slice(-4_000)
    })
    this.#process.on('error', (error) => this.#end(error.message))
    this.#process.on('exit', (code) => this.#end(`exit code ${code}`))
    createInterface({ input: this.#process.stdout! }).on('line', (line) => {
      const event = JSON.parse(line) as PeerEvent
      this.#mailbox(event.key).put(event)
    })
  }

  /** Ends the program. Resolves with its exit code. */
  async stop(): Promise<number | null> {
    const { exitCode, signalCode } = this.#process
    if (exitCode !== null || signalCode !== null) return exitCode
    const exited = once(this.#process, 'exit')
    this.#process.stdin!.end()
    await exited
    return this.#process.exitCode
  }

  /** The errors of the program that no test has read, for messages of failures. */
  get errors(): string {
    return this.#errors
  }

  newName(prefix: string): string {
    return `${prefix}${++this.#named}`
  }

  send(key: string, command: CommandWithoutKey): void {
    this.#process.stdin!.write(`${JSON.stringify({ ...command, key })}\n`)
  }

  event<On extends EventName>(key: string, on: On): Promise<EventOf<On>> {
    return this.#mailbox(key).take(on)
  }

  /** Resolves when a connection has ended, also if another reader has read that event. */
  closed(key: string): Promise<void> {
    return this.#mailbox(key).closed
  }

  count(key: string, on: EventName): number {
    return this.#mailbox(key).count(on)
  }

  /** Connects to a server, without waiting for the connection. */
  connecting(port: number, options: ConnectOptions = {}): PeerConnection {
    const key = this.newName('connection')
    this.send(key, { do: 'connect', port, ...options })
    return new PeerConnection(this, key)
  }

  async connect(port: number, options: ConnectOptions = {}): Promise<PeerConnection> {
    const connection = this.connecting(port, options)
    await connection.event('connected')
    return connection
  }

  async listen(options: ListenOptions = {}): Promise<PeerServer> {
    const key = this.newName('server')
    this.send(key, { do: 'listen', ...options })
    const { port } = await this.event(key, 'listening')
    return new PeerServer(this, key, port)
  }

  #mailbox(key: string): Mailbox {
    const known = this.#mailboxes.get(key)
    if (known !== undefined) return known
    const mailbox = new Mailbox(key)
    if (this.#ended !== undefined) mailbox.close(this.#ended)
    this.#mailboxes.set(key, mailbox)
    return mailbox
  }

  #end(reason: string): void {
    this.#ended = `the peer has ended (${reason}). ${this.#errors}`
    for (const mailbox of this.#mailboxes.values()) mailbox.close(this.#ended)
  }
}

/** A server, a connection or a stream of a peer. */
class Named {
  readonly peer: Peer
  readonly key: string

  constructor(peer: Peer, key: string) {
    this.peer = peer
    this.key = key
  }

  /** The next event of a type; rejects if an error arrives instead. */
  event<On extends EventName>(on: On): Promise<EventOf<On>> {
    return this.peer.event(this.key, on)
  }

  /** How many events of a type have arrived and were not read. */
  count(on: EventName): number {
    return this.peer.count(this.key, on)
  }

  protected send(command: CommandWithoutKey): void {
    this.peer.send(this.key, command)
  }
}

/** A server of a peer. */
export class PeerServer extends Named {
  readonly port: number

  constructor(peer: Peer, key: string, port: number) {
    super(peer, key)
    this.port = port
  }

  /** The next connection that the server accepts. */
  async accepted(): Promise<PeerConnection & { readonly setup: EventOf<'accepted'> }> {
    const setup = await this.event('accepted')
    return Object.assign(new PeerConnection(this.peer, setup.connection), { setup })
  }

  close(): void {
    this.send({ do: 'close' })
  }
}

/** A request that a peer has received, and the stream to answer it. */
export type Requested = EventOf<'requested'> & { readonly answer: PeerStream; readonly bytes: Buffer }

/** One connection of a peer, as a client or as a server. */
export class PeerConnection extends Named {
  /** Sends a request. Data that is not bytes is sent as JSON; `undefined` means no data. */
  open(
    kind: Kind,
    metadata: string | RequestMetadata,
    data?: unknown,
    options: { n?: number; complete?: boolean } = {}
  ) {
    const stream = new PeerStream(this.peer, this.peer.newName('stream'))
    const { n = 0x7fff_ffff, complete = false } = options
    const described = typeof metadata === 'string' ? { route: metadata } : metadata
    this.peer.send(stream.key, {
      do: 'open',
      connection: this.key,
      kind,
      data: encode(data),
      n,
      complete,
      ...described
    })
    return stream
  }

  /** Sends a request and waits for the answer. */
  async request(metadata: string | RequestMetadata, data?: unknown): Promise<unknown> {
    const stream = this.open('response', metadata, data)
    const value = await stream.value()
    await stream.event('complete')
    return value
  }

  /** The next request of the other side. */
  async requested(): Promise<Requested> {
    const event = await this.event('requested')
    return Object.assign(event, {
      answer: new PeerStream(this.peer, event.stream),
      bytes: Buffer.from(event.data, 'base64')
    })
  }

  push(metadata: string): void {
    this.send({ do: 'push', data: encode(Buffer.from(metadata)) })
  }

  grant(requests: number, timeToLive = 600_000): void {
    this.send({ do: 'grant', requests, timeToLive })
  }

  /** Closes the connection, unless it is closed already. */
  async leave(): Promise<void> {
    this.send({ do: 'close' })
    await this.peer.closed(this.key)
  }
}

/** One stream of a peer, on either side. */
export class PeerStream extends Named {
  /** The next value, read as JSON; `undefined`: no bytes. */
  async value(): Promise<unknown> {
    const bytes = await this.bytes()
    return bytes.length === 0 ? undefined : JSON.parse(bytes.toString())
  }

  async bytes(): Promise<Buffer> {
    return Buffer.from((await this.event('next')).data, 'base64')
  }

  async values(count: number): Promise<unknown[]> {
    const values: unknown[] = []
    while (values.length < count) values.push(await this.value())
    return values
  }

  next(data: unknown, { complete = false } = {}): void {
    this.send({ do: 'next', data: encode(data), complete })
  }

  complete(): void {
    this.send({ do: 'complete' })
  }

  error(code: number, message: string): void {
    this.send({ do: 'error', code, message })
  }

  request(n: number): void {
    this.send({ do: 'request', n })
  }

  cancel(): void {
    this.send({ do: 'cancel' })
  }
}

function encode(data: unknown): string {
  if (data === undefined) return ''
  return Buffer.from(data instanceof Uint8Array ? data : JSON.stringify(data)).toString('base64')
}
