/**
 * Projects that `create-elysia-microservices` makes, from tarballs, for each runtime. One is installed; the other, which
 * needs no more, shares what it has.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '@elysia-microservices/test-support'
import { chromiumMissing, openBrowser } from '../support/browser.ts'
import { KafkaServerProcess, kafkaMissing } from '../support/kafka-server.ts'
import { Log } from '../support/log.ts'
import { isMissing } from '../support/missing.ts'
import { MosquittoProcess, mosquittoMissing } from '../support/mosquitto-server.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { RabbitmqServerProcess, rabbitmqMissing } from '../support/rabbitmq-server.ts'
import { RedisServerProcess, redisMissing } from '../support/redis-server.ts'
import { PATIENCE, until, within } from '../support/within.ts'
import { bun, rootFolder } from '../workspace.ts'
import { Dockerfile, type Image } from './dockerfile.ts'

const run = promisify(execFile)
const LOCKS = { bun: 'bun.lock', node: 'package-lock.json', deno: 'deno.lock' }
/** The runtime that a project is made for. */
export type Runtime = keyof typeof LOCKS
/** Deno itself: a task of its own would take a link to it for a program of npm. */
const denoFolder = join(rootFolder, 'node_modules/deno')
const deno = join(denoFolder, 'deno')
/** The commands of a made project's Dockerfile and scripts, with the runtimes of this workspace. */
const PATH = `${denoFolder}:${join(bun, '..')}:${process.env['PATH']}`

