/** One stream of the server inside the process: its messages, their limits, and its consumers. */
import { routeMatches } from '@elysia-microservices/transport/kit'
import type { ConsumerConfig, ConsumerInfo, StoredMsg, StreamConfig } from '@nats-io/jetstream'
import { type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node'
import type { Message, StreamState } from '../driver.ts'
import { TOLD } from '../durable/names.ts'
import { sizeOfHeaders } from '../words/headers.ts'
import { FakeConsumer } from './fake-consumer.ts'
import { atItsEnd, atItsTime, deliveredHeaders, whyNoSchedule } from './fake-schedules.ts'
import { type Confirmation, type FakeStreams, refusal } from './fake-streams.ts'

const NANOSECONDS = 1_000_000

/** A message that a stream has stored. */
export interface KeptMessage {
  readonly sequence: number
  readonly subject: string
  readonly data: Uint8Array
  readonly headers: MsgHdrs | undefined
  /** Milliseconds since 1970. */
  readonly storedAt: number
}

const DEFAULTS = {
  retention: 'limits',
  storage: 'file',
  discard: 'old',
  num_replicas: 1,
  max_age: 0,
  max_bytes: -1,
  max_msgs: -1,
  max_msgs_per_subject: -1,
  duplicate_window: 120_000 * NANOSECONDS,
  no_ack: false
} as const

export class FakeStream {
  readonly created: string
  readonly server: FakeStreams
  readonly consumers = new Map<string, FakeConsumer>()
  config: StreamConfig
  last = 0
  readonly #kept = new Map<number, KeptMessage>()
  readonly #ids = new Map<string, { readonly sequence: number; readonly at: number }>()
  #bytes = 0
  /** Whether the stream was deleted. */
  #isGone = false

  constructor(server: FakeStreams, config: Partial<StreamConfig>) {
    this.server = server
    this.created = server.newTime()
    this.config = { ...DEFAULTS, ...server.known(config) } as StreamConfig
  }

  /** The messages that are left, in order. */
  get messages(): readonly KeptMessage[] {
    this.#expire()
    return [...this.#kept.values()]
  }

  /** The number of the first message that is left, or of the next one. */
  get first(): number {
    this.#expire()
    return this.#first
  }

  get #first(): number {
    const [first] = this.#kept.keys()
    return first ?? this.last + 1
  }

  get info(): StreamState {
    const first_seq = this.last === 0 ? 0 : this.first
    const ts = new Date(this.server.clock.now()).toISOString()
    const state = { messages: this.#kept.size, bytes: this.#bytes, first_seq, last_seq: this.last }
    return { config: this.config, created: this.created, state, ts } as unknown as StreamState
  }

  /** Also counts the messages of each subject that matches. */
  infoOn(subject: string | undefined): StreamState {
    const { state, ...others } = this.info
    if (subject === undefined) return this.info
    const subjects: Record<string, number> = {}
    for (const { subject: its } of this.messages)
      if (routeMatches(subject, its)) subjects[its] = (subjects[its] ?? 0) + 1
    return { ...others, state: { ...state, subjects } }
  }

  get consumerInfos(): ConsumerInfo[] {
    return [...this.consumers.values()].map(({ info }) => info)
  }

  update(change: Partial<StreamConfig>): void {
    this.config = { ...this.config, ...this.server.known(change) }
  }

  stores(subject: string): boolean {
    return this.config.subjects.some((one) => routeMatches(one, subject))
  }

  store({ subject, data, headers }: Message): Confirmation {
    this.#expire()
    const { name: stream, max_bytes, max_msgs, discard, duplicate_window } = this.config
    const id = headers?.get('Nats-Msg-Id') ?? ''
    const now = this.server.clock.now()
    const known = this.#ids.get(id)
    if (known !== undefined && now - known.at < duplicate_window / NANOSECONDS)
      return { stream, seq: known.sequence, duplicate: true }
    const last = headers?.get(TOLD.expected) ?? ''
    if (last !== '' && Number(last) !== this.#lastAt(subject))
      return failed(400, 10_071, `wrong last sequence: ${this.#lastAt(subject)}`)
    const refused = whyNoSchedule(this.config, headers)
    if (refused !== undefined) return failed(400, ...refused)
    const size = data.length + (headers === undefined ? 0 : sizeOfHeaders(headers))
    if (headers !== undefined && sizeOfHeaders(headers) > 65_535)
      return failed(400, 10_097, 'header size exceeds maximum allowed of 64k')
    const isFull = () =>
      (max_bytes > 0 && this.#bytes + size > max_bytes) || (max_msgs > 0 && this.#kept.size >= max_msgs)
    if (discard === 'new' && isFull()) return failed(503, 10_077, 'maximum bytes exceeded')
    while (this.#kept.size > 0 && isFull()) this.delete(this.#first)
    this.#makeRoomFor(subject)
    if (headers?.get(TOLD.rollup) === 'sub')
      for (const one of this.#kept.values()) if (one.subject === subject) this.delete(one.sequence)
    const sequence = ++this.last
    this.#kept.set(sequence, { sequence, subject, data, headers, storedAt: now })
    this.#bytes += size
    if (id !== '') this.#ids.set(id, { sequence, at: now })
    for (const consumer of this.consumers.values()) consumer.came(sequence, subject)
    this.#watchTimes(sequence, { subject, data, headers })
    return { stream, seq: sequence }
  }

  /** The number of the last message of a subject; 0: it has none. */
  #lastAt(subject: string): number {
    return [...this.#kept.values()].findLast((one) => one.subject === subject)?.sequence ?? 0
  }

  #watchTimes(sequence: number, { subject, data, headers }: Message): void {
    const { clock } = this.server
    const take = () => !this.#isGone && this.#kept.has(sequence) && this.delete(sequence)
    if (this.config.allow_msg_ttl === true) atItsEnd(clock, headers, take)
    atItsTime(clock, headers, () => {
      if (!take()) return
      const target = headers?.get(TOLD.target) as string
      const delivered = deliveredHeaders(headers, subject)
      this.store({ subject: target, data, headers: delivered })
      const { src, dest } = this.config.republish ?? {}
      if (src === undefined || dest === undefined || !routeMatches(src, target)) return
      const to = dest.replace('>', target.slice(src.indexOf('>')))
      this.server.clients.send(to, { subject: to, data: new Uint8Array(0), headers: delivered })
    })
  }

  #makeRoomFor(subject: string): void {
    const most = this.config.max_msgs_per_subject
    if (most <= 0) return
    const same = [...this.#kept.values()].filter((one) => one.subject === subject)
    for (const { sequence } of same.slice(0, Math.max(0, same.length - most + 1))) this.delete(sequence)
  }

  get(sequence: number): KeptMessage | undefined {
    this.#expire()
    return this.#kept.get(sequence)
  }

  /** @returns whether the message was there */
  delete(sequence: number): boolean {
    const found = this.#kept.get(sequence)
    if (found === undefined) throw refusal(400, 10_043, `no message found with sequence ${sequence}`)
    this.#kept.delete(sequence)
    this.#bytes -= found.data.length + (found.headers === undefined ? 0 : sizeOfHeaders(found.headers))
    for (const consumer of this.consumers.values()) consumer.lost(sequence, found.subject)
    return true
  }

  #expire(): void {
    const { max_age } = this.config
    if (max_age === 0) return
    const oldest = this.server.clock.now() - max_age / NANOSECONDS
    for (const { sequence, storedAt } of this.#kept.values())
      if (storedAt <= oldest) this.delete(sequence)
      else return
  }

  /** A message, or the first one from a number on whose subject matches; `null`: there is none. */
  message(sequence: number, subject: string | undefined): StoredMsg | null {
    const found =
      subject === undefined
        ? this.get(sequence)
        : this.messages.find((one) => one.sequence >= sequence && routeMatches(subject, one.subject))
    if (found === undefined) return null
    const { data, headers = newHeaders(), storedAt } = found
    return {
      subject: found.subject,
      seq: found.sequence,
      data,
      header: headers,
      time: new Date(storedAt)
    } as unknown as StoredMsg
  }

  /** @throws {JetStreamApiError} there is no such consumer */
  consumer(name: string): FakeConsumer {
    const found = this.consumers.get(name)
    if (found === undefined) throw refusal(404, 10_014, 'consumer not found')
    return found
  }

  join(config: Partial<ConsumerConfig>): FakeConsumer {
    const name = config.durable_name as string
    if (this.consumers.has(name)) throw refusal(400, 10_148, 'consumer already exists')
    const made = new FakeConsumer(this, name, config)
    this.consumers.set(name, made)
    return made
  }

  /** Deletes a consumer. */
  leave(name: string): boolean {
    this.consumer(name).end('Consumer Deleted')
    return this.consumers.delete(name)
  }

  stop(): void {
    for (const consumer of this.consumers.values()) consumer.stop()
  }

  end(): void {
    this.#isGone = true
    for (const consumer of this.consumers.values()) consumer.end('Stream Deleted')
  }
}

function failed(code: number, err_code: number, description: string): Confirmation {
  return { error: { code, err_code, description } }
}

/** Whether some subject matches both. */
export function overlaps(one: string, other: string): boolean {
  const [ones, others] = [one.split('.'), other.split('.')]
  for (const [at, part] of ones.entries()) {
    const its = others[at]
    if (part === '>' || its === '>') return its !== undefined
    if (its === undefined || (part !== its && part !== '*' && its !== '*')) return false
  }
  return ones.length === others.length
}
