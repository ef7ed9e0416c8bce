/** Nest's end and ours on one NATS server: what callers get, and byte by byte what stands on the subjects. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { connect as connectBare, headers, type NatsConnection } from '@nats-io/transport-node'
import { type ClientProxy, NatsRecordBuilder } from '@nestjs/microservices'
import { connect, RpcError, type UntypedClient } from 'elysia-microservices/client'
import { firstValueFrom, lastValueFrom, take, toArray } from 'rxjs'
import { isMissing } from '../support/missing.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { until } from '../support/within.ts'
import { nestClient, type RunningEnd, seen, startNest, startNestOnOurs, startOurs } from './ends.ts'

const SERVICES: readonly (readonly [string, (servers: string) => Promise<RunningEnd>])[] = [
  ['Nest', startNest],
  ['Nest on our transport', startNestOnOurs],
  ['ours', startOurs]
]

/** Everything that stands on the subjects, with inboxes and ids of one call named alike. */
class Tap {
  readonly #lines: string[] = []
  readonly #inboxes = new Map<string, string>()

  constructor(connection: NatsConnection) {
    connection.subscribe('>', {
      callback: (_error, message) => {
        const { subject, reply } = message
        const said = [...(message.headers ?? [])].map(([name, values]) => ` ${name}=${values}`).join('')
        this.#lines.push(
          `${this.#name(subject)}${reply ? ` reply=${this.#name(reply)}` : ''}${said} ${message.string()}`
        )
      }
    })
  }

  #name(subject: string): string {
    if (!subject.startsWith('_INBOX.')) return subject
    const name = this.#inboxes.get(subject) ?? `inbox${this.#inboxes.size + 1}`
    this.#inboxes.set(subject, name)
    return name
  }

  /** What has come, once there are so many lines. */
  async take(count: number): Promise<string[]> {
    await until(`${count} messages on the subjects`, () => this.#lines.length >= count)
    this.#inboxes.clear()
    return this.#lines.splice(0).map((line) => line.replace(/"id":"[^"]+"/, '"id":"ID"'))
  }
}

