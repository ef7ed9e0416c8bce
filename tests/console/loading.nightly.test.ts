/** How the page loads: its size, what is painted before its script runs, and that nothing jumps while it is open. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { isMissing } from '@elysia-microservices/test-support'
import type { Browser } from 'playwright-core'
import { chromiumMissing, openBrowser } from '../support/browser.ts'
import { WATCH_SHIFTS } from '../support/layout-shift.ts'
import { type Shop, startShop } from './shop.ts'

const SCREENS = ['services', 'map', 'traces', 'events', 'alerts']
/** Bytes of all files together, compressed. */
const MOST = 150_000
/** A layout shift of 0.1 is what users begin to notice. */
const MOST_SHIFT = 0.02
/** Milliseconds for which a screen is observed: one sample is taken each second. */
const LOOKED_AT = 4_000

function register(): void {
  let browser: Browser
  let shop: Shop
  let loading: { stop(): unknown }

  before(async () => {
    browser = await openBrowser()
    shop = await startShop()
    loading = shop.load()
  })
  after(async () => {
    await loading.stop()
    await browser.close()
    await shop.stop()
  })

  it('is small', async () => {
    const texts = await Promise.all(
      ['', '/page.js', '/page.css'].map(async (file) => (await fetch(`${shop.url}${file}`)).text())
    )
    const bytes = texts.reduce((sum, text) => sum + gzipSync(text).length, 0)
    assert.ok(bytes > 10_000 && bytes < MOST, `${bytes} bytes`)
  })

  it('is painted before its script runs', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(shop.url)
    await page.getByRole('heading', { name: 'Console' }).waitFor()
    await context.close()
  })

  for (const width of [390, 1280])
    for (const screen of SCREENS)
      it(`does not move what is shown: ${screen}, ${width} pixels wide`, async () => {
        const page = await browser.newPage({ viewport: { width, height: 900 } })
        try {
          await page.addInitScript(WATCH_SHIFTS)
          await page.goto(`${shop.url}#/${screen}`)
          await page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
          await page.waitForTimeout(LOOKED_AT)
          const shift = await page.evaluate<number>('window.shift')
          const moved = await page.evaluate<string>('JSON.stringify(window.moved)')
          assert.ok(shift < MOST_SHIFT, `a layout shift of ${shift}: ${moved}`)
        } finally {
          await page.close()
        }
      })
}

describe('the page of the console, as it comes', () => {
  if (!isMissing('the console in a browser', chromiumMissing())) register()
})
