import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { consume, IncomingMessage, type Peer, RpcError } from '@elysia-microservices/transport/kit'
import { t } from 'elysia'
import { concat, from, of, throwError } from 'rxjs'
import { compileSchemas } from '../schema/message-schema.ts'
import type { MessageContext } from './context.ts'
import { Environment } from './environment.ts'
import { hookOf } from './hook.ts'
import { classesOf } from './known-errors.ts'
import { compile, type Plan } from './pipeline.ts'
import { Surroundings } from './surroundings.ts'

const peer: Peer = {
  address: '10.0.0.1',
  port: 5000,
  certificate: undefined,
  caller: undefined,
  disconnect() {}
}
const delivery = {
  ...{ id: '7', group: 'g', attempt: 1, redelivered: false, key: undefined, age: 0, position: '7' },
  publishedAt: new Date(0)
}

function message(data?: unknown): IncomingMessage {
  return new IncomingMessage({
    ...{ transport: 'tcp', kind: 'request', pattern: 'x', route: 'x', data },
    ...{ metadata: { tenant: 'a' }, peer, delivery }
  })
}

type Context = MessageContext & Record<string, unknown>
type Step = (context: Context) => unknown

function handlerOf(handler: Step, plan: Partial<Plan> = {}, environment = new Environment()) {
  return compile(
    { handler, hooks: [], schema: {}, classes: [], hasParams: false, ...plan } as Plan,
    new Surroundings(environment)
  )
}

/** Runs each function synchronously, or in a promise. */
const speeds: Record<string, (step: Step) => Step> = {
  'at once': (step) => step,
  later: (step) => async (context) => step(context)
}

describe('a handler without hooks and schemas', () => {
  it('is the compiled handler itself', () => {
    const handler = () => 1
    assert.equal(handlerOf(handler), handler)
  })
})

for (const [speed, make] of Object.entries(speeds)) {
  const hook = (type: Parameters<typeof hookOf>[0], run: Step) => hookOf(type, make(run), undefined)

  describe(`hooks that answer ${speed}`, () => {
    it("run in Elysia's order: derive, schemas, then the others as registered", async () => {
      const seen: string[] = []
      const note = (name: string) => (context: Context) => {
        seen.push(`${name}:${context.data}`)
      }
      const handler = handlerOf(make(note('handler')), {
        hooks: [
          hook('beforeHandle', note('before 1')),
          hook('afterHandle', note('after 1')),
          hook('resolve', note('resolve')),
          hook('beforeHandle', note('before 2')),
          hook('derive', note('derive')),
          hook('afterHandle', note('after 2'))
        ],
        schema: compileSchemas({ data: t.Numeric() })
      })
      await handler(message('5'))
      assert.deepEqual(seen, [
        'derive:5',
        'before 1:5',
        'resolve:5',
        'before 2:5',
        'handler:5',
        'after 1:5',
        'after 2:5'
      ])
    })

    it('add to the context what derive and resolve return', async () => {
      const handler = handlerOf(({ tenant, user }) => [tenant, user], {
        hooks: [
          hook('derive', ({ headers }) => ({ tenant: Reflect.get(headers, 'tenant') })),
          hook('resolve', ({ tenant }) => ({ user: `${tenant}1` }))
        ]
      })
      assert.deepEqual(await handler(message()), ['a', 'a1'])
    })

    it('answer instead of the handler, with hooks after it still run', async () => {
      const handler = handlerOf(() => assert.fail('was called'), {
        hooks: [
          hook('beforeHandle', () => undefined),
          hook('beforeHandle', () => 'early'),
          hook('beforeHandle', () => 'too late'),
          hook('afterHandle', ({ response }) => `${response}, changed`)
        ]
      })
      assert.equal(await handler(message()), 'early, changed')
    })

    it('change the answer one after the other', async () => {
      const handler = handlerOf(
        make(() => 1),
        {
          hooks: [
            hook('afterHandle', ({ response }) => (response as number) + 1),
            hook('afterHandle', () => undefined),
            hook('afterHandle', ({ response }) => (response as number) * 10)
          ]
        }
      )
      assert.equal(await handler(message()), 20)
    })

    it('answer to a failure, or change it', async () => {
      const fail: Step = () => {
        throw new RangeError('no')
      }
      const run = async (...hooks: Step[]) =>
        handlerOf(make(fail), { hooks: hooks.map((run) => hook('error', run)) })(message())
      assert.equal(await run(({ code, error }) => `${code}: ${(error as Error).message}`), 'UNKNOWN: no')
      assert.equal(
        await run(
          () => undefined,
          () => 2,
          () => 3
        ),
        2
      )
      await assert.rejects(
        run(() => new RpcError('other')),
        { message: 'other' }
      )
      await assert.rejects(run(fail), { message: 'no' })
      await assert.rejects(
        run(() => undefined),
        RangeError
      )
    })

    it('fail by what they return or throw, wherever they are', async () => {
      for (const type of ['derive', 'resolve', 'beforeHandle'] as const) {
        const returned = handlerOf(() => 1, { hooks: [hook(type, () => new RpcError('returned'))] })
        await assert.rejects(async () => returned(message()), { message: 'returned' })
      }
      for (const type of ['derive', 'resolve', 'beforeHandle', 'afterHandle'] as const) {
        const caught = handlerOf(() => 1, {
          hooks: [
            hook(type, () => {
              throw new RpcError('thrown')
            }),
            hook('error', ({ code, error }) => [code, (error as Error).message])
          ]
        })
        assert.deepEqual(await caught(message()), ['RPC', 'thrown'])
      }
    })
  })
}

