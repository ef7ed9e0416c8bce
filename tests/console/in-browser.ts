/** Pages for all tests of the console in Chromium: each is closed after its test, and must report no error. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, afterEach, before } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from '../support/browser.ts'

/** How a page is looked at. */
export interface Look {
  readonly width?: number
  readonly height?: number
  readonly colorScheme?: 'light' | 'dark'
}

/** Pages of the tests of one `describe`. */
export interface InBrowser {
  /** Done after each test, the latest first; then nothing may have been complained of. */
  readonly ends: (() => unknown)[]
  readonly complaints: string[]
  /** Opens a page. It is closed after the test, before all that was begun before it. */
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

/** How wide all of a page is. */
export function widthOf(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth')
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string }[]
}

/** Fails if a page is no good for somebody, as far as a program can tell. */
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
