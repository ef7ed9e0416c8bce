/** Appends events to streams of Redis. */
import { newSecret, type Publisher, type Store } from '@elysia-microservices/transport/engine'
import { NotStoredError } from '@elysia-microservices/transport/kit'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { DurableStorage } from '../options/durable-options.ts'
import { endOfNestEvent } from '../words/frames.ts'
import { isFull, notStored, passes, readableError } from './errors.ts'
import type { OutgoingEntry } from './event.ts'
import { idOf, STREAMS, streamOf, wakeOf } from './keys.ts'
import { APPEND, ENSURE, isUnknownScript, run, TRIM } from './scripts.ts'

/** Bytes of an event: a process holds many at a time. */
const MAX_EVENT = 1024 * 1024
/** Events that the server stores at once: it does nothing else meanwhile. */
const MOST_TOGETHER = 64
/** Ids that one of them tells the server to forget. */
const MOST_SETTLED = 256

/** What is stored. */
export type Stored = { readonly position: string; readonly isDuplicate: boolean }

interface Numbered {
  readonly event: OutgoingEntry
  readonly number: number
}

/** The streams behind one connection. */
export class EventStore implements Store<OutgoingEntry> {
  readonly maxPayload = MAX_EVENT
  readonly #connection: RedisConnection
  readonly #storage: DurableStorage
  readonly #publisher: Publisher<OutgoingEntry> | undefined
  /** Of events that nobody publishes again: the server need not remember their ids any more. */
  #settled: string[] = []
  #collected: Numbered[] = []

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
    if (this.#collected.length === 0) setImmediate(() => this.#sendCollected())
    this.#collected.push({ event, number })
  }

  /** What was appended in one turn goes out together: the server is asked once for many events. */
  #sendCollected(): void {
    const collected = this.#collected
    this.#collected = []
    let batch: Numbered[] = []
    let size = 0
    for (const one of collected) {
      const [first] = batch
      size += one.event.size
      const isOther = first !== undefined && first.event.address !== one.event.address
      if (isOther || batch.length === MOST_TOGETHER || (batch.length > 0 && size > MAX_EVENT)) {
        this.#append(batch)
        batch = []
        size = one.event.size
      }
      batch.push(one)
    }
    this.#append(batch)
  }

  /** @param batch events of one pattern */
  #append(batch: readonly Numbered[]): void {
    const publisher = this.#publisher as Publisher<OutgoingEntry>
    const { address } = (batch[0] as Numbered).event
    const { routing } = this.#connection
    const listeners = batch.map(({ event }) => routing.listeners(address, event.packet, event.headers))
    const endings = listeners.map(({ reached }, at) =>
      endOfNestEvent((batch[at] as Numbered).event.headers, reached)
    )
    this.#send(
      batch.map(({ event }) => event),
      endings
    ).then(
      (stored) => {
        for (const [at, { event, number }] of batch.entries()) {
          const one = stored?.[at]
          if (one === undefined) {
            publisher.missing(number)
            continue
          }
          if (event.isOwnId) this.#settle(event)
          if (!one.isDuplicate) listeners[at]?.send?.()
          publisher.stored(number, one.position, one.isDuplicate)
        }
      },
      (error: Error) => {
        // With its connection it is lost; the publisher sends it again.
        if (error.name !== 'ReplyError') return
        const isUnknown = isUnknownScript(error)
        if (isUnknown) void this.#connection.commands.script('LOAD', APPEND.text).catch(() => {})
        if (isFull(error)) this.#trim(address)
        const refusal = isUnknown
          ? new NotStoredError('The server was started anew', true)
          : notStored(`the event '${address}'`, error)
        for (const { number } of batch) publisher.refused(number, refusal, isUnknown || passes(error))
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
        if ((await this.#send([event])) !== undefined) return event.isOwnId ? this.#settle(event) : undefined
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

  #settle({ address, id }: OutgoingEntry): void {
    this.#settled.push(idOf(address, id))
  }

  /** @param endings of the packets for those who hear the channel of Nest's; missing: they are told otherwise */
  async #send(
    events: readonly OutgoingEntry[],
    endings?: readonly string[]
  ): Promise<readonly Stored[] | undefined> {
    const { address } = events[0] as OutgoingEntry
    const stream = streamOf(address)
    const settled = this.#settled.splice(0, MOST_SETTLED)
    const keys = [stream, wakeOf(stream), ...events.map(({ id }) => idOf(address, id)), ...settled]
    const { duplicateWindow, maxAge } = this.#storage
    const args: (string | number)[] = [duplicateWindow, maxAge, address, events.length]
    for (const [at, { fields }] of events.entries()) args.push(endings?.[at] ?? '', fields.length, ...fields)
    const answer = await this.#connection.commands.evalsha(APPEND.sha, keys.length, ...keys, ...args)
    if (!Array.isArray(answer)) return undefined
    return answer.map(([position, isDuplicate]) => ({
      position: String(position),
      isDuplicate: isDuplicate === 1
    }))
  }
}
