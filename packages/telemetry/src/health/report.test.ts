import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Health } from './report.ts'

const listening = { status: 'listening' as const }

describe('Health', () => {
  it('is well if all services listen and no check says no', async () => {
    const health = new Health({ services: [listening], checks: { a: () => {}, b: async () => true } })
    const { ok, services, checks } = await health.report()
    assert.equal(ok, true)
    assert.deepEqual(services, ['listening'])
    assert.deepEqual(
      Object.values(checks).map(({ ok }) => ok),
      [true, true]
    )
  })

  it('is not while a service does anything but listen', async () => {
    for (const status of ['stopped', 'starting', 'draining'] as const) {
      const { ok, services } = await new Health({ services: [listening, { status }] }).report()
      assert.equal(ok, false)
      assert.deepEqual(services, ['listening', status])
    }
  })

  it('is not while no transport of a service takes messages, and says why', async () => {
    const gone = 'The NATS server is lost'
    const stats = { address: undefined, inFlight: { current: 0, limit: false as const }, streams: 0 }
    const over = (...transports: [transport: string, unavailable?: string][]) => ({
      ...listening,
      stats: () => transports.map(([transport, unavailable]) => ({ ...stats, transport, unavailable }))
    })
    const nats = { transport: 'nats', ok: false, reason: gone }
    const tcp = { transport: 'tcp', ok: true }
    const reportOf = async (...services: ReturnType<typeof over>[]) => {
      const { ok, transports } = await new Health({ services }).report()
      return { ok, transports }
    }
    assert.deepEqual(await reportOf(over(['nats', gone])), { ok: false, transports: [nats] })
    assert.deepEqual(await reportOf(over(['tcp'], ['nats', gone])), { ok: true, transports: [tcp, nats] })
    assert.deepEqual(await reportOf(over(['tcp']), over(['nats', gone])), {
      ok: false,
      transports: [tcp, nats]
    })
  })

  it('is not while a client is lost, and tells the status of each', async () => {
    const of = async (status: 'disconnected' | 'connected' | 'reconnecting' | 'closed') => {
      const { ok, clients } = await new Health({ clients: { stock: { status } } }).report()
      assert.deepEqual(clients, { stock: status })
      return ok
    }
    assert.deepEqual(await Promise.all([of('disconnected'), of('connected')]), [true, true])
    assert.deepEqual(await Promise.all([of('reconnecting'), of('closed')]), [false, false])
    assert.throws(() => new Health({ clients: { stock: {} as never } }), { path: 'options.clients.stock' })
  })

  it('says why a check failed, whichever way it says so', async () => {
    const health = new Health({
      checkTimeout: 20,
      checks: {
        throws() {
          throw new Error('no database')
        },
        rejects: () => Promise.reject(new Error('no cache')),
        'rejects with anything': () => Promise.reject('nothing'),
        'says no': () => false,
        'never answers': () => new Promise(() => {}),
        fine: () => true
      }
    })
    const { ok, checks } = await health.report()
    assert.equal(ok, false)
    const reasons = Object.fromEntries(
      Object.entries(checks).map(([name, each]) => [name, each.ok ? 'ok' : each.reason])
    )
    assert.deepEqual(reasons, {
      throws: 'no database',
      rejects: 'no cache',
      'rejects with anything': 'nothing',
      'says no': 'the check says no',
      'never answers': 'no answer within 20 ms',
      fine: 'ok'
    })
  })

  it('runs a check once for all who ask meanwhile, and again for those who ask later', async () => {
    let runs = 0
    const health = new Health({ checks: { a: async () => void runs++ } })
    await Promise.all(Array.from({ length: 50 }, () => health.report()))
    assert.equal(runs, 1)
    await health.report()
    assert.equal(runs, 2)
  })

  it('refuses options that are none', () => {
    assert.throws(() => new Health({ checks: { a: 1 as never } }), { path: 'options.checks.a' })
    assert.throws(() => new Health({ checkTimeout: 0 }), { path: 'options.checkTimeout' })
    assert.throws(() => new Health({ services: [{} as never] }), { path: 'options.services' })
  })
})
