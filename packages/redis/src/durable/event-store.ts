/** Appends events to streams of Redis. */
import { newSecret, type Publisher, type Store, textOf } from '@elysia-microservices/transport/engine'
import { NotStoredError } from '@elysia-microservices/transport/kit'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { DurableStorage } from '../options/durable-options.ts'
import { isFull, notStored, passes, readableError } from './errors.ts'
import type { OutgoingEntry } from './event.ts'
import { idOf, STREAMS, streamOf, wakeOf } from './keys.ts'
import { APPEND, ENSURE, isUnknownScript, run, TRIM } from './scripts.ts'

/** Bytes of an event: a process holds many at a time. */
const MAX_EVENT = 1024 * 1024
/** Ids that one event tells the server to forget. */
const MOST_SETTLED = 64

/** What is stored. */
export type Stored = { readonly position: string; readonly isDuplicate: boolean }

/** The streams behind one connection. */
export class EventStore implements Store<OutgoingEntry> {
  readonly maxPayload = MAX_EVENT
  readonly #connection: RedisConnection
  readonly #storage: DurableStorage
  readonly #publisher: Publisher<OutgoingEntry> | undefined
  /** Of events that nobody publishes again: the server need not remember their ids any more. */
  #settled: string[] = []

  /** @param publisher is told what becomes of events that it appends */
  constructor(
    connection: RedisConnection,
    storage: DurableStorage,
    publisher?: Publisher<OutgoingEntry> | undefined
  ) {
    this.#connection = connection
    this.#storage = storage
    this.#publisher = publisher
  }

  get isConnected(): boolean {
    return this.#connection.isConnected
  }

  append(event: OutgoingEntry, number: number): void {
    const publisher = this.#publisher as Publisher<OutgoingEntry>
    this.#send(event).then(
      (stored) => {
        if (stored === undefined) return publisher.missing(number)
        if (event.isOwnId) this.#settle(event)
        if (!stored.isDuplicate) this.#spread(event)
        publisher.stored(number, stored.position, stored.isDuplicate)
      },
      (error: Error) => {
        // With its connection it is lost; the publisher sends it again.
        if (error.name !== 'ReplyError') return
        if (isUnknownScript(error)) {
          void this.#connection.commands.script('LOAD', APPEND.text).catch(() => {})
          return publisher.refused(number, new NotStoredError('The server was started anew', true), true)
        }
        if (isFull(error)) this.#trim(event.address)
        publisher.refused(number, notStored(`the event '${event.address}'`, error), passes(error))
      }
    )
  }

  /**
   * Makes the stream of a pattern if it is missing. @returns its name, which another stream does not have
   * @throws {NotStoredError} the server does not allow it, or not now
   */
  async ensure(pattern: string): Promise<string> {
    const { commands } = this.#connection
    try {
      await commands.script('LOAD', APPEND.text)
      return String(await run(commands, ENSURE, [STREAMS, streamOf(pattern)], [pattern, newSecret()]))
    } catch (error) {
      throw readableError(error, `the event '${pattern}'`)
    }
  }

  /** Stores an event that no publisher answers for. */
  async store(event: OutgoingEntry): Promise<void> {
    for (let attempt = 0; attempt < 2; attempt++) {
      try {
        if ((await this.#send(event)) !== undefined) return event.isOwnId ? this.#settle(event) : undefined
      } catch (error) {
        if (!isUnknownScript(error)) throw error
      }
      await this.ensure(event.address)
    }
  }

  /** What is too old goes with each event that is stored, and must not wait for one where there is no room. */
  #trim(pattern: string): void {
    run(this.#connection.commands, TRIM, [streamOf(pattern)], [this.#storage.maxAge]).catch(() => {})
  }

  /** Handlers that are not durable, and Nest's, hear it as they hear what is emitted. */
  #spread({ address, payload, headers }: OutgoingEntry): void {
    this.#connection.routing
      .spread(address, textOf(payload), undefined, headers, true)
      .then(({ heard }) => heard)
      .catch(() => {})
  }

  #settle({ address, id }: OutgoingEntry): void {
    this.#settled.push(idOf(address, id))
  }

  async #send({ address, id, fields }: OutgoingEntry): Promise<Stored | undefined> {
    const stream = streamOf(address)
    const settled = this.#settled.splice(0, MOST_SETTLED)
    const keys = [stream, idOf(address, id), wakeOf(stream), ...settled]
    const { duplicateWindow, maxAge } = this.#storage
    const args = [duplicateWindow, maxAge, ...fields]
    const answer = await this.#connection.commands.evalsha(APPEND.sha, keys.length, ...keys, ...args)
    if (!Array.isArray(answer)) return undefined
    return { position: String(answer[0]), isDuplicate: answer[1] === 1 }
  }
}
