import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { status, t } from 'elysia'
import { connect, type UntypedClient } from '../client/index.ts'
import { type Message, microservice, RpcError } from '../index.ts'
import { type Listening, listen, newApp } from '../testing/http-app.ts'
import { gateway } from './index.ts'

const logged: unknown[][] = []
const logger = {
  error: (...all: unknown[]) => void logged.push(['error', ...all]),
  warn: (...all: unknown[]) => void logged.push(['warn', ...all])
}

class NotMine extends Error {}

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0, logger })
  .error('CONFLICT', NotMine)
  .message('fail', ({ data }: Message<{ code: string; message: string; status?: string }>) => {
    const status = data.status === undefined ? undefined : Number(data.status)
    throw new RpcError({ ...data, status, details: { of: data.code } })
  })
  .message('known', () => {
    throw new NotMine('It is not yours')
  })
  .message('break', () => {
    throw new Error('the password is 1234')
  })
  .message('nest', ({ data }: Message<{ name: string; status: string }>) => {
    // For a service, Nest's RpcException is an object with a method `getError`.
    const error = { [data.name]: Number(data.status), message: 'No such user' }
    throw Object.assign(new Error('RpcException'), { getError: () => error })
  })
  .message('exception', ({ data }: Message<{ status: string }>) => {
    // For a service, Nest's HttpException is an object with the methods `getStatus` and `getResponse`.
    const response = { message: ['a is short', 'b is long'], error: 'words', statusCode: Number(data.status) }
    const methods = { getStatus: () => Number(data.status), getResponse: () => response }
    throw Object.assign(new Error('Bad Request Exception'), methods)
  })
  .message('checked', ({ data }) => data, { data: t.Object({ id: t.Number() }) })

let client: UntypedClient
let http: Listening

before(async () => {
  await service.listen()
  client = connect({ host: '127.0.0.1', port: service.address!.port })
  const gone = connect({ host: '127.0.0.1', port: 1 })
  const routes = gateway(
    client,
    {
      'GET /fail': 'fail',
      'GET /known': 'known',
      'GET /nest': 'nest',
      'GET /exception': 'exception',
      'GET /break': 'break',
      'GET /checked': 'checked',
      'GET /whole/:n': {
        pattern: 'checked',
        params: t.Object({ n: t.Integer({ minimum: 1 }) }),
        data: () => ({ id: 1 })
      },
      'POST /count': {
        pattern: 'checked',
        body: t.Object({ n: t.Integer({ minimum: 1 }) }),
        data: () => ({ id: 1 })
      },
      'GET /unknown': 'nobody handles this',
      'GET /mistake': {
        pattern: 'checked',
        data: () => {
          throw new TypeError('the password is 1234')
        }
      },
      'GET /http-error': {
        pattern: 'checked',
        data: () => {
          throw Object.assign(new Error('Short and stout'), { status: 418 })
        }
      },
      'GET /status': {
        pattern: 'checked',
        data: () => {
          throw status(402, 'Elysia’s own')
        }
      }
    },
    { logger, errors: { OUT_OF_STOCK: 409, NOT_FOUND: 410 } }
  )
  http = await listen(
    newApp()
      .onError(({ error }) =>
        error instanceof RpcError && error.code === 'TEAPOT'
          ? new Response('mine', { status: 418 })
          : undefined
      )
      .use(routes)
      .use(
        gateway(
          gone,
          { 'GET /gone': 'x', 'GET /gone-stream': { stream: 'x' }, 'POST /gone': { emit: 'x' } },
          { logger, retryAfter: 4_500 }
        )
      )
  )
})
after(async () => {
  await http.stop()
  await client.close()
  await service.stop()
})

async function answerOf(path: string, init?: RequestInit) {
  const response = await fetch(http.url + path, init)
  return { status: response.status, headers: response.headers, body: (await response.json()) as object }
}

