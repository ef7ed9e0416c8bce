/**
 * Writes the pictures of the page in `docs/images`, from the running shop: `npm run screenshots`. It needs the same
 * programs as the nightly test of the shop.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from '../support/browser.ts'
import { rootFolder } from '../workspace.ts'
import { order } from './orders.ts'
import { shopProject, startShop } from './shop-project.ts'

const IMAGES = join(rootFolder, 'docs/images')
/** Seconds for which orders are placed before the first picture, so that charts have lines. */
const SECONDS = 75
/** Pixels of a picture for each pixel of the page. */
const SCALE = 1.5
const QUALITY = 0.86

interface Shot {
  readonly name: string
  readonly theme: 'light' | 'dark'
  readonly width: number
  readonly height: number
  /** The part of the address behind `#/`. */
  readonly screen: string
  /** Steps before the picture is taken. */
  readonly before?: (page: Page) => Promise<unknown>
}

const SHOTS: readonly Shot[] = [
  { name: 'map', theme: 'light', width: 1280, height: 790, screen: 'map' },
  { name: 'map-phone', theme: 'dark', width: 390, height: 800, screen: 'map' },
  { name: 'trace', theme: 'dark', width: 1280, height: 750, screen: 'traces', before: openTrace },
  { name: 'service', theme: 'light', width: 1280, height: 940, screen: 'services/orders' },
  { name: 'events', theme: 'light', width: 1280, height: 650, screen: 'events' }
]

/** Opens the newest trace that includes all services. */
async function openTrace(page: Page): Promise<void> {
  await page
    .getByRole('link', { name: /^\S+ POST \/orders gateway → orders → stock → payments/ })
    .first()
    .click()
  await page.locator('.waterfall .name').nth(8).waitFor()
  await page.mouse.move(0, 0)
}

async function take(browser: Browser, console: string, shot: Shot): Promise<void> {
  const { name, theme, width, height, screen, before } = shot
  const page = await browser.newPage({
    viewport: { width, height },
    colorScheme: theme,
    deviceScaleFactor: SCALE
  })
  await page.goto(`${console}#/${screen}`)
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
  // Waits until the averages only include samples under load.
  await pause(7_000)
  await before?.(page)
  const png = await page.screenshot()
  await page.close()
  const webp = await asWebp(browser, png)
  writeFileSync(join(IMAGES, `console-${name}.webp`), webp)
  process.stderr.write(`console-${name}.webp: ${Math.round(webp.length / 1024)} KB\n`)
}

/** Converts a picture to WebP in the browser, whose canvas has an encoder. */
async function asWebp(browser: Browser, png: Buffer): Promise<Buffer> {
  const page = await browser.newPage()
  const url = `data:image/png;base64,${png.toString('base64')}`
  const encoded = await page.evaluate<string>(`(async () => {
    const image = new Image()
    image.src = ${JSON.stringify(url)}
    await image.decode()
    const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height })
    canvas.getContext('2d').drawImage(image, 0, 0)
    return canvas.toDataURL('image/webp', ${QUALITY})
  })()`)
  await page.close()
  return Buffer.from(encoded.slice(encoded.indexOf(',') + 1), 'base64')
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

const project = shopProject()
const { dev, web, page } = await startShop(project).catch((error: unknown) => {
  project.remove()
  throw error
})
const over = new AbortController()
const ordering = order(web, over.signal)
let browser: Browser | undefined
try {
  await Promise.race([ordering, pause(SECONDS * 1_000)])
  mkdirSync(IMAGES, { recursive: true })
  browser = await openBrowser()
  for (const shot of SHOTS) await take(browser, page, shot)
} finally {
  over.abort()
  await ordering.catch(() => {})
  await browser?.close()
  await dev.endAnyway()
  project.remove()
}
