/** What a client over NATS can do with stored events: publish them, and look after dead letters and groups. */
import {
  dataToJson,
  type EventHead,
  eventOf,
  mergedHeaders,
  PublishingStore
} from '@elysia-microservices/transport/engine'
import {
  type ClientContext,
  type DeadLetters,
  hasWildcards,
  OptionError,
  type Pattern,
  type PublishOptions,
  routeOf
} from '@elysia-microservices/transport/kit'
import { requestHead } from '@elysia-microservices/transport/nest'
import { bytesOf } from '../connection/bytes.ts'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { CheckedOptions } from '../options/options.ts'
import { checkHeaders, recordOf, writeHeaders } from '../words/headers.ts'
import { subjectOfCall } from '../words/subjects.ts'
import { NatsDeadLetters } from './dead-letters.ts'
import { EventStore } from './event-store.ts'
import { consumersOf } from './groups.ts'
import { readableError } from './jetstream-errors.ts'
import { HEADER, idToHeader } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import { Streams } from './streams.ts'

/** So long is a group paused that nobody resumes. */
const FOR_EVER = 50 * 365 * 24 * 60 * 60 * 1_000

/** Over whatever connection the client has. */
export class NatsClientStore extends PublishingStore<NatsConnection, StoredMessage> {
  readonly #options: CheckedOptions
  #streams: { readonly connection: NatsConnection; readonly streams: Promise<Streams> } | undefined

  /** @param connect gives the connection; makes it if there is none */
  constructor(options: CheckedOptions, context: ClientContext, connect: () => Promise<NatsConnection>) {
    super(context, connect, {
      title: 'NATS',
      ensure: async (subject) => void (await (await this.streams()).ensure(subject)),
      duplicateWindow: options.durable.duplicateWindow
    })
    this.#options = options
  }

  deadLetters(group: string): DeadLetters {
    return new NatsDeadLetters(group, {
      manager: async () => (await this.streams()).manager,
      ensure: async () => (await this.streams()).ensureDeadLetters(),
      publish: async (event) => {
        await this.connect()
        await this.publisher.publish({ ...event, timeout: this.context.timeout, signal: undefined })
      }
    })
  }

  async pauseGroup(group: string, isPaused: boolean): Promise<void> {
    const { manager } = await this.streams()
    const { consumers } = manager
    const found = await consumersOf(manager, group)
    if (found.length === 0)
      throw new OptionError(
        'group',
        `There is no group '${group}' on this NATS server: it begins with its first service`
      )
    for (const { stream_name: stream, name } of found) {
      try {
        if (isPaused) await consumers.pause(stream, name, new Date(Date.now() + FOR_EVER))
        else await consumers.resume(stream, name)
      } catch (error) {
        throw readableError(error, `The group '${group}'`)
      }
    }
  }

  attach(connection: NatsConnection): void {
    this.publisher.attach(new EventStore(connection, this.publisher))
  }

  /** What asks JetStream, over the connection there is now. */
  async streams(): Promise<Streams> {
    const connection = await this.connect()
    if (this.#streams?.connection !== connection) {
      const { durable: storage } = this.#options
      const { logger } = this.context
      const streams = Streams.open({ connection: connection.driver, storage, logger })
      this.#streams = { connection, streams }
      streams.catch(() => {
        if (this.#streams?.streams === streams) this.#streams = undefined
      })
    }
    return this.#streams.streams
  }

  protected outgoing(
    head: EventHead,
    pattern: Pattern,
    data: unknown,
    { key, headers: given }: PublishOptions
  ): StoredMessage {
    const subject = subjectOfCall(routeOf(pattern))
    if (hasWildcards(subject) || /^[$_]/.test(subject))
      throw new OptionError(
        'pattern',
        `The event '${subject}' cannot be stored: what begins with $ or _ is NATS's own`
      )
    const record = recordOf(data)
    const json = dataToJson(record === undefined ? data : record.data)
    const own = mergedHeaders(record?.headers, given) ?? {}
    checkHeaders(own)
    const headers = writeHeaders(own)
    headers.set(HEADER.id, idToHeader(head.id))
    if (key !== undefined) headers.set(HEADER.key, encodeURIComponent(key))
    const payload = bytesOf(eventOf(requestHead(pattern), json))
    return { ...head, address: subject, payload, size: payload.length, headers }
  }
}
