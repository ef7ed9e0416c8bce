/** Services that `elysia-microservices dev` starts from its arguments, and the page that shows them. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { freePort, isMissing, until } from '@elysia-microservices/test-support'
import { consoleOf, toldTo } from '../support/console-page.ts'
import { natsFolder, natsMissing } from '../support/nats-server.ts'
import { DevProcess, Project } from './dev-process.ts'
import { config, idle, keeping, nestService, overGrpc, service, web } from './programs.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function start(
  files: Readonly<Record<string, string>>,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {}
) {
  const project = new Project(files)
  const dev = new DevProcess(project, { args, env })
  ends.push(
    () => project.remove(),
    () => dev.endAnyway()
  )
  return dev
}

/** Checks whether the page shows services with their patterns. */
function showing(...names: string[]): (update: object) => true | undefined {
  return (update) => {
    const text = JSON.stringify(update)
    return names.every((name) => text.includes(`"pattern":"${name}.version"`)) || undefined
  }
}

describe('the page of dev', () => {
  it('shows all services that listen, without any code in them, and closes with dev', async () => {
    const [stock, orders, payments] = [await freePort(), await freePort(), await freePort()]
    const [bills, quotes] = [await freePort(), await freePort()]
    const dev = start(
      {
        'microservices.config.ts': config({
          page: { port: 0 },
          services: {
            stock: 'stock.js',
            orders: 'orders.js',
            payments: 'payments.js',
            bills: 'bills.js',
            quotes: 'quotes.js'
          }
        }),
        'bills.js': keeping('bills', bills),
        'quotes.js': overGrpc('quotes', quotes),
        'stock.js': service('stock', stock),
        'orders.js': service('orders', orders),
        'payments.js': nestService('payments', payments)
      },
      []
    )
    await dev.says('All services are shown at http://localhost:')
    const port = dev.number(/are shown at http:\/\/localhost:(\d+)\/console$/)
    await dev.says('All services are ready')
    const at = `http://127.0.0.1:${port}`
    const [page, root] = await Promise.all([fetch(`${at}/console`), fetch(at)])
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    assert.match(await page.text(), /<!doctype html>/)
    assert.match(await root.text(), /<!doctype html>/)
    await toldTo(`${at}/console`, 'All services', showing('stock', 'orders', 'payments', 'quotes'))
    await using opened = consoleOf(`${at}/console`)
    const trial = { service: 'stock', kind: 'message', pattern: 'stock.version', data: null } as const
    const { value: tried } = await opened.stream('try', trial).next()
    assert.match(JSON.stringify(tried), /v1/)
    const ask = (action: string) => opened.request('ask.programs', { name: 'stock', action })
    await ask('stop')
    await dev.says('stock is stopped until it is started on the page')
    assert.match(JSON.stringify(await ask('lines')), /stock v1 is process/)
    assert.match(JSON.stringify(await ask('environment')), /OTEL_SERVICE_NAME","stock/)
    await ask('start')
    await dev.says('stock is restarted: asked for on the page')
    await until('it is ready again', () => dev.count('stock is ready') === 2)
    // Events that only their process has.
    const events = (action: string, more: object = {}) =>
      opened.request('ask.events', { action, service: 'bills', group: 'bills', ...more })
    await until('an event is a dead letter', async () => /no tea/.test(JSON.stringify(await events('list'))))
    assert.match(JSON.stringify(await events('list')), /"publishedAt":\d+/)
    assert.match(JSON.stringify(await events('waiting')), /"pattern":"bills.later","id":"one","at":\d+/)
    const one = { pattern: 'bills.later', id: 'one' }
    assert.deepEqual(await events('cancel', one), { done: 1 })
    assert.deepEqual(await events('cancel', one), { done: 0 })
    assert.deepEqual(await events('discard', { positions: 'all' }), { done: 1 })
    assert.deepEqual(await events('backlog'), { events: [], hasMore: false, unlisted: 0 })
    const stranger = await fetch(`${at}/console`, { headers: { origin: 'http://evil.test' } })
    assert.equal(stranger.status, 403)
    await stranger.body?.cancel()
    assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
    await dev.leavesNothing([], [port, stock, orders, payments, bills, quotes])
  })
})

