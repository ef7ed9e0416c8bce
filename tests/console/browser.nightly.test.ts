/**
 * The console in a real browser: its views are read, watched under load, and used by keyboard, on a desktop and on a
 * phone.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConsoleOptions } from '@elysia-microservices/console'
import { isMissing, until } from '@elysia-microservices/test-support'
import type { Page } from 'playwright-core'
import { chromiumMissing } from '../support/browser.ts'
import { inBrowser, isUsable, widthOf } from './in-browser.ts'
import { HOSTILE, LONG, type Shop, startShop } from './shop.ts'

/** Counts the pixels of the first chart that have a colour, and those that are black. */
const COUNT_COLOURS = `(() => {
  const drawn = document.querySelector('figure canvas')
  const canvas = Object.assign(document.createElement('canvas'), { width: drawn.width, height: drawn.height })
  const context = canvas.getContext('2d', { willReadFrequently: true })
  context.drawImage(drawn, 0, 0)
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height)
  let [coloured, black] = [0, 0]
  for (let at = 0; at < data.length; at += 4) {
    const [red, green, blue, alpha] = data.subarray(at, at + 4)
    if (alpha < 255) continue
    if (Math.max(red, green, blue) - Math.min(red, green, blue) > 60) coloured++
    if (red + green + blue === 0) black++
  }
  return { coloured, black }
})()`

