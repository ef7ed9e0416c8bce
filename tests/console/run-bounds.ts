/**
 * Measures the console at its bounds, and writes the result in `docs/observability.md`: 10,000 services of a stranger whose
 * names, patterns, codes and spans are as long and as many as they can be. How much memory the app with the page takes, on
 * Bun and on Node, and how long the page takes for a click then.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { console as consolePage } from '@elysia-microservices/console'
import { microservice } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import type { Page } from 'playwright-core'
import { openBrowser } from '../support/browser.ts'
import { listen, newApp } from '../support/http-app.ts'
import { rootFolder, testsFolder } from '../workspace.ts'
import { sendSpans } from './in-browser.ts'

const SERVICES = 10_000
/** Services that are asked; the page says that the others are too many. */
const WATCHED = 1_000
/** Of each service: more than are kept beside a thousand others, and some of them longer. */
const PATTERNS = 160
const CODES = 120
const BUCKETS = 40
/** More than are kept. */
const SPANS = 30_000
const SPANS_OF_TRACE = 20
const ATTRIBUTES = 40
const BATCH = 100
const HOSTILE = '\u202e<img src=x>'
const LONG = 'x'.repeat(5_000)
const MIB = 2 ** 20
/** Answers of each service after a change until it counts as settled: figures are the difference of two. */
const ANSWERS = { patterns: 1, calls: 1, figures: 2 }
/** Milliseconds that a runtime has to give memory back. */
const SETTLED = 5_000
/** Times that each screen is clicked. */
const CLICKS = 10
const SCREENS = ['Map', 'Traces', 'Events', 'Alerts', 'Services']

/** The parts of its description that a service sends. */
type Told = 'patterns' | 'calls' | 'figures'

const [role, ...given] = process.argv.slice(2)
if (role === 'stranger') await stranger()
else if (role === 'app') await app(Number(given[0]))
else await measureAll()

// ── the stranger's services ──────────────────────────────────────────────────────────────────────────────

async function stranger(): Promise<void> {
  let told: Told = 'patterns'
  let asked = 0
  const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 }).message(
    'describe',
    ({ data }) => description(String(data), told, ++asked)
  )
  await service.listen()
  process.on('message', (message) => {
    told = message as Told
  })
  process.send?.(service.address?.port)
}

/** Nobody is left to measure. */
if (role !== undefined) process.once('disconnect', () => process.exit())

function description(id: string, told: Told, asked: number) {
  const own = id.slice(-20)
  const nameOf = (n: number, length: number) => `${own} ${n} ${HOSTILE}`.padEnd(length, 'x')
  const all = <Made>(count: number, make: (n: number) => Made) =>
    Array.from({ length: count }, (_, n) => make(n))
  const patterns = all(PATTERNS, (n) => nameOf(n, n % 40 === 39 ? 5_000 : 500))
  const schema = (n: number) => ({ type: 'object', title: nameOf(n, 1_000) })
  return {
    name: own + LONG,
    version: own + LONG,
    status: own + LONG,
    transports: [{ transport: own + LONG, unavailable: own + LONG }],
    handlers: patterns.map((pattern, n) => ({
      kind: 'message',
      patterns: [{ kind: 'exact', pattern }],
      data: schema(n)
    })),
    ...(told !== 'patterns' && {
      callers: all(PATTERNS, (n) => ({
        from: 'client',
        caller: `${own}${n}${LONG}`,
        kind: 'message',
        transport: `${own}${LONG}`,
        pattern: `${own}${n}${LONG}`,
        count: asked,
        errors: asked,
        milliseconds: asked
      }))
    }),
    ...(told === 'figures' && {
      figures: patterns.map((pattern) => {
        const durations = {
          bounds: all(BUCKETS, (n) => (n + 1) / 1_000),
          counts: all(BUCKETS + 1, (n) => asked + n)
        }
        return {
          kind: 'message',
          pattern,
          inFlight: 1,
          outcomes: Object.fromEntries(all(CODES, (n) => [nameOf(n, 150), asked])),
          durations,
          lifetimes: durations
        }
      })
    })
  }
}

// ── the app with the page ────────────────────────────────────────────────────────────────────────────────

