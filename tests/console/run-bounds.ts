/**
 * Measures the console at its bounds, and writes the result in `docs/observability.md`: 10,000 services of a stranger, with
 * names, patterns, schemas and spans as long and as many as possible. It measures the memory of the app with the page, and
 * the time from a click to the picture in Chromium.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { consolePage } from '@elysia-microservices/console'
import { tcp } from '@elysia-microservices/tcp'
import { INSIDE } from '@elysia-microservices/transport/kit'
import { microservice } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import type { Page } from 'playwright-core'
import { openBrowser } from '../support/browser.ts'
import { listen, newApp } from '../support/http-app.ts'
import { rootFolder } from '../workspace.ts'
import { sendSpans } from './in-browser.ts'

const SERVICES = 10_000
/** Services that are asked; the page says that the others are too many. */
const WATCHED = 1_000
/** Patterns of each service: more than are kept beside a thousand other services. */
const PATTERNS = 160
/** More than are kept. */
const SPANS = 30_000
const SPANS_OF_TRACE = 20
const ATTRIBUTES = 40
const BATCH = 100
const HOSTILE = '\u202e<img src=x>'
const LONG = 'x'.repeat(5_000)
const MIB = 2 ** 20
/** Milliseconds for the runtime to give memory back. */
const SETTLED = 5_000
/** Clicks on each screen. */
const CLICKS = 10
const SCREENS = ['Map', 'Traces', 'Events', 'Alerts', 'Services']

const [role, ...given] = process.argv.slice(2)
// Without the measuring process nobody needs the others.
if (role !== undefined) process.once('disconnect', () => process.exit())
if (role === 'stranger') await stranger()
else if (role === 'app') await app(Number(given[0]))
else await measure()

async function stranger(): Promise<void> {
  const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 }).message(
    'describe',
    ({ data }) => description(String(data))
  )
  await service.listen()
  process.send?.(service.address?.port)
}

function description(id: string) {
  const own = id.slice(-20)
  const nameOf = (n: number, length: number) => `${own} ${n} ${HOSTILE}`.padEnd(length, 'x')
  return {
    name: own + LONG,
    version: own + LONG,
    status: own + LONG,
    transports: [{ transport: own + LONG, unavailable: own + LONG }],
    handlers: Array.from({ length: PATTERNS }, (_, n) => ({
      kind: 'message',
      patterns: [{ kind: 'exact', pattern: nameOf(n, n % 40 === 39 ? 5_000 : 500) }],
      data: { type: 'object', title: nameOf(n, 1_000) }
    }))
  }
}

async function app(port: number): Promise<void> {
  const plain = connect({ host: '127.0.0.1', port })
  const answered = new Set<string>()
  // As over an engine, so that the question has the name of the service.
  const client = new Proxy(plain, {
    get(target, name) {
      if (name === INSIDE) return { traits: { ...tcp().traits, shares: 'engine' }, durable: undefined }
      if (name !== 'request') return Reflect.get(target, name)
      return async (route: string) => {
        const answer = await target.request('describe', route, { timeout: 60_000 })
        answered.add(route)
        return answer
      }
    }
  })
  let services: Record<string, UntypedClient> = {}
  const { url } = await listen(
    newApp().use(
      consolePage({ services: () => services, interval: 1_000, watchUntil: new AbortController().signal })
    )
  )
  process.on('message', async (message) => {
    if (message === 'services') {
      services = Object.fromEntries(
        // Every tenth name is too long to be shown.
        Array.from({ length: SERVICES }, (_, n) => [
          `${HOSTILE}${(n % 10 === 9 ? LONG : '').padEnd(250, 'long')} ${n}`,
          client as UntypedClient
        ])
      )
      while (answered.size < WATCHED) await pause(100)
    }
    for (let n = 0; n < 3; n++) {
      ;(globalThis as { Bun?: { gc(isSync: boolean): void } }).Bun?.gc(true)
      await pause(SETTLED / 3)
    }
    process.send?.(process.memoryUsage().rss / MIB)
  })
  process.send?.(`${url}/console`)
}

