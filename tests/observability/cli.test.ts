/**
 * The command line as a shell runs it: every example of its help, with a service of this library and one of NestJS.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { connectRpc } from '@elysia-microservices/connect'
import { grpc } from '@elysia-microservices/grpc'
import { telemetry } from '@elysia-microservices/telemetry'
import { DEAF_PORT, isOnPush } from '@elysia-microservices/test-support'
import { Controller } from '@nestjs/common'
import { MessagePattern, Payload } from '@nestjs/microservices'
import { microservice, RejectedError, RpcError } from 'elysia-microservices'
import { type RunningServer, startNest } from '../conformance/harness/servers.ts'
import { codeIn, newShop, shopProto } from '../other-languages/shop.ts'
import { listen, newApp } from '../support/http-app.ts'
import { rootFolder, testsFolder } from '../workspace.ts'

@Controller()
class SumController {
  @MessagePattern({ cmd: 'sum' })
  sum(@Payload() data: number[]): number {
    return data.reduce((a, b) => a + b, 0)
  }
}

const PROGRAM = join(rootFolder, 'packages/elysia-microservices/lib/program.js')

/** The main function of the program; the package does not export it, because nobody else needs it. */
const RUN = pathToFileURL(join(rootFolder, 'tools/cli/dist/run.js')).href

interface Ended {
  readonly code: number
  readonly out: string
  readonly error: string
}

