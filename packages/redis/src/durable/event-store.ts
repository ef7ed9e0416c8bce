/** Appends events to streams of Redis. */
import { newSecret, type Publisher, type Store } from '@elysia-microservices/transport/engine'
import { NotStoredError } from '@elysia-microservices/transport/kit'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { DurableStorage } from '../options/durable-options.ts'
import { endOfNestEvent, headersToJson } from '../words/frames.ts'
import { isFull, notStored, passes, readableError } from './errors.ts'
import type { OutgoingEntry } from './event.ts'
import { idOf, STREAMS, streamOf, wakeOf } from './keys.ts'
import { APPEND, ENSURE, isUnknownScript, run, TRIM } from './scripts.ts'

/** Bytes of an event: a process holds many at a time. */
const MAX_EVENT = 1024 * 1024
/** Events that the server stores at once: it does nothing else meanwhile. */
const MOST_TOGETHER = 128
/** Most keys that one such command tells the server to forget. */
const MOST_SETTLED = 256

/** Milliseconds for replicas to say that they have it; then it is sent again. */
const COPIED_WITHIN = 1_000

/** The stored fields of an event. */
export type EntryContent = Pick<OutgoingEntry, 'id' | 'isOwnId' | 'packet' | 'headers'> & {
  readonly key?: string | undefined
}

interface Numbered {
  readonly event: OutgoingEntry
  readonly number: number
}

/**
 * Events that are stored together or not at all. Those with ids of our own are remembered together, too: so they are sent
 * again as they were, and nothing else with them.
 */
type Batch = readonly Numbered[]

/** Where events are, in their order: the first of those that are remembered together. */
type Answer = readonly (readonly [position: string, wasThere: number])[]

/** The streams behind one connection. */
export class EventStore implements Store<OutgoingEntry> {
  readonly maxPayload = MAX_EVENT
  readonly #connection: RedisConnection
  readonly #storage: DurableStorage
  readonly #publisher: Publisher<OutgoingEntry> | undefined
  /** Keys of events that nobody publishes again: the server need not remember them any more. */
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

