/** A group of durable handlers as operators use it: `client.group('billing')`. */
import { OptionError } from '../errors/index.ts'
import { mustBeAtLeast, type OptionTable, readTable } from '../options.ts'
import { type Pattern, routeOf } from '../pattern.ts'
import type { BacklogEvent, ListBacklogOptions } from './backlog.ts'
import type { ListWaitingOptions } from './future.ts'
import { checkGroup, groupNamed } from './options.ts'
import type { DeadLetters, DurableCaller } from './published.ts'

/** A group of durable handlers, through a client. */
export interface DurableGroup {
  /** The name of the group, as the engine has it. */
  readonly name: string
  /**
   * The events that its handlers have failed to handle: to list, redrive or discard. Of a group that does not exist,
   * the list is an `OptionError`, and there is nothing at any position.
   * @throws {OptionError} the engine cannot list them
   */
  readonly deadLetters: DeadLetters
  /**
   * Number of events that are stored for the group and not handled yet, of all its patterns; also while no process of
   * the group runs.
   * @throws {OptionError} there is no such group, or a client cannot count them in this store
   */
  lag(): Promise<number>
  /**
   * Lists the events that are stored for the group and not handled yet, of all its patterns, about in the order of
   * publishing; also while no process of the group runs. It is a look, which changes nothing: an event may be handled
   * meanwhile. Over NATS, events that a process has received are missing.
   * @throws {OptionError} there is no such group, or the engine cannot show them
   */
  backlog(options?: ListBacklogOptions): AsyncIterable<BacklogEvent>
  /**
   * Stops deliveries to the group, in all its processes, until `resume()`. Handlers that are running continue, and events
   * that a process had received may still begin (over RabbitMQ and Kafka they wait).
   */
  pause(): Promise<void>
  /** Continues deliveries to the group. */
  resume(): Promise<void>
}

const LIST_OPTIONS = {
  limit: { check: mustBeAtLeast(0) }
} as const satisfies OptionTable<ListBacklogOptions>

const WAITING_OPTIONS = {
  ...LIST_OPTIONS,
  pattern: { check: (_path, pattern) => void routeOf(pattern as Pattern) }
} as const satisfies OptionTable<ListWaitingOptions>

/** Checks the options of `waiting()`. @throws {OptionError} an option is invalid */
export function waitingOptions(given: ListWaitingOptions | undefined): ListWaitingOptions {
  return readTable('options', given, WAITING_OPTIONS)
}

/** Names the transports that store events, for error messages. This package does not know which transports do. */
const STORING = 'a transport that stores events: docs/durable-events.md lists both'

/** The error of what needs a store on a transport without one. */
export function storesNothing(transport: string): OptionError {
  return new OptionError(
    'options.transport',
    `${transport}() stores no events; give the client a store beside it (options.store), or ${STORING}; emit() sends an event that is not stored`
  )
}

/** The dead letters of a group, in whatever store they are; the options of lists are checked. */
function lettersOf(store: DurableCaller, name: string): DeadLetters {
  const letters = store.deadLetters(name)
  return {
    list: (options) =>
      listed(store, name, letters.list(readTable('options', options as ListBacklogOptions, LIST_OPTIONS))),
    get: (position) => letters.get(position),
    redrive: (position) => letters.redrive(position),
    discard: (position) => letters.discard(position)
  }
}

/** That there are no dead letters is only said of a group that exists: a name may be misspelt. */
async function* listed<Letter>(
  store: DurableCaller,
  name: string,
  letters: AsyncIterable<Letter>
): AsyncGenerator<Letter> {
  let isEmpty = true
  for await (const letter of letters) {
    isEmpty = false
    yield letter
  }
  // A user may have the right to read dead letters only.
  if (isEmpty && !(await store.hasGroup(name).catch(() => true)))
    throw new OptionError(
      'group',
      `There is no group '${name}' in this store: a group is created when its first service starts`
    )
}

/**
 * A group in the store of a client.
 * @param given the name of the group, or of the service
 * @throws {OptionError} it is not a valid name of a group
 */
export function durableGroup(store: DurableCaller, given: string): DurableGroup {
  const name = typeof given === 'string' ? groupNamed(given) : given
  checkGroup('group', name)
  return {
    name,
    get deadLetters() {
      return lettersOf(store, name)
    },
    async lag() {
      if (store.lag !== undefined) return await store.lag(name)
      throw new OptionError(
        'group.lag',
        `This store cannot count for a client what waits for '${name}'; the figures of a process of the group say it: service.stats(), the console`
      )
    },
    backlog: (options) => store.backlog(name, readTable('options', options, LIST_OPTIONS)),
    pause: () => store.pauseGroup(name, true),
    resume: () => store.pauseGroup(name, false)
  }
}
