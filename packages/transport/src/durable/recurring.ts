/** The recurring events of a service: the process that gets an event puts the one behind it into the store. */
import type { Dispatcher } from '../dispatcher.ts'
import { NotStoredError, OptionError, TimeoutError } from '../errors/index.ts'
import type { IncomingMessage } from '../message.ts'
import type { EventStore, StoreClient, StoringTransport, Transport } from '../transport.ts'
import { hasWildcards } from '../wildcards.ts'
import { type Clock, idleTimers } from './clock.ts'
import { noFuture } from './future.ts'
import { contextOf, type StoringService } from './kept.ts'
import { groupOf } from './options.ts'
import { durableRoutes } from './published.ts'
import { dropPlanned, ownerOf, planNext, prefixOf, readPlanned, type Schedule } from './schedule.ts'

/**
 * Milliseconds between two looks whether the next event of each rule waits. The one before puts it there, unless that is
 * gone: the store came back empty, or refused it until the last attempt; or the clock was set back, and it is far away.
 */
const LOOK_EVERY = 600_000
/** Milliseconds until a store that has refused an event, such as a full one, is asked again. */
const REFUSED_AGAIN = 10_000
/** Milliseconds within which the store must have an event: neither the start nor a handler waits longer for room in it. */
const STORED_WITHIN = 5_000

/** The rule of a handler, for its group. */
interface Rule extends Schedule {
  readonly pattern: string
  readonly group: string
  readonly prefix: string
}

/** Returns the rules of a service. @throws {OptionError} a pattern is no name of an event, or a handler has no group */
function rulesOf(dispatcher: Pick<Dispatcher, 'routes'>, service: string | undefined): readonly Rule[] {
  return durableRoutes(dispatcher).flatMap(({ route: pattern = '', durable }) => {
    const { every } = durable
    if (every === undefined) return []
    if (hasWildcards(pattern))
      throw new OptionError(
        'options.durable.every',
        `The event '${pattern}' cannot recur: its pattern stands for several events; write it out`
      )
    const group = groupOf(durable, service, pattern)
    const owner = ownerOf('every', group)
    const prefix = prefixOf({ owner, every })
    return [{ pattern, group, groups: [group], every, owner, prefix, dataOf: (due: string) => ({ due }) }]
  })
}

/** The settings of a service that its recurring events depend on. */
export interface RecurringParts extends StoringService {
  /** The group of handlers that name none. */
  readonly group?: string | undefined
  /** The store beside the transports. */
  readonly store?: EventStore | undefined
  readonly transports: readonly Transport[]
}

/**
 * Returns the recurring events of a service, or `undefined` if none can come. Without a rule of its own, a service may
 * get those of clients' schedules.
 * @throws {OptionError} the store keeps no events until a time, or a rule is wrong
 */
export function recurringOf(
  dispatcher: Pick<Dispatcher, 'routes'>,
  { group, store: beside, transports, ...owner }: RecurringParts
): Recurring | undefined {
  const durable = durableRoutes(dispatcher)
  const stores = transports.flatMap((transport) => (transport as Partial<StoringTransport>).store ?? [])
  const store = beside ?? stores.find(({ stores }) => stores.future) ?? stores[0]
  // Without any store, the start is refused because a handler is durable.
  if (store === undefined || durable.length === 0) return undefined
  if (!store.stores.future && durable.every(({ durable: { every } }) => every === undefined)) return undefined
  return new Recurring(store, dispatcher, group, owner)
}

/** The recurring events of a service. */
export class Recurring {
  readonly #rules: readonly Rule[]
  readonly #store: EventStore
  readonly #owner: StoringService
  readonly #timers: Pick<Clock, 'after'>
  /** The rules whose next event the store has refused. */
  readonly #refused = new Set<Rule>()
  #client: StoreClient | undefined
  #stopLooking = () => {}
  #isClosed = false

