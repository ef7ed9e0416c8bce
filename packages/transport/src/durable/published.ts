/** Publishing events that are stored, and looking after what is stored: the same for every engine. */
import type { CallOptions } from '../call.ts'
import { checkCallOptions } from '../calls/pending-call.ts'
import type { Dispatcher, Route } from '../dispatcher.ts'
import { OptionError } from '../errors/index.ts'
import type { Headers } from '../headers.ts'
import type { Pattern } from '../pattern.ts'
import { checkGroup, type DurableSettings, groupNamed } from './options.ts'

/** Options of `publish`. */
export interface PublishOptions
  extends Pick<CallOptions, 'key' | 'headers' | 'signal' | 'timeout' | 'within'> {
  /**
   * Names the event: a second one of the same id is not stored within the engine's window. Default: a generated id, so that
   * resending after a lost connection stores it once.
   */
  readonly id?: string | undefined
}

/** The engine's confirmation of a stored event. */
export interface Published {
  readonly id: string
  /** Where it is stored; a handler may start behind it (`start: { after: position }`). `undefined` if the engine has no positions. */
  readonly position: string | undefined
  /** Whether an event of this id was there already; nothing was stored then. */
  readonly duplicate: boolean
}

/** An event that its handlers could not do. */
export interface DeadLetter {
  /** Names the dead letter within its group, for `get`, `redrive` and `delete`. */
  readonly position: string
  readonly group: string
  /** The pattern it was published to. */
  readonly pattern: string
  /** The id it was published with. */
  readonly id: string
  readonly key: string | undefined
  /** Why the last attempt failed. */
  readonly reason: string
  /** Deliveries, the last one included. */
  readonly attempts: number
  /** The headers it was published with. */
  readonly headers: Headers
  readonly data: unknown
  readonly publishedAt: Date
  readonly diedAt: Date
  /**
   * Parts that the engine had no room for, so that they are missing here: `data`, `headers.<name>`, `id`, `key`.
   * Without its data it cannot be redriven. Missing if all is here.
   */
  readonly leftOut?: readonly string[]
}

export interface ListDeadLettersOptions {
  /** How many are shown at most. Default: all. */
  readonly limit?: number
}

/** The dead letters of one group. */
export interface DeadLetters {
  /** From the oldest on. Those that come meanwhile may be among them. */
  list(options?: ListDeadLettersOptions): AsyncIterable<DeadLetter>
  /** `undefined`: there is none at that position. */
  get(position: string): Promise<DeadLetter | undefined>
  /**
   * Gives it back to its group, and to no other, with attempts from 1 on. It waits there if the group is down. Then it
   * is no dead letter any more.
   * @returns false: there is none at that position
   * @throws {EventRefusedError} its data were too large to be kept
   */
  redrive(position: string): Promise<boolean>
  /** @returns false: there is none at that position */
  delete(position: string): Promise<boolean>
}

/** The methods that a client has besides calls if its transport stores events. */
export interface DurableCaller {
  /** See `client.publish`. */
  publish(pattern: Pattern, data: unknown, options?: PublishOptions): Promise<Published>
  /** The dead letters of a group: to look at, to send again, to delete. */
  deadLetters(group: string): DeadLetters
  /** Stops or resumes deliveries to a group, in all its processes. */
  pauseGroup(group: string, isPaused: boolean): Promise<void>
}

/** Figures of one durable handler in this process. */
export interface DurableFigures {
  readonly pattern: string
  readonly group: string
  /** Events of the group that are stored and not done, as last heard from the engine; `undefined` before. */
  readonly lag: number | undefined
  /** Deliveries to this process that were not the first, retries in place included. */
  readonly redeliveries: number
  /** Events that became dead letters in this process. */
  readonly deadLetters: number
  /** Whether the group is paused, as last heard from the engine. */
  readonly isPaused: boolean
  /** Why its events are not received at the moment, in words: what stores them is gone, for instance. Missing while they are. */
  readonly unavailable?: string | undefined
}

/** Transports that store events, for errors: the contract does not know which those are. */
const STORING = 'one whose traits have `stores` (docs/durable-events.md names them)'

