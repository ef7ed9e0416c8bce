/** The stored events of a client over NATS: publishing, dead letters, pauses of groups. */
import {
  type ClientStoreInit,
  type EventContent,
  type EventHead,
  PublishingStore,
  unknownGroup
} from '@elysia-microservices/engine'
import {
  type BacklogEvent,
  type DeadLetters,
  hasTime,
  type ListBacklogOptions,
  OptionError,
  type Pattern,
  type Published,
  type PublishOptions
} from '@elysia-microservices/transport/kit'
import type { ConsumerInfo } from '@nats-io/jetstream'
import { bytesOf } from '../connection/bytes.ts'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { CheckedOptions } from '../options/options.ts'
import { writeHeaders } from '../words/headers.ts'
import { backlogOf } from './backlog.ts'
import { NatsDeadLetters } from './dead-letters.ts'
import { EventStore } from './event-store.ts'
import { NatsFuture } from './future.ts'
import { consumersOf } from './groups.ts'
import { readableError } from './jetstream-errors.ts'
import { askTime, ensureLater } from './later-stream.ts'
import { AGAIN, HEADER, idToHeader } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import { ServerTime } from './server-time.ts'
import { Streams } from './streams.ts'
import { checkDue, patternInSubject, waitingAddress, waitingPattern } from './waiting.ts'

/** The time in milliseconds for which a group is paused; `resumeGroup` ends the pause earlier. */
const FOR_EVER = 50 * 365 * 24 * 60 * 60 * 1_000

/** Publishes and manages stored events, over the current connection of the client. */
export class NatsClientStore extends PublishingStore<NatsConnection, StoredMessage> {
  override readonly future = new NatsFuture({
    jetStream: async () => (await this.streams()).jetStream,
    now: async () => {
      await ensureLater((await this.streams()).jetStream, this.#options.durable, this.#time)
      return this.#time.earliest
    },
    publish: (event) => this.#publishOwn(event)
  })
  protected override readonly isTimedByServer = true
  readonly #options: CheckedOptions
  /** The time of the server, by which events become due. */
  readonly #time = new ServerTime()
  #streams: { readonly connection: NatsConnection; readonly streams: Promise<Streams> } | undefined

  constructor(options: CheckedOptions, init: ClientStoreInit<NatsConnection>) {
    super(init, {
      ensure: async (subject) => {
        const streams = await this.streams()
        const pattern = waitingPattern(subject)
        // `options.durable` is for streams of events. The stream of redriven events has its own settings.
        if (subject.startsWith(`${AGAIN}.`)) await streams.ensureDeadLetters()
        else await streams.ensure(pattern ?? subject)
        if (pattern !== undefined) await ensureLater(streams.jetStream, options.durable, this.#time)
      },
      duplicateWindow: options.durable.duplicateWindow
    })
    this.#options = options
  }

  deadLetters(group: string): DeadLetters {
    return new NatsDeadLetters(group, {
      jetStream: async () => (await this.streams()).jetStream,
      ensure: async () => (await this.streams()).ensureDeadLetters(),
      publish: async (event) => void (await this.#publishOwn(event))
    })
  }

  override async *backlog(group: string, options: ListBacklogOptions = {}): AsyncGenerator<BacklogEvent> {
    yield* backlogOf((await this.streams()).jetStream, group, options)
  }

  async #publishOwn(event: Omit<StoredMessage, 'timeout' | 'signal'>): Promise<Published> {
    await this.connect()
    return this.publisher.publish({ ...event, timeout: this.context.timeout, signal: undefined })
  }

  override publish(pattern: Pattern, data: unknown, options: PublishOptions = {}): Promise<Published> {
    if (!hasTime(options) || !this.#time.isStale) return super.publish(pattern, data, options)
    const { connection, streams } = this.#streams ?? {}
    if (connection?.isConnected !== true || streams === undefined)
      return super.publish(pattern, data, options)
    const publish = () => super.publish(pattern, data, options)
    const asked = streams.then(({ jetStream }) => askTime(jetStream, this.#time))
    // If the server does not answer, the event tells so.
    return asked.then(publish, publish)
  }

  override restored(): void {
    this.#time.restored()
    super.restored()
  }

  override async lag(group: string): Promise<number> {
    const found = await this.#consumersOf(group)
    return found.reduce((sum, { num_pending, num_ack_pending }) => sum + num_pending + num_ack_pending, 0)
  }

  async hasGroup(group: string): Promise<boolean> {
    const { jetStream } = await this.streams()
    return (await consumersOf(jetStream, group)).length > 0
  }

  async #consumersOf(group: string): Promise<ConsumerInfo[]> {
    const { jetStream } = await this.streams()
    const found = await consumersOf(jetStream, group)
    if (found.length === 0) throw unknownGroup(group, 'on this NATS server')
    return found
  }

  async pauseGroup(group: string, isPaused: boolean): Promise<void> {
    const { jetStream } = await this.streams()
    const found = await this.#consumersOf(group)
    for (const { stream_name: stream, name } of found) {
      try {
        await jetStream.pause(stream, name, isPaused ? new Date(Date.now() + FOR_EVER) : undefined)
      } catch (error) {
        throw readableError(error, `The group '${group}'`)
      }
    }
  }

  attach(connection: NatsConnection): void {
    this.publisher.attach(new EventStore(connection, this.publisher, this.#time))
  }

  forbidden(address: string, error: Error): void {
    const isWaiting = waitingPattern(address) !== undefined
    this.publisher.forbidden(isWaiting ? waitingAddress(patternInSubject(address)) : address, error)
  }

  /** The streams, over the current connection of the client. */
  async streams(): Promise<Streams> {
    const connection = await this.connect()
    if (this.#streams?.connection !== connection) {
      const { durable: storage } = this.#options
      const { logger } = this.context
      const streams = Streams.open({ connection, storage, logger })
      this.#streams = { connection, streams }
      streams.catch(() => {
        if (this.#streams?.streams === streams) this.#streams = undefined
      })
    }
    return this.#streams.streams
  }

  protected outgoing(head: EventHead, { packet, key, headers: own }: EventContent): StoredMessage {
    if (/^[$_]/.test(head.address))
      throw new OptionError(
        'pattern',
        `The event '${head.address}' cannot be stored: what begins with $ or _ is NATS's own`
      )
    const headers = writeHeaders(own ?? {})
    headers.set(HEADER.id, idToHeader(head.id))
    if (key !== undefined) headers.set(HEADER.key, encodeURIComponent(key))
    const payload = bytesOf(packet)
    const event = { ...head, payload, size: payload.length, headers }
    if (head.due === undefined) return event
    checkDue(head.due)
    return { ...event, address: waitingAddress(head.address), waitsFor: head.address }
  }
}