function register(): void {
  let shop: Shop
  let page: Page
  const { ends, complaints, newPage } = inBrowser()

  const open = async (
    options: Partial<ConsoleOptions> = { try: true },
    width = 1280,
    colorScheme: 'light' | 'dark' = 'light'
  ) => {
    shop = await startShop(options)
    ends.push(() => shop.stop())
    page = await newPage({ width, colorScheme })
    page.on('request', (request) => {
      if (!request.url().startsWith(`${shop.url}`)) complaints.push(request.url())
    })
    await page.goto(shop.url)
    await page.getByRole('heading', { level: 2, name: 'orders' }).waitFor()
  }
  const openPattern = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const values = () => page.getByRole('list', { name: /^Values/ }).getByRole('listitem')
  const status = () => page.locator('form [role=status]')
  const load = () => {
    const loading = shop.load()
    ends.push(() => loading.stop())
  }

  it('shows services, their patterns and schemas', async () => {
    await open({})
    assert.deepEqual(await page.getByRole('navigation', { name: 'Services' }).getByRole('link').count(), 3)
    const names = page.locator('tbody th code')
    // The patterns arrive a moment after the service.
    await names.nth(8).waitFor()
    assert.deepEqual(await names.allTextContents(), [
      ...['parcels.create', 'parcels.*', 'echo', 'fails', 'ticks', 'fast', 'parcel.placed', HOSTILE, LONG]
    ])
    await openPattern('parcels.create')
    const schema = await page.getByRole('region', { name: 'Schema of data' }).textContent()
    assert.deepEqual((JSON.parse(schema!) as { required: string[] }).required, ['customer', 'items'])
    await page.getByText('its option try is not set').waitFor()
    assert.equal(await page.getByRole('button', { name: /^Send/ }).count(), 0)
  })

  it('shows which services do not describe themselves, and runs no code from descriptions', async () => {
    await open({})
    await page.getByRole('link', { name: 'silent' }).click()
    await page.getByText('The service does not describe itself: it needs the option describe').waitFor()
    await page.getByRole('link', { name: 'lying' }).click()
    await page.getByRole('heading', { level: 2, name: HOSTILE }).waitFor()
    await openPattern(HOSTILE)
    await page.getByRole('region', { name: 'Schema of data' }).waitFor()
    assert.equal(await page.title(), 'Console')
    assert.equal(await page.locator('img').count(), 0)
  })

  it('has charts that move under load', async () => {
    await open({})
    const chart = page.locator('figure').filter({ hasText: 'Messages a second' })
    const picture = () => page.evaluate<string>("document.querySelector('figure canvas').toDataURL()")
    const legend = chart.getByRole('listitem').filter({ hasText: 'parcels.*' })
    assert.equal(await legend.count(), 0)
    await chart.locator('canvas').waitFor()
    const before = await picture()
    load()
    await legend.filter({ hasText: /[1-9]/ }).waitFor()
    await until('the picture changes', async () => (await picture()) !== before)
    const row = page.locator('tbody tr').filter({ hasText: 'parcels.*' })
    await row.locator('td.rate').filter({ hasText: /[1-9]/ }).waitFor()
    assert.match((await row.locator('td.p99').textContent())!, /\d/)
    await page.locator('figure').filter({ hasText: 'Errors a second' }).getByText('fails').waitFor()
    // Lines have the colours of the page, not black, the default of a canvas.
    const points = () => page.evaluate<{ coloured: number; black: number }>(COUNT_COLOURS)
    await until('lines are drawn in colours', async () => (await points()).coloured > 20)
    assert.equal((await points()).black, 0)
  })

  it('sends a request that is typed into its form, by keyboard alone', async () => {
    await open()
    const focused = () =>
      page.evaluate<string>('document.activeElement.textContent + document.activeElement.id')
    const tabTo = async (what: string, isThere: () => Promise<boolean>) => {
      for (let n = 0; n < 60; n++) {
        if (await isThere()) return
        await page.keyboard.press('Tab')
      }
      assert.fail(`${what} cannot be reached by Tab`)
    }
    const isFocused = (label: string) => () =>
      page
        .getByLabel(label)
        .and(page.locator(':focus'))
        .count()
        .then((count) => count === 1)
    await tabTo('the pattern', async () => (await focused()).startsWith('parcels.create'))
    await page.keyboard.press('Enter')
    await tabTo('customer', isFocused('customer'))
    await page.keyboard.type('Ada')
    await tabTo('the list', async () => (await focused()) === 'Add to items')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Shift+Tab')
    assert.ok(await isFocused('count')())
    await page.keyboard.type('2')
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.type('sku-1')
    await page.keyboard.press('Enter')
    await status().filter({ hasText: 'Ended, 1 value' }).waitFor()
    assert.deepEqual(JSON.parse((await values().locator('pre').textContent())!), { id: 7, total: 2 })
    const [data] = shop.told[0] as [unknown]
    assert.deepEqual(data, { customer: 'Ada', items: [{ sku: 'sku-1', count: 2 }] })
  })

  it('says what is wrong before it sends, and where', async () => {
    await open()
    await openPattern('parcels.create')
    await page.getByRole('button', { name: 'Add to items' }).click()
    await page.getByLabel('count').fill('two')
    await page.getByRole('button', { name: 'Send request' }).click()
    await page.getByRole('alert').filter({ hasText: 'Data: items[0].count two is no number' }).waitFor()
    assert.deepEqual(shop.told, [])
  })

  it('sends JSON and headers, and events', async () => {
    await open()
    await openPattern('parcels.create')
    await page.getByLabel('customer').fill('Ada')
    await page.getByLabel('Data as JSON').check()
    const json = page
      .getByLabel(/^Data\b.*JSON$/)
      .locator('visible=true')
      .first()
    assert.deepEqual(JSON.parse(await json.inputValue()), { customer: 'Ada', items: [] })
    await page.getByText('Headers', { exact: true }).click()
    await page.getByLabel(/^Headers/).fill('{"tenant":"a"}')
    await page.getByRole('button', { name: 'Send request' }).click()
    await status().filter({ hasText: 'Ended' }).waitFor()
    assert.equal((shop.told[0] as [unknown, { tenant: string }])[1].tenant, 'a')
    await page.locator('tbody th button', { hasText: 'parcel.placed' }).click()
    await page.getByLabel('id').fill('9')
    await page.getByRole('button', { name: 'Send event' }).click()
    await status().filter({ hasText: 'Sent' }).waitFor()
    await until('the event is handled', () => shop.told.length === 2)
    assert.deepEqual(shop.told[1], { id: 9 })
  })

  it('calls a wildcard by the name that is typed', async () => {
    await open()
    await page.locator('tbody th button', { hasText: 'parcels.*' }).click()
    await page.getByLabel('Pattern', { exact: true }).fill('parcels.42')
    await page.getByRole('button', { name: 'Send request' }).click()
    await values().filter({ hasText: '"42"' }).waitFor()
  })

  it('shows values of a stream as they come, until it is stopped', async () => {
    await open()
    await openPattern('ticks')
    await page.getByRole('button', { name: 'Send request' }).click()
    await status()
      .filter({ hasText: /^Running, [1-9]/ })
      .waitFor()
    await until('more values come', async () => (await values().count()) > 10)
    assert.equal(shop.ticking(), 1)
    await page.getByRole('button', { name: 'Stop' }).click()
    await status()
      .filter({ hasText: /^Stopped/ })
      .waitFor()
    await until('the service is left alone', () => shop.ticking() === 0)
  })

  it('survives a stream that is faster than any reader, and cancels it when its pattern is closed', async () => {
    await open()
    await openPattern('fast')
    await page.getByRole('button', { name: 'Send request' }).click()
    await status()
      .filter({ hasText: /^Running, \d{4}/ })
      .waitFor()
    assert.equal(await values().count(), 100)
    await openPattern('fast')
    await page.getByRole('heading', { level: 3, name: 'All patterns' }).waitFor()
  })

  it('shows an error with its code, message and details', async () => {
    await open()
    await openPattern('fails')
    await page.getByRole('button', { name: 'Send request' }).click()
    const alert = page.getByRole('alert')
    await alert.filter({ hasText: 'NO_STOCK: Sold out' }).waitFor()
    assert.match((await alert.textContent())!, /"sku": "a"/)
    await status().filter({ hasText: 'Failed' }).waitFor()
  })

  for (const [device, size] of [
    ['desk', 1280],
    ['phone', 500]
  ] as const)
    for (const scheme of ['light', 'dark'] as const)
      it(`can be used by everybody on a ${device}, ${scheme}, and is not wider than the screen`, async () => {
        await open({ try: true }, size, scheme)
        load()
        await page.locator('figure').filter({ hasText: 'Errors a second' }).getByText('fails').waitFor()
        await page.getByText('All figures and limits').click()
        for (const name of [LONG, 'fails', 'parcels.create']) {
          await openPattern(name)
          await page.getByRole('button', { name: 'Send request' }).waitFor()
          assert.equal(await widthOf(page), size, name)
        }
        await page.getByRole('button', { name: 'Add to items' }).click()
        await page.getByLabel('count').fill('1')
        await page.getByRole('button', { name: 'Send request' }).click()
        await values().first().waitFor()
        assert.equal(await widthOf(page), size)
        const paper = await page.evaluate<string>(
          'getComputedStyle(document.documentElement).backgroundColor'
        )
        const brightness = (paper.match(/\d+/g) ?? [])
          .slice(0, 3)
          .reduce((sum, part) => sum + Number(part), 0)
        assert.equal(brightness > 3 * 128, scheme === 'light')
        await isUsable(page)
      })
}

describe('the console in Chromium', () => {
  if (!isMissing('the console in a browser', chromiumMissing())) register()
})
