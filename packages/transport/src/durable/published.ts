/** Publishes durable events and manages stored events: the same for every engine. */
import type { CallOptions } from '../call.ts'
import { checkCallOptions } from '../calls/pending-call.ts'
import type { Dispatcher, Route } from '../dispatcher.ts'
import { OptionError } from '../errors/index.ts'
import type { MessageHeaders } from '../headers.ts'
import type { Pattern } from '../pattern.ts'
import type { BacklogEvent, ListBacklogOptions } from './backlog.ts'
import { type GROUPS, isForOthers } from './directed.ts'
import { checkTime, type EventTime, type FutureEvents } from './future.ts'
import { type DurableSettings, groupOf } from './options.ts'

/** Options of `publish`. */
export interface PublishOptions
  extends Pick<CallOptions, 'key' | 'signal' | 'timeout' | 'within'>,
    EventTime {
  /** Text that is stored with the event; a handler finds it in its `headers`. */
  readonly headers?: MessageHeaders | undefined
  /**
   * Identifies the event: within the engine's window, a second event with the same id is not stored. Default: a
   * generated id, so that an event which is sent again after a lost connection is stored once.
   */
  readonly id?: string | undefined
  /** Set by this library only: the groups that get the event. Default: all groups. */
  readonly [GROUPS]?: readonly string[] | undefined
}

/** The engine's confirmation of a stored event. */
export interface Published {
  readonly id: string
  /**
   * The position of the event in the engine's store; a handler may start behind it (`start: { after: position }`).
   * `undefined` if the engine has no positions, or the event waits for its time.
   */
  readonly position: string | undefined
  /** Whether the engine already had an event with this id; then nothing was stored. */
  readonly duplicate: boolean
}

/** An event that its handlers have failed to handle. */
export interface DeadLetter {
  /** Identifies the dead letter within its group, for `get`, `redrive` and `discard`. */
  readonly position: string
  readonly group: string
  /** The pattern to which the event was published. */
  readonly pattern: string
  /** The id with which the event was published. */
  readonly id: string
  readonly key: string | undefined
  /** Why the last attempt failed. */
  readonly reason: string
  /** Number of deliveries, the last one included. */
  readonly attempts: number
  /** The headers with which the event was published. */
  readonly headers: MessageHeaders
  readonly data: unknown
  readonly publishedAt: Date
  readonly diedAt: Date
  /**
   * Parts that the engine had no room for, and that are therefore missing: `data`, `headers.<name>`, `id`, `key`. A
   * dead letter without its data cannot be redriven. `undefined` if no part is missing.
   */
  readonly leftOut?: readonly string[]
}

/** Which dead letters are listed. */
export interface ListDeadLettersOptions {
  /** Most dead letters that are listed. Default: all. */
  readonly limit?: number | undefined
}

/** The dead letters of one group. */
export interface DeadLetters {
  /** Lists dead letters, the oldest first. Dead letters that are added meanwhile may be listed, too. */
  list(options?: ListDeadLettersOptions): AsyncIterable<DeadLetter>
  /** Returns a dead letter; `undefined` if there is none at that position. */
  get(position: string): Promise<DeadLetter | undefined>
  /**
   * Gives a dead letter back to its own group only, with attempts from 1 on, and removes it from the dead letters. If
   * no process of the group runs, the event waits in the engine.
   * @returns false if there is no dead letter at that position
   * @throws {EventRefusedError} the data of the dead letter was too large to be stored
   */
  redrive(position: string): Promise<boolean>
  /**
   * Deletes a dead letter.
   * @returns false if there is no dead letter at that position
   */
  discard(position: string): Promise<boolean>
}

/** Further methods of a client whose transport stores events. */
export interface DurableCaller {
  /** See `client.publish`. */
  publish(pattern: Pattern, data: unknown, options?: PublishOptions): Promise<Published>
  /** The dead letters of a group: to read, redrive or discard. */
  deadLetters(group: string): DeadLetters
  /** Whether a service has ever begun with such a group. */
  hasGroup(group: string): Promise<boolean>
  /** Pauses or resumes deliveries to a group, in all its processes. */
  pauseGroup(group: string, isPaused: boolean): Promise<void>
  /**
   * Lists what is stored for a group and not handled, about in the order of publishing. Nothing is changed.
   * @throws {OptionError} there is no such group, or the engine cannot show them
   */
  backlog(group: string, options?: ListBacklogOptions): AsyncIterable<BacklogEvent>
  /** Events that are stored for a group and not handled; missing if a client cannot count them in this store. */
  readonly lag?: ((group: string) => Promise<number>) | undefined
  /** The events that wait for their time; missing if the store keeps none (`traits.stores.future`). */
  readonly future?: FutureEvents | undefined
}

/** Figures of one durable handler in this process. */
export interface DurableFigures {
  readonly pattern: string
  readonly group: string
  /**
   * Events of the group that are stored and not yet handled, as the engine last reported; `undefined` before its first
   * report.
   */
  readonly lag: number | undefined
  /** Deliveries to this process other than first deliveries, retries inside the process included. */
  readonly redeliveries: number
  /** Events that became dead letters in this process. */
  readonly deadLetters: number
  /** Whether the group is paused, as the engine last reported. */
  readonly isPaused: boolean
  /**
   * Why the handler receives no events at the moment, as text, for instance because its stream at the engine was
   * deleted. Missing while the handler receives events.
   */
  readonly unavailable?: string | undefined
}

