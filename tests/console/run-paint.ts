/**
 * Measures the size of the console's page and the time until its first paint, and writes both to
 * `docs/observability.md`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { openBrowser } from '../support/browser.ts'
import { rootFolder } from '../workspace.ts'
import { startShop } from './shop.ts'

/** How often the page is opened, each time in a new browser context, so that nothing is cached. */
const TIMES = 15

const shop = await startShop()
const browser = await openBrowser()
try {
  let bytes = 0
  for (const file of ['', '/page.js', '/page.css'])
    bytes += gzipSync(await (await fetch(`${shop.url}${file}`)).text()).length
  const paints: number[] = []
  for (let n = 0; n < TIMES; n++) {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${shop.url}#/map`)
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
    paints.push(
      await page.evaluate<number>("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    )
    await context.close()
  }
  paints.sort((one, other) => one - other)
  const [median = 0, most = 0] = [paints[Math.floor(TIMES / 2)], paints.at(-1)]
  write(
    `The page is ${Math.round(bytes / 1_000)} KB, compressed by gzip. Chromium paints the page first after ${Math.round(median)} ms (median of ${TIMES} times; at most ${Math.round(most)}), on ${availableParallelism()} cores with a load of ${loadavg()[0]?.toFixed(1)}.`
  )
} finally {
  await browser.close()
  await shop.stop()
}

function write(sentence: string): void {
  const file = join(rootFolder, 'docs/observability.md')
  const [begin, end] = ['<!-- paint: written by tests/console/run-paint.ts -->\n', '\n<!-- /paint -->']
  const text = readFileSync(file, 'utf8')
  const [before, rest] = text.split(begin) as [string, string]
  writeFileSync(file, `${before}${begin}${sentence}${rest.slice(rest.indexOf(end))}`)
  process.stderr.write(`${sentence}\n`)
}