  /**
   * @param service the group of handlers that name none
   * @throws {OptionError} the store keeps no events until a time, or a rule is wrong
   */
  constructor(
    store: EventStore,
    dispatcher: Pick<Dispatcher, 'routes'>,
    service: string | undefined,
    owner: StoringService,
    timers: Pick<Clock, 'after'> = idleTimers
  ) {
    this.#rules = rulesOf(dispatcher, service)
    if (this.#rules.length > 0 && !store.stores.future) throw noFuture(store.name)
    this.#store = store
    this.#owner = owner
    this.#timers = timers
  }

  /** The dispatcher with which a server is started: before a recurring event runs, the next one waits in the store. */
  around(dispatcher: Dispatcher): Dispatcher {
    return {
      routes: () => dispatcher.routes(),
      request: (message) => dispatcher.request(message),
      event: (message) => {
        const id = message.isStored ? message.delivery?.id : undefined
        const next = id === undefined ? undefined : this.#nextAfter(id, message)
        return next === undefined ? dispatcher.event(message) : next.then(() => dispatcher.event(message))
      }
    }
  }

  /**
   * Puts the event behind this one into the store. Of times that have passed meanwhile, this event is the only one.
   * @returns `undefined`: the event does not recur
   */
  #nextAfter(id: string, message: IncomingMessage): Promise<unknown> | undefined {
    const { delivery } = message
    const rule = this.#rules.find(({ group, prefix }) => delivery?.group === group && id.startsWith(prefix))
    if (rule !== undefined) return this.#putNext(rule, Date.parse(id.slice(rule.prefix.length)) || 0)
    const found = ofClient(id, message)
    // Nobody else would put it there: so the event does not run before, and is delivered again.
    return found && planNext(this.#opened, found.schedule, { passed: found.due || 0 })
  }

  /**
   * Puts the next event of each rule into the store, in place of events of a rule that the group had before. Those that
   * the store refuses, because it is full, are put there as soon as it takes them.
   */
  async start(): Promise<void> {
    if (this.#rules.length === 0) return
    this.#lookIn(LOOK_EVERY)
    for (const rule of this.#rules) await dropPlanned(this.#opened, rule, rule.prefix)
    await Promise.all(this.#rules.map((rule) => this.#putNext(rule)))
  }

  /**
   * Puts the next event of a rule into the store, later if the store refuses it.
   * @param passed the time of the event that has come, in milliseconds since 1970
   */
  async #putNext(rule: Rule, passed = 0): Promise<void> {
    const { pattern, group } = rule
    const said = `The next event '${pattern}' of the group '${group}'`
    try {
      await planNext(this.#opened, rule, { passed, timeout: STORED_WITHIN })
      if (this.#refused.delete(rule)) this.#owner.logger.warn(`${said} waits in the store now`)
    } catch (error) {
      if (!isRefusal(error)) throw error
      if (!this.#refused.has(rule))
        this.#owner.logger.error(`${said} is not in the store, which is asked again: ${error.message}`)
      this.#refused.add(rule)
      if (!this.#isClosed) this.#lookIn(REFUSED_AGAIN)
    }
  }

  #lookIn(milliseconds: number): void {
    this.#stopLooking()
    this.#stopLooking = this.#timers.after(milliseconds, () => {
      this.#lookIn(this.#refused.size > 0 ? REFUSED_AGAIN : LOOK_EVERY)
      // One that waits already is a duplicate. If the store is away, the next look will do.
      for (const rule of this.#rules) void this.#putNext(rule).catch(() => {})
    })
  }

  get #opened(): StoreClient {
    this.#client ??= this.#store.client(contextOf(this.#owner))
    return this.#client
  }

  /** Closes the connection. Events that wait stay in the store. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopLooking()
    await this.#client?.close()
    this.#client = undefined
  }
}

/** Whether a store that answers does not take an event now: most keep asking for room until the time for it is over. */
function isRefusal(error: unknown): error is NotStoredError | TimeoutError {
  return error instanceof TimeoutError || (error instanceof NotStoredError && error.retryable)
}

/** An event of a client's schedule, and the time for which it has come, in milliseconds since 1970. */
interface Found {
  readonly schedule: Schedule
  readonly due: number
}

/** The event of a client's schedule: its id has the rule. */
function ofClient(id: string, message: IncomingMessage): Found | undefined {
  const read = readPlanned(id)
  if (read?.kind !== 'schedule') return undefined
  const { owner, every, due } = read
  // Not read before: headers are made on demand, and those of another program may be unreadable.
  const { pattern, data, headers, delivery } = message
  return { schedule: { owner, every, pattern, dataOf: () => data, headers, key: delivery?.key }, due }
}