describe('an error of the service', () => {
  for (const [code, expected] of [
    ['UNAUTHORIZED', 401],
    ['FORBIDDEN', 403],
    ['CONFLICT', 409],
    ['VALIDATION', 422],
    ['TOO_MANY_REQUESTS', 429],
    ['OUT_OF_STOCK', 409],
    ['NOT_FOUND', 410],
    ['SOMETHING_ELSE', 500],
    ['__proto__', 500],
    ['constructor', 500],
    ['toString', 500]
  ] as const) {
    it(`with the code ${code} has the status ${expected}, its message and its details`, async () => {
      const { status, body } = await answerOf(`/fail?code=${code}&message=Why`)
      assert.equal(status, expected)
      assert.deepEqual(body, { code, message: 'Why', details: { of: code } })
    })
  }

  for (const name of ['status', 'statusCode', 'code'])
    it(`of Nest with a number under ${name} has that as its status, and a code for it`, async () => {
      const { status, body } = await answerOf(`/nest?name=${name}&status=404`)
      assert.deepEqual([status, body], [404, { code: 'NOT_FOUND', message: 'No such user' }])
      for (const other of [200, 5, 600]) {
        const { status, body } = await answerOf(`/nest?name=${name}&status=${other}`)
        assert.deepEqual([status, body], [500, { code: 'UNKNOWN', message: 'No such user' }])
      }
    })

  it('with a status of its own has that, unless the app has one for its code', async () => {
    for (const [code, expected] of [
      ['CONFLICT', 423],
      ['SOMETHING_ELSE', 423],
      ['OUT_OF_STOCK', 409]
    ] as const) {
      const { status, body } = await answerOf(`/fail?code=${code}&message=Why&status=423`)
      assert.deepEqual([status, (body as { code: string }).code], [expected, code])
    }
  })

  it('that is an exception of Nest with a status has that, and its messages', async () => {
    const rest = { message: 'a is short; b is long', details: { messages: ['a is short', 'b is long'] } }
    for (const [given, code] of [
      [400, 'BAD_REQUEST'],
      [403, 'FORBIDDEN'],
      [418, 'HTTP_418'],
      [507, 'HTTP_507']
    ] as const) {
      const { status, body } = await answerOf(`/exception?status=${given}`)
      assert.deepEqual([status, body], [given, { code, ...rest }])
    }
  })

  it('that the service registered has its code', async () => {
    const { status, body } = await answerOf('/known')
    assert.deepEqual([status, body], [409, { code: 'CONFLICT', message: 'It is not yours' }])
  })

  it('that a schema of the service makes is a 422 that says where', async () => {
    const { status, body } = await answerOf('/checked')
    assert.equal(status, 422)
    assert.equal((body as { code: string }).code, 'VALIDATION')
    assert.equal((body as { details: { path: string } }).details.path, 'data.id')
  })

  it('that it did not expect says nothing', async () => {
    const { status, body } = await answerOf('/break')
    assert.deepEqual([status, body], [500, { code: 'INTERNAL', message: 'Internal server error' }])
  })

  it('for a pattern that nobody handles is a 501 that does not name it', async () => {
    const { status, body } = await answerOf('/unknown')
    const message = 'The service has no handler for this request'
    assert.deepEqual([status, body], [501, { code: 'PATTERN_NOT_FOUND', message }])
  })

  it('is the app’s to answer first', async () => {
    const response = await fetch(`${http.url}/fail?code=TEAPOT&message=x`)
    assert.deepEqual([response.status, await response.text()], [418, 'mine'])
  })
})

describe('an error of the gateway itself', () => {
  it('of a whole number in the path says what was expected', async () => {
    const details = { path: 'params.n', expected: 'integer' }
    const body = { code: 'VALIDATION', message: 'params.n: expected integer', details }
    for (const wrong of ['x', '1.5']) {
      const answer = await answerOf(`/whole/${wrong}`)
      assert.deepEqual([answer.status, answer.body], [422, body], wrong)
    }
    const { body: said } = await answerOf('/whole/0')
    assert.equal(
      (said as { message: string }).message,
      'params.n: expected integer to be greater or equal to 1'
    )
    assert.equal((await answerOf('/whole/5')).status, 200)
  })

  it('of a number in the body says what it must be, and not only that it is one', async () => {
    for (const [n, expected] of [
      [0, 'integer to be greater or equal to 1'],
      [1.5, 'integer'],
      ['tea', 'integer']
    ] as const) {
      const response = await fetch(`${http.url}/count`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ n })
      })
      assert.equal(response.status, 422)
      const { details } = (await response.json()) as { details: unknown }
      assert.deepEqual(details, { path: 'body.n', expected })
    }
  })

  it('that nobody expected is logged whole and says nothing', async () => {
    logged.length = 0
    const { status, body } = await answerOf('/mistake?token=secret')
    assert.deepEqual([status, body], [500, { code: 'INTERNAL', message: 'Internal server error' }])
    assert.equal(logged.length, 1)
    const [level, message, error] = logged[0] as [string, string, Error]
    assert.equal(level, 'error')
    assert.match(message, /^GET \/mistake \(checked, request \S+\) failed$/)
    assert.equal(error.message, 'the password is 1234')
  })

  it('with a status of its own has that', async () => {
    const { status, body } = await answerOf('/http-error')
    assert.deepEqual([status, body], [418, { code: 'BAD_REQUEST', message: 'Short and stout' }])
  })

  it('that is Elysia’s status() is answered by Elysia', async () => {
    const response = await fetch(`${http.url}/status`)
    assert.deepEqual([response.status, await response.text()], [402, 'Elysia’s own'])
  })
})

describe('a service that is not there', () => {
  for (const [path, method] of [
    ['/gone', 'GET'],
    ['/gone-stream', 'GET'],
    ['/gone', 'POST']
  ] as const) {
    it(`is a 503 of ${method} ${path}, to be tried again, that names no host`, async () => {
      logged.length = 0
      const { status, headers, body } = await answerOf(path, { method })
      assert.deepEqual(
        [status, body],
        [503, { code: 'CONNECTION', message: 'The service cannot be reached' }]
      )
      assert.equal(headers.get('retry-after'), '5')
      assert.match(String(logged[0]?.[1]), /\(x, request \S+\) is answered with 503 CONNECTION: ./)
    })
  }
})
