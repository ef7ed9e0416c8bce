/** Runs created projects: as their images would, by their script dev, and on their page. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, Log, PATIENCE, within } from '@elysia-microservices/test-support'
import { openBrowser } from '../support/browser.ts'
import { bun } from '../workspace.ts'
import { Dockerfile } from './dockerfile.ts'
import { COMMANDS, engineOf, PATH, type Runtime, succeeds, type Transport } from './made-for.ts'
import { hasEnded, Programs } from './programs.ts'

/**
 * Makes a program under Node print how many listeners for SIGTERM are left when it ends: a listener may delay the
 * end.
 */
const COUNTING =
  "--import=data:text/javascript,process.on('exit',()=>console.log(process.argv[1],'keeps',process.listenerCount('SIGTERM')))"

/** Opens the page of a project, places an order on it, and waits until the page shows the order as paid. */
export async function showsOrders(runtime: Runtime, folder: string): Promise<void> {
  const [http, tcp, health, stock] = [await freePort(), await freePort(), await freePort(), await freePort()]
  const programs = new Programs()
  const url = `http://localhost:${http}`
  const program = COMMANDS[runtime].program('web')
  const answering = (at: string) => [bun, '-e', `process.exit((await fetch('${at}')).ok ? 0 : 1)`]
  const stockCheck = answering(`http://localhost:${health}/readyz`)
  const browser = await openBrowser()
  try {
    const ports = { WEB_PORT: http, ORDERS_PORT: tcp, STOCK_PORT: stock, STOCK_HEALTH_PORT: health }
    const texts = Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)]))
    const env = { ...process.env, PATH, ...texts }
    const stockProgram = COMMANDS[runtime].program('stock-service')
    await programs.start(folder, { command: stockProgram, healthcheck: stockCheck }, env)
    await programs.start(folder, { command: program, healthcheck: answering(url) }, env)
    const page = await browser.newPage()
    page.setDefaultTimeout(PATIENCE)
    const errors: string[] = []
    page.on('pageerror', ({ message }) => errors.push(message))
    await page.goto(url)
    await page.getByRole('button', { name: 'Order' }).click()
    await page.getByText('1 tea: paid').waitFor()
    assert.deepEqual(errors, [])
    await page.close()
    const ends = await programs.stop('SIGTERM')
    assert.deepEqual(ends, Array(2).fill([0, null]), programs.log.lines.join('\n'))
  } finally {
    await browser.close()
    await programs.stop('SIGKILL')
  }
}

/** Starts the programs of a project's images on free ports, and sends requests to them. */
export async function answers(runtime: Runtime, folder: string, transport: Transport): Promise<void> {
  const [health, http, tcp] = [await freePort(), await freePort(), await freePort()]
  const [stockHealth, stock] = [await freePort(), await freePort()]
  const engine = engineOf(transport)
  const server = await engine?.start()
  const own = {
    PATH,
    HEALTH_PORT: String(health),
    STOCK_HEALTH_PORT: String(stockHealth),
    PORT: String(http),
    EVENTS_FILE: join(folder, 'images/stock/events.db'),
    ...(engine === undefined
      ? { ORDERS_PORT: String(tcp), STOCK_PORT: String(stock) }
      : { [engine.variable]: server?.url })
  }
  const programs = new Programs()
  // If one of these variables is set, Elysia's adapter for Node does not listen to signals.
  const { CI: _ci, TEST: _test, ...inherited } = process.env
  try {
    const dockerfile = new Dockerfile(folder)
    for (const name of ['stock', 'service', 'gateway']) {
      const place = join(folder, 'images', name)
      mkdirSync(place, { recursive: true })
      const image = dockerfile.image(name, place)
      assert.equal(image.user, runtime)
      assert.deepEqual(
        (readdirSync(place, { recursive: true }) as string[]).filter((file) => /^src.*\.test\./.test(file)),
        []
      )
      await programs.start(place, image, { ...inherited, ...image.env, ...own, NODE_OPTIONS: COUNTING })
    }

    const url = `http://localhost:${http}`
    const placed = await fetch(`${url}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ item: 'tea', quantity: 2 })
    })
    assert.equal(placed.status, 201)
    assert.deepEqual(await (await fetch(`${url}/orders/1`)).json(), {
      id: 1,
      item: 'tea',
      quantity: 2,
      paid: false
    })
    assert.equal((await fetch(`${url}/orders/7`)).status, 404)
    assert.match(await (await fetch(`${url}/openapi`)).text(), /<html/i)

    const client = COMMANDS[runtime].program('client')
    assert.match((await succeeds(folder, client, own)).stdout, /id: 2,[^}]*paid: true/)

    const ends = await programs.stop('SIGTERM')
    const said = programs.log.lines.join('\n')
    assert.deepEqual(
      ends,
      [
        [0, null],
        [0, null],
        [0, null]
      ],
      said
    )
    assert.match(said, /The service 'orders' has stopped after \d+ ms/)
    if (runtime === 'node') assert.match(said, /gateway\.js keeps 0$/m)
  } finally {
    await programs.stop('SIGKILL')
    await server?.stop()
  }
}

/**
 * Runs the script `dev` in a process group of its own, sends a request to the gateway, and ends the group as Ctrl-C
 * in a terminal does.
 */
export async function develops(runtime: Runtime, folder: string): Promise<void> {
  const [health, http, tcp] = [await freePort(), await freePort(), await freePort()]
  const [web, stockHealth, stock] = [await freePort(), await freePort(), await freePort()]
  const ports = {
    HEALTH_PORT: String(health),
    STOCK_HEALTH_PORT: String(stockHealth),
    STOCK_PORT: String(stock),
    PORT: String(http),
    WEB_PORT: String(web),
    ORDERS_PORT: String(tcp)
  }
  const { CI: _ci, TEST: _test, NODE_TEST_CONTEXT: _context, ...inherited } = process.env
  const [program, ...run] = COMMANDS[runtime].run
  const child = spawn(program, [...run, 'dev'], {
    cwd: folder,
    env: { ...inherited, PATH, ...ports },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const log = new Log()
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => log.add(text.trimEnd()))
  const closed = once(child, 'close')
  const said = () => log.lines.join('\n')
  try {
    await within(log.has('All services are ready'), 'The services').catch((error: Error) =>
      assert.fail(`${error.message}\n${said()}`)
    )
    const placed = await fetch(`http://localhost:${http}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ item: 'tea', quantity: 2 })
    })
    assert.equal(placed.status, 201)
    assert.match(await (await fetch(`http://localhost:${web}`)).text(), /<title>Orders/)
    assert.equal((await fetch(`http://localhost:${http}/orders/1/payment`, { method: 'POST' })).status, 202)
    await within(log.has('2 tea can go'), 'The durable event').catch((error: Error) =>
      assert.fail(`${error.message}\n${said()}`)
    )
    assert.ok(existsSync(join(folder, '.elysia-microservices/stock.db')))
    process.kill(-child.pid!, 'SIGINT')
    await within(closed, 'The end').catch((error: Error) => assert.fail(`${error.message}\n${said()}`))
    assert.match(said(), /dev {5}\| All have ended/)
    for (const port of [health, http, web, tcp, stockHealth, stock])
      await assert.rejects(fetch(`http://127.0.0.1:${port}`), `nobody listens on ${port}`)
  } finally {
    if (!hasEnded(child)) process.kill(-child.pid!, 'SIGKILL')
  }
}
