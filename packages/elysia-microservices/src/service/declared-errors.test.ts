/** Errors that a pattern declares, on their way from the handler to the caller, over every transport of these tests. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { RpcException } from '@nestjs/microservices'
import { t } from 'elysia'
import { z } from 'zod'
import { connect } from '../client/index.ts'
import {
  type DeclaredError,
  isError,
  type MicroserviceError,
  microservice,
  OptionError,
  ResponseValidationError,
  RpcError
} from '../index.ts'
import { decoratorsOf, MessagePattern } from '../nest.ts'
import { newService } from '../testing/service.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const logged: unknown[] = []
const logger = { error: (_text: string, cause?: unknown) => void logged.push(cause), warn() {} }

const OUT_OF_STOCK = t.Object({ left: t.Number() })

class Closed extends Error {
  readonly details = { until: 8 }
}

/** The fields of an error that callers get, without those that only one process knows. */
const seen = (error: unknown) => {
  assert.ok(error instanceof RpcError, String(error))
  const { code, message, details, status } = error
  return { code, message, details, status }
}

const broken = (left: unknown) => () => {
  throw new RpcError({ code: 'OUT_OF_STOCK', message: 'secret', details: { left, secret: 'secret' } })
}

for (const way of WAYS)
  describe(`an error of the contract, ${way}`, () => {
    const start = async () => {
      const ends = newWay(way)
      const service = microservice({ transport: ends.transport, logger })
        .error('CLOSED', Closed)
        .guard({ errors: { DENIED: { status: 403 } } })
        .message(
          'take',
          ({ data, fail }) => {
            if (data === 'thrown') throw fail('OUT_OF_STOCK', { left: 3 }, 'Not so much is left')
            if (data === 'returned') return fail('OUT_OF_STOCK', { left: 3 }, 'Not so much is left')
            if (data === 'guard') throw fail('DENIED')
            if (data === 'class') throw new Closed('Closed until 8')
            if (data === 'other') throw new RpcError({ code: 'OTHER', details: 'other' })
            if (data === 'bug') throw new Error('secret')
            return 'taken'
          },
          { data: t.String(), errors: { OUT_OF_STOCK: { details: OUT_OF_STOCK, status: 409 } } }
        )
        .message('later', async ({ fail }) => (Math.random() > 1 ? 1 : fail('OUT_OF_STOCK', { left: 1 })), {
          errors: { OUT_OF_STOCK }
        })
        .message(
          'stream',
          async function* ({ fail }) {
            yield 1
            throw fail('AT', { at: '5' })
          },
          { errors: { AT: z.object({ at: z.string().transform(async (text) => Number(text)) }) } }
        )
        .message('text', broken('3'), { errors: { OUT_OF_STOCK } })
        .message('extra', broken(3), { errors: { OUT_OF_STOCK } })
        .message(
          'undeclared details',
          () => Promise.reject(new RpcError({ code: 'CLOSED', details: 'secret' })),
          {
            errors: { CLOSED: {} }
          }
        )
        .message(
          'broken stream',
          async function* () {
            yield 1
            broken('3')()
          },
          { errors: { OUT_OF_STOCK } }
        )
      await service.listen()
      cleanups.add(service)
      logged.length = 0
      return { service, client: cleanups.add(connect<typeof service>(ends.client())) }
    }

    it('is thrown or returned, by a handler, a guard or as a class', async () => {
      const { client } = await start()
      const outOfStock = {
        code: 'OUT_OF_STOCK',
        message: 'Not so much is left',
        details: { left: 3 },
        status: 409
      }
      for (const how of ['thrown', 'returned']) {
        const { data, error } = await client.safe.request('take', how)
        assert.deepEqual([data, seen(error)], [null, outOfStock])
        assert.equal(isError(error, 'CLOSED'), false)
        assert.ok(isError(error, 'OUT_OF_STOCK'))
        assert.equal(error.details.left, 3)
        await assert.rejects(client.request('take', how), (caught) => {
          assert.deepEqual(seen(caught), outOfStock)
          return true
        })
      }
      const errorOf = async (how: string) => seen((await client.safe.request('take', how)).error)
      const none = { details: undefined, status: undefined }
      assert.deepEqual(await errorOf('guard'), { ...none, code: 'DENIED', message: 'DENIED', status: 403 })
      assert.deepEqual(await errorOf('class'), {
        ...none,
        ...{ code: 'CLOSED', message: 'Closed until 8', details: { until: 8 } }
      })
      assert.deepEqual(await errorOf('other'), { ...none, code: 'OTHER', message: 'OTHER', details: 'other' })
      assert.equal((await errorOf('bug')).code, 'INTERNAL')
      assert.deepEqual(await client.safe.request('take', 'tea'), { data: 'taken', error: null })
      assert.deepEqual(seen((await client.safe.request('later')).error).details, { left: 1 })
    })

    it('ends a stream, its details decoded as the schema says', async () => {
      const { client } = await start()
      const values: number[] = []
      await assert.rejects(
        async () => {
          for await (const value of client.stream('stream')) values.push(value)
        },
        (caught) => {
          assert.deepEqual(seen(caught), { code: 'AT', message: 'AT', details: { at: 5 }, status: undefined })
          return true
        }
      )
      assert.deepEqual(values, [1])
    })

    it('whose details fail their schema is INTERNAL, logged, and tells nothing', async () => {
      const { client } = await start()
      const failures = [
        (await client.safe.request('text')).error,
        (await client.safe.request('undeclared details')).error,
        await (async () => {
          for await (const _ of client.stream('broken stream'));
        })().catch((error: unknown) => error)
      ]
      for (const failure of failures) {
        assert.equal((failure as RpcError).code, 'INTERNAL')
        assert.doesNotMatch(JSON.stringify(failure), /secret/)
      }
      const paths = logged.map((cause) => {
        assert.ok(cause instanceof ResponseValidationError)
        assert.ok(cause.cause instanceof RpcError)
        return cause.path
      })
      assert.deepEqual(paths, ['errors.OUT_OF_STOCK.left', 'errors.CLOSED', 'errors.OUT_OF_STOCK.left'])
    })

    it('has only the details that its schema names', async () => {
      const { client } = await start()
      assert.deepEqual(seen((await client.safe.request('extra')).error).details, { left: 3 })
    })
  })

