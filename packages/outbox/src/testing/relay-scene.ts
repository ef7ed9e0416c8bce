/** A relay over a pool that answers as a test says: an outbox with these events, a broker, and what is recorded. */
import { type OutboxRelay, outboxRelay } from '../relay/relay.ts'
import { FAILED, FETCH, LEAD, LEFT, PUBLISHED, SLEEP, STATS } from '../relay/statements.ts'
import { Engine, Lines } from './engine.ts'
import { type Asked, FakePool } from './fake-pool.ts'

export class Scene {
  readonly engine = new Engine()
  readonly lines = new Lines()
  leads = true
  isAsleep = false
  /** The key of all events. */
  key: string | null = null
  /** Events that wait, by position. */
  readonly waiting: string[] = []
  readonly published: string[] = []
  readonly failed: { readonly position: string; readonly pause: number | null }[] = []
  readonly left: string[] = []
  /** Fails the next statement with some text. */
  breaks: string | undefined
  readonly pool = new FakePool((asked) => this.#answer(asked))
  readonly relay: OutboxRelay

  constructor(pollInterval = 5, publishTimeout = 60_000) {
    const { pool, engine: client, lines: logger } = this
    this.relay = outboxRelay({ sql: pool.sql, client, logger, pollInterval, publishTimeout })
  }

  #answer({ text, values }: Asked): readonly Readonly<Record<string, unknown>>[] | undefined {
    if (text === this.breaks) {
      this.breaks = undefined
      throw new Error('the database is away')
    }
    if (text === LEAD) return [{ leads: this.leads, asleep: this.isAsleep }]
    if (text === FETCH) return this.#rows()
    if (text === STATS) return [{ pending: String(this.waiting.length), oldest: null, failed: '0' }]
    if (text === SLEEP) this.isAsleep = values[0] === 'true'
    if (text === PUBLISHED) this.published.push(...this.#take(String(values[0]).slice(1, -1).split(',')))
    if (text === FAILED) {
      const failures = JSON.parse(String(values[0])) as Scene['failed']
      this.failed.push(...failures)
      this.#take(failures.filter(({ pause }) => pause === null).map(({ position }) => position))
    }
    if (text === LEFT) {
      const left = (JSON.parse(String(values[0])) as Scene['failed']).map(({ position }) => position)
      this.left.push(...left)
      this.#take(left)
    }
    return undefined
  }

  #rows() {
    return this.waiting.map((position) => ({
      ...{ position, id: position, pattern: 'a', key: this.key, headers: null },
      data: position,
      attempts: '0'
    }))
  }

  #take(positions: readonly string[]): readonly string[] {
    const kept = this.waiting.filter((position) => !positions.includes(position))
    this.waiting.splice(0, this.waiting.length, ...kept)
    return positions
  }

  /** How often a statement was asked. */
  count(text: string): number {
    return this.pool.asked.filter((one) => one.text === text).length
  }
}
