/** The console in a real browser, with fifty services whose descriptions are as large as possible. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isMissing, PATIENCE } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { chromiumMissing } from '../support/browser.ts'
import { inBrowser, isUsable, widthOf } from './in-browser.ts'
import { HOSTILE, startShop } from './shop.ts'

const SERVICES = 50
const PATTERNS = 1_200
/**
 * How often all views are clicked: each click must be answered while services are being asked for their descriptions.
 */
const ROUNDS = 1

/** A description whose names are as long as allowed; every tenth has 5 KB. */
function large(asked: number) {
  const patterns = Array.from(
    { length: PATTERNS },
    (_, n) => `\u202e${HOSTILE} ${n} ${'x'.repeat(n % 10 === 9 ? 5_000 : 400)}`
  )
  return {
    name: `\u202e${HOSTILE}${'name'.repeat(1_000)}`,
    version: HOSTILE.repeat(100),
    status: 'listening',
    transports: [{ transport: HOSTILE.repeat(10), inFlight: { current: 7, limit: -1 } }],
    handlers: patterns.map((pattern) => ({
      kind: 'message',
      patterns: [{ kind: 'exact', pattern }],
      data: { type: 'object', title: HOSTILE.repeat(5) }
    })),
    figures: patterns.slice(0, 1_000).map((pattern) => ({
      kind: 'message',
      pattern,
      inFlight: 1,
      outcomes: { OK: asked, [HOSTILE]: asked },
      durations: { bounds: [0.001, 0.01], counts: [asked, 2 * asked, 1] }
    })),
    callers: patterns.slice(0, 1_000).map((caller) => ({
      from: 'client',
      caller,
      kind: 'message',
      transport: HOSTILE,
      pattern: caller,
      count: asked,
      errors: asked,
      milliseconds: asked
    }))
  }
}

function register(): void {
  const { ends, newPage } = inBrowser()

  for (const width of [390, 1280])
    it(`stays usable, ${width} px`, async () => {
      let asked = 0
      const lying = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 }).message(
        'elysia-microservices.describe',
        () => large(++asked)
      )
      const honest = microservice({
        transport: 'tcp',
        host: '127.0.0.1',
        port: 0,
        name: 'honest',
        describe: true
      }).message('hello', () => 'world')
      const services: Record<string, UntypedClient> = {}
      ends.push(async () => {
        for (const client of Object.values(services)) await client.close()
        for (const service of [lying, honest]) await service.stop()
      })
      for (const service of [lying, honest]) await service.listen()
      services['honest'] = connect({ port: honest.address!.port })
      for (let n = 0; n < SERVICES; n++)
        services[`\u202e${HOSTILE} ${n} ${'long'.repeat(50)}`] = connect({ port: lying.address!.port })
      const shop = await startShop({ services, try: true, interval: 1_000 })
      ends.push(() => shop.stop())
      const page = await newPage({ width })
      // The descriptions keep a processor busy; beside other work, a click is answered late.
      page.setDefaultTimeout(4 * PATIENCE)
      await page.goto(`${shop.url}#/services`)
      const links = page.getByRole('navigation', { name: 'Services' }).getByRole('link')
      await links.nth(SERVICES).waitFor()
      for (let round = 0; round < ROUNDS; round++) {
        for (const screen of ['Map', 'Traces', 'Events', 'Alerts', 'Services']) {
          const link = page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: screen })
          await link.click()
          await page
            .getByRole('navigation', { name: 'Screens' })
            .locator('[aria-current=page]', { hasText: screen })
            .waitFor()
          assert.equal(await widthOf(page), width, screen)
        }
        await links.nth(2 + round).click()
        await page.getByText(/\d+ handlers or patterns with an invalid description/).waitFor()
        const rows = page.locator('table.patterns tbody')
        await page.getByText('900 more: find them by name').waitFor()
        await page.getByRole('searchbox', { name: 'Find' }).last().fill(' 778 ')
        await rows.nth(1).waitFor({ state: 'detached' })
        await rows.getByRole('button').click()
        await page.getByRole('region', { name: 'Schema of data' }).waitFor()
        assert.equal(await widthOf(page), width)
        await links.first().click()
        await page.locator('tbody code', { hasText: 'hello' }).waitFor()
      }
      await isUsable(page)
      assert.equal(await page.locator('img').count(), 0)
      assert.equal(await page.title(), 'Console')
    })
}

describe('the console beside services of strangers, in Chromium', () => {
  if (!isMissing('the console in a browser', chromiumMissing())) register()
})
