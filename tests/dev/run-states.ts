/**
 * Takes pictures of every screen of the console's page in unhappy states, for a person who checks them: `bun
 * tests/dev/run-states.ts <folder>`. A small system has a dependency that nobody runs, a service over an engine that has
 * crashed while it was called and had events, an unmodified Nest service, dead letters over an engine and in a file, events
 * that wait for their time, and a backlog with all of its states. The program reports elements that are wider than the page
 * or that are cut off.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '@elysia-microservices/test-support'
import type { Page } from 'playwright-core'
import { openBrowser } from '../support/browser.ts'
import { DevProcess, Project } from './dev-process.ts'
import { config } from './programs.ts'
import { CUT } from './views.ts'

const [folder = 'states'] = process.argv.slice(2)
const WIDTHS = [390, 1024, 1440] as const
const THEMES = ['light', 'dark'] as const

const [shop, nest, gone, notes] = [await freePort(), await freePort(), await freePort(), await freePort()]
const project = new Project({
  'microservices.config.ts': config({
    page: { port: 0 },
    engines: { redis: { port: 0 } },
    services: {
      prices: 'prices.js',
      mail: 'mail.js',
      billing: 'billing.js',
      journal: 'journal.js',
      orders: { entry: 'orders.js', after: ['mail', 'billing'] }
    }
  }),
  'prices.js': `import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { Transport } from '@nestjs/microservices'
import { Controller, Module } from '@nestjs/common'
import { MessagePattern } from '@nestjs/microservices'
class Prices { price() { return 3 } }
Controller()(Prices)
MessagePattern('prices.of')(Prices.prototype, 'price', Object.getOwnPropertyDescriptor(Prices.prototype, 'price'))
class App {}
Module({ controllers: [Prices] })(App)
const app = await NestFactory.createMicroservice(App, { transport: Transport.TCP, options: { port: ${nest} } })
app.enableShutdownHooks()
await app.listen()
`,
  'mail.js': `import { redis } from '@elysia-microservices/redis'
import { telemetry } from '@elysia-microservices/telemetry'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
const transport = redis({ url: process.env.REDIS_URL })
const service = microservice({ name: 'mail', transport, shutdownOn: ['SIGTERM'] })
  .wrap(telemetry())
  .event('orders.placed', ({ data }) => { throw new Error('The mail server has no mailbox for ' + data.customer) },
    { durable: { retry: { attempts: 2, minDelay: 1 }, group: 'letters' } })
  .event('orders.paid', async ({ data }) => {
    if (data.n === 0) throw new Error('The bank is closed')
    await new Promise(() => {})
  }, { durable: { retry: { attempts: 9, minDelay: 3600000, maxDelay: 3600000 }, group: 'receipts', concurrency: 2 } })
await service.listen()
const events = connect({ transport, name: 'till' })
for (let n = 0; n < 3; n++)
  await events.publish('orders.placed', { customer: 'c-' + n, note: 'x'.repeat(900) }, { id: 'order-' + n, key: 'customer-' + n })
for (let n = 0; n < 5; n++)
  await events.publish('orders.paid', { n, lines: [{ sku: 'tea', count: n }] }, { id: 'paid-' + n, key: 'account-' + n })
await events.publish('carts.remind', { cart: 7 }, { id: 'cart-7', delay: 7200000 })
await events.schedule('news', 'mails.news', {}, { cron: '0 8 * * *', timeZone: 'UTC' })
`,
  'billing.js': `import { existsSync, writeFileSync } from 'node:fs'
import { redis } from '@elysia-microservices/redis'
import { telemetry } from '@elysia-microservices/telemetry'
import { microservice } from 'elysia-microservices'
if (existsSync('down')) throw new Error('The database of the bills is damaged')
await microservice({ name: 'billing', transport: redis({ url: process.env.REDIS_URL }) })
  .wrap(telemetry())
  .message('billing.total', () => 1)
  .event('orders.shipped', () => {}, { durable: true })
  .listen()
setTimeout(() => {
  writeFileSync('down', '')
  process.exit(1)
}, 12_000)
`,
  'journal.js': `import { sqlite } from '@elysia-microservices/sqlite'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
const place = { port: ${notes}, store: sqlite('journal.db') }
await microservice({ ...place, name: 'journal', transport: 'tcp' })
  .event('notes.written', ({ data }) => { throw new Error('There is no page ' + data.page) }, { durable: { retry: { attempts: 1 } } })
  .listen()
const events = connect(place)
for (let page = 1; page < 3; page++) await events.publish('notes.written', { page }, { id: 'note-' + page })
`,
  'orders.js': `import { redis } from '@elysia-microservices/redis'
import { telemetry } from '@elysia-microservices/telemetry'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
const prices = connect({ port: ${nest}, protocol: 'nest' })
const stock = connect({ port: ${gone}, timeout: 300 })
const bills = connect({ transport: redis({ url: process.env.REDIS_URL }), name: 'cashier' })
const service = microservice({ name: 'orders', transport: 'tcp', port: ${shop}, shutdownOn: ['SIGTERM'] })
  .wrap(telemetry())
  .message('orders.place', async () => {
    await prices.request('prices.of', 'tea')
    await bills.request('billing.total').catch(() => {})
    await bills.publish('orders.shipped', { n: Math.random() })
    await stock.request('stock.reserve', 'tea')
  })
await service.listen()
const self = connect({ port: ${shop}, name: 'till' })
setInterval(() => self.request('orders.place').catch(() => {}), 250)
`
})
const SCREENS = [
  ['map', 'map'],
  ['map-of-orders', 'map/service%20orders'],
  ['services', 'services'],
  ['service', 'services/orders'],
  ['traces', 'traces'],
  ['events', 'events'],
  ['dead-letters', 'events/redis/letters'],
  ['backlog', 'events/redis/receipts/backlog'],
  ['backlog-of-what-is-down', 'events/redis/billing/backlog'],
  ['dead-letters-in-a-file', 'events/sqlite/journal'],
  ['later', 'events/redis/~later'],
  ['programs', 'programs'],
  ['alerts', 'alerts']
] as const

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

async function take(page: Page, url: string, name: string, place: string, what: string): Promise<void> {
  await page.goto(`${url}#/${place}`)
  await page.locator('main h2').first().waitFor()
  await pause(900)
  const [summary] = await page.getByText('Data', { exact: true }).all()
  await summary?.click()
  if (name === 'traces') await page.getByRole('main').getByRole('link').first().click()
  await pause(300)
  for (const each of await page.evaluate<string[]>(CUT)) process.stdout.write(`${name} ${what}: ${each}\n`)
  await page.evaluate('scrollTo(0, 0)')
  await page.screenshot({ path: join(folder, `${name}-${what}.png`), fullPage: true })
}

const dev = new DevProcess(project, { args: [] })
try {
  await dev.says('All services are ready')
  const url = `http://localhost:${dev.number(/are shown at http:\/\/localhost:(\d+)\/console$/)}/console`
  mkdirSync(folder, { recursive: true })
  const browser = await openBrowser()
  try {
    // Spans of a peer that sends none count after 6 s.
    await pause(30_000)
    for (const theme of THEMES)
      for (const width of WIDTHS) {
        const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme: theme })
        await page.goto(`${url}#/map`)
        await page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
        for (const [name, place] of SCREENS) await take(page, url, name, place, `${width}-${theme}`)
        await page.close()
      }
  } finally {
    await browser.close()
  }
} finally {
  process.stderr.write(`${dev.log.lines.slice(-15).join('\n')}\n`)
  await dev.endAnyway()
  project.remove()
}