describe('errors of a further service', () => {
  const further = async () => {
    const ends = newWay('rsocket')
    const service = microservice({ transport: ends.transport, logger }).message(
      'take',
      ({ data, fail }) => {
        if (data === 'broken') throw new RpcError({ code: 'OUT_OF_STOCK', details: { left: 'many' } })
        if (data === 'other') throw new RpcError({ code: 'OTHER', details: 'secret' })
        return fail('SOLD_OUT', { left: 3 }, 'Not so much is left')
      },
      { data: t.String(), errors: { SOLD_OUT: { details: OUT_OF_STOCK, status: 409 } } }
    )
    await service.listen()
    cleanups.add(service)
    return cleanups.add(connect<typeof service>(ends.client()))
  }
  const codeOf = (error: MicroserviceError | null) => error?.code

  it('pass by their code, and only those that are named', async () => {
    const down = await further()
    const ends = newWay('memory')
    const service = microservice({ transport: ends.transport, logger })
      .guard({ errors: { SOLD_OUT: OUT_OF_STOCK, OUT_OF_STOCK } })
      .message('passed', ({ data }) => down.request('take', data), {
        data: t.String(),
        passes: ['SOLD_OUT', 'OUT_OF_STOCK']
      })
      .message('kept', ({ data }) => down.request('take', data), { data: t.String() })
      .group('group', (group) =>
        group.message('passed', ({ data }) => down.request('take', data), {
          data: t.String(),
          passes: ['SOLD_OUT']
        })
      )
    await service.listen()
    cleanups.add(service)
    const client = cleanups.add(connect<typeof service>(ends.client()))
    for (const pattern of ['passed', 'group.passed'] as const) {
      const { error } = await client.safe.request(pattern, '')
      assert.ok(isError(error, 'SOLD_OUT'))
      assert.deepEqual([error.details.left, error.status], [3, 409])
    }
    logged.length = 0
    assert.equal(codeOf((await client.safe.request('passed', 'other')).error), 'INTERNAL')
    assert.equal(codeOf((await client.safe.request('kept', '')).error), 'INTERNAL')
    assert.equal(codeOf((await client.safe.request('passed', 'broken')).error), 'INTERNAL')
    assert.ok(logged[2] instanceof ResponseValidationError)
  })
})

