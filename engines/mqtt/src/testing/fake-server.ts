/**
 * An MQTT server inside the process, behind the driver's interface: what a client must know of a server, and the
 * faults of one. It answers in later turns of the event loop, in the order of what it receives.
 * `driver-cases.ts` compares it with real servers.
 */
import { FakeServer, refusedAt } from '@elysia-microservices/engine/testing'
import { endedWithin } from '@elysia-microservices/transport/kit'
import type { Driver, DriverConnection, DriverListener, Packet } from '../driver.ts'
import type { CheckedOptions, MqttServer } from '../options/options.ts'

/** The reason code for a user without the right. */
const NOT_AUTHORIZED = 135
/** The reason code for a connection that is ended for another one with the same client id. */
const TAKEN_OVER = 142
/** Milliseconds for which a driver that closes waits for the server. */
const MOST_CLOSING = 1_000

interface Subscription {
  readonly group: string | undefined
  readonly filter: string
  readonly id: number | undefined
}

type Told = (isHeard: boolean, refusal: Error | undefined) => void

export class FakeMqttServer extends FakeServer<FakeConnection> {
  /** Topics and filters that nobody may use. */
  readonly forbidden = new Set<string>()
  /** Accepts subscriptions, and delivers nothing, as some servers do for users without the right. */
  isDeaf = false
  /** Sends what is retained also to shared subscriptions, as mosquitto does. */
  keepsForGroups = false
  readonly driver: Driver = { connect: (...args) => this.#connect(...args) }
  readonly #retained = new Map<string, Packet>()
  /** Counts the messages of each shared subscription, so that its members take turns. */
  readonly #turns = new Map<string, number>()

  constructor(port = 1883) {
    super(port)
  }

  async #connect(
    { port }: MqttServer,
    options: CheckedOptions,
    clientId: string,
    listener: DriverListener
  ): Promise<DriverConnection> {
    await new Promise(setImmediate)
    if (!this.leads(port)) throw refusedAt(port)
    for (const other of this.connections) if (other.clientId === clientId) other.drop(TAKEN_OVER)
    const connection = new FakeConnection(this, clientId, port, listener, options.will)
    this.connections.add(connection)
    return connection
  }

  /** Delivers a message. @returns whether somebody has subscribed to its topic */
  deliver(packet: Packet): boolean {
    const { topic, payload, retain = false } = packet
    if (retain && payload.length === 0) this.#retained.delete(topic)
    else if (retain) this.#retained.set(topic, packet)
    const groups = new Map<string, [FakeConnection, Subscription][]>()
    let isHeard = false
    for (const connection of this.connections)
      for (const subscription of connection.subscriptions.values()) {
        if (!matches(subscription.filter, topic)) continue
        isHeard = true
        if (subscription.group === undefined) connection.receive(packet, subscription.id, false)
        else {
          const name = `${subscription.group} ${subscription.filter}`
          groups.set(name, [...(groups.get(name) ?? []), [connection, subscription]])
        }
      }
    for (const [name, members] of groups) {
      const turn = this.#turns.get(name) ?? 0
      this.#turns.set(name, turn + 1)
      const [connection, { id }] = members[turn % members.length] as [FakeConnection, Subscription]
      connection.receive(packet, id, false)
    }
    return isHeard
  }

  /** Sends what is retained to a new subscription. */
  sendRetained(connection: FakeConnection, { group, filter, id }: Subscription): void {
    if (group !== undefined && !this.keepsForGroups) return
    for (const [topic, packet] of this.#retained)
      if (matches(filter, topic)) connection.receive(packet, id, true)
  }
}

class FakeConnection implements DriverConnection {
  readonly subscriptions = new Map<string, Subscription>()
  readonly maximumPacketSize = undefined
  readonly receiveMaximum = undefined
  readonly clientId: string
  readonly port: number
  readonly #server: FakeMqttServer
  readonly #listener: DriverListener
  readonly #will: CheckedOptions['will']
  /** Rejects what waits for an answer of the server. */
  readonly #unanswered = new Set<(error: Error) => void>()
  #isOpen = true
  /** Is set while the client ends the connection. */
  #ended: (() => void) | undefined

