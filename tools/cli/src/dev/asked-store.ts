/**
 * The store of a service as the page uses it: a process of the service is asked. A file of `sqlite()` can be open in one
 * process only, and a service may have its events elsewhere than its calls.
 */
import {
  type AnnouncedStore,
  type BacklogEvent,
  type ClientStatus,
  type ConnectionListener,
  type DeadLetter,
  type DeadLetters,
  type EventStore,
  type FutureEvents,
  OptionError,
  type Pattern,
  routeOf,
  type StoreClient,
  type StoreQuestion,
  type WaitingEvent
} from '@elysia-microservices/transport/kit'

/** Asks a process of the service. */
export type AskStore = (question: StoreQuestion) => Promise<unknown>

/** The fields of events that are times. JSON has them as texts. */
const TIMES = ['publishedAt', 'diedAt', 'dueAt', 'at'] as const

/** A store that is asked. */
export function askedStore({ name, stores }: Omit<AnnouncedStore, 'ask'>, ask: AskStore): EventStore {
  return {
    name,
    stores,
    server() {
      throw new OptionError('options.store', 'The page of dev handles no events')
    },
    client: () => new AskedClient(name, ask, stores.future)
  }
}

class AskedClient implements StoreClient {
  readonly name: string
  readonly future: FutureEvents | undefined
  readonly #ask: AskStore

  constructor(name: string, ask: AskStore, hasFuture: boolean) {
    this.name = name
    this.#ask = ask
    if (!hasFuture) return
    this.future = {
      cancel: async (pattern, id) => (await ask({ ask: 'cancel', ...at(pattern, id) })) === true,
      fire: async (pattern, id) => (await ask({ ask: 'fire', ...at(pattern, id) })) === true,
      now: async () => Number(await ask({ ask: 'now' })),
      list: ({ pattern, limit } = {}) =>
        this.#list<WaitingEvent>({
          ask: 'waiting',
          ...(pattern !== undefined && { pattern: routeOf(pattern) }),
          limit
        })
    }
  }

  get status(): ClientStatus {
    return 'connected'
  }

  onStatus(_listener: ConnectionListener): () => void {
    return () => {}
  }

  async connect(): Promise<void> {}

  async close(): Promise<void> {}

  publish(): Promise<never> {
    return Promise.reject(new OptionError('publish', 'The page of dev publishes nothing'))
  }

  deadLetters(group: string): DeadLetters {
    const change = async (ask: 'redrive' | 'discard', position: string) =>
      (await this.#ask({ ask, group, position })) === true
    return {
      list: ({ limit } = {}) => this.#list<DeadLetter>({ ask: 'letters', group, limit }),
      get: async (position) => withTimes<DeadLetter>(await this.#ask({ ask: 'letter', group, position })),
      redrive: (position) => change('redrive', position),
      discard: (position) => change('discard', position)
    }
  }

  async hasGroup(group: string): Promise<boolean> {
    return (await this.#ask({ ask: 'has', group })) === true
  }

  async pauseGroup(group: string, isPaused: boolean): Promise<void> {
    await this.#ask({ ask: isPaused ? 'pause' : 'resume', group })
  }

  backlog(
    group: string,
    { limit }: { readonly limit?: number | undefined } = {}
  ): AsyncIterable<BacklogEvent> {
    return this.#list({ ask: 'backlog', group, limit })
  }

  async lag(group: string): Promise<number> {
    const lag = await this.#ask({ ask: 'lag', group })
    if (typeof lag === 'number') return lag
    throw new OptionError('group.lag', 'This store cannot count for a client what waits')
  }

  async *#list<Event>(question: StoreQuestion): AsyncGenerator<Event> {
    for (const event of (await this.#ask(question)) as unknown[]) yield withTimes<Event>(event) as Event
  }
}

function at(pattern: Pattern, id: string) {
  return { pattern: routeOf(pattern), id }
}

function withTimes<Event>(given: unknown): Event | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const event = { ...given } as Record<string, unknown>
  for (const name of TIMES) if (typeof event[name] === 'string') event[name] = new Date(event[name])
  return event as Event
}
