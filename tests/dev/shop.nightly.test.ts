/**
 * The example of a shop, run by one command as its README says: with a browser, with a tracing set-up of its own, and
 * started repeatedly.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isMissing, until } from '@elysia-microservices/test-support'
import type { Browser } from 'playwright-core'
import { chromiumMissing, openBrowser } from '../support/browser.ts'
import { natsMissing } from '../support/nats-server.ts'
import type { DevProcess, Project } from './dev-process.ts'
import { shopProject, startShop } from './shop-project.ts'
import { familyOf, OWN_NAME, SDK, traceOf } from './traces.ts'

const TIMES = 50

/**
 * The spans of an order, each with its parent. @param orders the names of the spans for messages between orders and
 * stock
 */
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
  let shop: Project

  before(async () => {
    browser = await openBrowser()
    shop = shopProject()
  })
  after(async () => {
    await browser.close()
    shop.remove()
  })

  const processesOf = (dev: DevProcess) =>
    ['stock', 'payments', 'orders', 'gateway'].map((name) =>
      dev.number(new RegExp(`\\| ${name} is ready after .* \\(process (\\d+)`))
    )

  it('an order of a browser is one trace, through the outbox, NATS and Nest, and the map shows all its services', async () => {
    const { dev, ports, web, page: url } = await startShop(shop)
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
      // On a phone the map is as wide as its card: nobody has to scroll.
      await page.setViewportSize({ width: 390, height: 800 })
      await until('the map is no wider than its card', async () => {
        const over = await page.evaluate<number>(`(() => {
          const { scrollWidth, clientWidth } = document.querySelector('.canvas')
          return clientWidth < 390 ? scrollWidth - clientWidth : Infinity
        })()`)
        return over <= 0
      })
      await page.close()
      const processes = processesOf(dev)
      assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
      await dev.leavesNothing(processes, ports)
    } finally {
      await dev.endAnyway()
    }
  })

  it('the trace is the same if the services have an OpenTelemetry set-up of their own', async () => {
    const project = shopProject(SDK)
    const { dev, web, page } = await startShop(project)
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
      project.remove()
    }
  })

  for (let n = 1; n <= TIMES; n++)
    it(`starts and ends for the ${n}. time`, async () => {
      const { dev, ports } = await startShop(shop)
      const processes = processesOf(dev)
      assert.equal(await dev.end(n % 2 === 0 ? 'SIGTERM' : 'SIGINT'), 0, dev.log.lines.join('\n'))
      await dev.leavesNothing(processes, ports)
    })
}

describe('dev runs the shop', () => {
  if (!isMissing('The shop of dev', natsMissing()) && !isMissing('A browser for the shop', chromiumMissing()))
    register()
})