  constructor(
    server: FakeMqttServer,
    clientId: string,
    port: number,
    listener: DriverListener,
    will: CheckedOptions['will']
  ) {
    this.#server = server
    this.clientId = clientId
    this.port = port
    this.#listener = listener
    this.#will = will
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  subscribe(filter: string, id: number | undefined): Promise<void> {
    return this.#answered(() => {
      if (this.#server.forbidden.has(filter)) throw refusal()
      const [, group, rest] = /^\$share\/([^/]+)\/(.*)$/s.exec(filter) ?? []
      const subscription = { group, filter: rest ?? filter, id }
      if (this.#server.isDeaf) return
      const isNew = !this.subscriptions.has(filter)
      this.subscriptions.set(filter, subscription)
      if (isNew) this.#server.sendRetained(this, subscription)
    })
  }

  unsubscribe(filters: readonly string[]): Promise<void> {
    return this.#answered(() => {
      for (const filter of filters) this.subscriptions.delete(filter)
    })
  }

  publish(packet: Packet, told?: Told): void {
    this.#server.over(this, () => {
      // A message that was on its way when the connection ended has reached the server, or not: here, not.
      if (!this.#isOpen) return
      const isForbidden = this.#server.forbidden.has(packet.topic)
      const isHeard = !isForbidden && this.#server.deliver(packet)
      if (packet.qos > 0) this.#arrives(() => told?.(isHeard, isForbidden ? refusal() : undefined))
    })
  }

  ping(): Promise<void> {
    return this.#answered(() => {})
  }

  /** The server may end, or stand still, before it knows of this. */
  async end(): Promise<void> {
    if (!this.#isOpen) return
    const closed = new Promise<void>((resolve) => {
      this.#ended = resolve
    })
    this.#server.over(this, () => this.#close())
    await endedWithin(closed, MOST_CLOSING)
    this.#close()
  }

  /** The connection is lost. */
  /** @param code the reason code that the client gets */
  drop(code?: number): void {
    if (!this.#isOpen) return
    this.#close()
    const { pattern, data, retain = false, delay = 0 } = this.#will ?? {}
    if (pattern !== undefined) {
      const payload = JSON.stringify({ pattern, data })
      const publish = () => this.#server.deliver({ topic: pattern, payload, qos: 1, retain })
      if (delay === 0) publish()
      else setTimeout(publish, delay)
    }
    if (this.#ended === undefined) this.#listener.lost(code)
  }

  /** A message from the server. */
  receive({ topic, payload, properties }: Packet, id: number | undefined, retain: boolean): void {
    const own = id === undefined ? properties : { ...properties, subscriptionIdentifier: id }
    this.#arrives(() =>
      this.#listener.message(topic, Buffer.from(payload as string), { retain, properties: own })
    )
  }

  /** Does what comes from the server, unless the connection is lost on the way. */
  #arrives(task: () => void): void {
    this.#server.over(this, () => {
      if (this.#isOpen) task()
    })
  }

  #close(): void {
    this.#isOpen = false
    this.#server.forget(this)
    this.#ended?.()
    for (const reject of this.#unanswered) reject(new Error('The connection has ended'))
    this.#unanswered.clear()
  }

  /** Resolves when the server has run the command; rejects if the connection ends before. */
  #answered(command: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.#isOpen) return reject(new Error('The connection has ended'))
      this.#unanswered.add(reject)
      const answer = (settle: () => void) =>
        this.#arrives(() => {
          this.#unanswered.delete(reject)
          settle()
        })
      this.#arrives(() => {
        try {
          command()
          answer(resolve)
        } catch (error) {
          answer(() => reject(error))
        }
      })
    })
  }
}

function refusal(): Error {
  return Object.assign(new Error('Not authorized'), { code: NOT_AUTHORIZED })
}

/** Whether a topic matches a filter: `+` stands for a level, `#` for all levels at the end. */
function matches(filter: string, topic: string): boolean {
  const levels = topic.split('/')
  const wanted = filter.split('/')
  for (const [index, level] of wanted.entries()) {
    // Wildcards do not match a first level that begins with `$`.
    if (index === 0 && /^[+#]/.test(level) && topic.startsWith('$')) return false
    if (level === '#') return true
    if (level !== '+' && level !== levels[index]) return false
  }
  return wanted.length === levels.length
}
