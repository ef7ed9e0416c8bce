/**
 * Draws card.svg as card.png, because social networks do not show an SVG as the preview of a link: `bun
 * site/card.ts`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openBrowser } from '../../tests/support/browser.ts'

const browser = await openBrowser()
const page = await browser.newPage({ viewport: { width: 1_200, height: 630 } })
const svg = readFileSync(join(import.meta.dirname, 'card.svg'), 'utf8')
await page.setContent(`<style>body { margin: 0 } svg { display: block }</style>${svg}`)
await page.screenshot({ path: join(import.meta.dirname, 'card.png') })
await browser.close()
