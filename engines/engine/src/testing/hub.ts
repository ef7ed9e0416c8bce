/**
 * An engine inside a test: any number of connections, queues, wildcards, inboxes. Messages from one end to another stay
 * in order, as `Carrier` demands. Other messages are delayed at random, and any message may be lost or doubled.
 */
import { type MessageHeaders, routeMatches } from '@elysia-microservices/transport/kit'
import type { Carried, CarriedHeaders, Carrier, CarrierListener, Engine, Sender, Words } from '../carrier.ts'
import { joinedHeaders } from '../headers.ts'
import { HeldMessages } from '../held-messages.ts'
import { newSecret } from '../secret.ts'
import type { Subject } from '../server/subjects.ts'
import { bytesOf, textOf } from '../words.ts'

/** Faults, each as a share of all messages. */
export interface Faults {
  readonly lost?: number
  readonly doubled?: number
  /** Chooses the messages that may be lost or doubled. Default: all. */
  readonly of?: (address: string, words: string) => boolean
}

export interface HubOptions {
  /** Gives numbers from 0 (inclusive) to 1 (exclusive). */
  readonly random?: () => number
  /** The largest message in bytes. Default: 1 MiB. */
  readonly maxPayload?: number
  /** The type in which words arrive. Default: text. */
  readonly words?: 'text' | 'bytes'
  /** Connections may not listen, for this reason. */
  readonly refusal?: Error
  /** Whether services take batches of requests. Default: true. */
  readonly together?: boolean
}

interface Subscription {
  readonly owner: TestCarrier
  readonly pattern: string
  readonly queue: string | undefined
  readonly receive: (message: Carried) => void
}

interface Delivery {
  readonly to: Subscription
  readonly message: Carried
}

const TOGETHER = '_TOGETHER.'

/** The server of the test's engine: it carries messages between connections. */
export class Hub {
  readonly options: HubOptions
  faults: Faults = {}
  /** All messages published since the start. */
  readonly published: { readonly address: string; readonly words: string; readonly reply: string }[] = []
  readonly carriers = new Set<TestCarrier>()
  #subscriptions: Subscription[] = []
  /** Messages in transit, by sender and receiver. */
  readonly #ways = new Map<string, Delivery[]>()
  #isPumping = false
  #pumped = 0
  #isStopped = false

  constructor(options: HubOptions = {}) {
    this.options = options
  }

  get random(): () => number {
    return this.options.random ?? Math.random
  }

  /** Delivers nothing until `resume`. */
  pause(): void {
    this.#isStopped = true
  }

  resume(): void {
    this.#isStopped = false
    this.#pump()
  }

  add(subscription: Subscription): void {
    this.#subscriptions.push(subscription)
  }

  /**
   * Ends subscriptions of a connection.
   * @param which chooses the subscriptions; default: all
   */
  remove(owner: TestCarrier, which: (one: Subscription) => boolean = () => true): void {
    this.#subscriptions = this.#subscriptions.filter((one) => one.owner !== owner || !which(one))
  }

