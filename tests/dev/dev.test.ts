/** `elysia-microservices dev` with real services: how they start, are edited, crash, and end. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { freePort, until } from '@elysia-microservices/test-support'
import { connect } from 'elysia-microservices/client'
import { type DevOptions, DevProcess, isRunning, Project } from './dev-process.ts'
import { config, idle, service, web } from './programs.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function start(files: Readonly<Record<string, string>>, options?: DevOptions) {
  const project = new Project(files)
  const dev = new DevProcess(project, options)
  ends.push(
    () => project.remove(),
    () => dev.endAnyway()
  )
  return { project, dev }
}

describe('dev', () => {
  it('starts services in order, prefixes lines with their names, and ends all of them', async () => {
    const [stock, http] = [await freePort(), await freePort()]
    const { dev } = start({
      'microservices.config.ts': config({
        services: { web: { entry: 'web.js', after: ['stock'] }, stock: 'stock.js' }
      }),
      'stock.js': service('stock', stock),
      'web.js': web(http, `console.log('\\u001b[32mgreen\\u001b[0m', process.env['FORCE_COLOR'] ?? 'plain')`)
    })
    await dev.says('All services are ready')
    const lines = dev.log.lines
    const at = (text: string) => lines.findIndex((line) => line.includes(text))
    assert.ok(at('stock | stock v1') < at('dev   | stock is ready after'), lines.join('\n'))
    assert.ok(at('dev   | stock is ready after') < at('web   | web is process'), lines.join('\n'))
    assert.ok(lines.includes('web   | green plain'), lines.join('\n'))
    assert.ok(at(`port ${stock})`) > 0 && at(`port ${http})`) > 0, lines.join('\n'))
    const processes = [dev.number(/stock v1 is process (\d+)/), dev.number(/web is process (\d+)/)]
    assert.equal(await dev.end('SIGINT'), 0, lines.join('\n'))
    assert.ok(at("SIGTERM: The service 'stock' stops") > 0, lines.join('\n'))
    assert.equal(lines.at(-1), 'dev   | All have ended')
    await dev.leavesNothing(processes, [stock, http])
  })

  it('restarts a service whose files are edited, and no other service', async () => {
    const [stock, http] = [await freePort(), await freePort()]
    const { project, dev } = start({
      'microservices.config.ts': config({ services: { stock: 'src/stock.js', web: 'src/web.js' } }),
      'src/stock.js': `import './text.js'\n${service('stock', stock)}`,
      'src/text.js': "console.log('text 1')",
      'src/web.js': web(http)
    })
    await dev.says('All services are ready')
    project.write('src/text.js', "console.log('text 2')")
    await dev.says('stock is restarted: src/text.js was edited')
    await dev.says('stock | text 2')
    await until('it is ready again', () => dev.count('stock is ready') === 2)
    project.write('src/stock.js', service('stock', stock, 'v2'))
    await dev.says('stock | stock v2 is process')
    assert.equal(dev.count('web is process'), 1)
    assert.equal(dev.count('The service'), 4, 'it drains before it is restarted')
  })

  it('restarts a service that is killed', async () => {
    const port = await freePort()
    const { dev } = start({ 'stock.js': service('stock', port) }, { args: ['--no-page', 'stock.js'] })
    await dev.says('All services are ready')
    process.kill(dev.number(/is process (\d+)/), 'SIGKILL')
    await dev.says('stock has crashed with SIGKILL')
    await until('it is ready again', () => dev.count('stock is ready') === 2)
    const client = connect({ host: '127.0.0.1', port })
    ends.push(() => client.close())
    assert.equal(await client.request('stock.version'), 'v1')
    const last = dev.number(/is process (\d+)/)
    assert.equal(await dev.end('SIGTERM'), 0)
    await dev.leavesNothing([last], [port])
  })

  it('gives each service a file for durable events, unless the user has named one', async () => {
    const files = {
      'package.json': JSON.stringify({
        type: 'module',
        dependencies: { '@elysia-microservices/sqlite': '0.0.0' }
      }),
      'one.js': idle("console.log('events are in', process.env['EVENTS_FILE'])")
    }
    const args = ['--no-page', 'one.js']
    const { project, dev } = start(files, { args })
    await dev.says(
      'dev | Durable events are kept in files, .elysia-microservices/<service>.db; set EVENTS_FILE to use another'
    )
    await dev.says(`one | events are in ${project.folder}/.elysia-microservices/one.db`)
    const { dev: other } = start(files, { args, env: { EVENTS_FILE: 'mine.db' } })
    await other.says('one | events are in mine.db')
    assert.equal(other.count('Durable events'), 0)
  })

  it('reports a service that crashes at its start, restarts it after a pause, and at once after an edit', async () => {
    const port = await freePort()
    const { project, dev } = start(
      { 'web.js': "throw new Error('no settings')" },
      { args: ['--no-page', 'web.js'] }
    )
    await dev.says('web has crashed with code 1 after ')
    await dev.says('rror: no settings (web.js:1); next start in 0.5 s, or at an edit')
    await dev.says('next start in 1 s')
    project.write('web.js', web(port))
    await dev.says('All services are ready')
  })

  it('tells a syntax error by its line and place, once, and starts the service at the next edit', async () => {
    const port = await freePort()
    const { project, dev } = start({
      'microservices.config.js': config({ services: { web: { entry: 'src/web.js', runtime: 'node' } } }),
      'src/web.js': "import './part.js'",
      'src/part.js': 'export const one = 1\nconst two = ;'
    })
    await dev.says(
      "dev | web cannot run: src/part.js:2:13: SyntaxError: Unexpected token ';'; an edit of one of its files starts it"
    )
    project.write('src/part.js', web(port))
    await dev.says('All services are ready')
    assert.equal(dev.count('next start'), 0)
    assert.equal(dev.count('web | ') - dev.count('web | web is process'), 0, dev.log.lines.join('\n'))
  })

  it('reports a missing package', async () => {
    const { dev } = start({ 'web.js': "import 'no-such-package'" }, { args: ['--no-page', 'web.js'] })
    await dev.says("no-such-package is not installed: install the project's packages; next start")
  })

  it('reports a service that never listens, and starts the next ones', async () => {
    const { dev } = start({
      'microservices.config.js': config({
        patience: 50,
        services: { idle: 'idle.js', next: { entry: 'next.js', after: ['idle'], ready: false } }
      }),
      'idle.js': idle(),
      'next.js': idle("console.log('next runs')")
    })
    await dev.says(
      'idle is not ready after 0.05 s: it listens on no port; if it never listens, set ready: false in microservices.config.ts'
    )
    await dev.says('next is started (process ')
    await dev.says('next | next runs')
  })

  it('requests the url that tells whether a service is ready', async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/`
    const { dev } = start({
      'microservices.config.js': config({
        services: {
          web: { entry: 'web.js', ready: url },
          next: { entry: 'next.js', after: ['web'], ready: false }
        }
      }),
      'web.js': web(port),
      'next.js': idle(`console.log(await (await fetch('${url}')).text())`)
    })
    await dev.says('web is ready after')
    await dev.says('next | hello')
  })

  it('sets a health port, which does not make a service ready before it listens', async () => {
    const [port, probes] = [await freePort(), await freePort()]
    const text = `import { health } from '@elysia-microservices/telemetry'
import { microservice } from 'elysia-microservices'
const service = microservice({ name: 'stock', transport: 'tcp', port: ${port}, shutdownOn: ['SIGTERM'] })
  .use(health({ port: ${probes} }))
while (!(await fetch('http://127.0.0.1:${probes}/livez').catch(() => undefined))?.ok)
  await new Promise((go) => setTimeout(go, 10))
console.log('its readiness is', (await fetch('http://127.0.0.1:${probes}/readyz')).status)
setTimeout(() => service.listen(), 200)
`
    const { dev } = start({ 'stock.js': text }, { args: ['--no-page', 'stock.js'] })
    await dev.says('All services are ready')
    const lines = dev.log.lines.join('\n')
    assert.match(lines, /its readiness is 503/)
    const [, pid] = /process (\d+)/.exec(lines) ?? []
    assert.ok(lines.includes(`(process ${pid}, port ${probes} for health, port ${port})`), lines)
  })

  it('reports a port that is taken, and by which of its services', async () => {
    const port = await freePort()
    const { dev } = start({
      'microservices.config.js': config({
        services: { stock: 'stock.js', web: { entry: 'web.js', after: ['stock'] } }
      }),
      'stock.js': service('stock', port),
      'web.js': service('web', port)
    })
    await dev.says(
      `port ${port} is taken by stock; end what listens there, or choose another port; next start`
    )
  })

  it('reports a port that is taken by another program', async () => {
    const server = net.createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    ends.push(() => server.close())
    const { port } = server.address() as net.AddressInfo
    const { dev } = start({ 'web.js': web(port) }, { args: ['--no-page', 'web.js'] })
    await dev.says(`port ${port} is taken; end what listens there, or choose another port; next start`)
  })

  it('reports this for an HTTP server on Node, although Elysia’s adapter drops the error', async () => {
    const server = net.createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    ends.push(() => server.close())
    const { port } = server.address() as net.AddressInfo
    const open = await freePort()
    const app = (plugins: string, at = port) => `import { node } from '@elysiajs/node'
import { websocket } from '@elysia-microservices/websocket'
import { Elysia } from 'elysia'
import { memory, microservice } from 'elysia-microservices'
const service = (options) => microservice(options).message('shop.items', () => ['tea'])
new Elysia({ adapter: node() })${plugins}.listen({ hostname: '127.0.0.1', port: ${at} })
`
    const door = ".use(service()).use(websocket({ expose: ['shop.*'] }))"
    const { dev } = start({
      'microservices.config.js': config({
        services: Object.fromEntries(
          ['gateway', 'other', 'door', 'both', 'open'].map((name) => [
            name,
            { entry: `${name}.js`, runtime: 'node', ...(name === 'other' && { ready: false }) }
          ])
        )
      }),
      'gateway.js': app(''),
      // The service has other work that keeps it running, and the adapter handles the signal.
      'other.js': `${app('')}${idle("process.once('SIGTERM', () => process.exit())")}`,
      'door.js': app(door),
      'both.js': `${app('')}await service({ transport: memory() }).listen()`,
      'open.js': app(door, open)
    })
    const advice = `port ${port} is taken; end what listens there, or choose another port`
    for (const [name, how] of [
      ['gateway', 'ended with code 0'],
      // A service of the app has announced itself.
      ['door', 'crashed with code 1'],
      ['both', 'ended with code 0']
    ] as const) {
      await dev.says(`dev     | ${name} has ${how}`)
      const line = dev.log.lines.find((each) => each.includes(`${name} has `)) ?? ''
      assert.ok(line.endsWith(`, before it was ready: ${advice}; next start in 0.5 s, or at an edit`), line)
      assert.equal(dev.count(`${name} is ready`), 0)
    }
    await dev.says(`other runs, but ${advice}; an edit restarts it`)
    // Its service has announced itself before the port of the app was open.
    await dev.says('open is ready after')
    assert.equal(dev.count(`, port ${open})`), 1, dev.log.lines.join('\n'))
    assert.equal(dev.count('door    | '), 0, dev.log.lines.join('\n'))
  })

  it('starts the services after one that crashes again and again', async () => {
    const { dev } = start({
      'microservices.config.js': config({
        // Shorter than the pause before the third start of the service.
        patience: 600,
        services: { web: 'web.js', next: { entry: 'next.js', after: ['web'], ready: false } }
      }),
      'web.js': "throw new Error('no settings')",
      'next.js': idle()
    })
    await dev.says('web has crashed with code 1 after ')
    await dev.says(', before it was ready: ')
    await dev.says('next start in 0.5 s, or at an edit')
    await dev.says('next is started (process ')
    assert.equal(dev.count('All services are ready'), 0)
  })

  it('reports that its configuration was edited', async () => {
    const text = config({ services: { idle: { entry: 'idle.js', ready: false } } })
    const { project, dev } = start({ 'microservices.config.ts': text, 'idle.js': idle() })
    await dev.says('All services are ready')
    project.write('microservices.config.ts', `${text}// edited`)
    await dev.says('microservices.config.ts was edited: start dev again')
  })

  it('does not restart a program that has ended by itself', async () => {
    const { project, dev } = start({ 'once.js': "console.log('done')" }, { args: ['--no-page', 'once.js'] })
    await dev.says('once has ended with code 0; an edit of one of its files starts it again')
    project.write('once.js', "console.log('done twice')")
    await dev.says('done twice')
  })

  it('prints in one line why a service has crashed that was to end anyway', async () => {
    const { dev } = start({
      'microservices.config.js': config({ services: { idle: { entry: 'idle.js', ready: false } } }),
      'idle.js': idle(
        "process.on('SIGTERM', () => {\n  throw new Error('no way')\n})\nconsole.log('it runs')"
      )
    })
    await dev.says('it runs')
    assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
    const last = dev.log.lines.slice(dev.log.lines.findIndex((line) => line.includes('are stopped')) + 1)
    assert.equal(last.length, 2, last.join('\n'))
    assert.match(
      last[0] ?? '',
      /^dev {2}\| idle has crashed with code 1 after [\d.]+ s: [Ee]rror: no way \(idle\.js:4\)$/
    )
    assert.equal(last[1], 'dev  | All have ended')
  })

  it('kills a service that does not end, and reports it', async () => {
    const { dev } = start({
      'microservices.config.js': config({
        grace: 50,
        services: { idle: { entry: 'idle.js', ready: false } }
      }),
      'idle.js': idle("process.on('SIGTERM', () => console.log('not yet'))\nconsole.log('it runs')")
    })
    await dev.says('it runs')
    const pid = dev.number(/is process (\d+)/)
    assert.equal(await dev.end(), 1)
    assert.ok(dev.log.lines.includes('dev  | idle had to be killed: it did not end by itself'))
    await dev.leavesNothing([pid], [])
  })

  it('kills everything at a second Ctrl-C', async () => {
    const { dev } = start({
      'microservices.config.js': config({
        grace: 600_000,
        services: { idle: { entry: 'idle.js', ready: false } }
      }),
      'idle.js': idle("process.on('SIGTERM', () => console.log('not yet'))\nconsole.log('it runs')")
    })
    await dev.says('it runs')
    const pid = dev.number(/is process (\d+)/)
    dev.child.kill('SIGINT')
    await dev.says('not yet')
    // A second signal that follows at once is sent by npm, and does not count as a second Ctrl-C.
    await until('it is killed', () => {
      dev.child.kill('SIGINT')
      return dev.count('SIGINT again: all programs are killed') > 0
    })
    assert.equal(await dev.ended(), 1)
    await dev.leavesNothing([pid], [])
  })

  it('ends processes that a shell command has left behind', async () => {
    const port = await freePort()
    const { dev } = start({
      'microservices.config.js': config({
        services: {
          web: { command: `"${process.execPath}" left.js & "${process.execPath}" web.js; echo over` }
        }
      }),
      'left.js': idle("console.log('left is process', process.pid)"),
      'web.js': web(port)
    })
    await dev.says('left is process')
    await dev.says('All services are ready')
    const processes = [dev.number(/left is process (\d+)/), dev.number(/web is process (\d+)/)]
    assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
    await dev.leavesNothing(processes, [port])
  })

  it('ends its services when its output is closed', async () => {
    const { dev } = start(
      { 'idle.js': idle("setInterval(() => console.log('on and on'), 1)") },
      { args: ['--no-page', 'idle.js'] }
    )
    await dev.says('on and on')
    const pid = dev.number(/is process (\d+)/)
    dev.child.stdout?.destroy()
    await dev.ended()
    await dev.leavesNothing([pid], [])
  })

  it('leaves no process when it is killed itself', async () => {
    const port = await freePort()
    const { dev } = start({ 'stock.js': service('stock', port) }, { args: ['--no-page', 'stock.js'] })
    await dev.says('All services are ready')
    const pid = dev.number(/is process (\d+)/)
    dev.child.kill('SIGKILL')
    await until('its service has ended', () => !isRunning(pid))
  })

  it('starts and stops again and again', async () => {
    const port = await freePort()
    const project = new Project({ 'stock.js': service('stock', port) })
    ends.push(() => project.remove())
    for (let n = 0; n < 3; n++) {
      const dev = new DevProcess(project, { args: ['--no-page', 'stock.js'] })
      await dev.says('All services are ready')
      const pid = dev.number(/is process (\d+)/)
      assert.equal(await dev.end(), 0)
      await dev.leavesNothing([pid], [port])
    }
  })
})
