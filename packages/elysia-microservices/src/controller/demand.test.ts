/** Streams behind Nest's pipeline: they wait for a slow reader, and end when it leaves. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isInCheck } from '@elysia-microservices/test-support'
import { Catch } from '@nestjs/common'
import { from, map, Observable, type Observable as Values } from 'rxjs'
import { microservice } from '../index.ts'
import { asking } from '../testing/service.ts'
import { MessagePattern } from './decorators.ts'

const MANY = 20_000
let made = 0
let open = 0

class Export {
  @MessagePattern('rows')
  async *rows() {
    open++
    try {
      for (made = 0; made < MANY; made++) yield { row: made }
    } finally {
      open--
    }
  }
  @MessagePattern('rows at once')
  *rowsAtOnce() {
    open++
    try {
      for (made = 0; made < MANY; made++) yield { row: made }
    } finally {
      open--
    }
  }
  @MessagePattern('fails')
  async *fails() {
    yield 1
    throw new RangeError('the second row')
  }
  @MessagePattern('fails at once')
  async *failsAtOnce(): AsyncGenerator<number> {
    await new Promise((resolve) => setTimeout(resolve, 1))
    throw new RangeError('the first row')
  }
  @MessagePattern('live')
  live() {
    return new Observable((subscriber) => {
      open++
      subscriber.next('now')
      return () => void open--
    })
  }
}

class Logging {
  intercept(_context: unknown, next: { handle(): Values<unknown> }) {
    return next.handle().pipe(map((value) => value))
  }
}
@Catch()
class Everything {
  catch(error: Error) {
    const answer = from([`filtered: ${error.message}`, 'the end'])
    if (error.message !== 'the first row') return answer
    return new Observable((subscriber) => {
      open++
      subscriber.next('filtered')
      return () => void open--
    })
  }
}

const PIPELINES = {
  'without enhancers': {},
  'with a filter': { filters: [new Everything()] },
  'with an interceptor': { interceptors: [new Logging()] },
  'with two interceptors and a filter': {
    interceptors: [new Logging(), new Logging()],
    filters: [new Everything()]
  },
  'with a pre-request hook and an interceptor': {
    preRequestHooks: [(_context: unknown, next: () => unknown) => next() as Values<unknown>],
    interceptors: [new Logging()]
  }
}

for (const [title, nest] of Object.entries(PIPELINES).slice(isInCheck ? -2 : 0)) {
  const service = () =>
    microservice({
      transport: 'tcp',
      host: '127.0.0.1',
      port: 0,
      controllers: [Export],
      nest: nest as never,
      logger: { error() {}, warn() {} }
    })

  describe(`a stream of a controller ${title}`, () => {
    for (const pattern of ['rows', 'rows at once'])
      it(`waits for a slow reader, gives all values, and ends when its reader leaves ('${pattern}')`, () =>
        asking(service(), async (client) => {
          let count = 0
          for await (const value of client.stream(pattern, 0)) {
            assert.deepEqual(value, { row: count++ })
            if (count === 2_000) {
              // The service has made what fits, and no more comes while the reader is busy.
              for (let turn = 0, before = -1; turn < 50 || before !== made; turn++) {
                before = made
                await new Promise((resolve) => setTimeout(resolve, 1))
              }
              assert.ok(made < 10_000, `${made} values were made for a reader that has taken ${count}`)
            }
          }
          assert.equal(count, MANY)
          for await (const _value of client.stream(pattern, 0)) if (made > 10) break
          await settled()
          assert.equal(open, 0)
        }))

    it('sends the error of a generator, or the answer of a filter', () =>
      asking(service(), async (client) => {
        const values: unknown[] = []
        const read = async () => {
          for await (const value of client.stream('fails', 0)) values.push(value)
        }
        if ('filters' in nest) {
          await read()
          assert.deepEqual(values, [1, 'filtered: the second row', 'the end'])
        } else {
          await assert.rejects(read())
          assert.deepEqual(values, [1])
        }
      }))

    it('is left by a caller that takes only the first value', () =>
      asking(service(), async (client) => {
        assert.equal(await client.request('live', 0), 'now')
        await settled()
        assert.equal(open, 0)
        if (!('filters' in nest)) return
        assert.equal(await client.request('fails at once', 0), 'filtered')
        await settled()
        assert.equal(open, 0)
      }))
  })
}

/** Resolves when the service has no stream open, at the latest after many turns. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 1_000 && open > 0; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
}
