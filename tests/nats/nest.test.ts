/** NestJS and this library on one NATS server: the bytes on the subjects are compared. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isMissing, until } from '@elysia-microservices/test-support'
import { connect as connectBare, headers, type NatsConnection } from '@nats-io/transport-node'
import { type ClientOptions, ClientProxyFactory, NatsRecordBuilder } from '@nestjs/microservices'
import { connect } from 'elysia-microservices/client'
import { lastValueFrom, toArray } from 'rxjs'
import { SERVICES, seen } from '../engines/ends.ts'
import { ENGINES, type RunningEngine } from '../engines/engines.ts'
import { nestOnNats } from '../engines/nest-ends.ts'
import { natsMissing } from '../support/nats-server.ts'

/** Records all messages on the subjects, with the inboxes and ids of one call replaced by fixed names. */
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

  /** Returns all lines, once there are this many. */
  async take(count: number): Promise<string[]> {
    await until(`${count} messages on the subjects`, () => this.#lines.length >= count)
    this.#inboxes.clear()
    return this.#lines.splice(0).map((line) => line.replace(/"id":"[^"]+"/, '"id":"ID"'))
  }
}

if (!isMissing('Nest and our transport over NATS', natsMissing())) {
  describe('over NATS', () => {
    let engine: RunningEngine
    const servers = () => `nats://127.0.0.1:${engine.port}`
    before(async () => {
      engine = await (ENGINES.find(({ name }) => name === 'nats') as (typeof ENGINES)[number]).start()
    })
    after(() => engine.close())

    describe('byte by byte', () => {
      let watcher: NatsConnection
      let tap: Tap
      before(async () => {
        watcher = await connectBare({ servers: servers() })
        tap = new Tap(watcher)
        await watcher.flush()
      })
      after(() => watcher.close())

      for (const [name, start] of SERVICES) {
        it(`a service of ${name} answers Nest's client as Nest's does, and our client asks as Nest's does`, async () => {
          const service = await start(nestOnNats, engine)
          const nest = ClientProxyFactory.create(nestOnNats.client(engine.port) as ClientOptions)
          const ours = connect({ transport: engine.transport() })
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
              // A request asks services of this library for the first value only; NestJS's protocol has nothing for
              // that.
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
