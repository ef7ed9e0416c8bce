/** NestJS and this library together over every engine for which NestJS has a transport: what callers get. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe } from 'node:test'
import { ClientProxyFactory as OursInNest } from '@elysia-microservices/nestjs'
import { type ClientOptions, type ClientProxy, ClientProxyFactory } from '@nestjs/microservices'
import { connect, RpcError, type UntypedClient } from 'elysia-microservices/client'
import { firstValueFrom, lastValueFrom, take, toArray } from 'rxjs'
import { type RunningEnd, SERVICES, seen } from './ends.ts'
import type { RunningEngine } from './engines.ts'
import { overEngines } from './needs.ts'
import type { NestEnds } from './nest-ends.ts'

/** How a NestJS application makes its client: with one import changed, it is ours, with the same options. */
const CLIENTS_IN_NEST = [
  ["Nest's client", ClientProxyFactory],
  ['our client in its place', OursInNest]
] as const

/** Words of NestJS's own, by which our client tells inside NestJS that nobody listens. */
const NOBODY = /There is no matching message handler/

overEngines("Nest's ends", ['nest'], (each, caseOf) => {
  const nest = each.nest as NestEnds
  const east = nest.levels ? 'time/us/east' : 'time.us.east'
  describe(`over ${each.title}`, () => {
    let engine: RunningEngine
    before(async () => {
      engine = await each.start()
    })
    after(() => engine.close())

    for (const [name, start] of SERVICES) {
      describe(`a service of ${name}`, () => {
        let service: RunningEnd
        before(async () => {
          service = await start(nest, engine)
        })
        after(() => service.stop())

        for (const [title, factory] of CLIENTS_IN_NEST)
          describe(`and ${title}`, () => {
            let client: ClientProxy
            beforeEach(() => {
              client = factory.create(nest.client(engine.port) as ClientOptions) as ClientProxy
            })
            afterEach(() => client.close())
            const ask = (pattern: unknown, data: unknown = 0) => firstValueFrom(client.send(pattern, data))
            const askAll = (pattern: unknown, data: unknown = 0) =>
              lastValueFrom(client.send(pattern, data).pipe(toArray()))

            caseOf('get values, streams, nothing, and errors', [], async () => {
              assert.deepEqual(await ask('echo', { a: [1, 'é'] }), { a: [1, 'é'] })
              assert.equal(await ask({ a: 'x', b: 1 }), 'object')
              // NestJS's MQTT client loses answers of calls that overlap the end of the last one: tests/mqtt has more.
              const count = factory === ClientProxyFactory && nest.levels ? 1 : 10
              const many = Array.from({ length: count }, (_, n) => n)
              assert.deepEqual(await Promise.all(many.map((n) => ask('echo', n))), many)
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
              assert.deepEqual(
                await lastValueFrom(client.send('endless', 0).pipe(take(2), toArray())),
                [0, 1]
              )
            })

            caseOf(
              'hand wildcards, headers of a record, and an event to both its handlers',
              ['headers'],
              async () => {
                assert.deepEqual(await ask(east, 1), [east, 1])
                if (nest.hasHeaders)
                  assert.equal(await ask('headers', nest.record(':cat:', { 'x-version': '1.0.0' })), '1.0.0')
                assert.equal(await ask('headers'), null)
                client.emit('noted', { n: 1 })
                assert.deepEqual(
                  [await seen.take(), await seen.take()],
                  [
                    ['first', { n: 1 }],
                    ['second', { n: 1 }]
                  ]
                )
              }
            )

            const nobody = factory === OursInNest ? NOBODY : nest.nobody
            if (nobody !== undefined)
              caseOf('learn at once that nobody listens', ['hearsNobody'], async () => {
                await assert.rejects(ask('unknown'), nobody)
              })
          })

        describe('and our client', () => {
          let client: UntypedClient
          beforeEach(() => {
            client = connect({ transport: engine.transport({ queue: nest.queue }) })
          })
          afterEach(() => client.close())

          caseOf('get values, streams, nothing, and errors', [], async () => {
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

          caseOf(
            'hand wildcards, headers, records, and an event to both its handlers',
            ['headers'],
            async () => {
              assert.deepEqual(await client.request(east, 1), [east, 1])
              if (nest.hasHeaders) {
                assert.equal(await client.request('headers', 0, { headers: { 'x-version': '2' } }), '2')
                assert.equal(await client.request('headers', nest.record(1, { 'x-version': '3' })), '3')
              }
              await client.emit('noted', { n: 2 })
              assert.deepEqual(
                [await seen.take(), await seen.take()],
                [
                  ['first', { n: 2 }],
                  ['second', { n: 2 }]
                ]
              )
            }
          )

          caseOf('learn at once that nobody listens', ['hearsNobody'], async () => {
            await assert.rejects(client.request('unknown'), { code: 'PATTERN_NOT_FOUND', mayHaveRun: false })
          })
        })
      })
    }
  })
})
