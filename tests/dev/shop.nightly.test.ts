/** The example of a shop by one command, as its README says: in a browser, with tracing of its own, again and again. */
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { freePort } from '@elysia-microservices/test-support'
import type { Browser } from 'playwright-core'
import { chromiumMissing, openBrowser } from '../support/browser.ts'
import { isMissing } from '../support/missing.ts'
import { natsFolder, natsMissing } from '../support/nats-server.ts'
import { rootFolder } from '../workspace.ts'
import { type DevFolder, DevProcess, Project } from './dev-process.ts'
import { familyOf, OWN_NAME, SDK, traceOf } from './traces.ts'

const TIMES = 50
const SHOP = join(rootFolder, 'examples/shop')

/** What an order does, each with what has caused it. @param orders what the messages of orders and stock are called */
const waterfall = (orders: string, stock: string) => [
  `orders client stock.reserve < ${orders} server orders.place`,
  `${orders} consumer process payments.charged < payments producer send payments.charged`,
  `${orders} server orders.place < gateway client orders.place`,
  `${stock} server stock.reserve < orders client stock.reserve`,
  `gateway client orders.place < gateway server POST /orders`,
  `gateway server POST /orders < `,
  `payments consumer process stock.reserved < stock producer send stock.reserved`,
  `payments producer send payments.charged < payments consumer process stock.reserved`,
  `stock producer send stock.reserved < ${stock} server stock.reserve`
]

function register(): void {
  let browser: Browser
  /** The shop, with temporary files of the tests' own. */
  let shop: DevFolder
  let path: string

  before(async () => {
    browser = await openBrowser()
    shop = { folder: SHOP, temporary: mkdtempSync('/tmp/shop-') }
    // PostgreSQL, which does not run as root, must reach its data in there.
    chmodSync(shop.temporary, 0o711)
    path = `${await natsFolder()}:${process.env['PATH']}`
  })
  after(async () => {
    await browser.close()
    rmSync(shop.temporary, { recursive: true, force: true })
  })

  const start = async (...args: string[]) => {
    // Each time others: between two starts some other connection may have got them.
    const ports = [await freePort(), await freePort(), await freePort()]
    const [PORT, ORDERS_PORT, STOCK_PORT] = ports.map(String)
    const dev = new DevProcess(shop, { args, env: { PATH: path, PORT, ORDERS_PORT, STOCK_PORT } })
    try {
      await dev.says('All services are ready')
      const page = dev.number(/are shown at http:\/\/localhost:(\d+)\/console$/)
      return { dev, ports, web: `http://127.0.0.1:${PORT}`, page: `http://localhost:${page}/console` }
    } catch (error) {
      await dev.endAnyway()
      throw error
    }
  }
  const processesOf = (dev: DevProcess) =>
    ['stock', 'payments', 'orders', 'gateway'].map((name) =>
      dev.number(new RegExp(`\\| ${name} is ready after .* \\(process (\\d+)`))
    )

  it('an order of a browser is one trace, through the outbox, NATS and Nest, and the map has all of it', async () => {
    const { dev, ports, web, page: url } = await start()
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
      await page.goto(web)
      await page.getByRole('button', { name: 'Order' }).click()
      await page.getByText('shipped').waitFor()
      assert.deepEqual(familyOf(await traceOf(url, 'orders.place', 9)), waterfall('orders', 'stock').sort())

      await page.goto(`${url}#/traces`)
      await page.getByRole('link', { name: 'POST /orders' }).click()
      const rows = page.locator('.waterfall .name')
      await rows.nth(8).waitFor()
      assert.deepEqual(await rows.allTextContents(), [
        'POST /orders',
        'orders.place',
        'orders.place',
        'stock.reserve',
        'stock.reserve',
        'send stock.reserved',
        'process stock.reserved',
        'send payments.charged',
        'process payments.charged'
      ])
      await page.getByRole('link', { name: 'Map' }).click()
      for (const [from, to, pattern] of [
        ['gateway', 'orders', 'orders.place'],
        ['orders', 'stock', 'stock.reserve'],
        ['stock', 'nats', 'stock.reserved'],
        ['nats', 'payments', 'stock.reserved'],
        ['payments', 'nats', 'payments.charged'],
        ['nats', 'orders', 'payments.charged']
      ])
        await page.getByRole('row', { name: new RegExp(`^${from} ${to} ${pattern}\\b`) }).waitFor()
      await page.close()
      const processes = processesOf(dev)
      assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
      await dev.leavesNothing(processes, ports)
    } finally {
      await dev.endAnyway()
    }
  })

  it('it is the same trace where its services have an OpenTelemetry set-up of their own', async () => {
    const files = new Project({ 'tracing.mjs': SDK })
    const flag = process.versions.bun === undefined ? '--import' : '--preload'
    files.write(
      'microservices.config.ts',
      `import shop from ${JSON.stringify(join(SHOP, 'microservices.config.ts'))}
const flags = ['${flag}', ${JSON.stringify(join(files.folder, 'tracing.mjs'))}]
const services = Object.entries(shop.services).map(([name, given]) => {
  const service = typeof given === 'string' ? { entry: given } : given
  return [name, { ...service, entry: ${JSON.stringify(`${SHOP}/`)} + service.entry, cwd: ${JSON.stringify(SHOP)}, flags }]
})
export default { ...shop, services: Object.fromEntries(services) }
`
    )
    const { dev, web, page } = await start('--config', join(files.folder, 'microservices.config.ts'))
    try {
      const answer = await fetch(`${web}/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ id: crypto.randomUUID(), sku: 'tea', count: 1 })
      })
      assert.equal(answer.status, 202, await answer.text())
      assert.deepEqual(familyOf(await traceOf(page, 'orders.place', 9)), waterfall(OWN_NAME, OWN_NAME).sort())
      assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
    } finally {
      await dev.endAnyway()
      files.remove()
    }
  })

  for (let n = 1; n <= TIMES; n++)
    it(`starts and ends for the ${n}. time`, async () => {
      const { dev, ports } = await start()
      const processes = processesOf(dev)
      assert.equal(await dev.end(n % 2 === 0 ? 'SIGTERM' : 'SIGINT'), 0, dev.log.lines.join('\n'))
      await dev.leavesNothing(processes, ports)
    })
}

describe('dev runs the shop', () => {
  if (!isMissing('The shop of dev', natsMissing()) && !isMissing('A browser for the shop', chromiumMissing()))
    register()
})
