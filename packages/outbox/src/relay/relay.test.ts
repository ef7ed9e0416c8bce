/** The rounds of a relay, over a pool that answers as the test says. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConnectionError, EventRefusedError } from '@elysia-microservices/transport/kit'
import { Engine } from '../testing/engine.ts'
import { FakePool } from '../testing/fake-pool.ts'
import { Scene } from '../testing/relay-scene.ts'
import { until } from '../testing/until.ts'
import { outboxRelay } from './relay.ts'
import { FETCH, LEAD, PUBLISHED, SLEEP } from './statements.ts'

describe('a relay', () => {
  it('publishes what waits, records it once, and falls asleep', async () => {
    const { relay, waiting, published, engine, ...scene } = new Scene()
    waiting.push('1', '2')
    await relay.start()
    await until(() => published.length === 2)
    await until(() => scene.pool.asked.some(({ text, values }) => text === SLEEP && values[0] === 'true'))
    await relay.stop()
    assert.deepEqual(
      [published, engine.of('a')],
      [
        ['1', '2'],
        [1, 2]
      ]
    )
  })

  it('wakes when it is told of events, and says that it is awake', async () => {
    const scene = new Scene(2 ** 30)
    await scene.relay.start()
    await until(() => scene.isAsleep)
    scene.waiting.push('1')
    scene.pool.notify()
    await until(() => scene.published.length === 1 && !scene.isAsleep)
    await scene.relay.stop()
  })

  it('publishes nothing while another one leads, and goes on when it does not any more', async () => {
    const scene = new Scene()
    scene.leads = false
    scene.waiting.push('1')
    await scene.relay.start()
    await until(() => scene.count(LEAD) > 3)
    assert.deepEqual([scene.engine.stored.length, scene.count(FETCH)], [0, 0])
    scene.leads = true
    await until(() => scene.published.length === 1)
    await scene.relay.stop()
  })

  it('records why an event fails, tries it again, and sends few at a time until one is stored', async () => {
    const scene = new Scene()
    for (let n = 1; n <= 40; n++) scene.waiting.push(String(n))
    let isDown = true
    scene.engine.fail = () => (isDown ? Promise.reject(new ConnectionError('down', true)) : undefined)
    await scene.relay.start()
    await until(() => scene.failed.length > 0)
    await until(() => scene.count(FETCH) > 1)
    const [, second] = scene.pool.valuesOf('with events')
    assert.deepEqual(second?.[0], '16')
    isDown = false
    await until(() => scene.published.length === 40)
    await scene.relay.stop()
    assert.ok(scene.failed.every(({ pause }) => pause !== null))
    assert.match(scene.lines.warnings.join(), /cannot be published, trying again: ConnectionError: down/)
  })

  it('keeps what it could not record, until the database is back', async () => {
    const scene = new Scene()
    scene.waiting.push('1')
    let answer = () => {}
    scene.engine.fail = () =>
      new Promise((resolve) => {
        answer = () => resolve({ duplicate: false })
      })
    await scene.relay.start()
    // The round does not wait for one event that the broker does not answer.
    await until(() => scene.left.length === 1)
    scene.breaks = PUBLISHED
    answer()
    await until(() => scene.published.length === 1)
    assert.equal(scene.breaks, undefined)
    await scene.relay.stop()
    assert.deepEqual(scene.published, ['1'])
    assert.deepEqual((await scene.relay.stats()).published, 1)
    assert.match(scene.lines.warnings.join(), /The outbox cannot be read; trying again/)
  })

  it('waits at its stop for what is under way, and records it', async () => {
    const scene = new Scene()
    scene.waiting.push('1')
    let answer = () => {}
    scene.engine.fail = () =>
      new Promise((resolve) => {
        answer = () => resolve({ duplicate: true })
      })
    await scene.relay.start()
    await until(() => scene.left.length === 1)
    let isOver = false
    const stopped = scene.relay.stop().then(() => {
      isOver = true
    })
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(isOver, false)
    answer()
    await stopped
    assert.deepEqual(scene.published, ['1'])
    await assert.rejects(scene.relay.start(), /was started already/)
  })

  it('says at its stop that it could not record what was under way: another one sends that again', async () => {
    const scene = new Scene()
    scene.waiting.push('1')
    let answer = () => {}
    scene.engine.fail = () =>
      new Promise((resolve) => {
        answer = () => resolve({ duplicate: false })
      })
    await scene.relay.start()
    await until(() => scene.left.length === 1)
    scene.breaks = PUBLISHED
    const stopped = scene.relay.stop()
    answer()
    await stopped
    assert.deepEqual(
      [scene.breaks, scene.published, (await scene.relay.stats()).published],
      [undefined, [], 0]
    )
    assert.match(scene.lines.warnings.join(), /cannot be written; a later relay publishes some events again/)
  })

  it('says which event it puts aside, and why', async () => {
    const scene = new Scene()
    scene.waiting.push('1')
    scene.engine.fail = () => Promise.reject(new EventRefusedError('no'))
    await scene.relay.start()
    await until(() => scene.failed.length === 1)
    await scene.relay.stop()
    assert.deepEqual([scene.failed[0]?.pause, scene.lines.warnings], [null, []])
    assert.match(
      scene.lines.errors.join(),
      /^Event '?1'? of '?a'? is put aside, because it can never be published \(see relay\.failed\): EventRefusedError: no/
    )
  })

  it('says which tables are missing, and refuses a pool of one connection', async () => {
    const missing = new FakePool(() => {
      throw Object.assign(new Error('no'), { code: '42P01' })
    })
    const client = new Engine()
    await assert.rejects(
      outboxRelay({ sql: missing.sql, client, schema: 'shop' }).start(),
      /create its tables: await migrate\(sql, { schema: 'shop' }\)/
    )
    const startWith = (error: object) => {
      const { sql } = new FakePool(() => {
        throw Object.assign(new Error('no'), error)
      })
      return outboxRelay({ sql, client }).start()
    }
    // A schema that is missing; Bun has the code in another place.
    for (const error of [{ code: '3F000' }, { errno: '42P01' }])
      await assert.rejects(startWith(error), /create its tables: await migrate\(sql\)/)
    await assert.rejects(startWith({ code: '28000' }), { message: 'no', code: '28000' })
    const single = Object.assign(missing.sql, { options: { max: 1 } })
    assert.throws(() => outboxRelay({ sql: single, client }), /needs two connections/)
  })
})