/** Something that has a client transport: what `connect()` returns, or a client transport itself. */
export interface DurableClient {
  readonly durable?: DurableCaller | undefined
}

/**
 * The dead letters of a group, which may be named by its service.
 * @throws {OptionError} the client's transport stores no events, or `group` is no name of a group
 */
export function deadLetters(client: DurableClient, group: string): DeadLetters {
  return durableOf(client).deadLetters(checkedGroup(group))
}

/**
 * Delivers nothing more to a group, in all its processes, until it is resumed; what runs goes on.
 * @throws {OptionError} the client's transport stores no events, or `group` is no name of a group
 */
export async function pauseGroup(client: DurableClient, group: string): Promise<void> {
  await durableOf(client).pauseGroup(checkedGroup(group), true)
}

/** Delivers to a group again. See `pauseGroup`. */
export async function resumeGroup(client: DurableClient, group: string): Promise<void> {
  await durableOf(client).pauseGroup(checkedGroup(group), false)
}

function checkedGroup(group: string): string {
  const name = typeof group === 'string' ? groupNamed(group) : group
  checkGroup('group', name)
  return name
}

/** @throws {OptionError} the transport stores no events */
export function durableOf(
  { durable }: DurableClient,
  transport = 'The transport of this client'
): DurableCaller {
  if (durable !== undefined) return durable
  throw new OptionError(
    'options.transport',
    `${transport} stores no events; use ${STORING} (emit() sends an event that is not stored)`
  )
}

/** A route whose handlers are durable. */
export interface DurableRoute extends Route {
  readonly durable: DurableSettings
}

/** The durable routes of a dispatcher. */
export function durableRoutes(dispatcher: Pick<Dispatcher, 'routes'>): readonly DurableRoute[] {
  return dispatcher.routes().filter((route): route is DurableRoute => route.durable !== undefined)
}

/** Names the durable handlers of a group, for messages that are for them only. */
export function viaOf(route: string | undefined, group: string | undefined): string {
  return `${group ?? ''} ${route ?? ''}`
}

/** Names handlers that are not durable, for messages on a transport whose durable handlers get theirs otherwise. */
export const VIA_PLAIN = ' '

/**
 * The dispatcher that a server is started with. If the server stores events, its durable handlers get those from its
 * store alone: an event that arrives unstored is for the other handlers only, or durable ones would run twice.
 */
export function dispatcherFor(server: { readonly isDurable?: boolean }, dispatcher: Dispatcher): Dispatcher {
  if (server.isDurable !== true) return dispatcher
  return {
    routes: () => dispatcher.routes(),
    request: (message) => dispatcher.request(message),
    event(message) {
      if (!message.isStored) message.via ??= VIA_PLAIN
      return dispatcher.event(message)
    }
  }
}

/**
 * Refuses durable handlers where nothing stores events.
 * @throws {OptionError} no transport of the service does
 */
export function checkDurable(
  dispatcher: Pick<Dispatcher, 'routes'>,
  transports: readonly { readonly name: string; readonly isDurable?: boolean }[]
): void {
  const [first] = durableRoutes(dispatcher)
  if (first === undefined || transports.some(({ isDurable }) => isDurable === true)) return
  const names = transports.map(({ name }) => name).join(', ')
  throw new OptionError(
    'options.durable',
    `The event '${first.route ?? 'a RegExp'}' is durable, and ${names} stores no events; give the service ${STORING}`
  )
}

/** @throws {OptionError} an option is invalid */
export function checkPublishOptions(options: PublishOptions | undefined): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null)
    throw OptionError.expected('options', 'an object of options', options)
  checkCallOptions(options)
  for (const name of ['id', 'key'] as const) {
    const value = options[name]
    if (value === undefined) continue
    if (typeof value !== 'string' || value === '' || value.length > 1_024 || /[\p{Cc}\p{Cs}]/u.test(value))
      throw OptionError.expected(
        `options.${name}`,
        'a text of 1 to 1,024 characters without control characters and halves of surrogate pairs',
        value
      )
  }
}
