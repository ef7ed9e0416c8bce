/** One consumer of a stream of the server inside the process: what it delivers to whom, and what comes back. */
import { routeMatches } from '@elysia-microservices/transport/kit'
import type { ConsumerConfig, ConsumerInfo } from '@nats-io/jetstream'
import { headers as newHeaders } from '@nats-io/transport-node'
import type { FakeStream, KeptMessage } from './fake-stream.ts'

const NANOSECONDS = 1_000_000
/** The system's timers take no longer times. */
const LONGEST = 2 ** 31 - 1
const EMPTY = new Uint8Array(0)

/** A request for messages. */
export interface PullRequest {
  readonly batch: number
  readonly max_bytes?: number
  /** Nanoseconds, as in all requests. */
  readonly expires: number
  readonly idle_heartbeat: number
  readonly group?: string
  readonly id?: string
}

interface Waiting extends PullRequest {
  readonly reply: string
  left: number
  bytesLeft: number
  pin: string | undefined
  /** Whether something was sent since the last heartbeat was due. */
  isHeard: boolean
  readonly timers: (() => void)[]
}

/** A message that was delivered and is not done. */
interface Pending {
  /** The number of its first delivery among all. */
  readonly delivery: number
  deliveries: number
  /** Cancels the time after which it is delivered again. */
  cancel: () => void
}

type Config = Omit<Partial<ConsumerConfig>, 'pause_until'> & {
  readonly pause_until?: string | undefined
  readonly priority_policy?: string
  readonly priority_timeout?: number
}

export class FakeConsumer {
  readonly created: string
  readonly #stream: FakeStream
  readonly #name: string
  #config: Config
  /** The number of the next message that was not delivered yet. */
  #next: number
  /** Messages that were not delivered yet. */
  #undelivered = 0
  #deliveries = 0
  readonly #pending = new Map<number, Pending>()
  readonly #again = new Set<number>()
  #waiting: Waiting[] = []
  #pin: string | undefined
  #pins = 0
  #endPin = () => {}
  #endPause = () => {}

  constructor(stream: FakeStream, name: string, config: Config) {
    this.#stream = stream
    this.#name = name
    this.#config = { ack_wait: 30_000 * NANOSECONDS, max_ack_pending: 1_000, ...config }
    this.created = stream.server.newTime()
    this.#next = this.#startOf(config)
    for (const { sequence, subject } of stream.messages)
      if (sequence >= this.#next && this.#matches(subject)) this.#undelivered++
    this.#watchPause()
  }

  #startOf({ deliver_policy, opt_start_seq = 1, opt_start_time }: Config): number {
    if (deliver_policy === 'new') return this.#stream.last + 1
    if (deliver_policy === 'by_start_sequence') return opt_start_seq
    if (deliver_policy !== 'by_start_time') return this.#stream.first
    const since = new Date(opt_start_time as string).getTime()
    const found = this.#stream.messages.find(({ storedAt }) => storedAt >= since)
    return found?.sequence ?? this.#stream.last + 1
  }

  get info(): ConsumerInfo {
    // Messages that are too old are deleted.
    void this.#stream.first
    const stream_seq = this.#next - 1
    const undone = [...this.#pending.keys()]
    return {
      stream_name: this.#stream.config.name,
      name: this.#name,
      created: this.created,
      config: this.#config,
      delivered: { consumer_seq: this.#deliveries, stream_seq },
      ack_floor: { consumer_seq: 0, stream_seq: undone.length === 0 ? stream_seq : Math.min(...undone) - 1 },
      num_ack_pending: this.#pending.size,
      num_redelivered: this.#again.size,
      num_waiting: this.#heard.length,
      num_pending: this.#undelivered,
      paused: this.#isPaused,
      ...(this.#pin !== undefined && { priority_groups: [{ group: 'one', pinned_client_id: this.#pin }] })
    } as unknown as ConsumerInfo
  }

  /** Changes the settings. A server leaves the pause as it is, whatever the settings say. */
  update(change: Config): void {
    this.#config = { ...this.#config, ...change, pause_until: this.#config.pause_until }
  }

  /** Messages that wait in a paused consumer are delivered with its next sign of life, as by a server. */
  pause(until: string | undefined): void {
    this.#config = { ...this.#config, pause_until: until }
    this.#watchPause()
  }

  get #isPaused(): boolean {
    return this.#pauseLeft > 0
  }

  get #pauseLeft(): number {
    const { pause_until: until } = this.#config
    return until === undefined ? 0 : new Date(until).getTime() - this.#stream.server.clock.now()
  }

  #watchPause(): void {
    this.#endPause()
    if (this.#isPaused) this.#endPause = this.#after(this.#pauseLeft, () => this.#work())
  }

  #after(milliseconds: number, wake: () => void): () => void {
    return milliseconds > LONGEST ? () => {} : this.#stream.server.clock.after(milliseconds, wake)
  }

