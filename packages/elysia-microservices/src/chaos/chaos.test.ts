/** Injected faults as callers see them, over both protocols. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { connect } from '../client/index.ts'
import { memory } from '../index.ts'
import { microservice } from '../service/microservice.ts'
import type { ChaosOptions, ChaosRule } from './options.ts'

const cleanups: (() => Promise<unknown>)[] = []

/** A service with these faults, its caller, its warnings, and the messages that it has handled. */
async function start(protocol: 'nest' | 'rsocket', ...rules: ChaosRule[]) {
  const warnings: string[] = []
  const handled: unknown[] = []
  const logger = { error() {}, warn: (line: string) => void warnings.push(line) }
  const service = microservice({
    transport: 'tcp',
    host: '127.0.0.1',
    port: 0,
    logger,
    chaos: { seed: 1, rules }
  })
    .message('echo', ({ data }) => {
      handled.push(data)
      return data
    })
    .message('count', async function* () {
      yield 1
      yield 2
    })
    .event('happened', ({ data }) => void handled.push(data))
  await service.listen()
  const client = connect({ host: '127.0.0.1', port: service.address!.port, protocol })
  cleanups.push(
    () => service.stop(),
    () => client.close()
  )
  return { service, client, warnings, handled }
}

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

for (const protocol of ['rsocket', 'nest'] as const) {
  describe(`chaos over ${protocol}`, () => {
    it('answers with errors instead of calling the handler', async () => {
      const { client, handled } = await start(
        protocol,
        { pattern: 'count', probability: 1, error: { code: 'NO', message: 'never', details: [1] } },
        { probability: 1, error: true }
      )
      await assert.rejects(client.request('echo', 1), { name: 'RpcError', code: 'CHAOS' })
      await assert.rejects(
        async () => {
          for await (const _ of client.stream('count')) assert.fail('no value')
        },
        { code: 'NO', message: 'never', details: [1] }
      )
      assert.deepEqual(handled, [])
    })

    it('lets messages wait and changes nothing else', async () => {
      const { client, handled } = await start(protocol, { probability: 1, latency: [1, 5] })
      assert.equal(await client.request('echo', 1), 1)
      const values: unknown[] = []
      for await (const value of client.stream('count')) values.push(value)
      assert.deepEqual(values, [1, 2])
      await assert.rejects(client.request('nobody', 1), { code: 'PATTERN_NOT_FOUND' })
      await client.emit('happened', 2)
      while (handled.length < 2) await new Promise((resolve) => setTimeout(resolve, 1))
      assert.deepEqual(handled, [1, 2])
    })

    it('cuts connections off: the work is done, the answer is lost, the next call connects again', async () => {
      const { client, handled } = await start(protocol, { pattern: 'echo', probability: 1, drop: true })
      await assert.rejects(client.request('echo', 1), { name: 'ConnectionError', mayHaveRun: true })
      assert.deepEqual(handled, [1])
      assert.equal(await client.request('count', 1), 1)
    })

    it('leaves events out, and says so', async () => {
      const { client, handled, warnings } = await start(protocol, {
        pattern: 'happened',
        probability: 1,
        error: true
      })
      await client.emit('happened', 1)
      assert.equal(await client.request('echo', 2), 2)
      assert.deepEqual(handled, [2])
      assert.match(warnings.at(-1) ?? '', /no handler of the event 'happened'/)
    })
  })
}

describe('chaos', () => {
  it('hits the same messages at every start', async () => {
    const { service, client } = await start('rsocket', { probability: 0.5, error: true })
    const outcomes = async (caller: typeof client) => {
      const seen: boolean[] = []
      for (let count = 0; count < 50; count++)
        seen.push(await caller.request('echo', count).then(Boolean, () => false))
      return seen.slice(1)
    }
    const first = await outcomes(client)
    await service.stop()
    await service.listen()
    const again = connect({ host: '127.0.0.1', port: service.address!.port })
    cleanups.push(() => again.close())
    assert.deepEqual(await outcomes(again), first)
    assert.ok(first.includes(true) && first.includes(false))
  })

  it('is of the service that listens: one that it uses brings none', async () => {
    const used = microservice({
      chaos: { seed: 1, rules: [{ probability: 1, error: true }] }
    })
    used.message('used', () => 'used').message('used.*', () => 'used')
    const { service, warnings } = await start('rsocket', { pattern: 'count', probability: 1, error: true })
    await service.stop()
    await service.use(used).listen()
    const client = connect({ host: '127.0.0.1', port: service.address!.port })
    cleanups.push(() => client.close())
    assert.equal(await client.request('echo', 1), 1)
    assert.equal(await client.request('used'), 'used')
    assert.equal(await client.request('used.too'), 'used')
    await assert.rejects(client.request('count'), { code: 'CHAOS' })
    assert.equal(warnings.length, 2)
  })

  it('is said at the start, with its seed and its rules', async () => {
    const { warnings } = await start(
      'rsocket',
      { pattern: ['a.*', /b/], probability: 0.25, latency: [1, 2], error: true },
      { probability: 1, drop: true }
    )
    assert.deepEqual(warnings, [
      'CHAOS: this service injects faults into its own messages (seed 1):\n' +
        '  a.*, /b/: latency 1 to 2 ms, error CHAOS, with probability 0.25\n' +
        '  all messages: dropped connection, with probability 1'
    ])
  })

  it('says once that it cannot cut off what came by no connection', async () => {
    const warnings: string[] = []
    const transport = memory()
    const service = microservice({
      transport,
      logger: { error() {}, warn: (line) => void warnings.push(line) },
      chaos: { seed: 1, rules: [{ probability: 1, drop: true }] }
    }).message('echo', ({ data }) => data)
    await service.listen()
    const client = connect({ transport })
    cleanups.push(
      () => service.stop(),
      () => client.close()
    )
    assert.deepEqual([await client.request('echo', 1), await client.request('echo', 2)], [1, 2])
    assert.deepEqual(warnings.slice(1), ['CHAOS: drop has no effect over memory, which has no connections'])
  })

  it('is refused in production, unless that is meant', () => {
    const before = process.env['NODE_ENV']
    process.env['NODE_ENV'] = 'production'
    try {
      const chaos: ChaosOptions = { rules: [{ probability: 1, drop: true }] }
      const make = (options: ChaosOptions) => microservice({ transport: 'tcp', chaos: options })
      assert.throws(() => make(chaos), { name: 'OptionError', message: /allowInProduction/ })
      assert.ok(make({ ...chaos, allowInProduction: true }))
    } finally {
      if (before === undefined) delete process.env['NODE_ENV']
      else process.env['NODE_ENV'] = before
    }
  })
})
