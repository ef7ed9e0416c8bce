/** Groups of durable events and outboxes, with their dead letters. */
import { type DeadLetterChange, type Logger, RpcError } from '@elysia-microservices/transport/kit'
import { backlogSize, listBacklog } from '../backlog.ts'
import { fieldsOf } from '../bounds.ts'
import { type CheckedClient, stores } from '../clients.ts'
import { changeLetters, listDeadLetters, MAX_LETTERS } from '../dead-letters.ts'
import { groupsOf, LastSamples } from '../groups.ts'
import type {
  EventsView,
  GroupView,
  OutboxOf,
  Overview,
  Sample,
  StoredCount,
  StoreView
} from '../protocol.ts'
import { Rates } from '../rates.ts'
import { changeWaiting, futureOf, listWaiting } from '../waiting.ts'
import type { Source, SourceContext } from './source.ts'

/** Milliseconds after which dead letters are counted again, even if no process has reported another one. */
const COUNT_AGAIN = 30_000
/** The same for events that wait, of groups of which no process tells it. */
const WAITS_AGAIN = 5_000
/** Largest number of groups whose dead letters are counted. */
const MAX_COUNTED = 100
/** Largest number of stores whose events that wait are shown. */
const MAX_STORES = 20
/** Largest number of outboxes that are shown. */
const MAX_OUTBOXES = 200

/** The number of dead letters of a group. */
interface Count {
  readonly at: number
  /** The number of events that the group's processes had reported as dead letters at the time of the count. */
  readonly died: number
  readonly present: number | undefined
  /** The reason why dead letters cannot be counted. */
  readonly reason?: string
}

export class Events implements Source<'events'> {
  readonly topic = 'events'
  readonly #clients: SourceContext['clients']
  readonly #canTry: boolean
  readonly #logger: Logger
  readonly #samples = new LastSamples()
  /** The counts, by engine and group. */
  readonly #counts = new Map<string, Count>()
  readonly #counting = new Set<string>()
  /** The numbers of events that wait, as the stores tell, and when they were asked last. */
  readonly #waits = new Map<string, { readonly at: number; readonly told: StoredCount | undefined }>()
  readonly #rates = new Rates()
  #latest: EventsView | undefined
  #tell = () => {}

  constructor({ clients, canTry, logger }: Pick<SourceContext, 'clients' | 'canTry' | 'logger'>) {
    this.#clients = clients
    this.#canTry = canTry
    this.#logger = logger
  }

  latest(): EventsView | undefined {
    return this.#latest
  }

  begin(tell: () => void): void {
    this.#tell = tell
  }

  sampled(sample: Sample, { services }: Overview): void {
    const { at } = sample
    const told = this.#samples.take(sample, services)
    const groups = groupsOf(told)
    for (const group of groups.slice(0, MAX_COUNTED)) {
      void this.#count(group)
      void this.#askWhatWaits(group)
    }
    this.#latest = {
      groups: groups.map((group) => this.#withCount(group)),
      stores: this.#storesOf(groups),
      outboxes: told
        .flatMap(({ view, sample }) =>
          sample.outboxes.map(
            (outbox): OutboxOf => ({
              ...outbox,
              service: view.id,
              rate: this.#rates.of(`${view.id} ${outbox.schema}`, at, outbox.published),
              ...(view.isSilent === true && { isSilent: true })
            })
          )
        )
        .slice(0, MAX_OUTBOXES)
    }
    this.#tell()
  }

