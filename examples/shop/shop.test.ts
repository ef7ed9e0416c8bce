/** The whole shop as its customers see it, while one of its services is killed. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { freePort, isMissing, isOnPush } from '@elysia-microservices/test-support'
import { treaty } from '@elysiajs/eden'
import { follow } from './page/follow.ts'
import type { App } from './services/gateway.ts'
import type { Order } from './services/orders.ts'

/** Milliseconds until a step counts as failed. Steps have no other time limit. */
const PATIENCE = 60_000
const [ORDERS, KILLS] = isOnPush ? [20, 1] : [60, 3]

/** The PostgreSQL helper of the outbox's tests, found by its path in the repository. */
interface Database {
  database(): Promise<string>
  stop(): Promise<void>
}

/** A NATS server for tests, without events of an earlier run. */
interface Broker {
  readonly url: string
  stop(): Promise<void>
}

const root = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../..' : '../../..', import.meta.url))

async function startDatabase(): Promise<Database> {
  const program = pathToFileURL(join(root, 'packages/outbox/dist/testing/postgres-server.js')).href
  const { PostgresServer } = (await import(program)) as { PostgresServer: { start(): Promise<Database> } }
  return PostgresServer.start()
}

const support = (file: string) => import(pathToFileURL(join(root, 'tests/dist/support', file)).href)
const { NatsServerProcess, natsMissing } = (await support('nats-server.js')) as {
  NatsServerProcess: { start(...args: string[]): Promise<Broker> }
  natsMissing(): string | undefined
}

describe('the shop', { skip: isMissing('The shop', natsMissing()) }, () => {
  let shop: ChildProcess
  let database: Database
  let broker: Broker
  const folder = mkdtempSync(join(tmpdir(), 'shop-'))
  let url = ''
  /** The id of the newest process of each service. */
  const processes = new Map<string, number>()

  before(async () => {
    database = await startDatabase()
    broker = await NatsServerProcess.start('-js', '-sd', folder)
    const ports = { PORT: '', ORDERS_PORT: '', STOCK_PORT: '' }
    for (const name of Object.keys(ports)) ports[name as keyof typeof ports] = String(await freePort())
    url = `http://127.0.0.1:${ports.PORT}`
    shop = spawn(process.execPath, [join(root, 'tools/cli/lib/main.js'), 'dev', '--no-page'], {
      // Under Node the programs and the configuration run in compiled form.
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      env: { ...process.env, ...ports, DATABASE_URL: await database.database(), NATS_URL: broker.url },
      stdio: ['ignore', 'pipe', 'inherit']
    })
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => {
        reject(
          new Error(
            `Only these services of the shop are ready: ${[...processes.keys()].join(', ') || 'nothing'} is ready`
          )
        )
      }, PATIENCE)
      createInterface(shop.stdout!).on('line', (line) => {
        const [, name, pid] = /^dev +\| (\w+) is ready after .* \(process (\d+)/.exec(line) ?? []
        if (name !== undefined) processes.set(name, Number(pid))
        if (!line.endsWith('| All services are ready')) return
        clearTimeout(late)
        resolve()
      })
      shop.once('exit', (code) => reject(new Error(`The shop has ended with ${code}`)))
    })
  })
  after(async () => {
    shop.kill('SIGTERM')
    await once(shop, 'exit')
    await Promise.all([database.stop(), broker.stop()])
    rmSync(folder, { recursive: true })
  })

  const get = (path: string) => fetch(url + path, { signal: AbortSignal.timeout(PATIENCE) })
  const place = async (order: object) => {
    const response = await fetch(`${url}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(order)
    })
    return { status: response.status, body: await response.json() }
  }
  /** Reads the progress of an order to its end. */
  const stepsOf = async (id: string) => {
    const text = await (await get(`/orders/${id}/progress`)).text()
    assert.match(text, /event: end/)
    return [...text.matchAll(/^data: \{"step":"(\w+)"\}$/gm)].map(([, step]) => step)
  }
  const left = async (sku: string) => ((await (await get(`/stock/${sku}`)).json()) as { left: number }).left

  it('completes an order, and reports its steps', async () => {
    assert.deepEqual(await place({ id: 'first', sku: 'tea', count: 2 }), {
      status: 202,
      body: { id: 'first' }
    })
    assert.deepEqual(await stepsOf('first'), ['placed', 'reserved', 'paid', 'shipped'])
    assert.equal(await left('tea'), 9_998)
  })

  it('accepts an order that is sent twice only once', async () => {
    await place({ id: 'first', sku: 'tea', count: 2 })
    await stepsOf('first')
    assert.equal(await left('tea'), 9_998)
  })

  it('refuses articles that are sold out, and invalid orders', async () => {
    await place({ id: 'much', sku: 'cake', count: 3 })
    const text = await (await get('/orders/much/progress')).text()
    assert.match(
      text,
      /^data: \{"step":"placed"\}\n\nevent: error\ndata: \{"code":"OUT_OF_STOCK",.*"details":\{"left":2\}\}/
    )
    assert.equal(await left('cake'), 2)
    assert.equal((await place({ id: 'bad', sku: 'tea', count: 0 })).status, 422)
    assert.equal((await get('/stock/air')).status, 404)
    assert.equal((await get('/orders/none/progress')).status, 404)
  })

  it('has a page that shows how much is left', async () => {
    assert.match(await (await get('/')).text(), /<h1>Shop/)
    assert.match(await (await get('/page.js')).text(), / left/)
    const api = treaty<App>(url)
    const linesOf = async (order: Order) => {
      const lines: string[] = []
      for await (const line of follow(api, order)) lines.push(line)
      return lines
    }
    assert.deepEqual(await linesOf({ id: 'page', sku: 'cake', count: 5 }), ['placed', 'Sorry: 2 left'])
    assert.deepEqual(await linesOf({ id: 'air', sku: 'air', count: 1 }), ['placed', 'Sorry: There is no air'])
    assert.deepEqual(await linesOf({ id: 'paid', sku: 'cake', count: 1 }), [
      'placed',
      'reserved',
      'paid',
      'shipped'
    ])
  })

  it('documents its routes', async () => {
    const { paths } = (await (await get('/openapi/json')).json()) as { paths: object }
    assert.ok(Object.keys(paths).includes('/orders'))
  })

  it('loses no order and duplicates none while stock is killed again and again', async () => {
    const before = await left('tea')
    const ids = Array.from({ length: ORDERS }, (_, n) => `order-${n}`)
    const ends: Promise<(string | undefined)[]>[] = []
    for (const [n, id] of ids.entries()) {
      assert.equal((await place({ id, sku: 'tea', count: 1 })).status, 202)
      ends.push(stepsOf(id))
      if (n % Math.floor(ORDERS / KILLS) === 1) {
        const victim = processes.get('stock')!
        process.kill(victim, 'SIGKILL')
        // Waits for the new process, so that the same process is not killed twice.
        while (processes.get('stock') === victim) await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    for (const steps of await Promise.all(ends))
      assert.deepEqual(steps, ['placed', 'reserved', 'paid', 'shipped'])
    assert.equal(before - (await left('tea')), ORDERS)
    const { orders, charged } = (await (await get('/payments')).json()) as { orders: number; charged: number }
    assert.deepEqual([orders, charged], [ORDERS + 2, 3 * (ORDERS + 3)])
  })
})
