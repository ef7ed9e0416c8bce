/**
 * The gateway answers an error in the same way in all modes of Elysia, and in an app of another copy of Elysia than
 * this package's: CommonJS beside ESM, or another version.
 */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, describe, it } from 'node:test'
import { isInCheck, isOnPush } from '@elysia-microservices/test-support'
import { Elysia, t } from 'elysia'
import { connect } from '../client/index.ts'
import { type Message, memory, microservice, RpcError } from '../index.ts'
import { clients, gateway } from './index.ts'

const SECRET = 'the password is 1234'
const logger = { error() {}, warn() {} }
const transport = memory()
const service = microservice({ transport, logger })
  .message('echo', ({ data }) => data)
  .message('fails', () => {
    throw new RpcError({ code: 'NOT_FOUND', message: 'There is no such user', details: { id: 7 } })
  })
  .message('breaks', () => {
    throw new Error(SECRET)
  })
  .message('never', () => new Promise(() => {}))
  .message('checked', ({ data }: Message) => data, { data: t.Object({ n: t.Number() }) })
  .message('values', async function* () {
    yield 1
  })
const client = connect({ transport, logger })
const gone = connect({ host: '127.0.0.1', port: 1, logger })

const decoder = (fail: () => never) =>
  t
    .Transform(t.String())
    .Decode((text) => (text === 'bad' ? fail() : text))
    .Encode((text) => text)
const throwing = decoder(() => {
  throw new Error(SECRET)
})
const answering = decoder(() => {
  throw new RpcError({ code: 'GONE', message: 'It was there' })
})
const query = (schema: Parameters<typeof t.Array>[0]) => ({ pattern: 'echo', query: t.Object({ a: schema }) })
const body = (schema: Parameters<typeof t.Array>[0]) => ({ pattern: 'echo', body: t.Object({ a: schema }) })

const plugin = () =>
  gateway(
    client,
    {
      'GET /fails': 'fails',
      'GET /breaks': 'breaks',
      'GET /none': 'none',
      'GET /never': { pattern: 'never', timeout: 20 },
      'GET /checked': 'checked',
      'GET /stream': { stream: 'fails' },
      'GET /throws': {
        pattern: 'echo',
        data: () => {
          throw new Error(SECRET)
        }
      },
      'GET /nothing': {
        pattern: 'echo',
        data: () => {
          throw null
        }
      },
      'POST /echo': 'echo',
      'POST /echo/:id': 'echo',
      'POST /emit': { emit: 'echo' },
      'POST /values': { stream: 'values' },
      'GET /numbers': query(t.Array(t.Number())),
      'GET /integers': query(t.Array(t.Integer())),
      'GET /booleans': query(t.Optional(t.Array(t.Boolean()))),
      'GET /dates': query(t.Array(t.Date())),
      'GET /literals': query(t.Array(t.Literal('x'))),
      'GET /number': query(t.Number()),
      'GET /numeric': query(t.Numeric({ maximum: 3 })),
      'GET /date': query(t.Date()),
      'GET /object': query(t.Object({ b: t.Number() })),
      'GET /throwing': query(throwing),
      'GET /nested': query(t.Array(throwing)),
      'GET /answering': query(answering),
      'GET /param/:a': { pattern: 'echo', params: t.Object({ a: throwing }) },
      'GET /int/:a': { pattern: 'echo', params: t.Object({ a: t.Integer({ minimum: 1 }) }) },
      'POST /number': body(t.Number()),
      'POST /throwing': body(throwing),
      'POST /deep': body(t.Object({ b: t.Array(throwing) }))
    } as never,
    { logger }
  )

type Case = readonly [request: Request | (() => Request), status: number, code: string, path?: string]

const get = (path: string) => () => new Request(`http://localhost${path}`)
const post = (path: string, text: string | FormData | Uint8Array, type?: string) => () =>
  new Request(`http://localhost${path}`, {
    method: 'POST',
    body: text as never,
    ...(type !== undefined && { headers: { 'content-type': type } })
  })
const JSON_TYPE = 'application/json'
const BYTES = 'application/octet-stream'
function form(): FormData {
  const made = new FormData()
  made.set('f', new File(['x'], 'x.bin'))
  return made
}

