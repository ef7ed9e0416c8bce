/**
 * A RabbitMQ server inside the process, behind the driver's interface: what a client must know of a server, and the
 * faults of one. `driver-cases.ts` compares it with a real server. A test lets it work on its own, in later turns of the
 * event loop, or takes each step itself.
 */
import { FakeServer, refusedAt } from '@elysia-microservices/engine/testing'
import { type Clock, systemClock } from '@elysia-microservices/transport/kit'
import type {
  ConnectOptions,
  Driver,
  DriverConnection,
  DriverListener,
  Properties,
  QueueSettings
} from '../driver.ts'
import { FakeChannel } from './fake-channel.ts'
import { type Consuming, FakeQueue } from './fake-queue.ts'

interface Exchange {
  readonly name: string
  readonly type: string
  bindings: Binding[]
}

interface Binding {
  readonly key: string
  readonly to: FakeQueue | Exchange
}

/** Longest chain of exchanges. */
const MOST_EXCHANGES = 10

export class FakeRabbitServer extends FakeServer<FakeConnection> {
  /** The version that it states. */
  version = '3.13.0'
  /** Names of queues and exchanges that nobody may use. */
  readonly forbidden = new Set<string>()
  /** Names of queues that store nothing more. */
  readonly full = new Set<string>()
  readonly queues = new Map<string, FakeQueue>()
  readonly channels = new Set<FakeChannel>()
  readonly driver: Driver = { connect: (...args) => this.#connect(...args) }
  readonly #exchanges = new Map<string, Exchange>()
  readonly #clock: Clock
  readonly #isByHand: boolean

  /** @param isByHand whether a test takes each step itself, by `take` */
  constructor({ port = 5672, clock = systemClock, isByHand = false } = {}) {
    super(port)
    this.#clock = clock
    this.#isByHand = isByHand
  }

  // ── its life ─────────────────────────────────────────────────────────────────────────────────────────

  /** Durable queues and persistent messages stay. */
  override stop(): void {
    super.stop()
    for (const [name, queue] of this.queues) {
      if (queue.settings.durable === false) this.deleteQueue(name)
      else queue.messages = queue.messages.filter(({ properties }) => properties.persistent === true)
    }
  }

  /** Tells all connections that the server takes no messages, or takes them again. */
  halt(reason: string | undefined): void {
    for (const { listener } of this.connections) listener.halted(reason)
  }

  async #connect(url: string, _options: ConnectOptions, listener: DriverListener): Promise<DriverConnection> {
    await new Promise(setImmediate)
    const port = Number(new URL(url).port || 5672)
    if (!this.leads(port)) throw refusedAt(port)
    const connection = new FakeConnection(this, port, listener)
    this.connections.add(connection)
    return connection
  }

  /** Takes one step on a channel that has something to do. @returns whether there was one */
  take(pick: number): boolean {
    const busy = [...this.channels].filter(({ isBusy }) => isBusy)
    busy[pick % Math.max(1, busy.length)]?.step(pick)
    return busy.length > 0
  }

