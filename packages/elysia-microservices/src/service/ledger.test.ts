import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { tcp } from '@elysia-microservices/tcp'
import type { CallerFigures } from '@elysia-microservices/transport/kit'
import { connect } from '../client/index.ts'
import { memory } from '../index.ts'
import { microservice } from './microservice.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function started(transport: ReturnType<typeof tcp> | ReturnType<typeof memory>) {
  const service = microservice({ name: 'stock', transport, describe: true })
    .message('count', () => 1)
    .message('later', async () => 2)
    .message('fails', () => {
      throw new Error('no')
    })
    .event('sold', () => {})
  await service.listen()
  ends.push(() => service.stop())
  return service
}

function lines(callers: readonly CallerFigures[] | undefined): unknown[] {
  return (callers ?? []).map(({ from, caller, kind, pattern, count, errors }) => [
    caller ?? from,
    kind,
    pattern,
    count,
    errors
  ])
}

describe('who calls a service', () => {
  it('is told with the time that answers took, streams until they began', async () => {
    const { now } = performance
    let later = 0
    performance.now = () => now.call(performance) + later
    ends.push(() => {
      performance.now = now
    })
    const transport = memory()
    const service = microservice({ name: 'stock', transport, describe: true }).message('watch', function* () {
      yield 1
      later = 3_600_000
      yield 2
    })
    await service.listen()
    ends.push(() => service.stop())
    const orders = connect({ transport, name: 'orders' })
    ends.push(() => orders.close())
    service.describe({ callers: true })
    const values: unknown[] = []
    for await (const value of orders.stream('watch')) values.push(value)
    assert.deepEqual(values, [1, 2])
    const [line] = service.describe({ callers: true }).callers ?? []
    assert.equal(line?.count, 1)
    assert.ok(line.milliseconds < 3_600_000, String(line.milliseconds))
  })

  it('is told by the names of clients, by pattern, from the first question on', async () => {
    const transport = memory()
    const service = await started(transport)
    const orders = connect({ transport, name: 'orders' })
    const shop = connect({ transport, name: 'shop' })
    ends.push(
      () => orders.close(),
      () => shop.close()
    )
    await orders.request('count')
    assert.deepEqual(service.describe({ callers: true }).callers, [])
    await orders.request('count')
    await orders.request('later')
    await shop.request('fails').catch(() => {})
    await shop.request('none').catch(() => {})
    const { callers } = service.describe({ callers: true })
    assert.deepEqual(lines(callers), [
      ['orders', 'message', 'count', 1, 0],
      ['orders', 'message', 'later', 1, 0],
      ['shop', 'message', 'fails', 1, 1],
      ['shop', 'message', '', 1, 1]
    ])
    const { process } = service.describe({ callers: true })
    assert.deepEqual([process?.clients.includes('orders'), process?.clients.includes('shop')], [true, true])
    assert.deepEqual(['callers' in service.describe(), 'process' in service.describe()], [false, false])
  })

  it('is said once a connection over TCP, and callers through Nest are called what they are', async () => {
    const service = await started(tcp({ port: 0, host: '127.0.0.1' }))
    const { port } = service.address!
    service.describe({ callers: true })
    const named = connect({ port, name: 'orders' })
    const nest = connect({ port, protocol: 'nest' })
    ends.push(
      () => named.close(),
      () => nest.close()
    )
    await named.request('count')
    await nest.request('count')
    assert.deepEqual(lines(service.describe({ callers: true }).callers), [
      ['orders', 'message', 'count', 1, 0],
      ['nest', 'message', 'count', 1, 0]
    ])
  })

  it('is bounded, whatever names strangers give themselves', async () => {
    const transport = memory()
    const service = await started(transport)
    service.describe({ callers: true })
    for (let n = 0; n < 150; n++) {
      const client = connect({ transport, name: `stranger ${n}` })
      await client.request('count')
      await client.close()
    }
    const { callers } = service.describe({ callers: true })
    assert.equal(callers?.length, 101)
    assert.deepEqual(lines(callers).at(-1), ['others', 'message', 'count', 50, 0])
    assert.throws(() => connect({ transport, name: 'x'.repeat(101) }), /options.name/)
  })
})
