/** Results of exception filters: nothing is no answer, so that a filter which only writes a log makes no success of a failure. */
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { isInCheck, isOnPush } from '@elysia-microservices/test-support'
import { ManualClock, memory } from '@elysia-microservices/transport'
import { type ExceptionFilter, UseFilters, UseInterceptors } from '@nestjs/common'
import { EMPTY, map, type Observable, of, throwError } from 'rxjs'
import { connect, type UntypedStoringClient } from '../client/index.ts'
import { microservice, type RpcError } from '../index.ts'
import { EventPattern, MessagePattern } from '../nest.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const broken = new Error('broken')

/** How a handler fails. */
const FAILURES: Readonly<Record<string, () => unknown>> = {
  throws: () => {
    throw broken
  },
  rejects: async () => {
    throw broken
  },
  'has a stream that fails': () => throwError(() => broken),
  'has a generator that fails': async function* () {
    yield* []
    throw broken
  },
  'promises a stream that fails': async () => throwError(() => broken)
}

const failing = () => throwError(() => ({ code: 'FILTERED' }))

/** Results of a filter, and those of the caller: values, or the code of an error. */
const ANSWERS: readonly (readonly [
  name: string,
  answer: () => unknown,
  gets: readonly unknown[] | string
])[] = [
  ['nothing', () => undefined, 'INTERNAL'],
  ['null', () => null, 'INTERNAL'],
  ['false', () => false, 'INTERNAL'],
  ['0', () => 0, 'INTERNAL'],
  ['an empty text', () => '', 'INTERNAL'],
  ['a promise of nothing', async () => {}, 'INTERNAL'],
  [
    'a thenable of nothing',
    // biome-ignore lint/suspicious/noThenProperty: that is the case
    () => ({ then: (done: (value: unknown) => void) => done(undefined) }),
    'INTERNAL'
  ],
  ['a promise that rejects', async () => Promise.reject(new Error('the filter fails')), 'INTERNAL'],
  [
    'a thenable whose getter throws',
    () => ({
      // biome-ignore lint/suspicious/noThenProperty: that is the case
      get then() {
        throw new Error('the getter throws')
      }
    }),
    'INTERNAL'
  ],
  ['an Observable that fails', failing, 'FILTERED'],
  ['a promise of an Observable that fails', async () => failing(), 'FILTERED'],
  ['a promise of a promise of an Observable that fails', async () => Promise.resolve(failing()), 'FILTERED'],
  ['EMPTY', () => EMPTY, []],
  ['a promise of EMPTY', async () => EMPTY, []],
  ['an Observable', () => of(1, 2), [1, 2]],
  ['a promise of an Observable', async () => of(1, 2), [1, 2]],
  ['a promise of a value', async () => 'text', ['text']],
  ['a promise of null', async () => null, [null]]
]

class Passing {
  intercept(_context: unknown, next: { handle(): Observable<unknown> }) {
    return next.handle()
  }
}
class Mapping {
  intercept(_context: unknown, next: { handle(): Observable<unknown> }) {
    return next.handle().pipe(map((value) => value))
  }
}
const INTERCEPTORS = {
  'no interceptor': [],
  'an interceptor': [Passing],
  'two interceptors': [Passing, Mapping]
}

/** In `npm run check` only what stands behind both, and on a push nothing that stands behind one. */
const AROUND = Object.entries(INTERCEPTORS)
  .slice(isInCheck ? -1 : 0)
  .filter(([, { length }]) => !isOnPush || length !== 1)

type Interceptors = readonly (new () => object)[]

/** A filter that returns the answer, around a method that fails. */
function decorated(answer: () => unknown, interceptors: Interceptors): MethodDecorator {
  class Answering implements ExceptionFilter {
    catch() {
      return answer()
    }
  }
  const decorators = [UseFilters(new Answering()), UseInterceptors(...(interceptors as []))]
  return (...method) => {
    for (const decorate of decorators) (decorate as MethodDecorator)(...method)
  }
}

async function started(controller: object, way: (typeof WAYS)[number], clock?: ManualClock) {
  const { transport, client } = newWay(way)
  const logged: unknown[] = []
  const logger = { error: (_line: string, cause?: unknown) => void logged.push(cause), warn() {} }
  const stored = memory({ clock })
  const service = microservice({
    ...{ name: 'billing', transport: clock === undefined ? transport : stored, logger },
    controllers: [controller]
  })
  await cleanups.add(service).listen()
  const caller = cleanups.add(connect(clock === undefined ? client({ retry: false }) : { transport: stored }))
  return { caller, logged }
}

for (const [around, interceptors] of AROUND)
  for (const way of isInCheck ? (['nest'] as const) : WAYS)
    describe(`a filter over ${way}, with ${around}`, () => {
      for (const [name, answer, gets] of ANSWERS)
        it(`that returns ${name} answers ${JSON.stringify(gets)}, however the handler fails`, async () => {
          for (const [how, fail] of Object.entries(FAILURES)) {
            class Controller {
              @decorated(answer, interceptors)
              @MessagePattern('request')
              request() {
                return fail()
              }
            }
            const { caller, logged } = await started(new Controller(), way)
            const got: unknown[] = []
            let code: string | undefined
            try {
              for await (const value of caller.stream('request')) got.push(value)
            } catch (error) {
              code = (error as RpcError).code
            }
            assert.deepEqual(code ?? got, gets, how)
            assert.equal(logged.length, gets === 'INTERNAL' ? 1 : 0, how)
          }
        })
    })

const ATTEMPTS = 3

for (const [around, interceptors] of AROUND)
  describe(`a filter of a durable event, with ${around}`, () => {
    for (const [name, answer, gets] of ANSWERS)
      it(`that returns ${name} lets the event ${typeof gets === 'string' ? 'fail' : 'count as handled'}`, async () => {
        for (const [how, fail] of Object.entries(FAILURES)) {
          let attempts = 0
          class Controller {
            @decorated(answer, interceptors)
            @EventPattern('stored', { durable: { retry: { attempts: ATTEMPTS, minDelay: 10 } } })
            stored() {
              attempts++
              return fail()
            }
          }
          const clock = new ManualClock(0)
          const { caller, logged } = await started(new Controller(), 'memory', clock)
          await (caller as UntypedStoringClient).publish('stored', 1)
          await clock.advance(1_000_000)
          assert.equal(attempts, typeof gets === 'string' ? ATTEMPTS : 1, how)
          assert.equal(logged.length > 0, typeof gets === 'string', how)
        }
      })
  })

describe('a pre-request hook of a durable event', () => {
  const HOOKS: Readonly<Record<string, () => unknown>> = {
    nothing: () => undefined,
    'a promise of nothing': async () => {}
  }
  for (const [name, hook] of Object.entries(HOOKS))
    it(`that returns ${name} lets the event fail, because its handler has not run`, async () => {
      let ran = 0
      class Controller {
        @EventPattern('stored', { durable: { retry: { attempts: ATTEMPTS, minDelay: 10 } } })
        stored() {
          ran++
        }
      }
      const clock = new ManualClock(0)
      const transport = memory({ clock })
      const logged: unknown[] = []
      const service = microservice({
        ...{ name: 'billing', transport, controllers: [Controller] },
        logger: { error: (_line, cause) => void logged.push(cause), warn() {} },
        nest: { preRequestHooks: [hook] }
      })
      await cleanups.add(service).listen()
      const caller = cleanups.add(connect({ transport }))
      await (caller as UntypedStoringClient).publish('stored', 1)
      await clock.advance(1_000_000)
      assert.equal(ran, 0)
      assert.match(String(logged[0]), /return next\(\)/)
    })
})
