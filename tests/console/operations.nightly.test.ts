/** The tasks of operators on the page, in a real browser: dead letters, alerts, the last hour, many services. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConsoleClients, ConsoleOptions } from '@elysia-microservices/console'
import { isMissing, PATIENCE, until } from '@elysia-microservices/test-support'
import { memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import type { Page } from 'playwright-core'
import type { PastView } from '../../tools/console/dist/protocol.js'
import { chromiumMissing } from '../support/browser.ts'
import { consoleOf } from '../support/console-page.ts'
import { type Billing, startBilling } from './billing.ts'
import { inBrowser, isUsable, widthOf } from './in-browser.ts'
import { HOSTILE } from './shop.ts'

function register(): void {
  let billing: Billing
  let page: Page
  const { ends, newPage } = inBrowser()

  const open = async (place: string, options: Partial<ConsoleOptions> = { try: true }, width = 1280) => {
    billing = await startBilling(options)
    ends.push(() => billing.stop())
    page = await newPage({ width })
    await page.goto(`${billing.url}#/${place}`)
  }
  const letters = () => page.locator('.letter')

  it('shows what groups wait for, and an outbox', async () => {
    await open('events')
    const row = page.locator('tr').filter({ hasText: 'payments.settled' })
    await row.waitFor()
    await billing.settle('1', '2')
    await row.locator('td.some').filter({ hasText: '2' }).waitFor()
    assert.deepEqual(await row.locator('td').allTextContents(), ['0', '0', '0', '2'])
    await page.getByText('its relay runs in').first().waitFor()
    await page.getByText('1,234').first().waitFor()
    await page.getByRole('link', { name: '2 dead letters', exact: true }).waitFor()
    await page.getByRole('link', { name: 'Alerts 1' }).waitFor()
  })

  it('shows dead letters as text, with their trace, and sends one again by keyboard', async () => {
    await open('events')
    await billing.settle('1', '2')
    const disclosure = page.getByRole('link', { name: '2 dead letters', exact: true })
    await disclosure.waitFor()
    await disclosure.focus()
    await page.keyboard.press('Enter')
    await letters().nth(1).waitFor()
    const first = letters().first()
    assert.match((await first.locator('.reason').textContent()) ?? '', /The bank is closed <img/)
    assert.equal(await page.locator('img').count(), 0)
    assert.equal(
      await first.getByRole('link', { name: 'its trace' }).getAttribute('href'),
      '#/traces/0af7651916cd43dd8448eb211c80319c'
    )
    await first.getByText('Data').click()
    const data = await first.getByRole('region', { name: 'Data of 1' }).textContent()
    assert.deepEqual(JSON.parse(data ?? ''), { order: '1', note: HOSTILE })
    await isUsable(page)
    billing.openBank()
    await first.getByRole('button', { name: 'Redrive' }).focus()
    await page.keyboard.press('Enter')
    await until('the event is handled', () => billing.done.length === 1)
    await page.getByRole('link', { name: '1 dead letter', exact: true }).waitFor()
    assert.match(
      billing.log[0] ?? '',
      /dead letters of the group "billing" redriven: 1 were \(positions \d+\)/
    )
  })

  it('discards all, after it has asked once more', async () => {
    await open('events/memory/billing')
    await billing.settle('1', '2', '3')
    await letters().nth(2).waitFor()
    await page.getByRole('button', { name: 'Discard all' }).click()
    await page.getByRole('button', { name: 'Keep' }).click()
    assert.equal(await letters().count(), 3)
    await page.getByRole('button', { name: 'Discard all' }).click()
    await page.getByRole('button', { name: 'Discard all permanently' }).click()
    await page.getByRole('link', { name: 'No dead letters' }).waitFor()
    assert.equal(await letters().count(), 0)
    await until('the log says so', () => billing.log.length === 1)
    assert.match(billing.log[0] ?? '', /discarded: 3 were/)
    assert.deepEqual(billing.done, [])
  })

  it('shows what waits for its time, delivers one now by keyboard, and cancels another', async () => {
    await open('events/memory/~later')
    billing.openBank()
    await billing.settleLater('1')
    await billing.settleLater('2')
    await letters().nth(1).waitFor()
    const first = letters().first()
    assert.match((await first.locator('.reason').textContent()) ?? '', /, in (1 h|59 min)$/)
    assert.equal(await page.locator('img').count(), 0)
    await isUsable(page)
    await first.getByRole('button', { name: 'Deliver now' }).focus()
    await page.keyboard.press('Enter')
    await until('the event is handled', () => billing.done.length === 1)
    await page.getByText('1 comes now').waitFor()
    await letters().first().getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Cancel permanently' }).click()
    await page.getByText('2 is cancelled').waitFor()
    await until('the list is empty', async () => (await letters().count()) === 0)
    assert.deepEqual(billing.done, ['1'])
  })

  it('changes nothing if it is read-only', async () => {
    await open('events/memory/billing', { try: false })
    await billing.settle('1')
    await letters().first().waitFor()
    assert.equal(await page.getByRole('main').getByRole('button').count(), 0)
    await using asking = consoleOf(billing.url)
    const question = { action: 'discard', service: 'billing', group: 'billing', positions: 'all' }
    await assert.rejects(asking.request('ask.events', question), { message: /read-only/ })
    assert.equal(await letters().count(), 1)
  })

  it('shows current problems with advice, and past ones', async () => {
    await open('alerts')
    await page.locator('main').getByText('Nothing is wrong').waitFor()
    await billing.endRates()
    await page.getByRole('link', { name: 'rates does not answer' }).first().waitFor()
    await page.locator('.advice').filter({ hasText: 'Check whether its process runs' }).waitFor()
    await isUsable(page)
    await billing.startRates('1.1.0')
    const past = page.getByRole('region', { name: 'Resolved' })
    await past.getByText('rates does not answer').waitFor()
    await page.locator('.alert-line').filter({ hasText: 'Nothing is wrong' }).waitFor()
  })

  it('shows the last hour after a reload, and compares the time before and after a new version', async () => {
    await open('services/rates')
    const legend = page.locator('figure').filter({ hasText: 'Messages a second' }).getByRole('listitem')
    let isOver = false
    const calling = (async () => {
      while (!isOver) {
        await billing.call().catch(() => {})
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    })()
    await legend.filter({ hasText: /rates\.of [1-9]/ }).waitFor()
    await billing.endRates()
    await billing.startRates('1.1.0')
    await page.getByText('Before and after').waitFor()
    await page.reload()
    await page.getByText('Before and after').waitFor()
    await page.getByRole('radio', { name: '1 hour' }).check()
    const option = page.getByRole('combobox').getByRole('option').first()
    assert.match((await option.textContent()) ?? '', /version 1\.1\.0$/)
    await using asking = consoleOf(billing.url)
    const { times } = (await asking.request('ask.history', { id: 'rates' })) as PastView
    assert.ok(times.length > 0)
    isOver = true
    await calling
  })

  it('stays usable with 10,000 services, whose names are made by a stranger', async () => {
    const transport = memory()
    const lying = microservice({ transport }).message('elysia-microservices.describe.*', () => ({
      name: HOSTILE.repeat(100),
      version: '\u202e1.0'.repeat(1_000),
      status: 'listening',
      transports: [{ transport: 'x'.repeat(5_000), unavailable: HOSTILE.repeat(1_000) }],
      handlers: Array.from({ length: 20 }, (_, n) => ({
        kind: 'event',
        patterns: [{ kind: 'exact', pattern: `${'\u202e'}${HOSTILE}${n}` }]
      }))
    }))
    await lying.listen()
    const client = connect({ transport })
    const services: ConsoleClients = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, n) => [`${'\u202e'}${HOSTILE} ${'long'.repeat(40)} ${n}`, client])
    )
    await open('services', { services, interval: 1_000 }, 390)
    await page.getByText('9,000 services are too many to be watched').waitFor({ timeout: PATIENCE })
    await page.getByText('900 more: find them by name').waitFor()
    await page.getByRole('searchbox', { name: 'Find' }).first().fill(' 777')
    await until('it is found', async () => (await page.locator('.columns nav li').count()) === 1)
    await page.locator('.columns nav a').click()
    await page.getByRole('heading', { level: 2 }).waitFor()
    for (const place of ['events', 'alerts', 'map', 'traces']) {
      await page
        .getByRole('navigation', { name: 'Screens' })
        .getByRole('link', { name: new RegExp(place, 'i') })
        .click()
      await page.locator('main').waitFor()
      assert.equal(await widthOf(page), 390, place)
    }
    assert.equal(await page.locator('img').count(), 0)
    assert.equal(await page.title(), 'Console')
    await client.close()
    await lying.stop()
  })
}

describe('operators at the console in Chromium', () => {
  if (!isMissing('the console in a browser', chromiumMissing())) register()
})