  /** Drops the messages in transit from and to a connection. */
  drop(owner: TestCarrier): void {
    for (const way of this.#ways.keys())
      if (way.split(' ').includes(String(owner.number))) this.#ways.delete(way)
  }

  publish(from: TestCarrier, address: string, words: Words, reply: string, headers?: MessageHeaders): void {
    const text = textOf(words)
    this.published.push({ address, words: text, reply })
    const said = this.options.words === 'bytes' ? bytesOf(text) : text
    const copy: Words = typeof words === 'string' ? said : new Uint8Array(words)
    const matching = this.#subscriptions.filter(({ pattern }) => matches(pattern, address))
    const queues = new Map<string, Subscription[]>()
    const receivers: Subscription[] = []
    for (const one of matching) {
      if (one.queue === undefined) receivers.push(one)
      else queues.set(one.queue, [...(queues.get(one.queue) ?? []), one])
    }
    for (const members of queues.values())
      receivers.push(members[Math.floor(this.random() * members.length)] as Subscription)
    for (const to of receivers)
      this.#send(from, { to, message: new Arrived(address, copy, reply, headers) }, text)
    if (receivers.length > 0 || reply === '') return
    const nobody: Carried = { address: reply, words: '', reply: '', headers: undefined, isNobody: true }
    for (const to of this.#subscriptions.filter(({ pattern }) => matches(pattern, reply)))
      this.#send(from, { to, message: nobody }, '')
  }

  #send(from: TestCarrier, delivery: Delivery, text: string): void {
    const { lost = 0, doubled = 0, of } = this.faults
    const isAffected = of === undefined || of(delivery.message.address, text)
    if (isAffected && this.random() < lost) return
    const way = `${from.number} ${delivery.to.owner.number}`
    const queue = this.#ways.get(way) ?? []
    this.#ways.set(way, queue)
    queue.push(delivery)
    if (isAffected && this.random() < doubled) queue.push(delivery)
    this.#pump()
  }

  #pump(): void {
    if (this.#isPumping || this.#isStopped) return
    this.#isPumping = true
    // Timers run in between, however many messages are in transit.
    const later = ++this.#pumped % 64 === 0 ? (task: () => void) => setTimeout(task, 0) : queueMicrotask
    later(() => {
      this.#isPumping = false
      if (this.#isStopped) return
      const ways = [...this.#ways].filter(([, queue]) => queue.length > 0)
      if (ways.length === 0) return
      const [, queue] = ways[Math.floor(this.random() * ways.length)] as (typeof ways)[number]
      const { to, message } = queue.shift() as Delivery
      if (to.owner.isConnected && !to.owner.isClosed) to.receive(message)
      this.#pump()
    })
  }
}

/** A message whose fields cannot be copied by `...`, as those of NATS's driver. */
class Arrived implements Carried {
  readonly words: Words
  readonly #address: string
  readonly #reply: string
  readonly #headers: MessageHeaders | undefined

  constructor(address: string, words: Words, reply: string, headers: MessageHeaders | undefined) {
    this.words = words
    this.#address = address
    this.#reply = reply
    this.#headers = headers
  }

  get address(): string {
    return this.#address
  }

  get reply(): string {
    return this.#reply
  }

  get headers(): MessageHeaders | undefined {
    return this.#headers
  }
}

function matches(pattern: string, address: string): boolean {
  return pattern.endsWith('.')
    ? address.startsWith(pattern) && address !== pattern
    : routeMatches(pattern, address)
}

let connections = 0

/** One connection to the hub. */
export class TestCarrier implements Carrier {
  readonly everyone = '_EVERYONE'
  readonly server = 'hub'
  readonly number = ++connections
  isConnected = true
  /** Whether `close` was called. */
  isClosed = false
  readonly #hub: Hub
  readonly #listener: CarrierListener
  readonly #held: HeldMessages
  readonly #waiting = new Set<Sender>()
  /** Whether streams may send. */
  hasRoom = true

  constructor(hub: Hub, listener: CarrierListener) {
    this.#hub = hub
    this.#listener = listener
    this.#held = new HeldMessages(listener)
    hub.carriers.add(this)
  }

  get maxPayload(): number {
    return this.#hub.options.maxPayload ?? 1024 * 1024
  }

  newInbox(): string {
    return `_INBOX.${newSecret()}.`
  }

  isInbox(address: string): boolean {
    return /^_INBOX\.[^.\s]+\./.test(address)
  }

  togetherAt(address: string): string | undefined {
    return this.#hub.options.together === false ? undefined : TOGETHER + address
  }

  publish(address: string, words: Words, reply = '', headers?: CarriedHeaders): void {
    const size = typeof words === 'string' ? bytesOf(words).length : words.length
    if (size > this.maxPayload) throw new Error(`${size} bytes are more than a message may have`)
    if (!this.isConnected)
      return this.#held.hold(address, size, () => this.publish(address, words, reply, headers))
    this.#hub.publish(this, address, words, reply, headers && joinedHeaders(headers))
  }

  emit(address: string, packet: string, reply?: string, headers?: CarriedHeaders): void {
    this.publish(address, packet, reply, headers)
  }

  listen(address: string, receive: (message: Carried) => void, refused?: (error: Error) => void): void {
    const { refusal } = this.#hub.options
    if (refusal !== undefined) return refused?.(refusal)
    this.#hub.add({ owner: this, pattern: address, queue: undefined, receive: this.#guarded(receive) })
  }

  async take(
    subjects: readonly Subject[],
    receive: (subject: Subject, message: Carried) => void
  ): Promise<void> {
    for (const subject of subjects) {
      const { address: pattern, queue } = subject
      this.#hub.add({ owner: this, pattern, queue, receive: this.#guarded((one) => receive(subject, one)) })
      const own = ({ address, words, reply, headers }: Carried) =>
        receive(subject, new Arrived(address.slice(TOGETHER.length), words, reply, headers))
      if (this.#hub.options.together !== false)
        this.#hub.add({ owner: this, pattern: TOGETHER + pattern, queue, receive: this.#guarded(own) })
    }
  }

  #guarded(receive: (message: Carried) => void): (message: Carried) => void {
    return (message) => {
      try {
        receive(message)
      } catch (error) {
        this.#listener.failed(error)
      }
    }
  }

  async leave(): Promise<void> {
    this.#hub.remove(this, ({ pattern }) => !pattern.startsWith('_INBOX.'))
  }

  hasRoomFor(sender: Sender): boolean {
    if (this.hasRoom && this.isConnected) return true
    this.#waiting.add(sender)
    return false
  }

  /** Lets streams send again. */
  makeRoom(): void {
    this.hasRoom = true
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const sender of waiting) sender.resume()
  }

  atTurnEnd(task: () => void): void {
    setTimeout(task, 0)
  }

  async flush(): Promise<void> {
    if (!this.isConnected) throw new Error('The hub is lost')
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.isConnected = false
    this.#hub.remove(this)
    this.#hub.carriers.delete(this)
  }

  /** Cuts the connection: messages in transit are lost. */
  lose(): void {
    this.isConnected = false
    this.#hub.drop(this)
    this.#listener.lost()
  }

  restore(): void {
    this.isConnected = true
    this.#held.release()
    this.#listener.restored()
    this.makeRoom()
  }

  /** Ends the connection as if the driver had given it up. */
  end(error?: Error): void {
    this.isConnected = false
    this.#hub.remove(this)
    this.#hub.carriers.delete(this)
    this.#listener.ended(error)
  }
}

/** The engine of a hub. */
export class TestEngine implements Engine<TestCarrier> {
  readonly name = 'test'
  readonly title = 'TEST'
  readonly where = 'hub'
  readonly #hub: Hub
  /** If set, connections are refused with this error. */
  refusal: Error | undefined

  constructor(hub: Hub) {
    this.#hub = hub
  }

  async open(listener: CarrierListener): Promise<TestCarrier> {
    if (this.refusal !== undefined) throw this.refusal
    return new TestCarrier(this.#hub, listener)
  }

  whyNot(): undefined {}
}