describe('errors of a contract', () => {
  it('reach services that use the guard, as far as its scope says', async () => {
    const ends = newWay('memory')
    const auth = newService()
      .guard({ as: 'scoped', errors: { UNAUTHORIZED: { status: 401 } } })
      .resolve({ as: 'scoped' }, ({ headers, fail }) =>
        headers['authorization'] === undefined ? fail('UNAUTHORIZED') : { user: headers['authorization'] }
      )
    const service = microservice({ transport: ends.transport, logger })
      .use(auth)
      .message('whoami', ({ user }) => user)
    await service.listen()
    cleanups.add(service)
    const client = cleanups.add(connect<typeof service>(ends.client()))
    const { error } = await client.safe.request('whoami')
    assert.ok(isError(error, 'UNAUTHORIZED'))
    assert.equal(error.status, 401)
    assert.equal(await client.request('whoami', undefined, { headers: { authorization: 'Ada' } }), 'Ada')
    assert.deepEqual(service.describe().handlers[0]?.errors, { UNAUTHORIZED: { status: 401 } })
  })

  it('are part of the description, beside registered classes', () => {
    const { handlers } = newService()
      .error('CLOSED', Closed)
      .message('take', () => 1, {
        errors: { OUT_OF_STOCK: { details: OUT_OF_STOCK, status: 409 }, EMPTY: {} }
      })
      .event('event', () => {})
      .describe()
    assert.deepEqual(handlers[0]?.errors, {
      CLOSED: {},
      OUT_OF_STOCK: {
        details: { type: 'object', required: ['left'], properties: { left: { type: 'number' } } },
        status: 409
      },
      EMPTY: {}
    })
    assert.equal(handlers[1]?.errors, undefined)
  })

  it('that stand under the name of the hook are refused with the name of their own option', () => {
    assert.throws(
      () => newService().message('a', () => 1, { error: { OUT_OF_STOCK } as never }),
      (error) => error instanceof OptionError && error.message.includes('stand in options.errors')
    )
  })

  it('are refused where they are not what they must be', () => {
    const refused = (errors: unknown, path: string) =>
      assert.throws(
        () => newService().message('a', () => 1, { errors: errors as never }),
        (error) => error instanceof OptionError && error.path === path
      )
    refused('OUT_OF_STOCK', 'options.errors')
    refused([OUT_OF_STOCK], 'options.errors')
    refused(OUT_OF_STOCK, 'options.errors')
    refused({ A: 'text' }, 'options.errors.A')
    refused({ A: { detail: OUT_OF_STOCK } }, 'options.errors.A.detail')
    refused({ A: { details: {} } }, 'options.errors.A.details')
    refused({ A: { status: 200 } }, 'options.errors.A.status')
    for (const code of ['', 'INTERNAL', 'VALIDATION', 'TIMEOUT'])
      refused({ [code]: {} }, `options.errors.${code}`)
    assert.throws(
      () => newService().message('a', () => 1, { passes: 'A' as never }),
      (error) => error instanceof OptionError && error.path === 'options.passes'
    )
  })

  it('whose details throw, or look like a promise, settle once', async () => {
    const ends = newWay('memory')
    const hostile = (trap: ProxyHandler<object>) => () => {
      throw new RpcError({ code: 'A', details: new Proxy({}, trap) })
    }
    const thenable = Object.fromEntries([['then', () => {}]])
    const throwing = {
      get() {
        throw new Error('secret')
      },
      ownKeys() {
        throw new Error('secret')
      }
    }
    const service = microservice({ transport: ends.transport, logger })
      .message('throws', hostile(throwing), { errors: { A: t.Object({ a: t.Number() }) } })
      .message('throws z', hostile(throwing), { errors: { A: z.object({ a: z.number() }) } })
      .message('thenable', () => Promise.reject(new RpcError({ code: 'A', details: thenable })), {
        errors: { A: t.Any() }
      })
    await service.listen()
    cleanups.add(service)
    const client = cleanups.add(connect(ends.client()))
    for (const pattern of ['throws', 'throws z', 'thenable']) {
      const { error } = await client.safe.request(pattern, undefined, { timeout: 2_000 })
      assert.ok(['INTERNAL', 'A'].includes(error?.code ?? ''), error?.message)
      assert.doesNotMatch(error?.message ?? '', /secret/)
    }
  })

  it('have codes that are on Object.prototype, too', async () => {
    const ends = newWay('memory')
    const service = microservice({ transport: ends.transport, logger })
      .message('a', ({ fail }) => fail('constructor', 1), { errors: { constructor: t.Number() } })
      .message('b', () => Promise.reject(new RpcError({ code: 'toString', details: 1 })), {
        errors: { A: {} }
      })
    await service.listen()
    cleanups.add(service)
    const client = cleanups.add(connect(ends.client()))
    assert.equal(seen((await client.safe.request('a')).error).details, 1)
    assert.equal(seen((await client.safe.request('b')).error).details, 1)
  })
})

