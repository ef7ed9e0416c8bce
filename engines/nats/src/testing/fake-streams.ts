/** The streams of the server inside the process. */
import type { Clock } from '@elysia-microservices/transport/kit'
import { JetStreamApiError, type StreamConfig, type StreamInfo } from '@nats-io/jetstream'
import type { JetStream, Message } from '../driver.ts'
import { readPlace } from '../durable/stored.ts'
import type { PullRequest } from './fake-consumer.ts'
import { FakeStream, overlaps } from './fake-stream.ts'

/** How streams send messages to clients. */
export interface Clients {
  /** Whether somebody has subscribed to a subject. */
  hears(subject: string): boolean
  send(to: string, message: Message): void
}

/** JetStream's answer to a message that it was to store. */
export type Confirmation =
  | { readonly stream: string; readonly seq: number; readonly duplicate?: true }
  | { readonly error: { readonly code: number; readonly err_code: number; readonly description: string } }

export class FakeStreams {
  readonly clock: Clock
  readonly clients: Clients
  /** All requests so far: the method, and the stream. */
  readonly asked: string[] = []
  /** All acknowledgements so far: the number of the message, and the words. */
  readonly told: string[] = []
  /** Why the server refuses a request. */
  refuses: (asked: keyof JetStream, stream: string) => Error | undefined = () => undefined
  /** Why the server does not store a message; `undefined`: it does. */
  refusesMessage: (subject: string) => Confirmation | undefined = () => undefined
  /** Whether messages may wait for their time, as from nats-server 2.12 on. */
  hasSchedules = true
  readonly #all = new Map<string, FakeStream>()
  #made = 0

  constructor(clock: Clock, clients: Clients) {
    this.clock = clock
    this.clients = clients
  }

  /** The settings that the server knows: others are left out. */
  known(config: Partial<StreamConfig>): Partial<StreamConfig> {
    if (this.hasSchedules) return config
    const { allow_msg_schedules: _, ...others } = config
    return others
  }

  /** The time of the server as a text that differs each time. */
  newTime(): string {
    const count = String(++this.#made).padStart(6, '0')
    return new Date(this.clock.now()).toISOString().replace('Z', `${count}Z`)
  }

  /** @throws {JetStreamApiError} there is no such stream */
  find(name: string): FakeStream {
    const found = this.#all.get(name)
    if (found === undefined) throw refusal(404, 10_059, 'stream not found')
    return found
  }

  /** The streams that store some messages of a subject. */
  storing(subject: string | undefined): StreamInfo[] {
    return [...this.#all.values()]
      .filter(({ config }) => subject === undefined || config.subjects.some((one) => overlaps(one, subject)))
      .map(({ info }) => info)
  }

  add(config: Partial<StreamConfig> & { readonly name: string }): void {
    const { name, subjects = [name] } = config
    if (this.#all.has(name))
      throw refusal(400, 10_058, 'stream name already in use with a different configuration')
    for (const { config: other } of this.#all.values())
      if (other.subjects.some((one) => subjects.some((given) => overlaps(one, given))))
        throw refusal(400, 10_065, 'subjects overlap with an existing stream')
    this.#all.set(name, new FakeStream(this, { ...config, subjects }))
  }

  /** Deletes a stream with all that it has. */
  delete(name: string): void {
    this.find(name).end()
    this.#all.delete(name)
  }

  /** Stores a message. @returns the answer to its publisher; `undefined`: no stream stores it */
  store(message: Message): Confirmation | undefined {
    for (const stream of this.#all.values())
      if (stream.stores(message.subject)) return this.refusesMessage(message.subject) ?? stream.store(message)
    return undefined
  }

  /** A request for messages. @returns whether there is such a consumer */
  next(stream: string, consumer: string, request: PullRequest, reply: string): boolean {
    const found = this.#all.get(stream)?.consumers.get(consumer)
    found?.request(request, reply)
    return found !== undefined
  }

  acknowledge(subject: string, words: string): void {
    const place = readPlace(subject)
    const consumer = this.#all.get(place?.stream ?? '')?.consumers.get(subject.split('.')[3] ?? '')
    if (place === undefined) return
    this.told.push(`${place.sequence} ${words}`)
    consumer?.acknowledge(place.sequence, words)
  }

  /** The server stops: what is only in memory is lost, and nobody waits for messages. */
  stop(): void {
    for (const [name, stream] of this.#all)
      if (stream.config.storage === 'memory') this.delete(name)
      else stream.stop()
  }
}

export function refusal(code: number, err_code: number, description: string): JetStreamApiError {
  return new JetStreamApiError({ code, err_code, description })
}