if (!isMissing('Nest and our transport over NATS', natsMissing())) {
  describe('over NATS', () => {
    let server: NatsServerProcess
    let bare: NatsConnection
    before(async () => {
      server = await NatsServerProcess.start()
      bare = await connectBare({ servers: server.url })
    })
    after(async () => {
      await bare.close()
      await server.stop()
    })

    for (const [name, start] of SERVICES) {
      describe(`a service of ${name}`, () => {
        let service: RunningEnd
        before(async () => {
          service = await start(server.url)
        })
        after(() => service.stop())

        describe("and Nest's client", () => {
          let client: ClientProxy
          beforeEach(() => {
            client = nestClient(server.url)
          })
          afterEach(() => client.close())
          const ask = (pattern: unknown, data: unknown = 0) => firstValueFrom(client.send(pattern, data))
          const askAll = (pattern: unknown, data: unknown = 0) =>
            lastValueFrom(client.send(pattern, data).pipe(toArray()))

          it('get values, streams, nothing, and errors', async () => {
            assert.deepEqual(await ask('echo', { a: [1, 'é'] }), { a: [1, 'é'] })
            assert.equal(await ask({ a: 'x', b: 1 }), 'object')
            assert.deepEqual(await askAll('values'), [1, 2, 3])
            assert.deepEqual(await askAll('three'), [0, 1, 2])
            assert.deepEqual(await askAll('nothing'), [])
            await assert.rejects(ask('fails'), (error) => {
              assert.deepEqual(error, { status: 'error', message: 'Internal server error' })
              return true
            })
            await assert.rejects(ask('refuses', { code: 7 }), (error) => {
              assert.deepEqual(error, { code: 7 })
              return true
            })
            await assert.rejects(ask('refuses', 'no'), (error) => {
              assert.deepEqual(error, { status: 'error', message: 'no' })
              return true
            })
            assert.deepEqual(await lastValueFrom(client.send('endless', 0).pipe(take(2), toArray())), [0, 1])
          })

          it('hand wildcards, headers of a record, and an event to both its handlers', async () => {
            assert.deepEqual(await ask('time.us.east', 1), ['time.us.east', 1])
            const said = headers()
            said.set('x-version', '1.0.0')
            assert.equal(
              await ask('headers', new NatsRecordBuilder(':cat:').setHeaders(said).build()),
              '1.0.0'
            )
            assert.equal(await ask('headers'), null)
            client.emit('noted', { n: 1 })
            assert.deepEqual(
              [await seen.take(), await seen.take()],
              [
                ['first', { n: 1 }],
                ['second', { n: 1 }]
              ]
            )
          })

          it('learn at once that nobody listens', async () => {
            await assert.rejects(ask('unknown'), /There are no subscribers listening/)
          })
        })

        describe('and our client', () => {
          let client: UntypedClient
          beforeEach(() => {
            client = connect({ transport: nats({ servers: server.url }) })
          })
          afterEach(() => client.close())

          it('get values, streams, nothing, and errors', async () => {
            assert.deepEqual(await client.request('echo', { a: [1, 'é'] }), { a: [1, 'é'] })
            assert.equal(await client.request({ a: 'x', b: 1 }), 'object')
            for (const [pattern, expected] of [
              ['values', [1, 2, 3]],
              ['three', [0, 1, 2]],
              ['nothing', []]
            ] as const) {
              const values: unknown[] = []
              for await (const value of client.stream(pattern)) values.push(value)
              assert.deepEqual(values, expected)
            }
            await assert.rejects(client.request('fails'), { name: 'RpcError', code: 'INTERNAL' })
            await assert.rejects(client.request('refuses', { code: 'E', message: 'm' }), (error) => {
              assert.ok(error instanceof RpcError)
              assert.deepEqual([error.code, error.message], ['E', 'm'])
              return true
            })
            for await (const value of client.stream('endless')) if (value === 1) break
            assert.equal(await client.request('echo', 1), 1)
          })

          it('hand wildcards, headers, records, and an event to both its handlers', async () => {
            assert.deepEqual(await client.request('time.us.east', 1), ['time.us.east', 1])
            assert.equal(await client.request('headers', 0, { headers: { 'x-version': '2' } }), '2')
            const said = headers()
            said.set('x-version', '3')
            assert.equal(
              await client.request('headers', new NatsRecordBuilder(1).setHeaders(said).build()),
              '3'
            )
            await client.emit('noted', { n: 2 })
            assert.deepEqual(
              [await seen.take(), await seen.take()],
              [
                ['first', { n: 2 }],
                ['second', { n: 2 }]
              ]
            )
          })

          it('learn at once that nobody listens', async () => {
            await assert.rejects(client.request('unknown'), { code: 'PATTERN_NOT_FOUND', mayHaveRun: false })
          })
        })
      })
    }

    describe('byte by byte', () => {
      let watcher: NatsConnection
      let tap: Tap
      before(async () => {
        watcher = await connectBare({ servers: server.url })
        tap = new Tap(watcher)
        await watcher.flush()
      })
      after(() => watcher.close())

      for (const [name, start] of SERVICES) {
        it(`a service of ${name} answers Nest's client as Nest's does, and our client asks as Nest's does`, async () => {
          const service = await start(server.url)
          const nest = nestClient(server.url)
          const ours = connect({ transport: nats({ servers: server.url }) })
          try {
            await nest.connect()
            await ours.connect()
            const ask = (pattern: unknown, data: unknown) =>
              lastValueFrom(nest.send(pattern, data).pipe(toArray()))
            const failed = (call: Promise<unknown>) => assert.rejects(call)
            const said = headers()
            said.set('x-a', '1')
            const record = new NatsRecordBuilder({ v: 1 }).setHeaders(said).build()
            const REQUESTS: readonly (readonly [unknown, unknown, string, readonly string[]])[] = [
              [
                'echo',
                { x: 1 },
                'echo reply=inbox1 {"pattern":"echo","data":{"x":1},"id":"ID"}',
                ['{"response":{"x":1},"isDisposed":true,"id":"ID"}']
              ],
              [
                'echo',
                record,
                'echo reply=inbox1 x-a=1 {"pattern":"echo","data":{"v":1},"id":"ID"}',
                ['{"response":{"v":1},"isDisposed":true,"id":"ID"}']
              ],
              [
                { b: 1, a: 'x' },
                1,
                '{"a":"x","b":1} reply=inbox1 {"pattern":{"b":1,"a":"x"},"data":1,"id":"ID"}',
                ['{"response":"object","isDisposed":true,"id":"ID"}']
              ],
              [
                'values',
                0,
                'values reply=inbox1 {"pattern":"values","data":0,"id":"ID"}',
                [
                  '{"response":1,"id":"ID"}',
                  '{"response":2,"id":"ID"}',
                  '{"response":3,"isDisposed":true,"id":"ID"}'
                ]
              ],
              [
                'nothing',
                0,
                'nothing reply=inbox1 {"pattern":"nothing","data":0,"id":"ID"}',
                ['{"isDisposed":true,"id":"ID"}']
              ],
              [
                'fails',
                0,
                'fails reply=inbox1 {"pattern":"fails","data":0,"id":"ID"}',
                ['{"err":{"status":"error","message":"Internal server error"},"isDisposed":true,"id":"ID"}']
              ],
              [
                'refuses',
                'no',
                'refuses reply=inbox1 {"pattern":"refuses","data":"no","id":"ID"}',
                ['{"err":{"status":"error","message":"no"},"isDisposed":true,"id":"ID"}']
              ]
            ]
            for (const [pattern, data, request, answers] of REQUESTS) {
              await (pattern === 'fails' || pattern === 'refuses'
                ? failed(ask(pattern, data))
                : ask(pattern, data))
              assert.deepEqual(await tap.take(1 + answers.length), [
                request,
                ...answers.map((json) => `inbox1 ${json}`)
              ])
              const call = ours.request(pattern as string, data)
              await (pattern === 'fails' || pattern === 'refuses' ? failed(call) : call)
              // A request asks our services for the first value only; Nest's know no such word.
              const count = name === 'Nest' ? answers.length : 1
              assert.equal((await tap.take(1 + count))[0], request)
            }
            for (const emit of [
              () => lastValueFrom(nest.emit('noted', { e: 1 }), { defaultValue: undefined }),
              () => ours.emit('noted', { e: 1 })
            ]) {
              await emit()
              assert.deepEqual(await tap.take(1), ['noted {"pattern":"noted","data":{"e":1}}'])
              await seen.take()
              await seen.take()
            }
          } finally {
            nest.close()
            await ours.close()
            await service.stop()
            await watcher.flush()
            await tap.take(0)
          }
        })
      }
    })
  })
}
