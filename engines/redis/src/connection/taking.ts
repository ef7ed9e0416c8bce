/**
 * The subscriptions of a service over one connection: to the messages that clients of this library send to this
 * process, and to those that NestJS clients send to all.
 */
import { type Carried, newSecret, OncePerQueue, type Subject, textOf } from '@elysia-microservices/engine'
import { hasWildcards, routeMatches } from '@elysia-microservices/transport/kit'
import type { DriverConnection } from '../driver.ts'
import { answersOf, globOf, NEST_ANSWER, placeOf } from '../words/channels.ts'
import { readFrame, readNest } from '../words/frames.ts'

/** The subscriptions of a service. */
export class Taking {
  readonly #driver: DriverConnection
  /** Identifies this process to callers. */
  readonly #id = newSecret()
  /** The subjects by their channel: the channels of this process, the channels of NestJS, and the globs. */
  readonly #taken = new Map<string, Subject>()
  readonly #exact = new Map<string, Subject[]>()
  readonly #wild = new Map<string, Subject[]>()
  #once = new OncePerQueue([])
  #receive: (subject: Subject, message: Carried) => void = () => {}
  /** Durable handlers, which also receive what NestJS clients publish. */
  #besides: { readonly pattern: string; readonly receive: (channel: string, text: string) => void }[] = []

  constructor(driver: DriverConnection) {
    this.#driver = driver
  }

  /** The channels of this process, which callers are told. */
  get channels(): readonly string[] {
    return [...this.#taken.keys()]
  }

  /** Subscribes. @throws the server's error, if this user may not subscribe */
  async start(
    subjects: readonly Subject[],
    receive: (subject: Subject, message: Carried) => void
  ): Promise<void> {
    this.#receive = receive
    this.#once = new OncePerQueue(subjects)
    const wanted: Promise<void>[] = []
    for (const subject of subjects) {
      const { channel } = placeOf(subject.address, subject.queue, this.#id, subject.answers)
      const nests = subject.isExact ? subject.address : globOf(subject.address)
      const all = subject.isExact ? this.#exact : this.#wild
      this.#taken.set(channel, subject)
      all.set(nests, [...(all.get(nests) ?? []), subject])
      wanted.push(this.#driver.subscribe(channel), this.#driver.subscribe(nests, !subject.isExact))
    }
    await Promise.all(wanted)
  }

  /**
   * Receives what NestJS clients publish to a durable pattern, in addition to the handlers that are not durable.
   * @throws the server's error, if this user may not subscribe
   */
  async hearNest(pattern: string, receive: (channel: string, text: string) => void): Promise<void> {
    this.#besides.push({ pattern, receive })
    if (hasWildcards(pattern)) await this.#driver.subscribe(globOf(pattern), true)
    else await this.#driver.subscribe(pattern)
  }

  async leave(): Promise<void> {
    const patterns = this.#besides.map(({ pattern }) => pattern)
    this.#besides = []
    const channels = [...this.#taken.keys(), ...this.#exact.keys(), ...patterns]
    const globs = [...this.#wild.keys(), ...patterns.filter(hasWildcards).map(globOf)]
    await this.#driver.unsubscribe(channels, globs).catch(() => {})
    this.#taken.clear()
    this.#exact.clear()
    this.#wild.clear()
  }

  /** Handles a message on one of the channels of this process. @returns false: the channel belongs to no subject */
  receive(channel: string, bytes: Buffer): boolean {
    const subject = this.#taken.get(channel)
    if (subject === undefined) return false
    this.#receive(subject, readFrame(bytes))
    return true
  }

  /**
   * Handles a message of a NestJS client. Every process receives it, and in each process one subject of each queue.
   */
  receiveNest(glob: string | undefined, channel: string, bytes: Buffer): void {
    for (const { pattern, receive } of this.#besides)
      if (
        hasWildcards(pattern)
          ? glob === globOf(pattern) && routeMatches(pattern, channel)
          : pattern === channel
      )
        receive(channel, textOf(bytes))
    const subjects = glob === undefined ? this.#exact.get(channel) : this.#wild.get(glob)
    if (subjects === undefined) return
    const { words, isRequest, isForNest, headers, reached } = readNest(textOf(bytes))
    // The request is for NestJS services only: otherwise every process of this library would handle it.
    if (isForNest) return
    const message = {
      address: channel,
      words,
      reply: isRequest ? NEST_ANSWER + answersOf(channel) : '',
      headers
    }
    for (const subject of subjects) {
      if (reached.includes(subject.queue ?? this.#id)) continue
      if (this.#once.of(channel).includes(subject)) this.#receive(subject, message)
    }
  }
}
