/**
 * A NATS server inside the process, behind the driver's interface: what a client must know of a server, and the faults
 * of one. It answers in later turns of the event loop, in the order of what it receives. `driver-cases.ts` compares it
 * with real servers.
 */
import { FakeServer } from '@elysia-microservices/engine/testing'
import { type Clock, routeMatches, systemClock } from '@elysia-microservices/transport/kit'
import { errors, type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node'
import type { Driver, DriverConnection, DriverListener, Message } from '../driver.ts'
import type { CheckedOptions } from '../options/options.ts'
import { FakeConnection, type FakeSubscription } from './fake-connection.ts'
import { FakeStreams } from './fake-streams.ts'

const NEXT = '$JS.API.CONSUMER.MSG.NEXT.'
const ACK = '$JS.ACK.'
const EMPTY = new Uint8Array(0)

/** The options of a fake server. */
export interface FakeOptions {
  readonly port?: number
  /** The clock of the streams. Default: the system's */
  readonly clock?: Clock
}

export class FakeNatsServer extends FakeServer<FakeConnection> {
  readonly driver: Driver = { connect: (...args) => this.#connect(...args) }
  readonly streams: FakeStreams
  /** Subjects to which nobody may publish or subscribe. */
  readonly forbidden = new Set<string>()
  /** Whether the server was started with JetStream. */
  hasJetStream = true
  /** Whether messages that are not stored are lost, and no connection is: nodes of a cluster do not reach each other. */
  isMute = false
  /** The bytes of the largest message. */
  maxPayload = 1024 * 1024
  /** Subscriptions without wildcards by their subject, and all others. */
  readonly #exact = new Map<string, Set<FakeSubscription>>()
  readonly #wide = new Set<FakeSubscription>()
  /** Counts the messages of each queue, so that its members take turns. */
  readonly #turns = new Map<string, number>()

  constructor({ port = 4222, clock = systemClock }: FakeOptions = {}) {
    super(port)
    this.streams = new FakeStreams(clock, {
      hears: (subject) => this.#heard(subject).length > 0,
      send: (to, message) => void this.deliver(message, to)
    })
  }

  /** The events that streams keep in memory only are lost, too. */
  override stop(): void {
    super.stop()
    this.streams.stop()
  }

  async #connect(options: CheckedOptions['connection'], listener: DriverListener): Promise<DriverConnection> {
    await new Promise(setImmediate)
    const [first = ''] = [options.servers ?? ''].flat()
    const port = Number(/:(\d+)$/.exec(first)?.[1] ?? options.port ?? 4_222)
    if (!this.leads(port)) throw new errors.ConnectionError('connection refused')
    const connection = new FakeConnection(this, port, listener)
    this.connections.add(connection)
    return connection
  }

  protected override found(): void {
    this.turn(() => {
      for (const connection of this.connections)
        if (!connection.isConnected && this.leads(connection.port)) connection.restore()
    })
  }

  subscribe(one: FakeSubscription): void {
    if (/[*>]/.test(one.subject)) this.#wide.add(one)
    else this.#exact.set(one.subject, (this.#exact.get(one.subject) ?? new Set()).add(one))
  }

  unsubscribe(one: FakeSubscription): void {
    this.#wide.delete(one)
    const others = this.#exact.get(one.subject)
    if (others?.delete(one) && others.size === 0) this.#exact.delete(one.subject)
  }

  #heard(subject: string): FakeSubscription[] {
    const heard = [...(this.#exact.get(subject) ?? [])]
    for (const one of this.#wide)
      if (subject.startsWith(one.head) && routeMatches(one.subject, subject)) heard.push(one)
    return heard
  }

  /** A message from a client. */
  publish(subject: string, data: Uint8Array, reply: string | undefined, headers: MsgHdrs | undefined): void {
    const message: Message = { subject, data, reply, headers }
    let isHeard = this.isMute || this.deliver(message)
    if (this.hasJetStream) {
      if (subject.startsWith(ACK)) {
        this.streams.acknowledge(subject, new TextDecoder().decode(data))
        if (reply !== undefined) this.deliver({ subject: reply, data: EMPTY })
        return
      }
      if (subject.startsWith(NEXT) && reply !== undefined) {
        const [stream = '', consumer = ''] = subject.slice(NEXT.length).split('.')
        isHeard = this.streams.next(stream, consumer, JSON.parse(new TextDecoder().decode(data)), reply)
      }
      const said = this.streams.store(message)
      if (said !== undefined && reply !== undefined)
        this.deliver({ subject: reply, data: new TextEncoder().encode(JSON.stringify(said)) })
      isHeard ||= said !== undefined
    }
    if (!isHeard && reply !== undefined)
      this.deliver({ subject: reply, data: EMPTY, headers: newHeaders(503, 'No Responders') })
  }

  /** Delivers a message. @param to the subject of the subscriptions, if it is not that of the message */
  deliver(message: Message, to = message.subject): boolean {
    const queues = new Map<string, FakeSubscription[]>()
    const heard = this.#heard(to)
    for (const one of heard) {
      if (one.queue === undefined) one.hear(message)
      else queues.set(one.queue, [...(queues.get(one.queue) ?? []), one])
    }
    for (const [queue, members] of queues) {
      const turn = this.#turns.get(queue) ?? 0
      this.#turns.set(queue, turn + 1)
      members[turn % members.length]?.hear(message)
    }
    return heard.length > 0
  }
}