async function app(port: number): Promise<void> {
  const plain = connect({ host: '127.0.0.1', port, timeout: 60_000 })
  /** How often each service has answered. */
  const answers = new Map<string, number>()
  // As over an engine, so that the question has the name of the service.
  const client = new Proxy(plain, {
    get(target, name) {
      if (name === 'traits') return { ...target.traits, shares: 'engine' }
      if (name !== 'request') return Reflect.get(target, name)
      return async (route: string, _question: unknown, options: object) => {
        const answer = await target.request('describe', route, { ...options, timeout: 60_000 })
        answers.set(route, (answers.get(route) ?? 0) + 1)
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
    const told = message as Told
    if (told === 'patterns')
      services = Object.fromEntries(
        // Every tenth has a name that is too long to be shown.
        Array.from({ length: SERVICES }, (_, n) => [
          `${HOSTILE}${(n % 10 === 9 ? LONG : '').padEnd(250, 'long')} ${n}`,
          client as UntypedClient
        ])
      )
    if (told in ANSWERS) {
      answers.clear()
      const isSettled = () =>
        answers.size >= WATCHED && [...answers.values()].every((count) => count >= ANSWERS[told])
      while (!isSettled()) await pause(100)
    }
    const { Bun: bun, gc } = globalThis as { Bun?: { gc(isSync: boolean): void }; gc?: () => void }
    for (let n = 0; n < 3; n++) {
      bun?.gc(true)
      gc?.()
      await pause(SETTLED / 3)
    }
    process.send?.({
      mebibytes: process.memoryUsage().rss / MIB,
      most: process.resourceUsage().maxRSS / 1_024
    })
  })
  process.send?.(`${url}/console`)
}

// ── the measurement ──────────────────────────────────────────────────────────────────────────────────────

interface Memory {
  readonly mebibytes: number
  readonly most: number
}

async function measureAll(): Promise<void> {
  const runtimes: {
    readonly name: string
    readonly file: string
    readonly execPath: string
    readonly flags: string[]
  }[] = [
    { name: 'Bun', file: fileURLToPath(import.meta.url), execPath: process.execPath, flags: [] },
    {
      name: 'Node',
      file: join(
        testsFolder,
        'dist',
        `${relative(testsFolder, fileURLToPath(import.meta.url)).slice(0, -2)}js`
      ),
      execPath: 'node',
      flags: ['--expose-gc']
    }
  ]
  const columns: string[][] = []
  let clicks = ''
  for (const runtime of runtimes) {
    const children: ChildProcess[] = []
    const start = async <Where>(...args: string[]) => {
      const child = fork(runtime.file, args, { execPath: runtime.execPath, execArgv: runtime.flags })
      children.push(child)
      return { child, where: (await once(child, 'message'))[0] as Where }
    }
    try {
      const strangers = await start<number>('stranger')
      const page = await start<string>('app', String(strangers.where))
      const ask = async (message: string) => {
        const answer = once(page.child, 'message')
        page.child.send(message)
        const [memory] = (await answer) as [Memory]
        process.stderr.write(
          `${runtime.name} ${message}: ${memory.mebibytes.toFixed()} MiB, at most ${memory.most.toFixed()}\n`
        )
        return memory
      }
      const steps = [await ask('nothing')]
      await fillTraces(page.where)
      steps.push(await ask('traces'))
      for (const told of Object.keys(ANSWERS)) {
        strangers.child.send(told)
        steps.push(await ask(told))
      }
      columns.push([
        ...steps.map(({ mebibytes }) => mebibytes.toFixed()),
        Math.max(...steps.map(({ most }) => most)).toFixed()
      ])
      if (clicks === '') clicks = await measureClicks(page.where)
    } finally {
      for (const child of children) child.kill('SIGKILL')
    }
  }
  const rows = [
    'nothing to show',
    'traces: 20,000 spans, 20 million characters',
    `10,000 services, of which ${WATCHED.toLocaleString('en')} are asked, with patterns and schemas`,
    'and their callers: the map',
    'and their figures: the last hour',
    'the most of all the time'
  ]
  write(
    [
      '| MiB of the app with the page | Bun | Node |\n| --- | --- | --- |\n',
      ...rows.map((row, n) => `| ${row} | ${columns.map((column) => column[n]).join(' | ')} |\n`),
      `\n${clicks}\n`
    ].join('')
  )
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

/** From a click to the second picture after the screen has come. */
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
