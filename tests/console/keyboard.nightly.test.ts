/**
 * The console in a real browser without a mouse: every view can be reached and used by keyboard, and the focus is
 * never lost.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isMissing, until } from '@elysia-microservices/test-support'
import type { Page } from 'playwright-core'
import { chromiumMissing } from '../support/browser.ts'
import { type Billing, startBilling } from './billing.ts'
import { inBrowser, sendSpans } from './in-browser.ts'
import { type Shop, startShop } from './shop.ts'

/** More elements than any view has. */
const MOST = 150
const TRACE = 'c0ffee'.padEnd(32, '0')

/** Finds all elements that the Tab key reaches; of a group of radio buttons only the chosen one. */
const STOPS = `[...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
  .filter((each) => each.checkVisibility() && !(each.type === 'radio' && !each.checked))`
/** Describes the element that has the focus, and whether the focus is visible. */
const FOCUSED = `(() => {
  const element = document.activeElement
  if (element === document.body) return undefined
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  const { top, bottom, left, right, width, height } = element.getBoundingClientRect()
  const isSeen = width > 4 && height > 4 && bottom > 0 && top < innerHeight && right > 0 && left < innerWidth
  const name = element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent
  window.walked.add(element)
  return {
    name: element.tagName + ' ' + name,
    n: ${STOPS}.indexOf(element),
    wrong: outlineStyle === 'none' || parseFloat(outlineWidth) < 1 ? 'no outline' : isSeen ? '' : 'not on the screen'
  }
})()`

interface Focused {
  readonly name: string
  /** The number of the element among all that the Tab key reaches. */
  readonly n: number
  readonly wrong: string
}