const CASES: Readonly<Record<string, Case>> = {
  'an error of the service': [get('/fails'), 404, 'NOT_FOUND'],
  'an error of a stream': [get('/stream'), 404, 'NOT_FOUND'],
  'a bug of the service': [get('/breaks'), 500, 'INTERNAL'],
  'an unknown pattern': [get('/none'), 501, 'PATTERN_NOT_FOUND'],
  'no answer in time': [get('/never'), 504, 'TIMEOUT'],
  'data that the service refuses': [get('/checked?n=x'), 422, 'VALIDATION', 'data.n'],
  'a service that is gone': [get('/gone'), 503, 'CONNECTION'],
  'a service that is gone, called by a handler': [get('/own'), 503, 'CONNECTION'],
  'a bug in a function of a route': [get('/throws'), 500, 'INTERNAL'],
  'a function of a route that throws null': [get('/nothing'), 500, 'INTERNAL'],
  'a body that is no JSON': [post('/echo', '{', JSON_TYPE), 400, 'PARSE'],
  'a body that is no form': [post('/echo', '--x', 'multipart/form-data; boundary=y'), 400, 'PARSE'],
  'a body too deep': [
    post('/echo', '['.repeat(5_000) + ']'.repeat(5_000), JSON_TYPE),
    422,
    'VALIDATION',
    'body'
  ],
  'a list of numbers in the query': [get('/numbers?a=x'), 422, 'VALIDATION', 'query.a[0]'],
  'a list of integers': [get('/integers?a=1&a=x'), 422, 'VALIDATION', 'query.a'],
  'a list of booleans': [get('/booleans?a=x'), 422, 'VALIDATION', 'query.a[0]'],
  'a list of dates': [get('/dates?a=x'), 422, 'VALIDATION', 'query.a[0]'],
  'a list of literals': [get('/literals?a=y'), 422, 'VALIDATION', 'query.a[0]'],
  'a number': [get('/number?a=x'), 422, 'VALIDATION', 'query.a'],
  'a number that is too large': [get('/numeric?a=4'), 422, 'VALIDATION', 'query.a'],
  'a date': [get('/date?a=x'), 422, 'VALIDATION', 'query.a'],
  'an object as text': [get('/object?a=x'), 422, 'VALIDATION', 'query.a'],
  'a missing parameter': [get('/number'), 422, 'VALIDATION', 'query.a'],
  'a decoder that throws': [get('/throwing?a=bad'), 422, 'VALIDATION', 'query.a'],
  'a decoder in a list': [get('/nested?a=bad'), 422, 'VALIDATION', 'query.a'],
  'a decoder that answers': [get('/answering?a=bad'), 410, 'GONE'],
  'a decoder in the path': [get('/param/bad'), 422, 'VALIDATION', 'params.a'],
  'an integer in the path': [get('/int/0'), 422, 'VALIDATION', 'params.a'],
  'a number in the body': [post('/number', '{"a":"x"}', JSON_TYPE), 422, 'VALIDATION', 'body.a'],
  'a decoder in the body': [post('/throwing', '{"a":"bad"}', JSON_TYPE), 422, 'VALIDATION', 'body.a'],
  'a decoder deep in the body': [
    post('/deep', '{"a":{"b":["bad"]}}', JSON_TYPE),
    422,
    'VALIDATION',
    'body.a.b'
  ],
  'an upload': [post('/echo', form()), 415, 'UNSUPPORTED_MEDIA_TYPE', 'body.f'],
  'an upload to a route with a parameter': [post('/echo/7', form()), 415, 'UNSUPPORTED_MEDIA_TYPE', 'body.f'],
  'an upload as an event': [post('/emit', form()), 415, 'UNSUPPORTED_MEDIA_TYPE', 'body.f'],
  'an upload to a stream': [post('/values', form()), 415, 'UNSUPPORTED_MEDIA_TYPE', 'body.f'],
  bytes: [post('/echo', new Uint8Array(3), BYTES), 415, 'UNSUPPORTED_MEDIA_TYPE', 'body'],
  'bytes as an event': [post('/emit', new Uint8Array(3), BYTES), 415, 'UNSUPPORTED_MEDIA_TYPE', 'body'],
  'bytes to a route with a parameter': [post('/echo/7', new Uint8Array(3), BYTES), 422, 'VALIDATION', 'body']
}

const other = createRequire(import.meta.url)('elysia') as { readonly Elysia: typeof Elysia }
const COPIES = { 'its own copy of Elysia': Elysia, 'another copy of Elysia': other.Elysia }
const MODES = {
  'the compiled mode': {},
  'the dynamic mode': { aot: false },
  'the mode compiled ahead': { precompile: true }
}
/** How an app uses the gateway. */
const USES: Readonly<Record<string, (App: typeof Elysia, config: object) => Elysia>> = {
  directly: (App, config) => appOf(new App(config)),
  'in a plugin': (App, config) => new App(config).use(appOf(new App(config))) as never,
  'in a group': (App, config) => new App(config).group('', (group) => appOf(group as never) as never) as never
}

function appOf(app: Elysia): Elysia {
  return app
    .use(plugin())
    .use(gateway(gone, { 'GET /gone': 'gone' }, { logger, waitForConnection: 0 }))
    .use(clients({ gone }, { logger }))
    .get('/own', (context) =>
      (context as unknown as { gone: typeof gone }).gone.request('x', 1, { waitForConnection: 0 })
    ) as never
}

before(() => service.listen())
after(async () => {
  await client.close()
  await gone.close()
  await service.stop()
})

describe('another copy', () => {
  it('of Elysia is what these tests use', () => assert.notEqual(other.Elysia, Elysia))
})

/** The ways of use that are tried: on a push one for each copy and mode, another one each time. */
function usesAt(place: number) {
  const uses = Object.entries(USES)
  return isOnPush ? uses.filter((_, index) => index === place % uses.length) : uses
}

// `npm run check` tries one copy.
for (const [place, [copy, App]] of Object.entries(COPIES).entries())
  for (const [number, [mode, config]] of Object.entries(MODES).entries())
    for (const [use, make] of isInCheck && place === 0 ? [] : usesAt(place + number))
      describe(`an app of ${copy} in ${mode} that uses the gateway ${use}`, () => {
        const app = make(App, config)
        for (const [what, [request, status, code, path]] of Object.entries(CASES))
          it(`answers ${what} with ${status} ${code}`, async () => {
            const response = await app.handle((request as () => Request)())
            const text = await response.text()
            assert.equal(response.status, status, text)
            const answer = JSON.parse(text) as { code: string; message: string; details?: { path?: string } }
            assert.equal(answer.code, code)
            assert.deepEqual(Object.keys(answer).slice(0, 2), ['code', 'message'])
            if (path !== undefined) assert.equal(answer.details?.path, path)
            assert.doesNotMatch(text, /password|127\.0\.0\.1/)
            assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
            assert.equal(response.headers.get('retry-after'), status === 503 ? '1' : null)
          })
        it('answers a path that does not exist as Elysia does', async () => {
          assert.equal((await app.handle(get('/nowhere')())).status, 404)
        })
      })