/** How a project is used on each runtime, and what its tests say when all have passed. */
const COMMANDS = {
  bun: {
    run: [bun, 'run'],
    check: 'typecheck',
    test: [bun, 'test'],
    passed: /^ 9 pass$/m,
    program: (name: string) => [bun, `src/${name}.ts`]
  },
  node: {
    run: ['npm', 'run'],
    check: 'build',
    test: ['npm', 'test'],
    passed: /^(#|ℹ) pass 9$/m,
    program: (name: string) => ['node', `dist/${name}.js`]
  },
  deno: {
    run: [deno, 'task'],
    check: 'typecheck',
    test: [deno, 'task', 'test'],
    passed: /2 passed \(9 steps\)/,
    program: (name: string) => [deno, 'run', '-A', '--unstable-net', `src/${name}.ts`]
  }
} as const

/** The engine between a service and its callers: the variable that names it in a project, and its start. */
const ENGINES = {
  nats: {
    title: 'NATS',
    variable: 'NATS_URL',
    missing: natsMissing(),
    start: () => NatsServerProcess.start()
  },
  redis: {
    title: 'Redis',
    variable: 'REDIS_URL',
    missing: redisMissing(),
    start: () => RedisServerProcess.start()
  },
  rabbitmq: {
    title: 'RabbitMQ',
    variable: 'RABBITMQ_URL',
    missing: rabbitmqMissing(),
    start: () => RabbitmqServerProcess.start()
  },
  mqtt: {
    title: 'MQTT',
    variable: 'MQTT_URL',
    missing: mosquittoMissing(),
    start: () => MosquittoProcess.start()
  },
  kafka: {
    title: 'Kafka',
    variable: 'KAFKA_BROKERS',
    missing: kafkaMissing(),
    start: async () => {
      const server = await KafkaServerProcess.start()
      return { url: server.broker, stop: () => server.stop() }
    }
  }
} as const
/** Every transport and runtime, and the page for every runtime. */
const AT_NIGHT = process.env['MADE_PROJECTS'] === 'all'
/** Deno's differ from Node's by their scripts and images alone. */
export const MADE_FOR: readonly Runtime[] = AT_NIGHT ? ['bun', 'node', 'deno'] : ['bun', 'node']
type Transport = 'tcp' | keyof typeof ENGINES
const TRANSPORTS: readonly Transport[] = ['tcp', 'nats', 'redis', 'rabbitmq', 'mqtt', 'kafka']

/** A program under Node says at its end who still listens to SIGTERM: a listener that waits holds its end up. */
const COUNTING =
  "--import=data:text/javascript,process.on('exit',()=>console.log(process.argv[1],'keeps',process.listenerCount('SIGTERM')))"

/** The packed tarballs. */
export interface Packed {
  /** A folder of the tests' own. */
  readonly folder: string
  /** A project with all packages installed. */
  readonly project: string
  /** Tarballs of our packages, by the names of these. */
  readonly tarballs: ReadonlyMap<string, string>
}

interface Manifest {
  scripts: Record<string, string>
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

/** The tests. @param packed gives what was packed, once it is */
export function testMadeProjects(runtime: Runtime, packed: () => Packed): void {
  const forBun = runtime === 'bun'
  describe(`projects made by create-elysia-microservices for ${runtime}`, () => {
    const folderOf = (transport: string) => join(packed().folder, 'made', runtime, transport)

    before(async () => {
      const { folder, project, tarballs } = packed()
      mkdirSync(join(folder, 'made', runtime), { recursive: true })
      const options = (transport: string) => ['--runtime', runtime, '--transport', transport, '--web']
      const create = forBun
        ? [bun, 'create', 'elysia-microservices', folderOf('nats'), ...options('nats')]
        : ['npm', 'create', 'elysia-microservices', folderOf('nats'), '--', ...options('nats')]
      // No registry is there: what makes it is what was packed.
      await succeeds(project, create, { npm_config_registry: 'http://127.0.0.1:9' })
      const program = join(project, 'node_modules/create-elysia-microservices/lib/main.js')
      await install(runtime, folderOf('nats'), tarballs)
      // npm writes none for Deno, which the images would have.
      if (runtime === 'deno') writeFileSync(join(folderOf('nats'), LOCKS.deno), '{ "version": "5" }')
      for (const transport of TRANSPORTS) {
        if (transport === 'nats') continue
        const folder = folderOf(transport)
        await succeeds(project, [forBun ? bun : 'node', program, folder, ...options(transport)])
        for (const name of ['node_modules', LOCKS[runtime]])
          symlinkSync(join(folderOf('nats'), name), join(folder, name))
      }
    })

    it('type-check, and pass their own tests', async () => {
      // The tests are the same for every transport.
      // tests/types has the compiler read those of each transport.
      const { run, check, test, passed } = COMMANDS[runtime]
      await succeeds(folderOf('tcp'), [...run, check])
      const { stdout, stderr } = await succeeds(folderOf('nats'), test)
      assert.match(stdout + stderr, passed)
    })

    for (const transport of TRANSPORTS) {
      it(`have a compose file and a workflow that fit the rest, over ${transport}`, async () => {
        await fits(runtime, folderOf(transport))
      })
    }

    it('run and end by their script dev, as at a terminal', async () => {
      await develops(runtime, folderOf('tcp'))
    })

    // The page is the same in the browser, whatever runtime the service has.
    if ((AT_NIGHT || !forBun) && !isMissing('the page of a made project', chromiumMissing()))
      it('show a live stream on their page, in Chromium, and end with SIGTERM', () =>
        showsOrders(runtime, folderOf('tcp')))

    // Over an engine nothing else differs between the runtimes: one of them is enough.
    const answering: readonly Transport[] = forBun ? (AT_NIGHT ? TRANSPORTS : ['tcp', 'nats']) : ['tcp']
    for (const transport of answering) {
      if (transport !== 'tcp') {
        const { title, missing } = ENGINES[transport]
        if (isMissing(`a made project over ${title}`, missing)) continue
      }
      it(`answer HTTP by the service, as their images would, and end with SIGTERM, over ${transport}`, async () => {
        await answers(runtime, folderOf(transport), transport)
      })
    }
  })
}

/** Opens the page of a project, and sees an order on it that is placed there and paid. */
async function showsOrders(runtime: Runtime, folder: string): Promise<void> {
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

/** Runs a command. @throws {AssertionError} with what it said, if it fails */
async function succeeds(cwd: string, [command, ...args]: readonly string[], env: NodeJS.ProcessEnv = {}) {
  // Node runs no tests inside of tests.
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  return run(command as string, args, { cwd, env: { ...inherited, PATH, ...env } }).catch(
    ({ message, stdout, stderr }: { message: string; stdout: string; stderr: string }) =>
      assert.fail(`${message}\n${stdout}\n${stderr}`)
  )
}

/** Installs a project with our packages from tarballs: its versions of them are those that are not published yet. */
async function install(
  runtime: Runtime,
  folder: string,
  tarballs: ReadonlyMap<string, string>
): Promise<void> {
  const file = join(folder, 'package.json')
  const text = readFileSync(file, 'utf8')
  const made = JSON.parse(text) as Manifest
  for (const name of Object.keys({ ...made.dependencies, ...made.devDependencies }))
    if (name.includes('elysia-microservices')) assert.ok(tarballs.has(name), `${name} is packed`)
  const local = Object.fromEntries([...tarballs].map(([name, tarball]) => [name, `file:${tarball}`]))
  // Dependencies between our packages are taken from tarballs, too.
  const devDependencies = Object.fromEntries(
    Object.entries(made.devDependencies).filter(([name]) => !tarballs.has(name))
  )
  const dependencies = { ...made.dependencies, ...local }
  const asked = { ...made, dependencies, devDependencies, overrides: local }
  writeFileSync(file, JSON.stringify(asked))
  const npm = ['npm', 'install', '--prefer-offline', '--fetch-timeout=20000', '--no-audit', '--no-fund']
  await succeeds(folder, runtime === 'bun' ? [bun, 'install'] : npm)
  writeFileSync(file, text)
}

/** A file of YAML. */
async function yaml(folder: string, file: string): Promise<unknown> {
  const program = `console.log(JSON.stringify(Bun.YAML.parse(await Bun.file('${file}').text())))`
  return JSON.parse((await succeeds(folder, [bun, '-e', program])).stdout)
}

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly build?: { readonly target: string }
        readonly environment?: Readonly<Record<string, string>>
        readonly depends_on?: object
      }
    >
  >
}

interface Workflow {
  readonly jobs: {
    readonly test: {
      readonly steps: readonly { readonly run?: string; readonly with?: Readonly<Record<string, string>> }[]
    }
  }
}

/** Checks that the names in compose file and workflow exist, in one version. */
async function fits(runtime: Runtime, folder: string): Promise<void> {
  const dockerfile = new Dockerfile(folder)
  const sources = readdirSync(join(folder, 'src')).map((name) =>
    readFileSync(join(folder, 'src', name), 'utf8')
  )
  const { services } = (await yaml(folder, 'compose.yaml')) as Compose
  for (const name of ['stock', 'orders', 'gateway']) assert.ok(name in services, name)
  for (const { build, environment = {}, depends_on: needed = {} } of Object.values(services)) {
    if (build !== undefined) assert.ok(dockerfile.stages.includes(build.target), build.target)
    for (const name of build === undefined ? [] : Object.keys(environment))
      assert.ok(
        sources.some((text) => text.includes(name)),
        `a program reads ${name}`
      )
    for (const name of Object.keys(needed)) assert.ok(name in services, name)
  }

  const { steps } = ((await yaml(folder, '.github/workflows/ci.yml')) as Workflow).jobs.test
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const used = steps.flatMap(
    ({ run: command = '' }) => /^(?:npm|bun|deno)(?: run| task)? (test|typecheck)$/.exec(command)?.[1] ?? []
  )
  assert.ok(used.includes('test'))
  for (const name of used) assert.ok(name in scripts, name)
  const version = steps.map((step) => step.with?.[`${runtime}-version`]).find((each) => each !== undefined)
  assert.equal(version, pinned(runtime), 'the runtime that this workspace is tested with')
  // Deno's image without an ending is the slim one.
  const tag = runtime === 'deno' ? version : `${version}-slim`
  for (const base of dockerfile.bases) assert.equal(base.split(':')[1], tag)
}

/** The Bun, the Node LTS or the Deno of this workspace. */
function pinned(runtime: Runtime): string | undefined {
  const file = join(rootFolder, runtime === 'bun' ? 'package.json' : 'runtimes/package.json')
  return (JSON.parse(readFileSync(file, 'utf8')) as Manifest).devDependencies[runtime]
}

/** Programs that run, and what they say. */
class Programs {
  readonly log = new Log()
  readonly #running: { readonly child: ChildProcess; readonly closed: Promise<unknown> }[] = []

  /** Starts one, and resolves when its health check is well. @throws {Error} with the log, if it ends before */
  async start(
    cwd: string,
    { command, healthcheck }: Pick<Image, 'command' | 'healthcheck'>,
    env: NodeJS.ProcessEnv
  ): Promise<void> {
    const child = spawn(command[0] as string, command.slice(1), {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe']
    })
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => this.log.add(text.trimEnd()))
    this.#running.push({ child, closed: once(child, 'close') })
    await until(`${command.join(' ')} is healthy`, () => {
      if (hasEnded(child)) throw new Error(`${command.join(' ')} has ended:\n${this.log.lines.join('\n')}`)
      return run(healthcheck[0] as string, healthcheck.slice(1), { env }).then(
        () => true,
        () => false
      )
    })
  }

  /** Ends them with a signal, the last first. @returns exit codes and signals */
  async stop(signal: NodeJS.Signals): Promise<unknown[]> {
    const ends: unknown[] = []
    for (const { child, closed } of this.#running.reverse()) {
      if (!hasEnded(child)) child.kill(signal)
      await within(closed, `The end of ${child.spawnargs.join(' ')}`)
      ends.push([child.exitCode, child.signalCode])
    }
    this.#running.length = 0
    return ends
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** Starts what the images of a project would have and run, on free ports, and asks it. */
async function answers(runtime: Runtime, folder: string, transport: Transport): Promise<void> {
  const [health, http, tcp] = [await freePort(), await freePort(), await freePort()]
  const [stockHealth, stock] = [await freePort(), await freePort()]
  const engine = transport === 'tcp' ? undefined : ENGINES[transport]
  const server = await engine?.start()
  const own = {
    PATH,
    HEALTH_PORT: String(health),
    STOCK_HEALTH_PORT: String(stockHealth),
    PORT: String(http),
    ...(engine === undefined
      ? { ORDERS_PORT: String(tcp), STOCK_PORT: String(stock) }
      : { [engine.variable]: server?.url })
  }
  const programs = new Programs()
  // Where these are set, HTTP under Node leaves signals alone.
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

/** Runs the script `dev` in a group of its own, asks the gateway, and ends the group as Ctrl-C of a terminal does. */
async function develops(runtime: Runtime, folder: string): Promise<void> {
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
    process.kill(-child.pid!, 'SIGINT')
    await within(closed, 'The end').catch((error: Error) => assert.fail(`${error.message}\n${said()}`))
    assert.match(said(), /dev {5}\| All have ended/)
    for (const port of [health, http, web, tcp, stockHealth, stock])
      await assert.rejects(fetch(`http://127.0.0.1:${port}`), `nobody listens on ${port}`)
  } finally {
    if (!hasEnded(child)) process.kill(-child.pid!, 'SIGKILL')
  }
}
