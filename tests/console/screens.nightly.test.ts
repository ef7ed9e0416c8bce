/**
 * The map and the traces in a real browser: updated live, used by keyboard and on a phone, and with ten thousand
 * names from a stranger.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConsoleOptions } from '@elysia-microservices/console'
import { isMissing } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import type { Page } from 'playwright-core'
import { chromiumMissing } from '../support/browser.ts'
import { inBrowser, isUsable, sendSpans, widthOf } from './in-browser.ts'
import { HOSTILE, type Shop, startShop } from './shop.ts'

const hex = (n: number, length: number) => n.toString(16).padStart(length, '0')
const nanoseconds = (at: number) => `${at}000000`

/** A span as an exporter sends it. */
function span(trace: number, id: number, parent: number, more: Readonly<Record<string, unknown>> = {}) {
  const start = Date.now() - 1_000
  return {
    traceId: hex(trace, 32),
    spanId: hex(id, 16),
    ...(parent > 0 && { parentSpanId: hex(parent, 16) }),
    name: 'orders.place',
    kind: 2,
    startTimeUnixNano: nanoseconds(start + id),
    endTimeUnixNano: nanoseconds(start + 50 - id),
    ...more
  }
}

function register(): void {
  let shop: Shop
  let page: Page
  const { ends, newPage } = inBrowser()

  const open = async (
    screen: string,
    width = 1280,
    colorScheme: 'light' | 'dark' = 'light',
    options: Partial<ConsoleOptions> = {}
  ) => {
    shop = await startShop(options)
    ends.push(() => shop.stop())
    page = await newPage({ width, colorScheme })
    await page.goto(`${shop.url}#/${screen}`)
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
  }
  const load = () => {
    const loading = shop.load()
    ends.push(() => loading.stop())
  }
  const isFit = async (width: number) => {
    assert.equal(await widthOf(page), width)
    await isUsable(page)
  }

  it('shows which service calls which, and for a box that is chosen by keyboard only its own calls', async () => {
    await open('map')
    load()
    const row = page.getByRole('row').filter({ hasText: 'parcels.*' })
    await row.filter({ hasText: 'orders' }).waitFor()
    await page.locator('.sheet text').first().waitFor()
    const box = page.getByRole('link', { name: /^orders/ })
    await box.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Calls and events of orders' }).waitFor()
    assert.match(page.url(), /#\/map\/service%20orders$/)
    await page.reload()
    await page.getByRole('heading', { name: 'Calls and events of orders' }).waitFor()
    await page.getByRole('link', { name: 'Open the service' }).click()
    await page.getByRole('heading', { level: 2, name: 'orders' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { level: 2, name: 'Map' }).waitFor()
  })

  it('shows traces as they arrive, searches them, and opens one as a waterfall', async () => {
    await open('traces')
    await page.getByText('No traces yet').waitFor()
    await sendSpans(shop.url, 'orders', [
      span(1, 1, 0),
      span(1, 2, 1, { name: 'stock.reserve', status: { code: 2, message: 'Sold out' } }),
      span(2, 1, 0, { name: 'orders.left' })
    ])
    const links = page.getByRole('main').getByRole('link')
    await links.filter({ hasText: 'orders.left' }).waitFor()
    assert.equal(await links.count(), 2)
    // The filter also works while the pointer is on the list.
    await links.first().hover()
    await page.getByLabel('Find').fill('no such thing')
    await page.getByText('No trace matches').waitFor()
    await page.getByLabel('Find').fill('sold out')
    await links.filter({ hasText: 'orders.left' }).waitFor({ state: 'detached' })
    await links.filter({ hasText: 'orders.place' }).click()
    await page.getByRole('button', { name: /stock.reserve/ }).click()
    await page.getByText('Sold out').waitFor()
    // Spans that arrive later are added to the trace.
    await sendSpans(shop.url, 'stock', [span(1, 3, 2, { name: 'stock.count' })])
    await page.getByRole('button', { name: /stock.count/ }).waitFor()
    await page.goto(`${shop.url}#/traces/${hex(99, 32)}`)
    await page.getByText('The server does not have this trace').waitFor()
  })

  for (const [width, scheme] of [
    [390, 'light'],
    [390, 'dark'],
    [1280, 'light'],
    [1920, 'dark']
  ] as const)
    it(`can be used by everybody at ${width} px, ${scheme}`, async () => {
      await open('map', width, scheme)
      load()
      await page.locator('.sheet text').first().waitFor()
      await isFit(width)
      await sendSpans(shop.url, 'orders', [span(1, 1, 0), span(1, 2, 1, { status: { code: 2 } })])
      await page.getByRole('link', { name: 'Traces', exact: true }).click()
      await page.getByRole('main').getByRole('link').first().click()
      await page
        .getByRole('button', { name: /orders.place/ })
        .last()
        .click()
      await page.getByText('began after').waitFor()
      await isFit(width)
    })

  it('stays usable with ten thousand callers, patterns and spans of a stranger', async () => {
    const names = Array.from({ length: 10_000 }, (_, n) => `${HOSTILE}\u202e${n} ${'x'.repeat(5_000)}`)
    const handlers = names.slice(0, 1_200).map((pattern) => ({ kind: 'message', patterns: [{ pattern }] }))
    let asked = 0
    const lying = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 }).message(
      'elysia-microservices.describe',
      () => ({
        name: names[0],
        transports: [{ transport: HOSTILE }],
        handlers,
        callers: names.slice(0, 1_200).map((caller) => ({
          from: 'client',
          caller,
          kind: 'message',
          transport: HOSTILE,
          pattern: caller,
          count: 1_000 * asked++,
          errors: -1,
          milliseconds: -1e300
        }))
      })
    )
    await lying.listen()
    ends.push(() => lying.stop())
    const client = connect({ port: lying.address!.port })
    ends.push(() => client.close())
    await open('map', 1280, 'light', {
      services: { [HOSTILE]: client },
      interval: 1_000
    })
    for (let n = 0; n < 10_000; n += 500)
      await sendSpans(
        shop.url,
        HOSTILE,
        names
          .slice(n, n + 500)
          .map((name, at) => span(n + at + 1, 1, 0, { name, kind: 4, status: { code: 2, message: name } }))
      )
    await page.getByRole('link', { name: 'Traces', exact: true }).click()
    const lines = page.getByRole('main').getByRole('link')
    await lines.first().waitFor()
    assert.ok((await lines.count()) <= 100)
    await page.getByLabel('Find').fill('9999')
    await lines.first().click()
    await page.locator('.waterfall button').first().click()
    await page.getByText('began after').waitFor()
    assert.equal(await page.title(), 'Console')
    assert.equal(await page.locator('img').count(), 0)
    await isFit(1280)
    await page.getByRole('link', { name: 'Map', exact: true }).click()
    await page.getByText('there are too many').waitFor()
    assert.ok((await page.locator('.sheet .box').count()) <= 60)
    assert.equal(await page.locator('img').count(), 0)
    await isFit(1280)
  })
}

describe('the screens of the console in Chromium', () => {
  if (!isMissing('the screens of the console in a browser', chromiumMissing())) register()
})
