/**
 * Measures what the console costs, and writes the table in `docs/observability.md`: five services of fifty patterns
 * in processes of their own, a thousand calls a second to each, and an app with the console, whose page is first
 * closed and then open in Chromium.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { consolePage } from '@elysia-microservices/console'
import { telemetry } from '@elysia-microservices/telemetry'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { openBrowser } from '../support/browser.ts'
import { listen, newApp } from '../support/http-app.ts'
import { rootFolder } from '../workspace.ts'

const SERVICES = 5
const PATTERNS = 50
/** Calls per second to each service. */
const RATE = 1_000
/**
 * The length of one measurement in milliseconds, and the number of measurements with the page closed and open, in
 * turn.
 */
const TIME = 10_000
const ROUNDS = 3
/** Milliseconds until the load is steady after a change. */
const SETTLED = 3_000

const [role, ...given] = process.argv.slice(2)
if (role === 'service') await serve(given[0] as string)
else if (role === 'load') load(given.map(Number))
else if (role === 'app') await app(given.map(Number))
else await measure()

async function serve(name: string): Promise<void> {
  let service = microservice({ name, transport: 'tcp', port: 0, host: '127.0.0.1', describe: true }).wrap(
    telemetry()
  )
  for (let n = 0; n < PATTERNS; n++) service = service.message(`pattern.${n}`, ({ data }) => data) as never
  await service.listen()
  answerParent(service.address?.port)
}

function load(ports: readonly number[]): void {
  const clients = ports.map((port) => connect({ host: '127.0.0.1', port, name: 'load' }))
  let n = 0
  setInterval(() => {
    for (const client of clients)
      for (let each = 0; each < RATE / 100; each++)
        client.request(`pattern.${n++ % PATTERNS}`, { n }).catch(() => {})
  }, 10)
  answerParent(0)
}

async function app(ports: readonly number[]): Promise<void> {
  const clients = ports.map((port, n) => [`service-${n}`, connect({ host: '127.0.0.1', port })] as const)
  const { url } = await listen(newApp().use(consolePage({ services: Object.fromEntries(clients) })))
  answerParent(`${url}/console`)
}

/**
 * Tells the parent process the address of this process, and on request the processor time that it has used, in
 * milliseconds.
 */
function answerParent(where: unknown): void {
  process.send?.(where)
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.({ milliseconds: (user + system) / 1_000, mebibytes: process.memoryUsage().rss / 2 ** 20 })
  })
}

interface Usage {
  readonly milliseconds: number
  readonly mebibytes: number
}

async function ask<Answer>(child: ChildProcess, isQuestion = true): Promise<Answer> {
  const answer = once(child, 'message')
  if (isQuestion) child.send('usage')
  return (await answer)[0] as Answer
}

async function measure(): Promise<void> {
  const children: ChildProcess[] = []
  const start = async <Where>(...args: string[]) => {
    const child = fork(fileURLToPath(import.meta.url), args)
    children.push(child)
    return { child, where: await ask<Where>(child, false) }
  }
  const browser = await openBrowser()
  try {
    const services: { child: ChildProcess; where: number }[] = []
    for (let n = 0; n < SERVICES; n++) services.push(await start<number>('service', `service-${n}`))
    const ports = services.map(({ where }) => String(where))
    const page = await start<string>('app', ...ports)
    await start('load', ...ports)
    /** For each process, the percentage of a core that it uses. */
    const shares = async (measured: readonly ChildProcess[]) => {
      const before = await Promise.all(measured.map((child) => ask<Usage>(child)))
      await pause(TIME)
      const after = await Promise.all(measured.map((child) => ask<Usage>(child)))
      return after.map(
        ({ milliseconds }, n) => (100 * (milliseconds - (before[n] as Usage).milliseconds)) / TIME
      )
    }
    const all = [...services.map(({ child }) => child), page.child]
    const closed: number[][] = []
    const open: number[][] = []
    for (let round = 0; round < ROUNDS; round++) {
      await pause(SETTLED)
      closed.push(await shares(all))
      const tab = await browser.newPage()
      await tab.goto(`${page.where}#/map`)
      await pause(SETTLED)
      open.push(await shares(all))
      await tab.close()
    }
    const { mebibytes } = await ask<Usage>(page.child)
    const ofService = (rounds: number[][]) => mean(rounds.flatMap((round) => round.slice(0, SERVICES)))
    const ofApp = (rounds: number[][]) => mean(rounds.map((round) => round[SERVICES] as number))
    write([
      ['a service', `${ofService(closed).toFixed(1)} %`, `${ofService(open).toFixed(1)} %`],
      ['the app with the page', `${ofApp(closed).toFixed(1)} %`, `${ofApp(open).toFixed(1)} %`]
    ])
    process.stderr.write(`The app has ${Math.round(mebibytes)} MiB\n`)
  } finally {
    await browser.close()
    for (const child of children) child.kill('SIGKILL')
  }
}

function write(rows: readonly (readonly string[])[]): void {
  const file = join(rootFolder, 'docs/observability.md')
  const [begin, end] = ['<!-- cost: written by tests/console/run-cost.ts -->\n', '<!-- /cost -->']
  const text = readFileSync(file, 'utf8')
  const table = [['of a core', 'page closed', 'page open'], ['---', '---', '---'], ...rows]
  const lines = table.map((cells) => `| ${cells.join(' | ')} |\n`).join('')
  const [before, rest] = text.split(begin) as [string, string]
  writeFileSync(file, `${before}${begin}${lines}${rest.slice(rest.indexOf(end))}`)
  process.stderr.write(lines)
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
