/** Streams and groups: creates missing ones, and refuses existing ones with other settings. */
import { unknownGroup } from '@elysia-microservices/engine'
import {
  type DurableSettings,
  type Logger,
  OptionError,
  routeMatches,
  shown,
  skippedAtStart
} from '@elysia-microservices/transport/kit'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { DurableStorage } from '../options/durable-options.ts'
import { before, GROUPS, handlerOf, readHandler, streamOf } from '../words/keys.ts'
import { readableError } from './errors.ts'
import { EventStore } from './event-store.ts'
import { LeftBehind } from './left-behind.ts'

/** The record of a durable handler in Redis, which all its processes share. */
interface Handler {
  readonly ordered: boolean
  /** Further settings that should be the same in all processes of a group. */
  readonly settings: string
  /** The position behind which the group began. */
  readonly from: string
}

/** A durable handler, as it is known at the server. */
export interface Registered {
  /** The position behind which the group began. */
  readonly from: string
  readonly isNew: boolean
}

/** A stream from which a handler gets events. */
export interface HandlersStream {
  readonly pattern: string
  readonly name: string
}

/** The streams and groups of a server, over one connection. */
export class Groups {
  readonly #connection: RedisConnection
  readonly #storage: DurableStorage
  readonly #logger: Logger
  readonly #events: EventStore

  constructor(connection: RedisConnection, storage: DurableStorage, logger: Logger) {
    this.#connection = connection
    this.#storage = storage
    this.#logger = logger
    this.#events = new EventStore(connection, storage)
  }

