/** Pages for all tests of the console in Chromium: each is closed after its test, and must not report an error. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, afterEach, before } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from '../support/browser.ts'

/** The device and settings with which a page is opened. */
export interface Look {
  readonly width?: number
  readonly height?: number
  readonly colorScheme?: 'light' | 'dark'
}

/** Opens pages for the tests of one `describe`. */
export interface InBrowser {
  /** Functions that are called after each test, the latest first; then the page must have reported no error. */
  readonly ends: (() => unknown)[]
  readonly complaints: string[]
  /** Opens a page. After the test it is closed first, before everything that was started earlier. */
  newPage(look?: Look): Promise<Page>
}

/** Starts a browser before the tests, and closes it after them. */
export function inBrowser(): InBrowser {
  let browser: Browser | undefined
  const ends: (() => unknown)[] = []
  const complaints: string[] = []
  before(async () => {
    browser = await openBrowser()
  })
  after(() => browser?.close())
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
    assert.deepEqual(complaints.splice(0), [])
  })
  return {
    ends,
    complaints,
    async newPage({ width = 1280, height = 900, colorScheme = 'light' } = {}) {
      assert.ok(browser !== undefined)
      const page = await browser.newPage({ viewport: { width, height }, colorScheme })
      ends.push(() => page.close())
      page.on('console', (message) => complaints.push(message.text()))
      page.on('pageerror', (error) => complaints.push(error.message))
      return page
    }
  }
}

/** The width of the whole content of a page. */
export function widthOf(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth')
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string }[]
}

/** Fails if a page is not accessible, as far as a program can check. */
export async function isUsable(page: Page): Promise<void> {
  await page.evaluate(axe)
  const { violations } = await page.evaluate<{ violations: Violation[] }>('axe.run()')
  assert.deepEqual(
    violations
      .filter(({ impact }) => impact !== 'minor')
      .map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
    []
  )
}

/** Sends spans to a console, as OpenTelemetry's exporters do. */
export async function sendSpans(url: string, service: string, spans: readonly object[]): Promise<void> {
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: service } }] }
  const response = await fetch(`${url}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] })
  })
  assert.equal(response.status, 200, await response.text())
}