describe('a pipeline', () => {
  it('makes no promise where nothing is asynchronous', () => {
    const handler = handlerOf(({ data }) => data, {
      hooks: (['derive', 'resolve', 'beforeHandle', 'afterHandle', 'error'] as const).map((type) =>
        hookOf(type, () => undefined, undefined)
      ),
      schema: compileSchemas({
        data: t.Number(),
        response: t.Number(),
        headers: t.Object({ tenant: t.String() })
      })
    })
    assert.equal(handler(message(5)), 5)
  })

  it('shows handlers all there is of the message', () => {
    const environment = new Environment()
    environment.addDecorators({ db: 1 })
    const original = message(5)
    const handler = handlerOf((context) => context, {}, environment)
    const context = handler(original) as Context
    for (const field of [
      'data',
      'pattern',
      'headers',
      'metadata',
      'signal',
      'timeout',
      'remaining',
      'kind',
      'peer',
      'delivery',
      'transport'
    ] as const) {
      assert.equal(context[field], original[field], field)
    }
    assert.deepEqual([...context.params], [])
    assert.equal(context['db'], 1)
  })

  it('checks an early answer and the answer to a failure as any other', () => {
    const schema = compileSchemas({ response: t.Number() })
    const early = handlerOf(() => 1, { schema, hooks: [hookOf('beforeHandle', () => 'text', undefined)] })
    assert.throws(() => early(message()), { name: 'ResponseValidationError' })
    const failed = handlerOf(
      () => {
        throw new Error('no')
      },
      { schema, hooks: [hookOf('error', () => 'text', undefined)] }
    )
    assert.throws(() => failed(message()), { name: 'ResponseValidationError' })
  })

  it('passes a failure in the middle of a stream through its error hooks', async () => {
    const handler = handlerOf(
      async function* () {
        yield 1
        throw new Error('no')
      },
      { hooks: [hookOf('error', ({ error }: Context) => (error as Error).message, undefined)] }
    )
    const seen: unknown[] = []
    for await (const value of handler(message()) as AsyncIterable<unknown>) seen.push(value)
    assert.deepEqual(seen, [1, 'no'])
  })

  it('checks the answer to a failure in the middle of a stream as any other', async () => {
    const answers: readonly Step[] = [() => 'text', async () => 'text', () => from(['text'])]
    for (const answer of answers) {
      const handler = handlerOf(
        async function* () {
          yield 1
          throw new Error('no')
        },
        { schema: compileSchemas({ response: t.Number() }), hooks: [hookOf('error', answer, undefined)] }
      )
      const seen: unknown[] = []
      const read = async () => {
        for await (const value of handler(message()) as AsyncIterable<unknown>) seen.push(value)
      }
      await assert.rejects(read(), { name: 'ResponseValidationError' })
      assert.deepEqual(seen, [1])
    }
  })

  it('goes on with the stream that an error hook returns, whatever has failed', async () => {
    const answers: readonly (() => unknown)[] = [
      () => from([7, 8]),
      async () => from([7, 8]),
      async function* () {
        yield* [7, 8]
      },
      () => new Promise((resolve) => setImmediate(resolve, from([7, 8])))
    ]
    for (const answer of answers)
      for (const response of [undefined, t.Number()])
        for (const isLate of [false, true]) {
          const handler = handlerOf(
            () => {
              if (isLate)
                return concat(
                  of(1),
                  throwError(() => new Error('no'))
                )
              throw new Error('no')
            },
            { hooks: [hookOf('error', answer, undefined)], schema: compileSchemas({ response }) }
          )
          const seen: unknown[] = []
          const stream = (await handler(message())) as object
          await new Promise<void>((resolve, reject) => {
            const source = consume(stream, {
              next: (value) => seen.push(value) > 0,
              complete: resolve,
              error: reject,
              teardownFailed: reject
            })
            source.resume()
          })
          assert.deepEqual(seen, isLate ? [1, 7, 8] : [7, 8])
        }
  })

  it('makes registered errors answers with their code, also in hooks', () => {
    class NotFound extends Error {
      readonly details = { id: 5 }
    }
    const classes = classesOf({ NOT_FOUND: NotFound }, 'local')
    const throwing = () => {
      throw new NotFound('no such order')
    }
    const expected = { name: 'RpcError', code: 'NOT_FOUND', message: 'no such order', details: { id: 5 } }
    assert.throws(() => handlerOf(throwing, { classes })(message()), expected)
    const hooks = [
      hookOf(
        'error',
        ({ code }: Context) => (code === 'UNKNOWN' ? new NotFound('no such order') : undefined),
        undefined
      )
    ]
    assert.throws(() => handlerOf(throwing, { hooks, classes })(message()), expected)
    assert.throws(
      handlerOf(
        () => {
          throw new Error('hidden')
        },
        { hooks, classes }
      ).bind(undefined, message()),
      expected
    )
  })
})
