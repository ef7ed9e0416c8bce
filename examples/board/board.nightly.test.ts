/** The board in Chromium: two visitors see the same orders and all their changes. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePort } from '@elysia-microservices/test-support'
import { type Browser, chromium } from 'playwright-core'

const CHROMIUM = '/usr/bin/chromium'
/** Milliseconds until a step counts as failed. Steps have no other time limit. */
const PATIENCE = 120_000

/** Under Node the tests run in compiled form, and so do the programs. */
const file = fileURLToPath(new URL(`start.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url))

describe('the board', () => {
  let program: ChildProcess
  let browser: Browser
  let url = ''

  before(async () => {
    program = spawn(process.execPath, [file], {
      env: { ...process.env, PORT: String(await freePort()), NODE_ENV: 'production' },
      stdio: ['ignore', 'pipe', 'inherit']
    })
    await new Promise<void>((resolve, reject) => {
      createInterface(program.stdout!).on('line', (line) => {
        url = /^The board: (\S+)/.exec(line)?.[1] ?? url
        if (url !== '') resolve()
      })
      program.once('exit', (code) => reject(new Error(`The program has ended with ${code}`)))
    })
  })
  after(async () => {
    await browser?.close()
    if (program.exitCode !== null) return
    program.kill('SIGTERM')
    await once(program, 'exit')
  })

  it('serves its page', async () => {
    assert.match(await (await fetch(url)).text(), /<title>Orders<\/title>/)
  })

  if (process.env['CI'] === undefined && !existsSync(CHROMIUM))
    console.log(`Left out: there is no ${CHROMIUM}`)
  else
    it('shows every visitor the orders, live', async () => {
      browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
      const open = async () => {
        const page = await browser.newPage()
        page.setDefaultTimeout(PATIENCE)
        await page.goto(url)
        return page
      }
      const [guest, cook] = [await open(), await open()]
      await guest.getByLabel('Dish').fill('soup')
      await guest.getByRole('button', { name: 'Order' }).click()
      for (const page of [guest, cook]) await page.getByText('soup: placed').waitFor()
      await cook.getByRole('button', { name: 'Next' }).click()
      for (const page of [guest, cook]) await page.getByText('soup: cooking').waitFor()
      await guest.getByRole('button', { name: 'Next' }).click()
      for (const page of [guest, cook]) await page.getByText('soup: served').waitFor()
      // A page that opens later shows the orders, too.
      await (await open()).getByText('soup: served').waitFor()
    })
})
