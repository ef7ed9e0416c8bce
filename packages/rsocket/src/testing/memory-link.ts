/**
 * A server inside the process, and the links of a client to it: bytes pass from one protocol to the other in later
 * turns, without sockets. A test refuses, loses and counts the links.
 */
import type { Dispatcher } from '@elysia-microservices/transport/kit'
import { cannotConnect } from '../connection/connection-errors.ts'
import type { ClientProtocol, ProtocolConnection } from '../connection/protocol.ts'
import { reasonOf } from '../connection/system-errors.ts'
import type { Link, LinkParts } from '../pool/endpoint.ts'
import { FakeOutput } from './peer.ts'
import { newRsocketServer, turn } from './rsocket-peer.ts'

/** One direction of a connection. */
class Wire extends FakeOutput {
  /** The protocol that gets what is sent. */
  to: () => ProtocolConnection | undefined = () => undefined
  over: () => void = () => {}

  override committed(): void {
    super.committed()
    const bytes = this.sent()
    if (bytes.length === 0) return
    this.left += bytes.length
    setImmediate(() => {
      this.left -= bytes.length
      this.to()?.receive(bytes)
    })
  }

  override end(reason?: Error): void {
    super.end(reason)
    setImmediate(() => this.over())
  }
}

/** Turns of the event loop until a late link is there: others have failed long before. */
const LATE = 20

/** The outcome of an attempt to connect. `waits`: until the attempt is cancelled. */
export type Fate = 'connects' | 'connects late' | 'fails' | 'waits'

/** A server that links reach, or not, as a test says. */
export class MemoryServer {
  /** The links that are open, in order. */
  readonly links = new Set<MemoryLink>()
  /** The number of attempts to connect. */
  attempts = 0
  fate: Fate = 'connects'
  readonly #dispatcher: Dispatcher

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher
  }

  link(parts: LinkParts, where = 'tcp://server:1'): MemoryLink {
    this.attempts++
    return new MemoryLink(this, parts, where)
  }

  /** Loses all links. */
  lose(): void {
    for (const link of [...this.links]) link.lose()
  }

  /** Connects a client. @returns its output */
  join(client: ClientProtocol, link: MemoryLink): FakeOutput {
    const [there, back] = [new Wire(), new Wire()]
    const server = newRsocketServer({ dispatcher: this.#dispatcher }, {}, back)
    there.to = () => server.connection
    back.to = () => (this.links.has(link) ? client : undefined)
    there.over = back.over = () => link.lose()
    this.links.add(link)
    return there
  }
}

/** A link to a server inside the process. */
export class MemoryLink implements Link {
  readonly where: string
  readonly protocol: ClientProtocol
  readonly connected: Promise<void>
  readonly closed: Promise<Error | undefined>
  readonly #server: MemoryServer
  readonly #finished: (reason: Error | undefined) => void
  #isOver = false

  constructor(server: MemoryServer, { protocol, over }: LinkParts, where: string) {
    this.#server = server
    this.where = where
    this.protocol = protocol(this.where)
    let resolve!: (reason: Error | undefined) => void
    this.closed = new Promise((settle) => {
      resolve = settle
    })
    this.#finished = (reason) => {
      over(reason)
      resolve(reason)
    }
    this.connected = this.#connect().catch((cause: Error) => {
      this.#finish(cause)
      throw cannotConnect(where, cause, false, reasonOf)
    })
  }

  async #connect(): Promise<void> {
    const { fate } = this.#server
    for (let turns = fate === 'connects late' ? LATE : 1; turns > 0; turns--) await turn()
    if (fate === 'waits') await this.closed
    if (this.#isOver) throw new Error('the link was ended')
    if (fate === 'fails') throw Object.assign(new Error('nobody'), { code: 'ECONNREFUSED' })
    this.protocol.open(this.#server.join(this.protocol, this))
  }

  drain(): void {
    if (this.protocol.inFlight === 0) return this.#finish()
    setImmediate(() => this.drain())
  }

  end(): void {
    this.protocol.leave?.()
    this.#finish()
  }

  /** The connection is lost. */
  lose(): void {
    this.#finish(new Error('lost'))
  }

  #finish(reason?: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#server.links.delete(this)
    this.#finished(reason)
    this.protocol.close(reason)
  }
}
