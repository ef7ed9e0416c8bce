/** What a client over NATS can do with stored events: publish them, and look after dead letters and groups. */
import {
  type ClientContext,
  checkPublishOptions,
  type DeadLetters,
  type DurableCaller,
  hasWildcards,
  inheritedOptions,
  nameOf,
  OptionError,
  type Pattern,
  type Published,
  type PublishOptions,
  requestHead,
  routeOf,
  unsendable
} from '@elysia-microservices/transport/kit'
import { headers as newHeaders, nuid } from '@nats-io/transport-node'
import { isRecord, writeHeaders } from '../headers.ts'
import type { Link } from '../link.ts'
import type { CheckedOptions } from '../options.ts'
import { dataToJson } from '../outgoing-call.ts'
import { subjectOfCall } from '../subjects.ts'
import { bytesOf } from '../wire.ts'
import { NatsDeadLetters } from './dead-letters.ts'
import { HEADER } from './names.ts'
import { Publisher } from './publisher.ts'
import { readableError, Streams } from './streams.ts'

/** So long is a group paused that nobody resumes. */
const FOR_EVER = 50 * 365 * 24 * 60 * 60 * 1_000

/** Over whatever connection the client has. */
export class NatsDurable implements DurableCaller {
  readonly publisher: Publisher
  readonly #options: CheckedOptions
  readonly #context: ClientContext
  readonly #connect: () => Promise<Link>
  #streams: { readonly link: Link; readonly streams: Promise<Streams> } | undefined

  /** @param connect gives the connection; makes it if there is none */
  constructor(options: CheckedOptions, context: ClientContext, connect: () => Promise<Link>) {
    this.#options = options
    this.#context = context
    this.#connect = connect
    this.publisher = new Publisher({
      ensure: async (subject) => void (await (await this.streams()).ensure(subject)),
      inboxPrefix: options.connection.inboxPrefix,
      duplicateWindow: options.durable.duplicateWindow
    })
  }

  async publish(pattern: Pattern, data: unknown, given: PublishOptions = {}): Promise<Published> {
    checkPublishOptions(given)
    const options = given.within ? inheritedOptions(pattern, given, this.#context.timeout) : given
    const outgoing = this.#outgoing(pattern, data, options)
    const published = this.publisher.publish(outgoing)
    this.#connect().catch((error: Error) => this.publisher.failWaiting(error))
    return published
  }

  deadLetters(group: string): DeadLetters {
    return new NatsDeadLetters(group, {
      manager: async () => (await this.streams()).manager,
      ensure: async () => (await this.streams()).ensureDeadLetters(),
      publish: async (event) => {
        await this.#connect()
        await this.publisher.publish({ ...event, timeout: this.#context.timeout, signal: undefined })
      }
    })
  }

  async pauseGroup(group: string, isPaused: boolean): Promise<void> {
    const streams = await this.streams()
    const { consumers } = streams.manager
    const found = await streams.consumersOf(group)
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

  /** What asks JetStream, over the connection there is now. */
  async streams(): Promise<Streams> {
    const link = await this.#connect()
    if (this.#streams?.link !== link) {
      const { durable: storage } = this.#options
      const streams = Streams.open({ connection: link.connection, storage, logger: this.#context.logger })
      this.#streams = { link, streams }
      streams.catch(() => {
        if (this.#streams?.streams === streams) this.#streams = undefined
      })
    }
    return this.#streams.streams
  }

  #outgoing(pattern: Pattern, data: unknown, options: PublishOptions) {
    const { id = nuid.next(), key, headers: given, signal, timeout = this.#context.timeout } = options
    try {
      const route = routeOf(pattern)
      const subject = subjectOfCall(route)
      if (hasWildcards(subject) || /^[$_]/.test(subject))
        throw new OptionError(
          'pattern',
          `The event '${subject}' cannot be stored: what begins with $ or _ is NATS's own`
        )
      const record = isRecord(data) ? data : undefined
      const json = dataToJson(record === undefined ? data : record.data)
      const head = requestHead(pattern)
      const headers = writeHeaders(given, record?.headers) ?? newHeaders()
      headers.set(HEADER.id, id)
      if (key !== undefined) headers.set(HEADER.key, encodeURIComponent(key))
      return {
        pattern: nameOf(pattern),
        subject,
        payload: bytesOf(json === undefined ? `${head}}` : `${head},"data":${json}}`),
        headers,
        id,
        isOwnId: options.id === undefined,
        timeout,
        signal: signal ?? undefined
      }
    } catch (error) {
      throw unsendable(error)
    }
  }
}
