/**
 * Takes pictures of every view of the console's page, for a person who checks them: `bun tests/dev/run-views.ts
 * <folder> [<first view>]`. The shop is run by `dev`, and rare states are produced: dead letters, a service that is
 * killed, a broker that does not answer. The program reports elements that are wider than the page, that are cut off,
 * or that moved by themselves.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { nats } from '@elysia-microservices/nats'
import { connect } from 'elysia-microservices/client'
import type { Page } from 'playwright-core'
import { openBrowser } from '../support/browser.ts'
import { WATCH_SHIFTS } from '../support/layout-shift.ts'
import { order } from './orders.ts'
import { shopProject, startShop } from './shop-project.ts'
import { CUT } from './views.ts'

const [folder = 'views', first = ''] = process.argv.slice(2)
/** Seconds for which orders are placed before the first picture, so that charts have lines. */
const SECONDS = 25
const SIZES = [
  [390, 844],
  [1280, 800],
  [1920, 1080]
] as const
const THEMES = ['light', 'dark'] as const
const TRACE = 'c0ffee0000000000000000000000dead'

interface View {
  readonly name: string
  /** The part of the address behind `#/`. */
  readonly place: string
  /** Steps before the picture is taken. */
  readonly before?: (page: Page) => Promise<unknown>
}

const openSpan = async (page: Page, name: RegExp) => {
  await page.locator('.waterfall button').filter({ hasText: name }).first().click()
  await page.getByText('began after').waitFor()
}
const openTrace = async (page: Page) => {
  const link = page.getByRole('link', { name: /POST \/orders gateway → orders → stock → payments/ })
  await link.first().click()
  await page.locator('.waterfall .name').nth(8).waitFor()
}
const openPattern = (page: Page, name: string) =>
  page.locator('tbody th button', { hasText: name }).first().click()
const fill = (page: Page, id: string) =>
  page.getByRole('textbox').locator('visible=true').last().fill(JSON.stringify({ id }))

const project = shopProject()
const {
  dev,
  web,
  page: url
} = await startShop(project).catch((error: unknown) => {
  project.remove()
  throw error
})
const browser = await openBrowser()
const over = new AbortController()
const ordering = order(web, over.signal)
const pages: { readonly page: Page; readonly what: string }[] = []
const broker = `nats://127.0.0.1:${dev.number(/NATS is started on 127\.0\.0\.1:(\d+)/)}`
const client = connect({ transport: nats({ url: broker }) })

async function take(view: View): Promise<void> {
  if (view.name < first) return
  for (const { page, what } of pages) {
    await page.evaluate('window.shift = 0; window.moved = []')
    await page.goto(`${url}#/${view.place}`)
    await page.locator('main h2').first().waitFor()
    await pause(1_500)
    await view.before?.(page)
    await pause(500)
    const found = await page.evaluate<string[]>(CUT)
    const shift = await page.evaluate<number>('window.shift')
    if (shift > 0.01)
      found.push(`moved by ${shift}: ${await page.evaluate<string>('window.moved.join("\\n")')}`)
    for (const each of found) process.stdout.write(`${view.name} ${what}: ${each}\n`)
    // Scrolls to the top: elements with a fixed position would be in the middle of the picture.
    await page.evaluate('scrollTo(0, 0)')
    await page.screenshot({ path: join(folder, `${view.name}-${what}.png`), fullPage: true })
  }
  process.stderr.write(`${view.name}\n`)
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

/** The id of the process whose command line contains a text. */
function processOf(text: string): number {
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const line = readFileSync(`/proc/${entry}/cmdline`, 'utf8')
      if (line.includes(text) && !line.includes('run-views')) return Number(entry)
    } catch {}
  }
  throw new Error(`No process has ${text}`)
}

