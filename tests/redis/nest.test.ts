/** NestJS and this library on one Redis server: the bytes on the channels. What callers get is in `tests/engines`. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isMissing, redisMissing, until } from '@elysia-microservices/test-support'
import { type ClientOptions, ClientProxyFactory } from '@nestjs/microservices'
import { connect } from 'elysia-microservices/client'
import { Redis } from 'ioredis'
import { firstValueFrom, lastValueFrom } from 'rxjs'
import { SERVICES, seen } from '../engines/ends.ts'
import { ENGINES, type RunningEngine } from '../engines/engines.ts'
import { nestOnRedis } from '../engines/nest-ends.ts'

/** A channel that only the tap uses. */
const MARK = 'until-here'

if (!isMissing('Nest and our transport over Redis', redisMissing()))
  describe('over Redis, byte by byte', () => {
    let engine: RunningEngine
    let tap: Redis
    let marker: Redis
    const lines: string[] = []
    before(async () => {
      engine = await (ENGINES.find(({ name }) => name === 'redis') as (typeof ENGINES)[number]).start()
      tap = new Redis(engine.port)
      marker = new Redis(engine.port)
      tap.on('message', (channel, text) => lines.push(`${channel} ${text}`))
      await tap.subscribe('echo', 'echo.reply', 'noted', MARK)
    })
    after(async () => {
      tap.disconnect()
      marker.disconnect()
      await engine.close()
    })

    /** The lines that were written since the last call. */
    async function written(): Promise<string[]> {
      await marker.publish(MARK, '')
      await until('the mark', () => lines.at(-1)?.startsWith(MARK) === true)
      return lines
        .splice(0)
        .slice(0, -1)
        .map((line) => line.replace(/"id":"[^"]+"/, '"id":"ID"'))
    }

    for (const [name, start] of SERVICES)
      it(`a service of ${name} and its clients write what Nest writes`, async () => {
        const service = await start(nestOnRedis, engine)
        const nest = ClientProxyFactory.create(nestOnRedis.client(engine.port) as ClientOptions)
        const own = connect({ transport: engine.transport() })
        try {
          const isAnswered = () =>
            own.request('echo', 0).then(
              () => true,
              () => false
            )
          // NestJS's listen() does not wait for its subscriptions.
          await until('its subscriptions', isAnswered)
          await written()
          const request = [
            'echo {"pattern":"echo","data":{"x":1},"id":"ID"}',
            'echo.reply {"response":{"x":1},"isDisposed":true,"id":"ID"}'
          ]
          await firstValueFrom(nest.send('echo', { x: 1 }))
          assert.deepEqual(await written(), request)
          await own.request('echo', { x: 1 })
          // Between client and service of this library, no part of a request is on the channels of NestJS.
          assert.deepEqual(await written(), name === 'Nest' ? request : [])
          await lastValueFrom(nest.emit('noted', { e: 1 }), { defaultValue: undefined })
          await own.emit('noted', { e: 1 })
          for (const handler of ['first', 'second', 'first', 'second'])
            assert.deepEqual(await seen.take(), [handler, { e: 1 }])
          const reached = name === 'Nest' ? '' : ',"_elysia":["orders"]'
          assert.deepEqual(await written(), [
            'noted {"pattern":"noted","data":{"e":1}}',
            `noted {"pattern":"noted","data":{"e":1}${reached}}`
          ])
        } finally {
          await nest.close()
          await own.close()
          await service.stop()
        }
      })
  })