interface Shop {
  'shop.take'(count: number): { left: number } | DeclaredError<'OUT_OF_STOCK', { left: number }>
  'shop.nest'(how: string): never | DeclaredError<'OUT_OF_STOCK', { left: number }>
}

const { MessagePattern: Take, fail } = decoratorsOf<Shop>()

class ShopController {
  @Take('shop.take', { errors: { OUT_OF_STOCK } })
  take(count: number) {
    if (count > 5) throw fail('OUT_OF_STOCK', { left: 5 })
    return count > 3 ? fail('OUT_OF_STOCK', { left: 3 }) : { left: 3 - count }
  }

  @MessagePattern('shop.nest', { errors: { OUT_OF_STOCK: { details: OUT_OF_STOCK, status: 409 } } })
  nest(how: string): never {
    if (how === 'details') throw new RpcException({ code: 'OUT_OF_STOCK', details: { left: 3, secret: 1 } })
    throw new RpcException({ code: 'OUT_OF_STOCK', left: how === 'text' ? 'many' : 3, message: 'Few' })
  }
}

describe('a controller', () => {
  for (const way of WAYS)
    it(`has errors in its contract, ${way}`, async () => {
      const ends = newWay(way)
      const service = microservice({ transport: ends.transport, logger, controllers: [ShopController] })
      await service.listen()
      cleanups.add(service)
      const client = cleanups.add(connect<Shop>(ends.client()))
      assert.deepEqual(await client.request('shop.take', 1), { left: 2 })
      for (const [count, left] of [
        [4, 3],
        [6, 5]
      ] as const) {
        const { error } = await client.safe.request('shop.take', count)
        assert.ok(isError(error, 'OUT_OF_STOCK'))
        assert.equal(error.details.left, left)
      }
      const nest = async (how: string) => seen((await client.safe.request('shop.nest', how)).error)
      const expected = { code: 'OUT_OF_STOCK', details: { left: 3 }, status: 409 }
      assert.deepEqual(await nest(''), { ...expected, message: 'Few' })
      assert.deepEqual((await nest('details')).details, { left: 3 })
      assert.equal((await nest('text')).code, 'INTERNAL')
    })

  it('is refused with errors that are not what they must be', () => {
    class Wrong {
      @MessagePattern('wrong', { errors: { INTERNAL: {} } })
      wrong() {}
    }
    assert.throws(() => microservice({ transport: 'tcp', controllers: [Wrong] }), OptionError)
  })
})

describe('safe.request', () => {
  it('gives local errors, and throws those of other classes', async () => {
    const ends = newWay('memory')
    const service = microservice({ transport: ends.transport, logger }).message(
      'never',
      () => new Promise(() => {})
    )
    await service.listen()
    cleanups.add(service)
    const client = cleanups.add(connect(ends.client()))
    const gone = await client.safe.request('never', undefined, { timeout: 5 })
    assert.equal(gone.error?.code, 'TIMEOUT')
    assert.equal((await client.safe.request('none')).error?.code, 'PATTERN_NOT_FOUND')
    const failing = () => () => {
      throw new TypeError('a bug of the middleware')
    }
    const faulty = cleanups.add(connect(ends.client({ wrap: [failing] })))
    await assert.rejects(faulty.safe.request('never'), TypeError)
  })
})