  /**
   * Checks whether the server keeps what it stores.
   * @throws {OptionError} the server may evict stored events
   */
  async check(): Promise<void> {
    const about = await this.#connection.store.about()
    const { version, maxmemoryPolicy: policy = 'noeviction', hasAppendOnlyFile } = about
    if (policy !== 'noeviction')
      throw new OptionError(
        'options.durable',
        `Redis at ${this.#connection.server} may evict stored events when its memory is full: its maxmemory-policy is '${policy}'; set it to 'noeviction', or give durable events a Redis of their own`
      )
    if (version !== undefined && Number.parseInt(version, 10) < 7)
      throw new OptionError(
        'options.durable',
        `Redis at ${this.#connection.server} is version ${version}, and durable events need 7 or later, or Valkey 8`
      )
    if (hasAppendOnlyFile === false)
      this.#logger.warn(
        `Redis at ${this.#connection.server} has no append-only file: events stored since its last snapshot are lost when the server stops; start the server with --appendonly yes`
      )
  }

  /**
   * Returns the position behind which a group gets events of a pattern, which may have wildcards, and whether it has
   * not got any before.
   * @throws {OptionError} the group handles the pattern already, with other settings
   */
  async register(
    group: string,
    pattern: string,
    settings: DurableSettings,
    isWide: boolean
  ): Promise<Registered> {
    const { ordered, retry } = settings
    const said = JSON.stringify({ retry, ackWait: this.#storage.ackWait })
    const field = handlerOf(group, pattern)
    const { store } = this.#connection
    let known = await store.handler(field)
    if (known === null) {
      const from = await this.#startOf(settings, pattern, isWide)
      const handler: Handler = { ordered, settings: said, from }
      if (await store.keepHandler(field, JSON.stringify(handler), true)) {
        await this.#connection.tell(GROUPS, field)
        return { from, isNew: true }
      }
      known = await store.handler(field)
    }
    const other = JSON.parse(known ?? '{}') as Handler
    if (other.ordered !== ordered)
      throw new OptionError(
        'options.durable.ordered',
        `The group '${group}' handles '${pattern}' already with ordered: ${other.ordered}, and this service wants ordered: ${ordered}; let them agree, or give one another group`
      )
    if (other.settings !== said) {
      this.#logger.warn(
        `The group '${group}' handles '${pattern}' with ${other.settings} in other processes, and with ${said} in this process; all processes of a group should have the same settings`
      )
      await store.keepHandler(field, JSON.stringify({ ...other, settings: said }), false)
    }
    return { from: other.from, isNew: false }
  }

  /** Logs how many events are stored that a new group does not get, because it begins with new ones. */
  async sayWhatIsSkipped(streams: readonly HandlersStream[], group: string): Promise<void> {
    for (const { pattern } of streams) {
      const count = await this.#connection.store.length(streamOf(pattern)).catch(() => 0)
      if (count > 0) this.#logger.warn(skippedAtStart(group, pattern, count))
    }
  }

  /** Logs which groups of these streams no process uses, because a new group may have been meant to do their work. */
  async sayWhatIsLeft(streams: readonly HandlersStream[], group: string, getsAll: boolean): Promise<void> {
    const left = new LeftBehind(this.#connection.store, this.#logger)
    for (const { pattern } of streams) await left.sayOfStream(pattern, group, getsAll)
  }

  async #startOf({ start }: DurableSettings, pattern: string, isWide: boolean): Promise<string> {
    if (start === 'all') return '0-0'
    const { store } = this.#connection
    if (start === 'new') {
      // Streams that do not exist yet have no last position, so the server's time is used.
      return isWide ? before(`${await store.time()}-0`) : store.last(streamOf(pattern))
    }
    if ('since' in start) return before(`${Math.max(0, start.since.getTime())}-0`)
    if (!/^\d{1,15}-\d{1,20}$/.test(start.after ?? ''))
      throw OptionError.expected(
        'options.durable.start.after',
        "a position that publish() gave, such as '1700000000000-0'",
        start.after
      )
    return start.after as string
  }

  /** The streams of a pattern. For a pattern without wildcards, a missing stream is created. */
  async streams(pattern: string, isWide: boolean): Promise<HandlersStream[]> {
    if (!isWide) return [{ pattern, name: await this.#events.ensure(pattern) }]
    const all = Object.entries(await this.#connection.store.patterns())
    return all
      .map(([stored, name]) => ({ pattern: stored, name }))
      .filter((stream) => routeMatches(pattern, stream.pattern))
  }

  /** Creates a group in a stream if it is missing. @returns whether it was missing */
  async join(stream: string, group: string, from: string): Promise<boolean> {
    try {
      return await this.#connection.store.join(stream, group, from)
    } catch (error) {
      throw readableError(error, `the group '${group}'`)
    }
  }

  /** Logs how many events of a stream were deleted while a group was away. */
  async sayWhatWasDeleted({ pattern }: HandlersStream, group: string): Promise<void> {
    const count = await this.#connection.store.missed(streamOf(pattern), group).catch(() => 0)
    if (count === 0) return
    const { maxAge } = this.#storage
    const why = maxAge === 0 ? 'somebody' : `events are kept for ${maxAge} ms (maxAge), or somebody`
    this.#logger.error(
      `${count} events '${shown(pattern)}' that the group '${group}' had not got were deleted: ${why} has shortened the stream '${shown(streamOf(pattern))}'; the group goes on at the first event that is left`
    )
  }

  /** Pauses or resumes a group. @throws {OptionError} there is no group with this name */
  async pause(group: string, isPaused: boolean): Promise<void> {
    const { store } = this.#connection
    try {
      const fields = await store.handlers()
      if (!fields.some((field) => readHandler(field).group === group))
        throw unknownGroup(group, 'on this Redis server')
      await store.pause(group, isPaused)
      await this.#connection.tell(GROUPS, group)
    } catch (error) {
      throw readableError(error, `The group '${group}'`)
    }
  }
}

/** @throws {OptionError} Redis cannot store events of such a pattern in order */
export function checkDurable(pattern: string, { ordered }: DurableSettings, isWide: boolean): void {
  if (isWide && ordered)
    throw new OptionError(
      'options.durable.ordered',
      `The event '${pattern}' cannot be ordered over Redis: each pattern has a stream of its own there, and streams have no order among them; handle its patterns one by one`
    )
}
