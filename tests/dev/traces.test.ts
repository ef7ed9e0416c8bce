/** Traces of what `dev` runs, without any set-up. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { freePort } from '@elysia-microservices/test-support'
import { DevProcess, Project } from './dev-process.ts'
import { config, service } from './programs.ts'
import { asking, familyOf, shop, traceOf } from './traces.ts'

describe('the traces of dev', () => {
  it('go from an HTTP request through all services, with what was logged meanwhile', async () => {
    const [stock, orders, web] = [await freePort(), await freePort(), await freePort()]
    const project = new Project({
      'microservices.config.ts': config({
        page: { port: 0 },
        services: {
          stock: 'stock.js',
          orders: { entry: 'orders.js', after: ['stock'] },
          web: { entry: 'web.js', after: ['orders'] }
        }
      }),
      'stock.js': service('stock', stock),
      'orders.js': asking(orders, stock),
      'web.js': shop(web, orders)
    })
    const dev = new DevProcess(project, { args: [] })
    try {
      await dev.says('All services are ready')
      const page = `http://localhost:${dev.number(/are shown at http:\/\/localhost:(\d+)\/console$/)}/console`
      assert.equal(await (await fetch(`http://127.0.0.1:${web}/cart?secret=1`)).text(), 'v1')
      const trace = await traceOf(page, '/cart', 5)
      assert.deepEqual(familyOf(trace), [
        'orders client stock.version < orders server orders.place',
        'orders server orders.place < web client orders.place',
        'stock server stock.version < orders client stock.version',
        'web client orders.place < web server GET /cart',
        'web server GET /cart < '
      ])
      assert.doesNotMatch(JSON.stringify(trace), /secret/)
      const said = (await traceOf(page, 'an order of tea', 5)).spans.flatMap(({ service, logs }) =>
        logs.map(({ text }) => [service, text])
      )
      assert.deepEqual(said, [['orders', 'an order of tea']])
      assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
    } finally {
      await dev.endAnyway()
      project.remove()
    }
  })
})
