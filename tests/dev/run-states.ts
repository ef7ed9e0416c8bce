/**
 * Takes pictures of every screen of the console's page in unhappy states, for a person who checks them: `bun
 * tests/dev/run-states.ts <folder>`. A small system has a dependency that nobody runs, an unmodified Nest service, dead
 * letters, events that wait for their time, and a backlog with all of its states. The program reports elements that are
 * wider than the page or that are cut off.
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

const [shop, nest, gone] = [await freePort(), await freePort(), await freePort()]
const project = new Project({
  'microservices.config.ts': config({
    page: { port: 0 },
    engines: { redis: { port: 0 } },
    services: { prices: 'prices.js', mail: 'mail.js', orders: { entry: 'orders.js', after: ['mail'] } }
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
  'orders.js': `import { telemetry } from '@elysia-microservices/telemetry'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
const prices = connect({ port: ${nest}, protocol: 'nest' })
const stock = connect({ port: ${gone}, timeout: 300 })
const service = microservice({ name: 'orders', transport: 'tcp', port: ${shop}, shutdownOn: ['SIGTERM'] })
  .wrap(telemetry())
  .message('orders.place', async () => {
    await prices.request('prices.of', 'tea')
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
    await pause(20_000)
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
