/** The transactions of handlers, over a pool of `pg` that notes its statements. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DatabaseSql } from '@elysia-microservices/outbox/database'
import { type Delivery, Discard } from '@elysia-microservices/transport/kit'
import { takenRow } from '../testing/fake-tables.ts'
import { TakenEvent } from './event.ts'
import { Transactions } from './transactions.ts'

/** A pool, and runs of handlers with transactions of it. */
class Handling {
  readonly ran: string[] = []
  /** Another process has the event, or it is acknowledged already. */
  isGone = false
  readonly lines: string[] = []
  readonly transactions: Transactions<DatabaseSql>

  constructor(max = 10) {
    const client = {
      query: async (text: string) => {
        const isAcknowledgement = text.includes('.acknowledge(')
        this.ran.push(isAcknowledgement ? 'acknowledge' : text)
        if (isAcknowledgement && this.isGone) throw Object.assign(new Error('gone'), { code: 'EM001' })
        return { rows: [] }
      },
      on() {},
      removeListener() {},
      release() {}
    }
    const connect = (connected: (error: undefined, given: typeof client) => void) =>
      connected(undefined, client)
    const pool = { totalCount: 0, options: { max }, query: client.query, connect }
    this.transactions = new Transactions(pool as unknown as DatabaseSql, 'shop')
  }

  /** Runs a handler of one event. */
  run(handle: (delivery: Delivery, event: TakenEvent) => Promise<void>) {
    const batch = { id: '7', left: new Set<TakenEvent>(), leasedUntil: 0, isLost: false }
    const event = new TakenEvent(takenRow(), batch, false)
    const delivery = {} as Delivery
    const logger = { warn: (line: string) => void this.lines.push(line), error() {} }
    const ended = this.transactions.runs.around(delivery, event, logger, () => handle(delivery, event))
    return { event, delivery, ended }
  }

  /** The statements without the level of isolation. */
  get statements(): string[] {
    return this.ran.map((text) => text.replace(/^begin.*/, 'begin'))
  }
}

