/** Traces of programs that `dev` runs, without any set-up. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { familyOf, traceOf, withShop } from './traces.ts'

describe('the traces of dev', () => {
  it('go from an HTTP request through all services, with the lines that were logged', () =>
    withShop(async (page, web) => {
      assert.equal(await (await fetch(`${web}/cart?secret=1`)).text(), 'v1')
      const trace = await traceOf(page, '/cart', 5)
      assert.deepEqual(familyOf(trace), [
        'orders client stock.version < orders server orders.place',
        'orders server orders.place < web client orders.place',
        'stock server stock.version < orders client stock.version',
        'web client orders.place < web server GET /cart',
        'web server GET /cart < '
      ])
      // Of a service that describes nothing, its callers' spans name the address.
      const [client] = trace.spans.filter(({ kind, service }) => kind === 'client' && service === 'orders')
      const { 'server.address': host, 'server.port': port } = Object.fromEntries(client?.attributes ?? [])
      assert.match(`${host}:${port}`, /^(localhost|127\.0\.0\.1):\d+$/)
      assert.doesNotMatch(JSON.stringify(trace), /secret/)
      const said = (await traceOf(page, 'an order of tea', 5)).spans.flatMap(({ service, logs }) =>
        logs.map(({ text }) => [service, text])
      )
      assert.deepEqual(said, [['orders', 'an order of tea']])
    }))
})
