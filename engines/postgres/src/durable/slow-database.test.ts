/** A database whose turns take longer than the lease that they renew. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConsumerInit } from '@elysia-microservices/engine'
import { durableSettings, type IncomingMessage } from '@elysia-microservices/transport/kit'
import type { Settling, Turn, Wanted } from '../connection/turn.ts'
import { OverTables, takenRow } from '../testing/fake-tables.ts'
import { PostgresConsumer } from './consumer.ts'
import { Transactions } from './transactions.ts'

const ACK_WAIT = 1_000
const EVENTS = 200

/** A log of events, of which each turn takes as many milliseconds as told. */
class SlowDatabase {
  readonly over = new OverTables({ ackWait: ACK_WAIT })
  readonly #waiting = Array.from({ length: EVENTS }, (_, n) => String(n + 1))
  readonly handled: string[] = []
  turns = 0
  back = 0

  constructor(takes: (turn: number) => number) {
    const { over } = this
    over.tables.turn = async (_owner, _lease, settled, _known, wanted) => {
      const turn = this.#turn(settled, wanted)
      await new Promise<void>((resolve) => over.clock.after(takes(this.turns), resolve))
      return turn
    }
  }

  #turn(settled: readonly Settling[], wanted: readonly Wanted[]): Turn {
    this.turns++
    const back = settled.flatMap((one) => one.back.map(({ position }) => position))
    this.back += back.length
    this.#waiting.unshift(...back)
    this.#waiting.sort((one, other) => Number(one) - Number(other))
    const taken = this.#waiting.splice(0, wanted[0]?.most ?? 0)
    return {
      lost: [],
      taken: taken.map((position) =>
        takenRow({ batch: String(this.turns), position, id: position, key: `k${Number(position) % 7}` })
      ),
      next: null,
      bounds: null
    }
  }

  /** Handles events for some turns. */
  async run(turns: number): Promise<void> {
    const { over } = this
    over.tables.joined.ordered = true
    const init = {
      dispatcher: {
        event: ({ delivery }: IncomingMessage) => void this.handled.push(delivery?.id as string)
      },
      route: { route: 'p', durable: durableSettings({ ordered: true, concurrency: 4 }) },
      ...{ pattern: 'p', group: 'g', via: 'v', logger: over.logger }
    }
    const transactions = new Transactions(over.options.sql, over.options.schema)
    const consumer = new PostgresConsumer(
      init as unknown as ConsumerInit,
      over.options,
      over.turns,
      transactions,
      over.clock
    )
    await consumer.start(over.connection)
    consumer.begin()
    while (this.turns < turns) await over.clock.advance(1_000)
  }
}

describe('turns that take longer than their lease', () => {
  for (const [what, takes] of [
    ['a little', () => 1_200],
    ['much', () => 3_600],
    ['by turns', (turn: number) => (turn % 2 === 0 ? 10 : 2_500)]
  ] as const)
    it(`${what}: all events are handled, once and in order, and none comes and goes`, async () => {
      const slow = new SlowDatabase(takes)
      await slow.run(30)
      assert.equal(slow.handled.length, EVENTS)
      for (let key = 0; key < 7; key++) {
        const line = slow.handled.map(Number).filter((n) => n % 7 === key)
        assert.deepEqual(
          line,
          line.toSorted((one, other) => one - other)
        )
      }
      assert.equal(slow.back, 0)
      assert.match(slow.over.lines.join('\n'), /one statement of durable events, and ackWait is 1000 ms/)
    })

  it('get at most nine times ackWait more, and nothing more when turns are quick again', async () => {
    const over = new OverTables({ ackWait: ACK_WAIT })
    const graces: number[] = []
    let takes = 60_000
    over.tables.turn = async (...[, , , , , , grace]) => {
      graces.push(grace)
      await new Promise<void>((resolve) => over.clock.after(takes, resolve))
      return { lost: [], taken: [], next: null, bounds: null }
    }
    over.turns.wake()
    while (graces.length < 7) await over.clock.advance(10_000)
    assert.deepEqual(graces, [0, 1_000, 2_000, 4_000, 8_000, 9_000, 9_000])
    takes = 10
    while (graces.length < 9) await over.clock.advance(10_000)
    assert.equal(graces.at(-1), 0)
  })
})