  /** Sends the events that were appended in one turn together: the server is asked once for many. */
  #sendCollected(): void {
    const collected = this.#collected
    this.#collected = []
    let batch: Numbered[] = []
    let again: unknown
    let size = 0
    const end = () => {
      if (batch.length > 0) this.#append(batch)
      batch = []
      size = 0
    }
    for (const one of collected) {
      const { event } = one
      if (event.batch !== undefined) {
        if (event.batch === again) continue
        again = event.batch
        end()
        this.#append(again as Batch)
        continue
      }
      const first = batch[0]?.event
      const isOther =
        first !== undefined && (first.address !== event.address || first.isOwnId !== event.isOwnId)
      if (isOther || batch.length === MOST_TOGETHER || size + event.size > MAX_EVENT) end()
      batch.push(one)
      event.batch = batch
      size += event.size
    }
    end()
  }

  /** @param batch events of one pattern */
  #append(batch: Batch): void {
    const publisher = this.#publisher as Publisher<OutgoingEntry>
    const { address, isOwnId } = (batch[0] as Numbered).event
    const listeners = this.#connection.routing.listeners(address)
    const events = batch.map(({ event }) => event)
    this.#send(address, events, listeners.reached).then(
      (answer) => {
        if (answer === undefined) {
          for (const { number } of batch) publisher.missing(number)
          return
        }
        if (isOwnId) this.#settled.push(...keysOf(address, events))
        const positions = isOwnId ? following(answer[0] as Answer[number], batch.length) : answer
        for (const [at, { event, number }] of batch.entries()) {
          const [position, wasThere] = positions[at] as Answer[number]
          if (wasThere === 0) listeners.send?.(event.packet, event.headers)
          publisher.stored(number, position, wasThere === 1)
        }
      },
      (error: Error) => {
        if (error instanceof NotStoredError)
          return void batch.forEach(({ number }) => {
            publisher.refused(number, error, true)
          })
        // With its connection it is lost; the publisher sends it again.
        if (error.name !== 'ReplyError') return
        const isUnknown = isUnknownScript(error)
        if (isUnknown) void this.#connection.commands.script('LOAD', APPEND.text).catch(() => {})
        if (isFull(error)) this.#trim(address)
        const refusal = isUnknown
          ? new NotStoredError(
              `The Redis server was restarted before it had stored the event '${address}'`,
              true
            )
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

  /** Stores an event that no publisher answers for. Nest's channel has it already, or gets it otherwise. */
  async store({ route, ...event }: EntryContent & { readonly route: string }): Promise<void> {
    for (let attempt = 0; attempt < 2; attempt++) {
      try {
        if ((await this.#send(route, [event])) !== undefined) {
          if (event.isOwnId) this.#settled.push(...keysOf(route, [event]))
          return
        }
      } catch (error) {
        if (!isUnknownScript(error)) throw error
      }
      await this.ensure(route)
    }
  }

  /** Trims old events. Storing an event does that too, but where there is no room nothing is stored. */
  #trim(pattern: string): void {
    run(this.#connection.commands, TRIM, [streamOf(pattern)], [this.#storage.maxAge]).catch(() => {})
  }

  /**
   * @param reached who gets it beside those who hear Nest's channel; missing: nobody is told there
   * @returns nothing if there is no stream
   * @throws {NotStoredError} it is stored, and not copied as often as is wanted
   */
  async #send(
    address: string,
    events: readonly EntryContent[],
    reached?: readonly string[]
  ): Promise<Answer | undefined> {
    const stream = streamOf(address)
    const known = keysOf(address, events)
    const keys = [stream, wakeOf(stream), ...known, ...this.#settled.splice(0, MOST_SETTLED)]
    const { duplicateWindow, maxAge, replicas } = this.#storage
    const ending = reached === undefined ? '' : endOfNestEvent(undefined, reached)
    const width = events.some(({ key, headers }) => key !== undefined || headers !== undefined) ? 4 : 2
    const args: (string | number)[] = [
      duplicateWindow,
      maxAge,
      address,
      ending,
      this.#connection.isCluster ? 1 : 0,
      known.length,
      events.length,
      width
    ]
    for (const { id, packet, key = '', headers } of events) {
      args.push(id, packet)
      if (width === 4) args.push(key, headers === undefined ? '' : headersToJson(headers))
    }
    const { storing } = this.#connection
    const stored = storing.evalsha(APPEND.sha, keys.length, ...keys, ...args)
    const answer = replicas === 1 ? await stored : await this.#copied(address, stored, replicas - 1)
    return Array.isArray(answer) ? (answer as Answer) : undefined
  }

  /** The server's answer, once enough replicas have all that this connection has stored. */
  async #copied(address: string, stored: Promise<unknown>, wanted: number): Promise<unknown> {
    const [answer, copies] = await Promise.all([stored, this.#connection.storing.wait(wanted, COPIED_WITHIN)])
    if (copies < wanted)
      throw new NotStoredError(
        `Redis has the event '${address}', and ${copies} of ${wanted} replicas have it: options.durable.replicas wants all of them; look at 'INFO replication'`,
        true
      )
    return answer
  }
}

/** By what the server remembers that events are stored. */
function keysOf(address: string, events: readonly EntryContent[]): string[] {
  const [first] = events
  return (first?.isOwnId === true ? [first] : events).map(({ id }) => idOf(address, id))
}

/** The answer for each of so many events that are remembered together, by that for the first. */
function following([position, wasThere]: Answer[number], count: number): Answer {
  const dash = position.indexOf('-') + 1
  const time = position.slice(0, dash)
  const number = Number(position.slice(dash))
  return Array.from({ length: count }, (_, at) => [time + (number + at), wasThere])
}