function register(): void {
  let page: Page
  const { ends, newPage } = inBrowser()

  const open = async (url: string, width = 1280) => {
    page = await newPage({ width, height: 800 })
    await page.goto(url)
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
    await page.evaluate('window.walked = new Set()')
  }
  const openShop = async (place: string, width?: number): Promise<Shop> => {
    const shop = await startShop({ try: true })
    ends.push(() => shop.stop())
    await open(`${shop.url}#/${place}`, width)
    return shop
  }
  const openBilling = async (place: string, width?: number): Promise<Billing> => {
    const billing = await startBilling({ try: true })
    ends.push(() => billing.stop())
    await open(`${billing.url}#/${place}`, width)
    return billing
  }
  const focused = () => page.evaluate<Focused | undefined>(FOCUSED)
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  /** Waits until the element with the focus has this name. */
  const isAt = async (name: RegExp) => {
    let now: Focused | undefined
    await until(`the focus is at ${name}`, async () => {
      now = await focused()
      return name.test(now?.name ?? '')
    }).catch((error: Error) => assert.fail(`${error.message}: ${JSON.stringify(now)}`))
    assert.equal(now?.wrong, '', now?.name)
  }
  /** Presses Tab until an element with this name has the focus. */
  const tabTo = async (name: RegExp, key = 'Tab') => {
    for (let n = 0; n < MOST; n++) {
      await press(key)
      const now = await focused()
      if (now !== undefined && name.test(now.name)) return
    }
    assert.fail(`${name} is not reached`)
  }
  /** Goes through all elements of the page by Tab, and back. */
  const walk = async () => {
    await page.evaluate('window.walked.clear()')
    await page.locator('.skip').focus()
    const way = [(await focused())?.n ?? -1]
    for (const [key, expected] of [
      ['Tab', 1],
      ['Shift+Tab', -1]
    ] as const)
      for (let n = 0; n < MOST; n++) {
        await press(key)
        const now = await focused()
        if (now === undefined || (expected === 1 && way.includes(now.n))) break
        assert.equal(now.wrong, '', `${now.name}, by ${key}`)
        if (expected === 1) way.push(now.n)
        else assert.ok(way.includes(now.n), now.name)
      }
    const left = await page.evaluate<string[]>(
      `${STOPS}.filter((each) => !window.walked.has(each)).map((each) => each.outerHTML.slice(0, 120))`
    )
    assert.deepEqual(left, [])
    assert.deepEqual(
      way,
      way.toSorted((one, other) => one - other),
      'in the order of the page'
    )
    assert.ok(way.length > 5, String(way.length))
  }

  for (const width of [390, 1280]) {
    it(`all elements of the services, the map and traces are reached, ${width} px`, async () => {
      const shop = await openShop('services/orders', width)
      const loading = shop.load()
      ends.push(() => loading.stop())
      await page.locator('tbody th button', { hasText: 'parcels.create' }).click()
      await page.getByRole('button', { name: 'Add to items' }).click()
      await walk()
      await send(shop.url)
      for (const place of ['map', 'map/service%20orders', 'traces', `traces/${TRACE}`]) {
        await page.goto(`${shop.url}#/${place}`)
        const ready = place.startsWith('map') ? '.sheet text' : '.lines a, .waterfall button'
        await page.locator(ready).first().waitFor()
        await walk()
      }
    })

    it(`all elements of events and alerts are reached, ${width} px`, async () => {
      const billing = await openBilling('events/memory/billing', width)
      await billing.settle('1', '2')
      await page.locator('.letter').nth(1).waitFor()
      // The link to the alert is above all that is numbered, and may come later than the letters.
      await page.locator('.alert-line a').waitFor()
      await page.getByText('Data', { exact: true }).first().click()
      await walk()
      await page.goto(`${billing.url}#/alerts`)
      await page.locator('.alert a').first().waitFor()
      await walk()
    })
  }

  it('the first key leads past the links of the page', async () => {
    await openShop('services/orders')
    await press('Tab')
    await isAt(/Skip to the content/)
    await press('Enter')
    await isAt(/^H2 orders/)
  })

  it('a trace is opened, and a span of it', async () => {
    const shop = await openShop('traces')
    await send(shop.url)
    await page.locator('.lines a').first().waitFor()
    await tabTo(/parcels.create/)
    await press('Enter')
    await isAt(/^H2 parcels.create/)
    await tabTo(/^BUTTON.*stock.reserve/)
    await press('Enter')
    await page.getByText('began after').waitFor()
    await isAt(/^BUTTON.*stock.reserve/)
    // Spans that arrive in the meantime do not change the open trace.
    await send(shop.url, 3)
    await page.locator('.waterfall button').nth(2).waitFor()
    await isAt(/^BUTTON.*stock.reserve/)
  })

  it('a stream is read and stopped, and its pattern is closed', async () => {
    const shop = await openShop('services/orders')
    await tabTo(/^BUTTON ticks/)
    await press('Enter')
    await tabTo(/Send request/)
    await press('Enter')
    await page
      .locator('form [role=status]')
      .filter({ hasText: /^Running, [1-9]/ })
      .waitFor()
    await tabTo(/Stop/)
    await press('Enter')
    await until('it is stopped', () => shop.ticking() === 0)
    await isAt(/Send request/)
    await tabTo(/Show all patterns/, 'Shift+Tab')
    await press('Enter')
    await page.getByRole('heading', { name: 'All patterns' }).waitFor()
    await isAt(/minutes/)
    await press('ArrowRight')
    assert.ok(await page.getByRole('radio', { name: '1 hour' }).isChecked())
  })

  it('an entry of a list is removed, and the focus stays in the list', async () => {
    await openShop('services/orders')
    await tabTo(/^BUTTON parcels.create/)
    await press('Enter')
    await tabTo(/Add to items/)
    await press('Enter', 'Shift+Tab')
    await isAt(/Remove items 1/)
    await press('Enter')
    await isAt(/Add to items/)
  })

  it('values of a chart are read by arrow keys', async () => {
    const shop = await openShop('services/orders')
    const loading = shop.load()
    ends.push(() => loading.stop())
    const time = page.locator('figure time').first()
    await page.locator('figure').filter({ hasText: 'Errors a second' }).getByText('fails').waitFor()
    await tabTo(/Messages a second/)
    assert.equal(await time.count(), 0)
    await press('ArrowLeft', 'ArrowLeft')
    await time.waitFor()
    await press('Tab')
    await time.waitFor({ state: 'detached' })
  })

  it('dead letters are redriven and discarded, and what was not meant is kept', async () => {
    const billing = await openBilling('events')
    await billing.settle('1', '2', '3')
    await page.getByRole('link', { name: '3 dead letters', exact: true }).waitFor()
    await tabTo(/^A 3 dead letters/)
    await press('Enter')
    await page.locator('.letter').nth(2).waitFor()
    await isAt(/3 dead letters/)
    billing.openBank()
    await tabTo(/^BUTTON Redrive$/)
    await press('Enter')
    await until('one is handled', () => billing.done.length === 1)
    await page.locator('.letter').nth(2).waitFor({ state: 'detached' })
    await page.getByText('1 redriven').waitFor()
    await isAt(/^A its trace/)
    await tabTo(/^BUTTON Discard$/)
    await press('Enter')
    await isAt(/Keep/)
    await press('Escape')
    await isAt(/^BUTTON Discard$/)
    // An Enter key that is held down must not confirm: the dead letter is kept.
    await press('Enter')
    await isAt(/Keep/)
    await press('Enter')
    await isAt(/^BUTTON Discard$/)
    assert.equal(await page.locator('.letter').count(), 2)
    await press('Enter')
    await isAt(/Keep/)
    await press('Shift+Tab')
    await isAt(/Discard permanently/)
    await press('Enter')
    await page.locator('.letter').nth(1).waitFor({ state: 'detached' })
    await isAt(/^A its trace/)
    await tabTo(/Discard all/, 'Shift+Tab')
    await press('Enter')
    await isAt(/Keep/)
    await press('Shift+Tab', 'Enter')
    await page.locator('.letter').first().waitFor({ state: 'detached' })
    await isAt(/No dead letters/)
    await press('Enter')
    await isAt(/No dead letters/)
  })

  it('an alert leads to its cause, and the focus stays when an alert ends', async () => {
    const billing = await openBilling('alerts')
    await billing.endRates()
    const alert = page.locator('.alert a').first()
    await alert.waitFor()
    // The status line below the links of the page has the same text as the alert.
    for (const _ of ['the line', 'the alert']) await tabTo(/^A rates does not answer/)
    await press('Enter')
    await isAt(/^H2 rates/)
    await page.goBack()
    await alert.waitFor()
    await alert.focus()
    await billing.startRates('1.1.0')
    await alert.waitFor({ state: 'detached' })
    await isAt(/^H2 Alerts/)
  })
}

/** Sends the spans of a trace. @param newest the number of the last span */
async function send(url: string, newest = 2): Promise<void> {
  const names = ['parcels.create', 'stock.reserve', 'stock.count']
  const spans = names.slice(0, newest).map((name, at) => ({
    traceId: TRACE,
    spanId: String(at + 1).padStart(16, '0'),
    ...(at > 0 && { parentSpanId: String(at).padStart(16, '0') }),
    name,
    kind: 2,
    startTimeUnixNano: `${Date.now() + at}000000`,
    endTimeUnixNano: `${Date.now() + 50 - at}000000`
  }))
  await sendSpans(url, 'orders', spans)
}

describe('the console by keyboard alone', () => {
  if (!isMissing('the console in a browser', chromiumMissing())) register()
})