  #matches(subject: string): boolean {
    const { filter_subject: filter } = this.#config
    return filter === undefined || routeMatches(filter, subject)
  }

  /** The stream has a new message. */
  came(sequence: number, subject: string): void {
    if (sequence < this.#next || !this.#matches(subject)) return
    this.#undelivered++
    this.#work()
  }

  /** A message was deleted. */
  lost(sequence: number, subject: string): void {
    const pending = this.#pending.get(sequence)
    if (pending !== undefined) this.#forget(sequence, pending)
    else if (sequence >= this.#next && this.#matches(subject))
      this.#undelivered = Math.max(0, this.#undelivered - 1)
  }

  // ── requests ─────────────────────────────────────────────────────────────────────────────────────────

  request(request: PullRequest, reply: string): void {
    const { batch, max_bytes = Number.POSITIVE_INFINITY, expires, idle_heartbeat, id } = request
    const one: Waiting = {
      ...request,
      reply,
      left: batch,
      bytesLeft: max_bytes,
      pin: id,
      isHeard: false,
      timers: []
    }
    if (id !== undefined && id !== this.#pin) return this.#say(one, 423, 'Nats-Wrong-Pin-Id')
    if (id !== undefined) this.#keepPin()
    this.#waiting.push(one)
    one.timers.push(this.#after(expires / NANOSECONDS, () => this.#refuse(one, 408, 'Request Timeout')))
    this.#beat(one, idle_heartbeat / NANOSECONDS)
    this.#work()
  }

  #beat(one: Waiting, every: number): void {
    if (every === 0) return
    const cancel = this.#after(every, () => {
      if (!one.isHeard) this.#say(one, 100, 'Idle Heartbeat')
      one.isHeard = false
      this.#beat(one, every)
      this.#work()
    })
    one.timers[1] = cancel
  }

  #say({ reply }: Pick<Waiting, 'reply'>, code: number, description: string): void {
    this.#stream.server.clients.send(reply, {
      subject: reply,
      data: EMPTY,
      headers: newHeaders(code, description)
    })
  }

  #refuse(one: Waiting, code: number, description: string): void {
    this.#drop(one)
    this.#say(one, code, description)
  }

  #drop(one: Waiting): void {
    for (const cancel of one.timers) cancel()
    this.#waiting = this.#waiting.filter((other) => other !== one)
  }

  /** The requests of processes that are still there. */
  get #heard(): Waiting[] {
    for (const one of this.#waiting) if (!this.#stream.server.clients.hears(one.reply)) this.#drop(one)
    return this.#waiting
  }

  /** The request that gets the next message. */
  #chosen(): Waiting | undefined {
    const isPinned = this.#config.priority_policy === 'pinned_client'
    for (const one of this.#heard) {
      if (!isPinned) return one
      if (one.pin !== undefined && one.pin !== this.#pin) this.#refuse(one, 423, 'Nats-Wrong-Pin-Id')
      else if (this.#pin === undefined || one.pin !== undefined) return one
    }
    return undefined
  }

  // ── the process that is served ───────────────────────────────────────────────────────────────────────

  #keepPin(): void {
    this.#endPin()
    const { priority_timeout = 120_000 * NANOSECONDS } = this.#config
    this.#endPin = this.#after(priority_timeout / NANOSECONDS, () => this.unpin())
  }

  /** Serves another process from now on. */
  unpin(): void {
    this.#endPin()
    this.#pin = undefined
    this.#work()
  }

  #pinOf(one: Waiting): string | undefined {
    if (this.#config.priority_policy !== 'pinned_client') return undefined
    if (this.#pin === undefined) {
      this.#pin = `pin-${++this.#pins}`
      this.#keepPin()
    }
    one.pin = this.#pin
    return this.#pin
  }

  // ── deliveries ───────────────────────────────────────────────────────────────────────────────────────

  #work(): void {
    if (this.#isPaused) return
    for (let message = this.#due(); message !== undefined; message = this.#due()) {
      const one = this.#chosen()
      if (one === undefined) return
      if (message.data.length > one.bytesLeft) this.#refuse(one, 409, 'Message Size Exceeds MaxBytes')
      else this.#deliver(message, one)
    }
  }

  /** The next message that may be delivered. */
  #due(): KeptMessage | undefined {
    const [again] = this.#again
    if (again !== undefined) return this.#stream.get(again)
    const { max_ack_pending: most = -1 } = this.#config
    if (this.#undelivered === 0 || (most > 0 && this.#pending.size >= most)) return undefined
    for (let sequence = this.#next; sequence <= this.#stream.last; sequence++) {
      const message = this.#stream.get(sequence)
      if (message !== undefined && this.#matches(message.subject)) return message
    }
    return undefined
  }

  #deliver(message: KeptMessage, one: Waiting): void {
    const { sequence, subject, data, storedAt } = message
    const delivery = ++this.#deliveries
    const known = this.#pending.get(sequence)
    if (known === undefined) {
      this.#next = sequence + 1
      this.#undelivered--
    }
    this.#again.delete(sequence)
    const pending = known ?? { delivery, deliveries: 0, cancel: () => {} }
    pending.deliveries++
    this.#pending.set(sequence, pending)
    this.#expect(sequence, pending)
    one.isHeard = true
    one.bytesLeft -= data.length
    if (--one.left === 0) this.#drop(one)
    const pin = this.#pinOf(one)
    let { headers } = message
    if (pin !== undefined) {
      const own = newHeaders()
      for (const [name, values] of headers ?? []) for (const value of values) own.append(name, value)
      own.set('Nats-Pin-Id', pin)
      headers = own
    }
    const place = [pending.deliveries, sequence, delivery, `${storedAt}000000`, this.#undelivered].join('.')
    const reply = `$JS.ACK.${this.#stream.config.name}.${this.#name}.${place}`
    this.#stream.server.clients.send(one.reply, { subject, data, reply, headers })
  }

  /** Expects word of a message. */
  #expect(
    sequence: number,
    pending: Pending,
    within = (this.#config.ack_wait as number) / NANOSECONDS
  ): void {
    pending.cancel()
    pending.cancel = this.#after(within, () => {
      this.#again.add(sequence)
      this.#work()
    })
  }

  acknowledge(sequence: number, words: string): void {
    const pending = this.#pending.get(sequence)
    if (pending === undefined) return
    const [, delay] = /^-NAK (.*)$/.exec(words) ?? []
    if (delay !== undefined)
      this.#expect(sequence, pending, (JSON.parse(delay) as { delay: number }).delay / NANOSECONDS)
    else if (words === '+WPI') this.#expect(sequence, pending)
    else if (words === '-NAK') {
      pending.cancel()
      this.#again.add(sequence)
    } else {
      this.#forget(sequence, pending)
      if (this.#stream.config.retention === 'workqueue') this.#stream.delete(sequence)
    }
    this.#work()
  }

  #forget(sequence: number, pending: Pending): void {
    pending.cancel()
    this.#pending.delete(sequence)
    this.#again.delete(sequence)
  }

  /** The server stops. */
  stop(): void {
    for (const one of this.#waiting) this.#drop(one)
    this.#endPin()
    this.#pin = undefined
  }

  /** The consumer is deleted. */
  end(description: string): void {
    for (const one of this.#waiting) this.#refuse(one, 409, description)
    for (const [sequence, pending] of this.#pending) this.#forget(sequence, pending)
    this.#endPause()
    this.stop()
  }
}
