/** The report in a browser, at the widths of a desktop and a phone, in light and dark. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { encodeHistogram, makeHistogram } from '../load/histogram.ts'
import { openBrowser } from '../process/browser.ts'
import { writeReports } from '../report/write.ts'
import { comparison } from '../test-support/comparison.ts'
import { measurement } from '../test-support/measurement.ts'

/** As many targets as one contest of the published report has, including the longest name. */
const TARGETS = [
  'elysia',
  'nest',
  'nest-strategy',
  'raw',
  'moleculer',
  'grpc',
  'connect',
  'trpc',
  'rsocket-js',
  'elysia @ msgpack',
  "elysia @ Nest's wire",
  'nest @ node'
]
const CHARTS_OF_A_CONTEST = 5

function latenciesAround(median: number): string | null {
  const histogram = makeHistogram()
  for (let index = 1; index <= 100_000; index++) {
    histogram.recordValue(Math.round(median * (1 + 20 / (100_001 - index))))
  }
  return encodeHistogram(histogram)
}

function report(concurrencies: readonly number[]) {
  const rounds = [1, 1.1, 1.05].map((noise) =>
    TARGETS.map((target, index) =>
      measurement({
        target,
        rps: (575_120 / (index + 1)) * noise,
        p99: (index + 1) * noise,
        latencyHistogram: latenciesAround(100 * (index + 1)),
        serverCpuUsPerRequest: 0.76 * (index + 1) * noise
      })
    )
  )
  return comparison(
    concurrencies.map((concurrency) => [{ concurrency }, rounds]),
    { targets: TARGETS }
  )
}

let folder = ''
let browser: Browser | undefined
let url = ''
before(
  async () => {
    browser = await openBrowser()
    if (browser === undefined) return
    folder = await mkdtemp(join(tmpdir(), 'report-'))
    const [, , html] = await writeReports(report([1, 10, 1000]), join(folder, 'report.json'))
    url = `file://${html}`
  },
  { timeout: 300_000 }
)
after(async () => {
  await browser?.close()
  if (folder !== '') await rm(folder, { recursive: true })
})

interface Seen {
  readonly series: string[]
  readonly colours: string[]
  readonly overflowing: string[]
}

/** For every chart: the expected series, the painted colours, and everything that is painted outside of the chart. */
const LOOK_AT_CHARTS = `[...document.querySelectorAll('figure')].map((figure) => {
  const svg = figure.querySelector(':scope > svg')
  const frame = svg.getBoundingClientRect()
  const marks = [...svg.querySelectorAll('rect, polyline, circle, text')]
  const outside = ({ left, right, top, bottom }) =>
    left < frame.left - 1 || right > frame.right + 1 || top < frame.top - 1 || bottom > frame.bottom + 1
  return {
    series: figure.dataset.series.split('|'),
    colours: [...new Set(marks.flatMap((mark) => [getComputedStyle(mark).fill, getComputedStyle(mark).stroke]))],
    overflowing: marks.filter((mark) => outside(mark.getBoundingClientRect())).map((mark) => mark.outerHTML)
  }
})`

const COLOURS = `Array.from({ length: ${TARGETS.length} }, (_, index) => {
  const probe = document.body.appendChild(document.createElement('i'))
  probe.style.color = 'var(--series-' + index + ')'
  return getComputedStyle(probe).color
})`

for (const [device, width] of [
  ['desk', 1280],
  ['phone', 360]
] as const) {
  for (const colorScheme of ['light', 'dark'] as const) {
    describe(`a report at the width of a ${device}, ${colorScheme}`, () => {
      const onPage = async (look: (page: Page, requests: string[]) => Promise<void>) => {
        if (browser === undefined) return
        const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme })
        const requests: string[] = []
        page.on('request', (request) => requests.push(request.url()))
        await page.goto(url)
        await look(page, requests)
        await page.close()
      }

      it('has every chart with all its series in their colours, and nothing outside of it', () =>
        onPage(async (page) => {
          const charts = await page.evaluate<Seen[]>(LOOK_AT_CHARTS)
          const colours = await page.evaluate<string[]>(COLOURS)
          assert.equal(new Set(colours).size, TARGETS.length)
          assert.equal(charts.length, 1 + 3 * CHARTS_OF_A_CONTEST)
          for (const chart of charts) {
            assert.deepEqual(chart.series, TARGETS)
            for (const colour of colours) assert.ok(chart.colours.includes(colour), `${colour} is missing`)
            assert.deepEqual(chart.overflowing, [])
          }
        }))

      it('is not wider than the screen, and loads no other file', () =>
        onPage(async (page, requests) => {
          assert.equal(await page.evaluate<number>('document.documentElement.scrollWidth'), width)
          assert.deepEqual(requests, [url])
        }))

      it('has text with enough contrast to its background', () =>
        onPage(async (page) => {
          const style = await page.evaluate<[string, string]>(
            '(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.body))'
          )
          const [ink, paper] = style.map((colour) =>
            (colour.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, part) => sum + Number(part) / 765, 0)
          )
          assert.ok(Math.abs(ink! - paper!) > 0.7)
          assert.equal(paper! > 0.5, colorScheme === 'light')
        }))
    })
  }
}