describe('the transaction of a handler', () => {
  it('acknowledges the event before the handler writes, and is committed with what it has written', async () => {
    const handling = new Handling()
    const { transactions, ran } = handling
    const results: unknown[] = []
    const { event, ended } = handling.run(async (delivery) => {
      results.push(
        await transactions.transaction(delivery, (client) => {
          ran.push('write')
          assert.equal(typeof (client as { query?: unknown }).query, 'function')
          return 5
        })
      )
    })
    await ended
    assert.deepEqual(handling.statements, ['begin', 'acknowledge', 'write', 'commit'])
    assert.deepEqual([results, event.isAcknowledged], [[5], true])
  })

  it('of an event that another process has is rolled back before its handler has written', async () => {
    const handling = new Handling()
    handling.isGone = true
    const told: string[] = []
    const { event, ended } = handling.run(async (delivery) => {
      await handling.transactions
        .transaction(delivery, () => void handling.ran.push('write'))
        .catch((error: Error) => told.push(error.message))
      throw new Error('so be it')
    })
    await ended
    assert.deepEqual(handling.statements, ['begin', 'acknowledge', 'rollback'])
    assert.match(
      told.join(),
      /acknowledged already, or another process has it; the transaction is rolled back/
    )
    // It is no failure of this handler, and the event comes no more.
    assert.equal(event.isAcknowledged, true)
  })

  it('that fails is rolled back, and its event is not done; the handler may begin another one', async () => {
    const handling = new Handling()
    const failed = handling.run(async (delivery) => {
      await handling.transactions.transaction(delivery, () => Promise.reject(new Error('no')))
    })
    await assert.rejects(failed.ended, /no/)
    assert.deepEqual(handling.statements, ['begin', 'acknowledge', 'rollback'])
    assert.equal(failed.event.isAcknowledged, false)
    handling.ran.length = 0
    const again = handling.run(async (delivery) => {
      await handling.transactions.transaction(delivery, () => Promise.reject(new Error('no'))).catch(() => {})
      await handling.transactions.transaction(delivery, () => {})
    })
    await again.ended
    assert.deepEqual(handling.statements.slice(3), ['begin', 'acknowledge', 'commit'])
    assert.equal(again.event.isAcknowledged, true)
  })

  it('is one for each delivery, and nobody has one without a delivery or after its handler', async () => {
    const handling = new Handling()
    const { transactions } = handling
    const { delivery, ended } = handling.run(async (one) => {
      await transactions.transaction(one, () => {})
      await assert.rejects(
        transactions.transaction(one, () => {}),
        /has a transaction already/
      )
    })
    await ended
    await assert.rejects(
      transactions.transaction(delivery, () => {}),
      /has ended: await its transaction/
    )
    await assert.rejects(
      transactions.transaction({} as Delivery, () => {}),
      /durable: { transactional: true }/
    )
  })

  it('must be there when a handler succeeds, unless it has discarded its event', async () => {
    const handling = new Handling()
    await assert.rejects(handling.run(async () => {}).ended, /has ended without its transaction/)
    const discarding = handling.run(() => Promise.reject(new Discard('nothing to do')))
    await assert.rejects(discarding.ended, Discard)
    assert.equal(discarding.event.isAcknowledged, false)
  })

  it("may be the handler's own: whether it is committed, the database knows", async () => {
    for (const isGone of [false, true]) {
      const handling = new Handling()
      handling.isGone = isGone
      const client = {
        query: async () => {
          if (isGone) throw Object.assign(new Error('gone'), { code: 'EM001' })
          return { rows: [] }
        }
      }
      const told: unknown[] = []
      const { event, ended } = handling.run((delivery) =>
        handling.transactions.acknowledge(client as never, delivery).catch((error) => void told.push(error))
      )
      await ended
      assert.deepEqual([told.length, event.isAcknowledged], [isGone ? 1 : 0, true])
    }
  })

  it('that is committed makes the event done, whatever its handler does then', async () => {
    const handling = new Handling()
    const { event, ended } = handling.run(async (delivery) => {
      await handling.transactions.transaction(delivery, () => {})
      throw new Error('too late')
    })
    await ended
    assert.equal(event.isAcknowledged, true)
    assert.match(handling.lines.join(), /has failed after its transaction was committed: the event is done/)
  })
})

describe('the connections of a pool', () => {
  it('are left to the store but for two, and a pool without a third one is refused', () => {
    for (const max of [1, 2])
      assert.throws(() => new Handling(max).transactions.check('p'), {
        name: 'OptionError',
        message: /at least 3/
      })
    new Handling(3).transactions.check('p')
  })

  it('are taken by so many transactions at the same time, in turn, whether or not one of them fails', async () => {
    const handling = new Handling(4)
    const begun: number[] = []
    const ends: ((error?: Error) => void)[] = []
    const runs = [0, 1, 2, 3, 4].map((n) =>
      handling
        .run((delivery) =>
          handling.transactions.transaction(
            delivery,
            () =>
              new Promise<void>((resolve, reject) => {
                begun.push(n)
                ends[n] = (error) => (error === undefined ? resolve() : reject(error))
              })
          )
        )
        .ended.catch(() => {})
    )
    const settled = () => new Promise((resolve) => setTimeout(resolve))
    await settled()
    assert.deepEqual(begun, [0, 1])
    ends[0]?.(new Error('no'))
    await settled()
    assert.deepEqual(begun, [0, 1, 2])
    ends[1]?.()
    ends[2]?.()
    await settled()
    assert.deepEqual(begun, [0, 1, 2, 3, 4])
    ends[3]?.()
    ends[4]?.()
    await Promise.all(runs)
    const last = handling.run((delivery) => handling.transactions.transaction(delivery, () => {}))
    await last.ended
  })
})