try {
  mkdirSync(folder, { recursive: true })
  for (const theme of THEMES)
    for (const [width, height] of SIZES) {
      const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme })
      page.setDefaultTimeout(120_000)
      await page.addInitScript(WATCH_SHIFTS)
      await page.goto(`${url}#/map`)
      pages.push({ page, what: `${width}-${theme}` })
    }
  // Events that the payments service cannot handle: they become dead letters after five attempts.
  for (const [at, data] of [null, { order: { id: 7, note: 'x'.repeat(900) }, amount: 3 }].entries())
    await client.publish('stock.reserved', data, {
      id: `poison-${at}`,
      key: `customer-${at}`,
      headers: { traceparent: `00-${TRACE}-b7ad6b716920333${at}-01` }
    })
  await Promise.race([ordering, pause(SECONDS * 1_000)])
  // Taken first, because later failures replace it in the view.
  await take({
    name: '00-trace-dead',
    place: `traces/${TRACE}`,
    before: (page) => openSpan(page, /process stock.reserved/)
  })
  await take({ name: '01-service', place: 'services/orders' })
  await take({
    name: '02-pattern',
    place: 'services/stock',
    before: async (page) => {
      await openPattern(page, 'stock.reserve')
      await page.getByRole('button', { name: 'Send request' }).click()
      await page.locator('form [role=alert]').first().waitFor()
    }
  })
  await take({
    name: '02-stream',
    place: 'services/stock',
    before: async (page) => {
      await openPattern(page, 'stock.watch')
      await page.getByRole('textbox').locator('visible=true').last().fill('tea')
      await page.getByRole('button', { name: 'Send request' }).click()
      await page
        .locator('form [role=status]')
        .filter({ hasText: /^Running, [3-9]/ })
        .waitFor()
    }
  })
  await take({ name: '03-map', place: 'map' })
  await take({ name: '04-map-chosen', place: 'map/service%20orders' })
  await take({ name: '05-traces', place: 'traces' })
  await take({ name: '06-trace', place: 'traces', before: openTrace })
  await take({
    name: '08-traces-none',
    place: 'traces',
    before: async (page) => {
      await page.getByLabel('Find').fill('no such thing')
      await page.getByText('No trace matches').waitFor()
    }
  })
  await take({ name: '09-events', place: 'events' })
  await take({
    name: '10-dead-letters',
    place: 'events/nats/payments',
    before: async (page) => {
      await page.locator('.letter').nth(1).waitFor()
      await page.getByText('Data', { exact: true }).nth(1).click()
      await page.getByRole('button', { name: 'Discard', exact: true }).first().click()
    }
  })
  process.kill(dev.number(/\| stock is ready after .* \(process (\d+)/), 'SIGKILL')
  await dev.says('stock has crashed')
  await pause(30_000)
  await take({
    name: '11-before-and-after',
    place: 'services/stock',
    before: async (page) => {
      await page.getByRole('radio', { name: '1 hour' }).check()
      await page.getByText('Before and after').waitFor()
    }
  })
  const server = processOf(join(project.folder, '.elysia-microservices/nats'))
  process.kill(server, 'SIGSTOP')
  try {
    await pause(20_000)
    const id = crypto.randomUUID()
    const headers = { 'content-type': 'application/json' }
    await fetch(`${web}/orders`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ id, sku: 'tea', count: 1 })
    })
    await take({
      name: '12-not-reached',
      place: 'services/orders',
      before: async (page) => {
        await openPattern(page, 'orders.progress')
        await fill(page, id)
        await page.getByRole('button', { name: 'Send request' }).click()
        await page
          .locator('form [role=status]')
          .filter({ hasText: /value/ })
          .waitFor({ timeout: 5_000 })
          .catch(() => {})
      }
    })
    await take({ name: '13-alerts', place: 'alerts' })
    await take({ name: '14-backlog', place: 'events' })
    await take({ name: '15-map-gone', place: 'map' })
  } finally {
    process.kill(server, 'SIGCONT')
  }
  await pause(15_000)
  await take({ name: '16-alerts-past', place: 'alerts' })
} finally {
  over.abort()
  await client.close()
  await dev.endAnyway()
  await pause(1_500)
  for (const { page, what } of pages)
    await page.screenshot({ path: join(folder, `17-lost-${what}.png`), fullPage: true })
  await browser.close()
  await ordering.catch(() => {})
  project.remove()
}