describe('the page of dev, over an engine', () => {
  if (!isMissing('NATS of dev', natsMissing()))
    it('shows services by their names, although all share the engine, and few lines tell that it was lost', async () => {
      const over = (name: string) => `import { nats } from '@elysia-microservices/nats'
import { microservice } from 'elysia-microservices'
const service = microservice({ name: '${name}', transport: nats({ url: process.env.NATS_URL }), shutdownOn: ['SIGTERM'] })
  .message('${name}.version', () => 'v1')
await service.listen()
`
      const files = {
        'microservices.config.ts': config({
          page: { port: 0 },
          engines: { nats: { port: 0 } },
          services: { one: 'stock.js', two: 'orders.js' }
        }),
        'stock.js': over('stock'),
        'orders.js': over('orders')
      }
      const dev = start(files, [], { PATH: `${await natsFolder()}:${process.env['PATH']}` })
      await dev.says('All services are ready')
      const port = dev.number(/are shown at http:\/\/localhost:(\d+)\/console$/)
      const at = `http://127.0.0.1:${port}/console`
      await toldTo(at, 'Both services', showing('stock', 'orders'))
      const engine = await toldTo(at, 'The engine', (update) =>
        'topics' in update
          ? update.topics.programs?.programs.find(({ name }) => name === 'nats')?.pid
          : undefined
      )
      process.kill(engine, 'SIGKILL')
      await dev.says('nats answers again after')
      await toldTo(at, 'Both services again', showing('stock', 'orders'))
      assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
      const from = dev.log.lines.findIndex((line) => line.includes('nats has crashed with SIGKILL'))
      const told = dev.log.lines.slice(
        from,
        dev.log.lines.findIndex((line) => line.includes('SIGINT'))
      )
      assert.ok(told.length <= 5, told.join('\n'))
      await dev.leavesNothing([], [port])
    })
})

describe('dev finds', () => {
  it('files named on the command line, under the names of the files or their folders', async () => {
    const [one, other] = [await freePort(), await freePort()]
    const dev = start({ 'stock/src/index.js': service('stock', one), 'web.js': web(other) }, [
      '--no-page',
      'stock/src/index.js',
      'web.js'
    ])
    await dev.says('All services are ready')
    assert.deepEqual([dev.count('stock is ready'), dev.count('web is ready')], [1, 1])
  })

  it('workspaces with a script dev', async () => {
    const port = await freePort()
    const dev = start(
      {
        'package.json': JSON.stringify({
          name: 'project',
          type: 'module',
          workspaces: ['apps/*'],
          scripts: { dev: 'elysia-microservices dev' }
        }),
        'apps/stock/package.json': JSON.stringify({
          name: '@shop/stock',
          scripts: { dev: `"${process.execPath}" stock.mjs` }
        }),
        'apps/stock/stock.mjs': service('stock', port),
        'apps/none/package.json': JSON.stringify({ name: 'none' })
      },
      ['--no-page']
    )
    await dev.says('stock | stock v1 is process')
    await dev.says('All services are ready')
    const pid = dev.number(/is process (\d+)/)
    assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
    await dev.leavesNothing([pid], [port])
  })

  it('only the services that are asked for', async () => {
    const dev = start(
      {
        'microservices.config.js': config({
          services: {
            one: { entry: 'idle.js', ready: false },
            two: { entry: 'idle.js', ready: false, after: ['one'] }
          }
        }),
        'idle.js': idle()
      },
      ['--no-page', '--only', 'two']
    )
    await dev.says('two | idle is process')
    assert.equal(dev.count('one'), 0)
  })

  const wrong: readonly (readonly [
    what: string,
    args: readonly string[],
    config: string | undefined,
    says: RegExp
  ])[] = [
    [
      'nothing',
      [],
      undefined,
      /There are no services in .*: name their files \(elysia-microservices dev src\/orders\.ts/
    ],
    ['no such file', ['web.ts'], undefined, /There is no file web\.ts$/],
    [
      'no such service',
      ['--only', 'stok'],
      config({ services: { stock: 'a.js' } }),
      /no service stok; did you mean stock\?$/
    ],
    [
      'a service that needs none such',
      [],
      config({ services: { stock: { entry: 'a.js', after: ['web'] } } }),
      /config\.services\.stock\.after: there is no service web; there are stock$/
    ],
    [
      'services that wait for each other',
      [],
      config({ services: { a: { entry: 'a.js', after: ['b'] }, b: { entry: 'b.js', after: ['a'] } } }),
      /a, b wait for each other/
    ],
    [
      'an unknown option',
      [],
      config({ servces: {} }),
      /config\.servces is not an option; did you mean config\.services\?$/
    ],
    ['a broken configuration', [], 'export default {', /microservices\.config\.ts cannot be read: /],
    ['no default export', [], 'export const a = 1', /microservices\.config\.ts has no default export/],
    ['a file that is gone', [], config({ services: { stock: 'a.js' } }), /stock: there is no file .*a\.js$/],
    ['an unknown flag', ['--onyl', 'a'], undefined, /--onyl.*see --help$/]
  ]
  for (const [what, args, text, says] of wrong)
    it(`${what}, and says what to do`, async () => {
      const dev = start(text === undefined ? {} : { 'microservices.config.ts': text }, args)
      assert.equal(await dev.ended(), 2)
      assert.match(dev.errors.lines.join('\n'), says)
      await dev.leavesNothing([], [])
    })
})