/** A route whose handlers are durable. */
export interface DurableRoute extends Route {
  readonly durable: DurableSettings
}

/** The durable routes of a dispatcher. */
export function durableRoutes(dispatcher: Pick<Dispatcher, 'routes'>): readonly DurableRoute[] {
  return dispatcher.routes().filter((route): route is DurableRoute => route.durable !== undefined)
}

/** Identifies the durable handlers of a group in the `via` of a message that only these handlers may get. */
export function viaOf(route: string | undefined, group: string | undefined): string {
  return `${group ?? ''} ${route ?? ''}`
}

/**
 * The `via` of a message for handlers that are not durable, on a transport whose durable handlers get their events from
 * its store.
 */
export const VIA_PLAIN = ' '

/**
 * Returns the dispatcher with which a server is started. If the server stores events, its durable handlers get events
 * only from its store: an event that arrives without being stored is passed to the other handlers only, because durable
 * handlers would run twice for it.
 */
export function dispatcherFor(server: { readonly isDurable?: boolean }, dispatcher: Dispatcher): Dispatcher {
  if (server.isDurable !== true) return dispatcher
  return {
    routes: () => dispatcher.routes(),
    request: (message) => dispatcher.request(message),
    event(message) {
      if (!message.isStored) message.via ??= VIA_PLAIN
      else if (isForOthers(message)) return
      return dispatcher.event(message)
    }
  }
}

/**
 * Refuses durable handlers if no transport of the service stores events, and transactional ones if one of those that do
 * has no transactions.
 * @throws {OptionError} no transport stores events, or one cannot acknowledge in a transaction
 */
export function checkDurable(
  dispatcher: Pick<Dispatcher, 'routes'>,
  transports: readonly {
    readonly name: string
    readonly isDurable?: boolean
    readonly hasTransactions?: boolean
  }[]
): void {
  const durable = durableRoutes(dispatcher)
  const [first] = durable
  if (first === undefined) return
  const stores = transports.filter(({ isDurable }) => isDurable === true)
  const without = stores.find(({ hasTransactions }) => hasTransactions !== true)
  const transactional = durable.find(({ durable }) => durable.transactional)
  if (transactional !== undefined && without !== undefined)
    throw new OptionError(
      'options.durable.transactional',
      `The handler of '${transactional.route}' is transactional, and ${without.name} cannot acknowledge an event in the transaction of a database; keep its events in the database of the handler: options.store is postgres({ sql }) or sqlite(file)`
    )
  if (stores.length > 0) return
  const names = transports.map(({ name }) => name).join(', ')
  throw new OptionError(
    'options.durable',
    `The event '${first.route ?? 'a RegExp'}' is durable, and ${names} stores no events; give the service a store beside it (options.store), or a transport that stores events (docs/durable-events.md lists both)`
  )
}

/**
 * Refuses two durable handlers of one pattern in one group. A group has one outcome for an event: whenever one of the
 * handlers fails, the event would be delivered again to both, also to one that has succeeded.
 * @param service the name of the service, which is the group of handlers without a group
 * @throws {OptionError} a group has two handlers of one pattern
 */
export function checkGroups(dispatcher: Pick<Dispatcher, 'routes'>, service: string | undefined): void {
  const known = new Set<string>()
  for (const { route = '', durable } of durableRoutes(dispatcher)) {
    const via = viaOf(route, groupOf(durable, service, route))
    if (known.has(via)) throw secondHandler(route, groupOf(durable, service, route))
    known.add(via)
  }
}

/** The error for a second durable handler of one pattern in one group. */
export function secondHandler(route: string, group: string | undefined): OptionError {
  return new OptionError(
    'options.durable.group',
    `The durable event '${route}' has two handlers in the group ${group === undefined ? 'of the service' : `'${group}'`}: whenever one of them fails, the event would come again to both. Give one of them another group, such as durable: { group: 'mail' }`
  )
}

/** The names of the options of `publish`. */
const NAMES: ReadonlySet<string> = new Set([
  'key',
  'headers',
  'signal',
  'timeout',
  'within',
  'id',
  'at',
  'delay'
])

/** @throws {OptionError} an option is unknown or invalid */
export function checkPublishOptions(options: PublishOptions | undefined): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null)
    throw OptionError.expected('options', 'an object of options', options)
  checkCallOptions(options, NAMES)
  // Calls may have bytes, too.
  for (const [name, value] of Object.entries(options.headers ?? {}))
    if (typeof value !== 'string')
      throw OptionError.expected(`options.headers[${JSON.stringify(name)}]`, 'a string', value)
  checkTime(options)
  for (const name of ['id', 'key'] as const) {
    const value = options[name]
    if (value === undefined) continue
    if (typeof value !== 'string' || value === '' || value.length > 1_024 || /[\p{Cc}\p{Cs}]/u.test(value))
      throw OptionError.expected(
        `options.${name}`,
        'a text of 1 to 1,024 characters without control characters or lone surrogates',
        value
      )
  }
}
