/** The command line over gRPC and over Connect: calls, streams, errors and exit codes. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { connectRpc } from '@elysia-microservices/connect'
import { grpc } from '@elysia-microservices/grpc'
import { loadProto } from '@elysia-microservices/protobuf'
import { DEAF_PORT } from '@elysia-microservices/test-support'
import { type Message, microservice, RejectedError, RpcError } from 'elysia-microservices'
import { listen, newApp } from '../support/http-app.ts'
import { rootFolder } from '../workspace.ts'

const RUN = pathToFileURL(join(rootFolder, 'tools/cli/dist/run.js')).href

const PROTO = `
syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
service Orders {
  rpc Get (Ask) returns (Order);
  rpc Watch (Ask) returns (stream Order);
}
message Ask { int64 id = 1; }
message Order { int64 id = 1; bytes label = 2; google.protobuf.Timestamp at = 3; string who = 4; }
`
const FULL = { code: 'FULL', message: 'no room', details: { left: 0 } }

const newShop = (transport?: ReturnType<typeof grpc>) =>
  microservice({
    name: 'shop',
    describe: true,
    ...(transport && { transport }),
    logger: { error() {}, warn() {} }
  })
    .message('shop.v1.Orders/Get', async ({ data, headers, signal }: Message<{ id: bigint }>) => {
      if (data.id === 1n) throw new RpcError(FULL)
      if (data.id === 2n) throw new RejectedError('busy')
      if (data.id === 3n) await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return {
        id: data.id,
        label: Uint8Array.of(1, 2),
        at: new Date('2026-01-31T12:00:00.500Z'),
        who: headers['who']
      }
    })
    .message('shop.v1.Orders/Watch', async function* ({ data, signal }: Message<{ id: bigint }>) {
      for (let id = 1n; id <= data.id && !signal.aborted; id++)
        yield { id, who: 'x'.repeat(Number(id) * 1_000) }
      if (data.id === 4n) throw new RpcError(FULL)
    })

interface Ended {
  readonly code: number
  readonly out: string
  readonly error: string
}

describe('the command line', () => {
  let folder: string
  const at = { grpc: '', silent: '', connect: '' }
  const stops: (() => unknown)[] = []

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cli-rpc-'))
    const file = join(folder, 'shop.proto')
    writeFileSync(file, PROTO)
    const proto = await loadProto({ files: file })
    const transport = grpc({ proto, host: '127.0.0.1', port: 0, reflection: true })
    const silent = grpc({ proto, host: '127.0.0.1', port: 0 })
    const service = newShop(transport)
    const other = newShop(silent)
    await other.listen()
    await service.listen()
    const http = await listen(newApp().use(newShop()).use(connectRpc({ proto })))
    at.silent = `grpc://127.0.0.1:${silent.address!.port}`
    at.grpc = `grpc://127.0.0.1:${transport.address!.port}`
    at.connect = http.url
    stops.push(
      () => service.stop(),
      () => other.stop(),
      () => http.stop()
    )
  })
  after(async () => {
    for (const stop of stops) await stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const said = async (...line: string[]): Promise<Ended> => {
    const { run } = (await import(RUN)) as { run(args: readonly string[], terminal: object): Promise<number> }
    const texts: Record<'out' | 'error', string[]> = { out: [], error: [] }
    const code = await run(line, {
      out: (text: string) => texts.out.push(`${text}\n`),
      error: (text: string) => texts.error.push(`${text}\n`),
      isTerminal: false,
      stdin: async () => '',
      version: '0.0.0'
    })
    return { code, out: texts.out.join(''), error: texts.error.join('') }
  }
  const told = (protocol: 'grpc' | 'connect', command: string, method: string, ...more: string[]) =>
    said(
      command,
      at[protocol],
      `shop.v1.Orders/${method}`,
      ...more,
      ...(protocol === 'grpc' ? ['--proto', join(folder, 'shop.proto')] : [])
    )

  for (const protocol of ['grpc', 'connect'] as const)
    describe(`over ${protocol}`, () => {
      it('prints the answer as JSON, with numbers, bytes and times as texts', async () => {
        const { code, out, error } = await told(
          protocol,
          'call',
          'Get',
          '{"id":"7"}',
          '--header=who=me',
          '--json'
        )
        assert.deepEqual([code, error], [0, ''])
        assert.deepEqual(JSON.parse(out), {
          id: '7',
          label: 'AQI=',
          at: '2026-01-31T12:00:00.500Z',
          who: 'me'
        })
      })

      it('prints each value of a stream, and stops after some', async () => {
        const whole = await told(protocol, 'stream', 'Watch', '{"id":3}')
        assert.deepEqual([whole.code, whole.error], [0, ''])
        const ids = (text: string) =>
          text
            .trim()
            .split('\n')
            .map((line) => (JSON.parse(line) as { id: string }).id)
        assert.deepEqual(ids(whole.out), ['1', '2', '3'])
        const some = await told(protocol, 'stream', 'Watch', '{"id":100}', '--count=2')
        assert.deepEqual([some.code, ids(some.out)], [0, ['1', '2']])
      })

      it('has an exit code for each kind of failure, and prints codes and details of the service', async () => {
        const cases: [string, string, string[], number, RegExp][] = [
          [
            'call',
            'Get',
            ['{"id":1}', '--json'],
            1,
            /^\{"code":"FULL","message":"no room","details":\{"left":0\}\}\n$/
          ],
          ['stream', 'Watch', ['{"id":4}', '--json'], 1, /^\{"code":"FULL"/],
          ['call', 'Get', ['{"id":2}'], 6, /^REJECTED: busy/],
          ['call', 'Get', ['{"id":3}', '--timeout=100'], 4, /^TIMEOUT: /]
        ]
        for (const [command, method, more, expected, text] of cases) {
          const { code, error } = await told(protocol, command, method, ...more)
          assert.match(error, text)
          assert.equal(code, expected, error)
        }
      })
    })

  it('needs no .proto where the server has reflection, with all files that a service needs', async () => {
    const { code, out, error } = await said('call', at.grpc, 'shop.v1.Orders/Get', '{"id":"7"}', '--json')
    assert.deepEqual([code, error], [0, ''])
    assert.deepEqual(JSON.parse(out), { id: '7', label: 'AQI=', at: '2026-01-31T12:00:00.500Z', who: '' })
    const unknown = await said('call', at.grpc, 'shop.v1.Nothing/Get')
    assert.match(unknown.error, /^PATTERN_NOT_FOUND: The server has no service shop\.v1\.Nothing/)
    assert.equal(unknown.code, 5)
    const silent = await said('call', at.silent, 'shop.v1.Orders/Get')
    assert.match(silent.error, /^OPTION: .*no reflection.*--proto=<file>/)
    assert.equal(silent.code, 2)
  })

  it('asks a service over gRPC for its description, without a .proto', async () => {
    const described = await said('describe', at.grpc)
    assert.match(described.out, /^shop \(\S+\), listening: grpc 127\.0\.0\.1:\d+\n/)
    assert.match(described.out, /^message +shop\.v1\.Orders\/Watch +- +stream/m)
    assert.equal((await said('health', at.grpc)).out, 'listening\n')
    const other = await said('describe', at.grpc, '--service=prices')
    assert.match(other.error, /^PATTERN_NOT_FOUND: No service called prices describes itself here/)
  })

  it('says what is wrong with a command line', async () => {
    const cases: [string[], number, RegExp][] = [
      [['call', 'grpc://127.0.0.1:1', 'Get'], 2, /Get must be package\.Service\/Method over gRPC/],
      [['call', 'grpc://127.0.0.1:1', 'a.B/C', '--proto=nowhere.proto'], 2, /nowhere\.proto/],
      [['call', `grpc://127.0.0.1:${DEAF_PORT}`, 'a.B/C'], 3, /^CONNECTION: /],
      [['call', at.grpc, 'a.B/C', '--proto', join(folder, 'shop.proto')], 2, /There is no method 'a\.B\/C'/],
      [
        ['call', 'grpc://127.0.0.1:1', 'a.B/C', '--ca=ca.pem'],
        2,
        /--ca is only for urls that begin with grpcs:/
      ],
      [['call', `http://127.0.0.1:${DEAF_PORT}`, 'a.B/C'], 3, /^CONNECTION: .*cannot be reached/],
      [['call', at.connect, 'a.B/C'], 5, /^PATTERN_NOT_FOUND: .* has no a\.B\/C/],
      [['call', at.connect, 'Get'], 2, /package\.Service\/Method over Connect/],
      [['describe', at.connect], 2, /describe is not possible over Connect/],
      [['call', at.connect, 'a.B/C', '--cert=c.pem'], 2, /--cert is only for urls that begin with https:/]
    ]
    for (const [line, expected, text] of cases) {
      const { code, error } = await said(...line)
      assert.match(error, text, line.join(' '))
      assert.equal(code, expected, error)
    }
  })
})