async function measure(): Promise<void> {
  const children: ChildProcess[] = []
  const start = async <Where>(...args: string[]) => {
    const child = fork(fileURLToPath(import.meta.url), args)
    children.push(child)
    return { child, where: (await once(child, 'message'))[0] as Where }
  }
  try {
    const strangers = await start<number>('stranger')
    const page = await start<string>('app', String(strangers.where))
    const memory = async (message: string) => {
      const answer = once(page.child, 'message')
      page.child.send(message)
      const mebibytes = ((await answer)[0] as number).toFixed()
      process.stderr.write(`${message}: ${mebibytes} MiB\n`)
      return mebibytes
    }
    const empty = await memory('nothing')
    await fillTraces(page.where)
    const traces = await memory('traces')
    const all = await memory('services')
    write(
      `The app has ${empty} MiB at first, ${traces} MiB with all the traces it keeps (20,000 spans), and ${all} MiB with 10,000 services too, of which it asks 1,000: each has 160 patterns of 500 characters, with schemas of 1,000 (on Bun). ${await measureClicks(page.where)}\n`
    )
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
}

async function fillTraces(url: string): Promise<void> {
  const hex = (n: number, length: number) => n.toString(16).padStart(length, '0')
  const attributes = (n: number) =>
    Array.from({ length: ATTRIBUTES }, (_, index) => ({
      key: `${n} ${index} ${LONG}`,
      // Short enough for twenty thousand spans to have twenty million characters.
      value: { stringValue: index === 0 ? `${n}${LONG}` : '' }
    }))
  for (let n = 0; n < SPANS; n += BATCH)
    await sendSpans(
      url,
      `${n}${LONG}`,
      Array.from({ length: BATCH }, (_, index) => ({
        traceId: hex(1 + Math.floor((n + index) / SPANS_OF_TRACE), 32),
        spanId: hex(1 + n + index, 16),
        name: `${n + index}${LONG}`,
        kind: 4,
        startTimeUnixNano: `${Date.now()}000000`,
        endTimeUnixNano: `${Date.now() + 5}000000`,
        status: { code: 2, message: `${n + index}${LONG}` },
        attributes: attributes(n + index).slice(0, index % 2 === 0 ? 1 : 2)
      }))
    )
}

/** Measures the time from a click to the second picture after the screen has come. */
async function measureClicks(url: string): Promise<string> {
  const browser = await openBrowser()
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    await page.goto(`${url}#/services`)
    await page.getByText('services are too many to be watched').waitFor({ timeout: 120_000 })
    await pause(SETTLED)
    const all: { readonly screen: string; readonly times: number[] }[] = []
    for (const screen of SCREENS) all.push({ screen, times: [] })
    for (let n = 0; n < CLICKS; n++)
      for (const { screen, times } of all) times.push(await timeOf(page, screen))
    const heap = await page.evaluate<number>('performance.memory.usedJSHeapSize')
    const each = all.map(({ screen, times }) => {
      const sorted = times.sort((one, other) => one - other)
      return `${screen} ${(sorted[CLICKS / 2] as number).toFixed()} (${(sorted.at(-1) as number).toFixed()})`
    })
    return `Milliseconds from a click on a screen of the page until Chromium has drawn it then, median and most of ${CLICKS}, on ${availableParallelism()} cores with a load of ${loadavg()[0]?.toFixed(1)}: ${each.join(', ')}. Its heap has ${(heap / MIB).toFixed()} MiB.`
  } finally {
    await browser.close()
  }
}

async function timeOf(page: Page, screen: string): Promise<number> {
  const time = await page.evaluate<number>(`new Promise((resolve) => {
    const link = [...document.querySelectorAll('nav[aria-label=Screens] a')].find((each) => each.textContent.trim().startsWith('${screen}'))
    const begin = performance.now()
    link.click()
    const look = () => {
      if (link.getAttribute('aria-current') !== 'page') return requestAnimationFrame(look)
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begin)))
    }
    requestAnimationFrame(look)
  })`)
  // Between two updates of the page, by chance.
  await pause(200 + 1_000 * Math.random())
  return time
}

function write(text: string): void {
  const file = join(rootFolder, 'docs/observability.md')
  const [begin, end] = ['<!-- bounds: written by tests/console/run-bounds.ts -->\n', '<!-- /bounds -->']
  const [before, rest] = readFileSync(file, 'utf8').split(begin) as [string, string]
  writeFileSync(file, `${before}${begin}${text}${rest.slice(rest.indexOf(end))}`)
  process.stderr.write(text)
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