  override work(): void {
    if (!this.#isByHand) super.work()
  }

  /** Each message takes a turn of the event loop for each way. */
  protected override step(): void {
    for (const to of ['server', 'client'] as const)
      for (const channel of this.channels) if (!this.isHeld(channel.port)) channel.flow(to)
    if ([...this.channels].some(({ isBusy, port }) => isBusy && !this.isHeld(port))) this.work()
  }

  override forget(connection: FakeConnection): void {
    super.forget(connection)
    for (const [name, { owner }] of this.queues) if (owner === connection) this.deleteQueue(name)
  }

  // ── exchanges ────────────────────────────────────────────────────────────────────────────────────────

  declareExchange(name: string, type: string): void {
    this.#mayUse('exchange', name)
    const known = this.#exchanges.get(name)
    if (known !== undefined && known.type !== type)
      throw refusal(406, 'PRECONDITION', `inequivalent arg 'type' for exchange '${name}' in vhost '/'`)
    if (known === undefined) this.#exchanges.set(name, { name, type, bindings: [] })
  }

  /** @throws there is no such exchange */
  exchange(name: string): Exchange {
    this.#mayUse('exchange', name)
    const exchange = this.#exchanges.get(name)
    if (exchange === undefined) throw refusal(404, 'NOT_FOUND', `no exchange '${name}' in vhost '/'`)
    return exchange
  }

  bind(from: string, binding: Binding): void {
    const exchange = this.exchange(from)
    if (!exchange.bindings.some(({ key, to }) => key === binding.key && to === binding.to))
      exchange.bindings.push(binding)
  }

  unbind(from: string, queue: string, key: string): void {
    const exchange = this.exchange(from)
    exchange.bindings = exchange.bindings.filter((one) => one.key !== key || one.to.name !== queue)
  }

  /** The queues to which an exchange leads. */
  #leadsTo(name: string, routingKey: string, depth = 0): Set<FakeQueue> {
    if (name === '') return new Set([this.queues.get(routingKey)].filter((queue) => queue !== undefined))
    const found = new Set<FakeQueue>()
    const { type, bindings } = this.exchange(name)
    for (const { key, to } of bindings) {
      const isMatch = type === 'fanout' || (type === 'topic' ? matches(key, routingKey) : key === routingKey)
      if (!isMatch || depth > MOST_EXCHANGES) continue
      if (to instanceof FakeQueue) found.add(to)
      else for (const queue of this.#leadsTo(to.name, routingKey, depth + 1)) found.add(queue)
    }
    return found
  }

  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    properties: Properties
  ): 'stored' | 'untaken' | 'refused' {
    const queues = [...this.#leadsTo(exchange, routingKey)]
    if (queues.length === 0) return 'untaken'
    const { expiration } = properties
    const expiresAt = expiration === undefined ? undefined : this.#clock.now() + Number(expiration)
    let isRefused = false
    for (const queue of queues) {
      const most = queue.settings.maxLength ?? Number.POSITIVE_INFINITY
      if (this.full.has(queue.name) || queue.messages.length >= most) isRefused = true
      else queue.messages.push({ content, exchange, routingKey, properties, deliveries: 0, expiresAt })
      queue.deliver()
    }
    return isRefused ? 'refused' : 'stored'
  }

  // ── queues ───────────────────────────────────────────────────────────────────────────────────────────

  declareQueue(name: string, settings: QueueSettings, owner: object): FakeQueue {
    if (this.queues.has(name)) {
      const known = this.existing(name, owner)
      if (!known.hasSettings(settings))
        throw refusal(406, 'PRECONDITION_FAILED', `inequivalent arg for queue '${name}' in vhost '/'`)
      return known
    }
    this.#mayUse('queue', name)
    const queue = new FakeQueue(name, settings, settings.exclusive === true ? owner : undefined, this.#clock)
    this.queues.set(name, queue)
    return queue
  }

  /** @throws there is no such queue, or it belongs to another connection */
  existing(name: string, owner: object): FakeQueue {
    this.#mayUse('queue', name)
    const queue = this.queues.get(name)
    if (queue === undefined) throw refusal(404, 'NOT_FOUND', `no queue '${name}' in vhost '/'`)
    if (queue.owner !== undefined && queue.owner !== owner)
      throw refusal(405, 'RESOURCE_LOCKED', `cannot obtain exclusive access to locked queue '${name}'`)
    return queue
  }

  deleteQueue(name: string): void {
    const queue = this.queues.get(name)
    if (queue === undefined) return
    this.queues.delete(name)
    for (const exchange of this.#exchanges.values())
      exchange.bindings = exchange.bindings.filter(({ to }) => to !== queue)
    for (const consumer of queue.consumers.splice(0)) consumer.channel.canceled(consumer)
    this.work()
  }

  /** Ends consumers. @param meanwhile runs before others get their turn */
  leave(isMeant: (consumer: Consuming) => boolean, meanwhile = () => {}): void {
    const left: FakeQueue[] = []
    for (const queue of this.queues.values()) {
      const staying = queue.consumers.filter((one) => !isMeant(one))
      if (staying.length < queue.consumers.length) left.push(queue)
      queue.consumers = staying
    }
    meanwhile()
    for (const queue of left) {
      if (queue.settings.autoDelete === true && queue.consumers.length === 0) this.deleteQueue(queue.name)
      else queue.deliver()
    }
    this.work()
  }

  #mayUse(kind: string, name: string): void {
    if (this.forbidden.has(name))
      throw refusal(
        403,
        'ACCESS_REFUSED',
        `access to ${kind} '${name}' in vhost '/' refused for user 'guest'`
      )
  }
}

class FakeConnection implements DriverConnection {
  readonly port: number
  readonly listener: DriverListener
  readonly #server: FakeRabbitServer
  readonly #channels = new Set<FakeChannel>()
  #isOpen = true

  constructor(server: FakeRabbitServer, port: number, listener: DriverListener) {
    this.#server = server
    this.port = port
    this.listener = listener
  }

  get version(): string {
    return this.#server.version
  }

  async openChannel(isConfirmed: boolean): Promise<FakeChannel> {
    await new Promise(setImmediate)
    if (!this.#isOpen) throw new Error('Connection closed')
    const channel = new FakeChannel(this.#server, this, isConfirmed, this.port)
    this.#channels.add(channel)
    channel.whenClosed(() => this.#channels.delete(channel))
    return channel
  }

  /** The connection is lost. */
  drop(): void {
    if (!this.#isOpen) return
    this.#end()
    this.listener.lost()
  }

  async close(): Promise<void> {
    await new Promise(setImmediate)
    this.#end()
  }

  #end(): void {
    this.#isOpen = false
    for (const channel of [...this.#channels]) channel.lose(undefined)
    this.#server.forget(this)
  }
}

function refusal(code: number, name: string, why: string): Error {
  return new Error(`Operation failed; ${code} (${name}) with message "${name} - ${why}"`)
}

/** Whether a routing key matches a binding of a topic exchange: `*` stands for a segment, `#` for any number. */
function matches(binding: string, key: string): boolean {
  const fits = (wanted: readonly string[], given: readonly string[]): boolean => {
    const [first, ...rest] = wanted
    if (first === undefined) return given.length === 0
    if (first === '#') return given.some((_one, at) => fits(rest, given.slice(at))) || fits(rest, [])
    return given.length > 0 && (first === '*' || first === given[0]) && fits(rest, given.slice(1))
  }
  return fits(binding.split('.'), key.split('.'))
}
