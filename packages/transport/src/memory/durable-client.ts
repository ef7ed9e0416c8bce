/** The durable events of a client on `memory()`: publishing and dead letters. */
import { inheritedOptions } from '../calls/within.ts'
import type { BacklogEvent, ListBacklogOptions } from '../durable/backlog.ts'
import { directedHeaders, GROUPS } from '../durable/directed.ts'
import { dueOf, type FutureEvents } from '../durable/future.ts'
import {
  checkPublishOptions,
  type DeadLetter,
  type DeadLetters,
  type DurableCaller,
  type ListDeadLettersOptions
} from '../durable/published.ts'
import { CanceledError, ConnectionError, OptionError, unsendable } from '../errors/index.ts'
import { nameOf, type Pattern, routeOf } from '../pattern.ts'
import { decode, encode, type MemoryHub } from './hub.ts'
import { outside } from './outside.ts'
import { nameOf as eventName, type MemoryDeadLetter, type MemoryGroup } from './store.ts'

/**
 * @param isClosed returns whether the client is closed
 * @param reachesPlain handlers that are not durable get what is published, too
 */
export function memoryDurable(hub: MemoryHub, isClosed: () => boolean, reachesPlain: boolean): DurableCaller {
  const { store } = hub
  const named = (name: string) => [...store.groups.values()].filter((group) => group.name === name)
  const groupsOf = (name: string) => {
    const found = named(name)
    if (found.length > 0) return found
    throw new OptionError(
      'group',
      `There is no group '${name}' here: a group is created when its first service starts`
    )
  }
  return {
    async publish(pattern, data, given) {
      checkPublishOptions(given)
      const { id, key, headers, signal } = given?.within ? inheritedOptions(pattern, given, 0) : (given ?? {})
      if (isClosed()) throw ConnectionError.closed()
      const message = {
        pattern: '',
        route: '',
        data: undefined as Uint8Array | undefined,
        headers,
        timeout: undefined
      }
      try {
        message.pattern = nameOf(pattern)
        message.route = routeOf(pattern)
        message.data = encode(hub.openCodec(), data)
        const directed = directedHeaders(given?.[GROUPS])
        message.headers =
          headers === undefined && directed === undefined ? undefined : { ...headers, ...directed }
      } catch (error) {
        throw unsendable(error)
      }
      if (signal?.aborted) throw new CanceledError(message.pattern, signal.reason, false)
      return new Promise((resolve, reject) => {
        outside(() => {
          try {
            const due = dueOf(given ?? {}, store.clock.now())
            if (due !== undefined) return resolve(store.storeLater(message, key, id, due))
            const published = store.store(message, key, id)
            if (!published.duplicate && reachesPlain) hub.sendEvent(message, true)
            resolve(published)
          } catch (error) {
            reject(error)
          }
        })
      })
    },
    deadLetters: (group) => new MemoryDeadLetters(hub, group),
    backlog: (group, options) => backlogOf(hub, () => groupsOf(group), options),
    future: memoryFuture(hub),
    lag: async (name) => groupsOf(name).reduce((sum, { waiting }) => sum + waiting, 0),
    hasGroup: async (name) => named(name).length > 0,
    async pauseGroup(name, isPaused) {
      for (const group of groupsOf(name)) group.isPaused = isPaused
    }
  }
}

async function* backlogOf(
  hub: MemoryHub,
  groupsOf: () => readonly MemoryGroup[],
  { limit = Number.POSITIVE_INFINITY }: ListBacklogOptions = {}
): AsyncGenerator<BacklogEvent> {
  const all = groupsOf().flatMap(({ backlog }) => backlog)
  all.sort((one, other) => one.event.stored.position - other.event.stored.position)
  for (const { event, state, due } of all.slice(0, limit)) {
    const { position, id, key, message, publishedAt } = event.stored
    yield {
      position: String(position),
      pattern: message.pattern,
      ...{ id, key, state },
      headers: message.headers ?? {},
      data: decode(hub.openCodec(), message.data as Uint8Array),
      publishedAt: new Date(publishedAt),
      attempts: event.attempt,
      dueAt: due === undefined ? undefined : new Date(due)
    }
  }
}

function memoryFuture(hub: MemoryHub): FutureEvents {
  const { later } = hub.store
  const take = (pattern: Pattern, id: string) => later.take(eventName(routeOf(pattern), id))
  return {
    now: async () => hub.store.clock.now(),
    cancel: async (pattern, id) => take(pattern, id) !== undefined,
    async fire(pattern, id) {
      const event = take(pattern, id)
      event?.fire()
      return event !== undefined
    },
    async *list({ pattern, limit = Number.POSITIVE_INFINITY } = {}) {
      const route = pattern === undefined ? undefined : routeOf(pattern)
      const all = later.all.filter(({ message }) => route === undefined || message.route === route)
      for (const { id, key, due, message } of all.slice(0, limit))
        yield {
          pattern: message.pattern,
          ...{ id, key },
          at: new Date(due),
          headers: message.headers ?? {},
          data: decode(hub.openCodec(), message.data as Uint8Array)
        }
    }
  }
}

class MemoryDeadLetters implements DeadLetters {
  readonly #hub: MemoryHub
  readonly #group: string

  constructor(hub: MemoryHub, group: string) {
    this.#hub = hub
    this.#group = group
  }

  async *list({ limit = Number.POSITIVE_INFINITY }: ListDeadLettersOptions = {}): AsyncGenerator<DeadLetter> {
    let count = 0
    for (const letter of [...this.#hub.store.deadLetters.values()]) {
      if (letter.from.name !== this.#group) continue
      if (++count > limit) return
      yield this.#shown(letter)
    }
  }

  async get(position: string): Promise<DeadLetter | undefined> {
    const letter = this.#find(position)
    return letter && this.#shown(letter)
  }

  async redrive(position: string): Promise<boolean> {
    const letter = this.#find(position)
    if (letter === undefined) return false
    this.#hub.store.deadLetters.delete(letter.place)
    letter.from.add(letter)
    return true
  }

  async discard(position: string): Promise<boolean> {
    const letter = this.#find(position)
    return letter !== undefined && this.#hub.store.deadLetters.delete(letter.place)
  }

  #find(position: string): MemoryDeadLetter | undefined {
    const letter = this.#hub.store.deadLetters.get(Number(position))
    return letter?.from.name === this.#group ? letter : undefined
  }

  #shown({
    place,
    from,
    message,
    id,
    key,
    reason,
    attempts,
    publishedAt,
    diedAt
  }: MemoryDeadLetter): DeadLetter {
    return {
      position: String(place),
      group: from.name,
      pattern: message.pattern,
      ...{ id, key, reason, attempts },
      headers: message.headers ?? {},
      data: decode(this.#hub.openCodec(), message.data as Uint8Array),
      publishedAt: new Date(publishedAt),
      diedAt: new Date(diedAt)
    }
  }
}