  /** The stores of groups that keep events until their time, each once. */
  #storesOf(groups: readonly GroupView[]): StoreView[] {
    const stores = new Map<string, StoreView>()
    for (const { engine, service } of groups)
      if (!stores.has(engine) && futureOf(this.#clients().get(service)) !== undefined)
        stores.set(engine, { engine, service })
    return [...stores.values()].slice(0, MAX_STORES)
  }

  /**
   * Lists what a group has not handled: `{ action: 'backlog', service, group }`. Lists dead letters, redrives or discards
   * them: `{ action, service, group, positions }`. Lists events that wait for their time (`{ action: 'waiting', service }`),
   * cancels one or delivers it at once: `{ action, service, pattern, id }`.
   * @throws {TypeError} the request is invalid or not allowed
   */
  async ask(question: unknown): Promise<unknown> {
    const { action, service, group, positions, pattern, id } = fieldsOf(question)
    if (action === 'waiting' || action === 'cancel' || action === 'fire') {
      const future = typeof service === 'string' ? futureOf(this.#clients().get(service)) : undefined
      if (future === undefined)
        throw new TypeError(
          'The request needs the text service, of a service whose store keeps events until a time'
        )
      if (action === 'waiting') return listWaiting(future)
      if (typeof pattern !== 'string' || typeof id !== 'string')
        throw new TypeError('The request needs the texts pattern and id')
      this.#mayChange()
      return { done: await changeWaiting(future, action, pattern, id, this.#logger) }
    }
    if (typeof group !== 'string' || typeof service !== 'string')
      throw new TypeError('The request needs the texts service and group')
    const client = this.#clients().get(service)
    if (client === undefined) throw new TypeError('There is no such service')
    if (!stores(client)) throw new RpcError(storesNothing(service))
    if (action === 'backlog') return listBacklog(client, group)
    if (action === 'list') return listDeadLetters(client, group)
    if (action !== 'redrive' && action !== 'discard')
      throw new TypeError('action must be backlog, list, redrive or discard')
    this.#mayChange()
    return { done: await this.#change(client, action, group, positions) }
  }

  /** @throws {TypeError} the console is read-only */
  #mayChange(): void {
    if (!this.#canTry)
      throw new TypeError(
        'The console is read-only: the option try of consolePage() allows calls and changes'
      )
  }

  async #change(
    client: CheckedClient,
    change: DeadLetterChange,
    group: string,
    positions: unknown
  ): Promise<number> {
    const isList = Array.isArray(positions) && positions.every((each) => typeof each === 'string')
    if (positions !== 'all' && (!isList || positions.length > MAX_LETTERS))
      throw new TypeError(`positions must be 'all' or a list of at most ${MAX_LETTERS} texts`)
    try {
      return await changeLetters(client, { change, group, positions }, this.#logger)
    } finally {
      // New dead letters may have arrived in the meantime, so the next sample counts again. Until then the page
      // shows the old number.
      for (const [key, count] of this.#counts)
        if (JSON.parse(key)[1] === group) this.#counts.set(key, { ...count, at: Number.NEGATIVE_INFINITY })
    }
  }

  #withCount(group: GroupView): GroupView {
    const { present, reason } = this.#counts.get(keyOf(group)) ?? {}
    const waits = this.#waits.get(keyOf(group))?.told
    return {
      ...group,
      ...(waits !== undefined && { waits }),
      ...(present !== undefined && { dead: present }),
      ...(reason !== undefined && { deadUnknown: reason })
    }
  }

  /** Asks the store what waits for a group of which no process tells it. Never rejects. */
  async #askWhatWaits(group: GroupView): Promise<void> {
    const key = keyOf(group)
    if (group.handlers.some(({ waits }) => waits !== undefined)) {
      this.#waits.delete(key)
      return
    }
    const now = performance.now()
    const { at = Number.NEGATIVE_INFINITY, told } = this.#waits.get(key) ?? {}
    const client = this.#clients().get(group.service)
    if (client === undefined || now - at < WAITS_AGAIN) return
    this.#waits.set(key, { at: now, told })
    const counted = await backlogSize(client, group.group)
    if (this.#waits.get(key)?.at === now) this.#waits.set(key, { at: now, told: counted })
  }

  /** Counts again if the number may have changed. Never rejects. */
  async #count(group: GroupView): Promise<void> {
    const key = keyOf(group)
    const died = group.handlers.reduce((sum, handler) => sum + handler.died, 0)
    const known = this.#counts.get(key)
    const now = performance.now()
    if (known !== undefined && known.died === died && now - known.at < COUNT_AGAIN) return
    const client = this.#clients().get(group.service)
    if (this.#counting.has(key) || client === undefined) return
    if (!stores(client)) {
      const reason = storesNothing(group.service)
      this.#counts.set(key, { at: now, died, present: undefined, reason })
      return
    }
    this.#counting.add(key)
    try {
      const { letters, hasMore } = await listDeadLetters(client, group.group)
      const present = letters.length + (hasMore ? 1 : 0)
      this.#counts.set(key, { at: now, died, present })
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      // After a failure the last count is kept, because it is better than none.
      this.#counts.set(key, { at: now, died, present: known?.present, reason: reason.slice(0, 500) })
    } finally {
      this.#counting.delete(key)
    }
  }
}

function storesNothing(service: string): string {
  return `The console's client of ${service} stores no events: pass consolePage() a client over the engine, or with the store of the service (options.store of connect()); what sqlite() has, only a console in the same process can show`
}

function keyOf({ engine, group }: GroupView): string {
  return JSON.stringify([engine, group])
}
