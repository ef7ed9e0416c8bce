/** Options, refusals, and questions at a terminal. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import { manifest } from './project.ts'
import { EXIT, run, type Surroundings } from './run.ts'

let folder: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'create-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the program, and keeps what it prints. */
async function said(args: readonly string[], around: Partial<Surroundings> = {}) {
  const texts = { out: '', error: '' }
  const code = await run(args, {
    terminal: undefined,
    userAgent: 'npm/11.19.1 node/v20.20.2 linux x64',
    node: '24.21.0',
    runs: async () => assert.fail('Nothing is installed without a terminal'),
    out: (text) => (texts.out += text),
    error: (text) => (texts.error += text),
    ...around
  })
  return { code, ...texts }
}

function read(...path: string[]): string {
  return readFileSync(join(folder, ...path), 'utf8')
}

describe('create-elysia-microservices', () => {
  it('makes what flags ask for, without a terminal', async () => {
    const shop = join(folder, 'My Shop!')
    const { code, out } = await said([shop, '--runtime', 'bun', '--transport', 'nats'])
    assert.equal(code, EXIT.ok)
    assert.match(out, /on Bun over NATS/)
    assert.ok(out.includes(`cd '${shop}'`))
    const { name, dependencies } = JSON.parse(read('My Shop!', 'package.json')) as {
      name: string
      dependencies: Record<string, string>
    }
    assert.equal(name, 'my-shop')
    assert.ok('@elysia-microservices/nats' in dependencies)
    assert.match(read('My Shop!', '.gitignore'), /node_modules/)
    assert.match(read('My Shop!', '.github/workflows/ci.yml'), /bun test/)
  })

  it('decides for npm and pnpm about install scripts of packages, where there are some', async () => {
    const pnpm = { userAgent: 'pnpm/12.21.0 npm/? node/v24.21.0 linux x64' }
    await said([join(folder, 'pnpm'), '--runtime', 'node', '--yes'], pnpm)
    assert.equal(read('pnpm', 'pnpm-workspace.yaml'), 'allowBuilds:\n  esbuild: false\n')
    assert.match(read('pnpm', 'package.json'), /"allowScripts": \{\n +"esbuild": false/)
    await said([join(folder, 'by-npm'), '--runtime', 'node', '--yes'])
    assert.ok(!existsSync(join(folder, 'by-npm', 'pnpm-workspace.yaml')))
    await said([join(folder, 'without'), '--runtime', 'bun', '--yes'], pnpm)
    assert.ok(!existsSync(join(folder, 'without', 'pnpm-workspace.yaml')))
    assert.doesNotMatch(read('without', 'package.json'), /allowScripts/)
  })

  it('makes one with a page', async () => {
    for (const runtime of ['bun', 'node', 'deno']) {
      const { out } = await said([join(folder, 'web', runtime), '--runtime', runtime, '--web', '--yes'])
      assert.match(out, /a page and a client/)
      assert.match(out, /(?:run|task) dev +# then open http:\/\/localhost:3001/)
      assert.match(read('web', runtime, 'package.json'), /"@elysia-microservices\/websocket"/)
      assert.match(read('web', runtime, 'README.md'), /`src\/page\.ts`/)
      assert.match(read('web', runtime, 'src/page.ts'), /client\.stream\('orders\.watch'\)/)
    }
  })

  it('makes one for Deno', async () => {
    const { out } = await said([join(folder, 'deno'), '--runtime', 'deno', '--yes'])
    assert.match(out, /on Deno over TCP/)
    assert.match(out, /deno install\n +deno task dev/)
    assert.match(read('deno', 'src/gateway.ts'), /@elysiajs\/node/)
    assert.match(read('deno', 'Dockerfile'), /FROM denoland\/deno:/)
    assert.match(read('deno', '.github/workflows/ci.yml'), /deno task test/)
    assert.match(read('deno', 'package.json'), /"deno": ">=/)
  })

  it('makes one over Redis', async () => {
    const { out } = await said([join(folder, 'red'), '--runtime', 'node', '--engine', 'redis'])
    assert.match(out, /on Node over Redis/)
    assert.ok(out.includes('docker compose up --detach redis'))
    assert.match(out, /npm run dev/)
    assert.match(read('red', 'package.json'), /"@elysia-microservices\/redis"/)
    assert.match(read('red', 'src/transport.ts'), /redis\(\{ url: REDIS_URL \}\)/)
    assert.match(read('red', 'README.md'), /`REDIS_URL` \| `redis:/)
  })

  it('makes one over RabbitMQ', async () => {
    const { out } = await said([join(folder, 'rabbit'), '--runtime', 'node', '--transport', 'rabbitmq'])
    assert.match(out, /on Node over RabbitMQ/)
    assert.ok(out.includes('docker compose up --detach rabbitmq'))
    assert.match(read('rabbit', 'package.json'), /"@elysia-microservices\/rabbitmq"/)
    assert.match(read('rabbit', 'src/transport.ts'), /rabbitmq\(\{ url: RABBITMQ_URL \}\)/)
    assert.match(read('rabbit', 'README.md'), /`RABBITMQ_URL` \| `amqp:/)
  })

  it('makes one over Kafka', async () => {
    const { out } = await said([join(folder, 'log'), '--runtime', 'node', '--transport', 'kafka'])
    assert.match(out, /on Node over Kafka/)
    assert.ok(out.includes('docker compose up --detach kafka'))
    assert.match(read('log', 'package.json'), /"@elysia-microservices\/kafka"/)
    assert.match(read('log', 'src/transport.ts'), /kafka\(\{ url: KAFKA_BROKERS/)
    assert.match(read('log', 'README.md'), /`KAFKA_BROKERS` \| `localhost:9092`/)
  })

  it('makes one over MQTT', async () => {
    const { out } = await said([join(folder, 'mq'), '--runtime', 'node', '--transport', 'mqtt'])
    assert.match(out, /on Node over MQTT/)
    assert.ok(out.includes('docker compose up --detach mqtt'))
    assert.match(read('mq', 'package.json'), /"@elysia-microservices\/mqtt"/)
    assert.match(read('mq', 'src/transport.ts'), /mqtt\(\{ url: MQTT_URL \}\)/)
    assert.match(read('mq', 'README.md'), /`MQTT_URL` \| `mqtt:/)
  })

  it('makes one over gRPC, with the .proto files of its services', async () => {
    const { out } = await said([join(folder, 'rpc'), '--runtime', 'node', '--transport', 'grpc'])
    assert.match(out, /on Node over gRPC/)
    assert.doesNotMatch(out, /docker compose/)
    assert.match(read('rpc', 'package.json'), /"proto": "elysia-microservices proto src\/contracts\.ts"/)
    assert.match(read('rpc', 'package.json'), /"@elysia-microservices\/grpc"/)
    assert.match(read('rpc', 'src/orders.proto'), /service Orders/)
    assert.match(read('rpc', 'README.md'), /`ORDERS_PORT` \| `localhost`, `50051`/)
    assert.match(read('rpc', 'compose.yaml'), /^services:\n {2}stock:/)
    assert.match(read('rpc', 'compose.yaml'), /ORDERS_HOST: orders/)
  })

  it('keeps durable events in a file where the transport stores none, and says so to an older Node', async () => {
    for (const [transport, isInFile] of [
      ['tcp', true],
      ['mqtt', true],
      ['grpc', true],
      ['nats', false]
    ] as const) {
      const place = join(folder, 'stored', transport)
      const { error } = await said([place, '--runtime', 'node', '--transport', transport], {
        node: '22.12.1'
      })
      const needs =
        /needs Node 22\.13 or later, and this is Node 22\.12\.1: update Node, use Bun, or take a --transport/
      assert.equal(needs.test(error), isInFile)
      assert.equal(read('stored', transport, 'package.json').includes('microservices/sqlite"'), isInFile)
      assert.equal(read('stored', transport, 'README.md').includes('`EVENTS_FILE`'), isInFile)
      assert.match(read('stored', transport, 'src/stock.ts'), /durable: true/)
    }
    assert.match(read('stored/mqtt/package.json'), /"node": ">=22\.13"/)
    for (const [runtime, node] of [
      ['bun', '20.19.0'],
      ['node', '22.13.0']
    ] as const)
      assert.equal(
        (await said([join(folder, `file-${runtime}`), '--runtime', runtime, '--yes'], { node })).error,
        ''
      )
  })

  it('takes defaults with --yes, and the runtime from the package manager', async () => {
    const { bun, deno } = process.versions
    const own = bun ? 'Bun' : deno ? 'Deno' : 'Node'
    for (const [userAgent, text] of [
      ['npm/11.19.1 node/v20.20.2 linux x64', `on ${own} over TCP`],
      ['bun/1.4.5 npm/? node/v24.3.0 linux x64', 'on Bun over TCP'],
      ['deno/2.9.5 npm/? deno/2.9.5 linux x86_64', bun ? 'on Bun over TCP' : 'on Deno over TCP']
    ] as const) {
      const { code, out } = await said(['--yes', join(folder, userAgent.slice(0, 3))], { userAgent })
      assert.equal(code, EXIT.ok)
      assert.ok(out.includes(text), out)
    }
  })

  it('pins every version', async () => {
    for (const runtime of ['bun', 'node', 'deno']) {
      await said([join(folder, 'pinned', runtime), '--runtime', runtime, '--transport', 'nats'])
      const made = JSON.parse(read('pinned', runtime, 'package.json')) as ReturnType<typeof manifest> & {
        dependencies: Record<string, string>
      }
      for (const version of Object.values({ ...made.dependencies, ...made.devDependencies }))
        assert.match(version, /^\d+\.\d+\.\d+$/)
      assert.equal(made.dependencies['elysia-microservices'], manifest().version)
    }
  })

  it('uses an empty folder, and a new repository of git', async () => {
    mkdirSync(join(folder, 'cloned/.git'), { recursive: true })
    assert.equal((await said([join(folder, 'cloned'), '--yes'])).code, EXIT.ok)
    assert.ok(existsSync(join(folder, 'cloned/src/service.ts')))
  })

  it('refuses a folder that is not empty, and leaves it as it was', async () => {
    const used = join(folder, 'used')
    mkdirSync(used)
    for (const name of ['a.txt', 'b.txt', 'c.txt', 'd.txt']) writeFileSync(join(used, name), 'mine')
    const { code, error, out } = await said([used, '--yes'])
    assert.equal(code, EXIT.usage)
    assert.equal(out, '')
    assert.equal(
      error,
      `The folder ${used} is not empty (a.txt, b.txt, c.txt, and 1 more): choose another one\n`
    )
    assert.equal(readdirSync(used).length, 4)
  })

  it('refuses a file in place of a folder', async () => {
    writeFileSync(join(folder, 'file'), '')
    for (const path of ['file', 'file/below']) {
      const { code, error } = await said([join(folder, path), '--yes'])
      assert.equal(code, EXIT.usage)
      assert.match(error, /is a file, or is inside of a file: choose another folder/)
    }
  })

  it('says what is wrong with a command line', async () => {
    for (const [args, wanted] of [
      [['shop', '--runtime', 'qjs'], /--runtime must be bun, node or deno, but is "qjs"/],
      [
        ['shop', '--transport', 'carrots', '--yes'],
        /--transport must be tcp, nats, redis, rabbitmq, mqtt, kafka or grpc, but is "carrots"/
      ],
      [['shop', '--engine', 'tcp'], /--engine must be nats, redis, rabbitmq, mqtt or kafka, but is "tcp"/],
      [['shop', '--engine', 'grpc'], /--engine must be nats, .* or kafka, but is "grpc"/],
      [['shop', '--engine', 'nats', '--transport', 'tcp'], /--transport and --engine have the same meaning/],
      [['shop', 'two'], /Only one folder can be created: leave out two/],
      [['shop', '--force'], /Unknown option '--force'.*see --help/s],
      [['...', '--yes'], /"..." has no characters for the name of a package/],
      [['', '--yes'], /"" has no characters for the name of a package/],
      [['elysia', '--yes'], /elysia is also the name of a package that the project installs/],
      [
        ['shop', '--runtime', 'bun'],
        /There is no terminal to ask for --transport: give the missing arguments, or --yes/
      ],
      [[], /There is no terminal to ask for the folder, --runtime, --transport/]
    ] as const) {
      const { code, error } = await said(args)
      assert.equal(code, EXIT.usage, error)
      assert.match(error, wanted)
    }
    assert.ok(!existsSync('shop') && !existsSync('elysia'))
  })

  it('says that a folder cannot be written', async () => {
    // A name longer than any file system allows.
    const { code, error } = await said([join(folder, 'x'.repeat(300)), '--yes'])
    assert.equal(code, EXIT.failed)
    assert.match(error, /ENAMETOOLONG/)
  })

  it('has help and its version', async () => {
    assert.match((await said(['--help'])).out, /npm create elysia-microservices/)
    assert.equal((await said(['--version'])).out, `${manifest().version}\n`)
  })
})

/** A terminal with a user who types each text when its question has been asked. */
function terminalWith(answers: readonly (readonly [question: string, keys: string])[]) {
  const input = new PassThrough()
  const output = new PassThrough()
  const left = [...answers]
  let shown = ''
  output.setEncoding('utf8').on('data', (text: string) => {
    shown += text
    const [question, keys] = left[0] ?? []
    if (question === undefined || !shown.includes(question)) return
    left.shift()
    shown = ''
    // The prompt reads keys only after it has been drawn.
    setImmediate(() => input.write(keys))
  })
  return { terminal: { input, output }, left }
}

const ENTER = '\r'
const DOWN = '\u001b[B'
const CTRL_C = '\u0003'

describe('create-elysia-microservices at a terminal', () => {
  it('asks for what is missing', async () => {
    const asked = join(folder, 'asked')
    const { terminal, left } = terminalWith([
      ['Which folder?', `${asked}${ENTER}`],
      ['What runs it?', ENTER],
      ['What carries messages?', `${DOWN}${ENTER}`],
      ['With a web page', `y`],
      ["Install the project's packages?", ENTER]
    ])
    const ran: unknown[] = []
    const runs = async (...command: unknown[]) => ran.push(command) > 0
    const { code, out } = await said([], { terminal, userAgent: 'bun/1.4.5', runs })
    assert.equal(code, EXIT.ok)
    assert.deepEqual(left, [])
    assert.deepEqual(ran, [[asked, 'bun', ['install']]])
    assert.doesNotMatch(out, /bun install/)
    assert.match(out, /a page and a client, on Bun over NATS/)
    assert.match(read('asked/compose.yaml'), /target: web \}\n.*NATS_URL.*\n +ports: \['3001:3001'\]/)
    assert.match(
      read('asked/Dockerfile'),
      /FROM app AS web\nENV WEB_PORT=3001\n(?:.*\n)+.*src\/web\.ts"\]\n$/
    )
  })

  it('asks again where a folder is not empty', async () => {
    const used = join(folder, 'asked-used')
    mkdirSync(used)
    writeFileSync(join(used, 'mine'), '')
    const { terminal, left } = terminalWith([
      ['Which folder?', `${used}${ENTER}`],
      ['is not empty', `-not${ENTER}`],
      ['With a web page', ENTER],
      ["Install the project's packages?", `n`]
    ])
    const { code } = await said(['--runtime', 'node', '--transport', 'tcp'], { terminal })
    assert.equal(code, EXIT.ok)
    assert.deepEqual(left, [])
    assert.ok(existsSync(join(folder, 'asked-used-not/src/service.ts')))
  })

  it('writes nothing where somebody cancels', async () => {
    const { terminal } = terminalWith([['What runs it?', CTRL_C]])
    const { code, error } = await said([join(folder, 'canceled')], { terminal })
    assert.equal(code, EXIT.canceled)
    assert.equal(error, 'Canceled; nothing was written\n')
    assert.ok(!existsSync(join(folder, 'canceled')))
  })
})