describe('elysia-microservices', () => {
  const events: unknown[] = []
  const headers: unknown[] = []
  const service = microservice({ name: 'math', transport: 'tcp', host: '127.0.0.1', port: 0, describe: true })
    .wrap(telemetry())
    .message('math.sum', ({ data, headers: given }: { data: number[]; headers: object }) => {
      headers.push(given)
      return data.reduce((a, b) => a + b, 0)
    })
    .message('math.count', function* ({ data }: { data: number }) {
      for (let n = 1; n <= data; n++) yield n
    })
    .message('ticks', async function* () {
      for (let n = 1; ; n++) yield n
    })
    .event('order.placed', ({ data }) => void events.push(data))
    .message('fails', () => {
      throw new RpcError({ code: 'NO', message: 'never', details: { why: '\u001b[31mred' } })
    })
    .message('declares', () => 1, {
      errors: { FULL: {}, LATE: { status: 409 } },
      timeout: 5_000,
      idempotent: true
    })
    .message('busy', () => {
      throw new RejectedError('busy')
    })
    .message('slow', () => new Promise(() => {}))
  let nest: RunningServer
  let folder: string
  const url = () => `tcp://127.0.0.1:${service.address!.port}`

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'elysia-microservices-cli-'))
    writeFileSync(join(folder, 'numbers.json'), '[1,2,3]')
    await service.listen()
    nest = await startNest([SumController])
  })
  after(async () => {
    await service.stop()
    await nest.stop()
    rmSync(folder, { recursive: true })
  })

  /** Runs a line in a shell, as users write it. */
  const shell = (line: string): Promise<Ended> =>
    new Promise((resolve) => {
      const command = line.replaceAll(/(^|\| )elysia-microservices /g, `$1node '${PROGRAM}' `)
      execFile('sh', ['-c', command], { cwd: folder, timeout: 30_000 }, (error, out, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, error: stderr })
      })
    })

  /** Runs a line in this process, because starting a process takes most of the time. */
  const here = async (line: string): Promise<Ended> => {
    const { run } = (await import(RUN)) as { run(args: readonly string[], terminal: object): Promise<number> }
    const said: Record<'out' | 'error', string[]> = { out: [], error: [] }
    const words = line.match(/'[^']*'|[^ ]+/g) ?? []
    const code = await run(
      words.map((word) => word.replace(/^'(.*)'$/, '$1')),
      {
        out: (text: string) => said.out.push(`${text}\n`),
        error: (text: string) => said.error.push(`${text}\n`),
        isTerminal: false,
        stdin: async () => '',
        version: '0.0.0'
      }
    )
    return { code, out: said.out.join(''), error: said.error.join('') }
  }

  it('prints help, and all examples in it work', async () => {
    const { code, out } = await shell('elysia-microservices --help')
    assert.equal(code, 0)
    const examples = out
      .split('Examples\n')[1]!
      .trim()
      .split('\n')
      .map((line) => line.trim())
    writeFileSync(join(folder, 'shop.proto'), codeIn('proto'))
    const proto = await shopProto()
    const rpc = grpc({ proto, host: '127.0.0.1', port: 0 })
    const overGrpc = newShop(undefined, rpc)
    await overGrpc.listen()
    const app = await listen(newApp().use(newShop()).use(connectRpc({ proto })))
    const ended = new Map<string, Ended>()
    for (const example of examples) {
      const port = example.includes('--protocol=nest') ? nest.port : service.address!.port
      const line = example
        .replace('localhost:4000', `127.0.0.1:${port}`)
        .replace('localhost:50051', `127.0.0.1:${rpc.address!.port}`)
        .replace('http://localhost:3000', app.url)
      // On a push the shell runs those that need one, and a folder.
      const needsShell = !isOnPush || /[|>]|@\w|\.proto/.test(line)
      ended.set(example, await (needsShell ? shell(line) : here(line.replace('elysia-microservices ', ''))))
    }
    await overGrpc.stop()
    await app.stop()
    for (const [example, { code, error }] of ended) assert.equal(code, 0, `${example}\n${error}`)
    const outputs = [...ended.values()].map(({ out }) => out.trim())
    assert.deepEqual(outputs.slice(0, 7), ['6', '6', '6', '6', '1\n2\n3', '1\n2', ''])
    assert.equal((JSON.parse(outputs[7]!) as { name: string }).name, 'math')
    assert.equal(outputs[8], 'listening')
    assert.match(
      outputs[9]!,
      /^math, listening; in flight: tcp \d+\npattern +req\/s +p50 ms +p99 ms +in flight +errors\/s\n/
    )
    assert.match(outputs[9]!, /^math\.sum /m)
    for (const answer of outputs.slice(11)) assert.deepEqual(JSON.parse(answer), { id: '7', price: 4 })
    assert.deepEqual(events, [{ id: 7 }])
    assert.deepEqual(headers.at(-1), { tenant: 'a' })
  })

  it('exits with a code for each kind of failure, and prints the error on stderr', async () => {
    const cases: [string, number, RegExp][] = [
      [`call ${url()} fails`, 1, /^NO: never\n/],
      ['', 2, /^$/],
      ['cal tcp://localhost:1 x', 2, /did you mean call\?/],
      ['call', 2, /needs a url/],
      ['call localhost:4000 x', 2, /must begin with tcp:\/\//],
      [`call ${url()}`, 2, /needs a pattern/],
      [`call ${url()} x nothing`, 2, /is not JSON/],
      [`call ${url()} x 1 2`, 2, /does not take the argument 2/],
      [`call ${url()} x @nowhere.json`, 2, /cannot be read/],
      [`call ${url()} x --timeout=soon`, 2, /--timeout must be a whole number/],
      [`call ${url()} x --nonsense`, 2, /--nonsense/],
      [`call ${url()} x --header broken`, 2, /name=value/],
      [`call tcp://127.0.0.1:${DEAF_PORT} x`, 3, /^CONNECTION: /],
      [`health tcp://127.0.0.1:${DEAF_PORT}`, 3, /^CONNECTION: /],
      [`call ${url()} slow --timeout 100`, 4, /^TIMEOUT: /],
      [`call ${url()} nobody`, 5, /^PATTERN_NOT_FOUND: /],
      [
        `describe tcp://127.0.0.1:${nest.port} --protocol=nest`,
        5,
        /^PATTERN_NOT_FOUND: The service does not describe itself .*microservice\(\{ describe: true \}\)/
      ],
      [
        `describe ${url()} --service=nobody`,
        5,
        /^PATTERN_NOT_FOUND: No service called nobody describes itself here .*describe: true/
      ],
      [`call ${url()} busy`, 6, /^REJECTED: /]
    ]
    for (const [line, expected, said] of cases) {
      const { code, error } = await here(line)
      assert.equal(code, expected, `${line}\n${error}`)
      assert.match(error, said, line)
    }
  })

  it('prints errors as JSON, without control characters from services', async () => {
    const { error } = await shell(`elysia-microservices call ${url()} fails --json`)
    assert.deepEqual(JSON.parse(error), { code: 'NO', message: 'never', details: { why: '\u001b[31mred' } })
    const shown = await shell(`elysia-microservices call ${url()} fails`)
    assert.ok(!shown.error.includes('\u001b'))
  })

  it('reports that a service of Nest can be reached, and that a draining one is not ready', async () => {
    assert.equal(
      (await shell(`elysia-microservices health tcp://127.0.0.1:${nest.port} --protocol=nest`)).out,
      'connected\n'
    )
    const { out } = await shell(`elysia-microservices describe ${url()}`)
    assert.match(out, /^message +declares .* FULL LATE +5000 ms, idempotent$/m)
    assert.match(out, /^message +ticks +- +stream +- +-$/m)
    const lying = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 }).message(
      'elysia-microservices.describe',
      () => ({
        status: 'draining\u001b[2J',
        handlers: [{ kind: 'x' }, 7],
        transports: ['x'],
        figures: [{ pattern: 'x' }]
      })
    )
    await lying.listen()
    const at = `tcp://127.0.0.1:${lying.address!.port}`
    assert.deepEqual(await shell(`elysia-microservices health ${at}`), {
      code: 7,
      out: 'draining\\u001b[2J\n',
      error: ''
    })
    for (const command of [`describe ${at}`, `top ${at} --count 1 --interval 10`]) {
      const { code, out } = await here(command)
      assert.equal(code, 0)
      assert.ok(!out.includes('\u001b'))
    }
    await lying.stop()
  })

  it('calls a service that requires certificates, and prints advice without them', async () => {
    const file = (name: string) => join(testsFolder, 'fixtures/tls', name)
    const pem = (name: string) => readFileSync(file(name), 'utf8')
    const tls = {
      cert: pem('service.pem'),
      key: pem('service.key'),
      ca: pem('authority.pem'),
      requestCert: true
    }
    const guarded = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0, tls }).message(
      'who',
      ({ peer }) => peer?.certificate?.subject['CN']
    )
    await guarded.listen()
    const at = `127.0.0.1:${guarded.address!.port} who`
    const given = `--ca ${file('authority.pem')} --cert ${file('caller.pem')} --key ${file('caller.key')}`
    const cases: [string, number, RegExp][] = [
      [`tls://${at} ${given}`, 0, /^$/],
      [`tcp://${at}`, 3, /^CONNECTION: .*TLS.*; the url must begin with tls:\/\//],
      [`tls://${at}`, 3, /^CONNECTION: .*; give --ca/],
      [`tls://${at} --ca ${file('authority.pem')}`, 3, /^CONNECTION: .*; set --cert and --key/],
      [`tcp://${at} ${given}`, 2, /^OPTION: --ca is only for urls that begin with tls:\/\//],
      [`tls://${at} --cert nowhere.pem`, 2, /^OPTION: nowhere\.pem cannot be read/]
    ]
    for (const [line, expected, said] of cases) {
      const { code, out, error } = await here(`call ${line}`)
      assert.equal(code, expected, `${line}\n${error}`)
      assert.match(error, said, line)
      if (code === 0) assert.equal(out, '"caller"\n')
    }
    await guarded.stop()
  })

  it('refuses an invalid description', async () => {
    const other = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 }).message(
      'elysia-microservices.describe',
      () => 'everything is fine'
    )
    await other.listen()
    const { code, error } = await shell(
      `elysia-microservices describe tcp://127.0.0.1:${other.address!.port}`
    )
    assert.equal(code, 1)
    assert.match(error, /has no lists of handlers/)
    await other.stop()
  })
})
