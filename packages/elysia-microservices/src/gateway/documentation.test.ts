import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openapi } from '@elysiajs/openapi'
import { type AnyElysia, Elysia, t } from 'elysia'
import { z } from 'zod'
import { connect } from '../client/index.ts'
import { memory, microservice } from '../index.ts'
import { type Describable, gateway } from './index.ts'

const client = connect({})

interface Operation {
  readonly summary: string
  readonly operationId: string
  readonly tags: string[]
  readonly parameters?: {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema: object
  }[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema: object }> }
  readonly responses: Record<
    string,
    {
      readonly description: string
      readonly content?: Record<string, { readonly schema: { type?: string } }>
    }
  >
}

async function documentOf(routes: AnyElysia) {
  const app = new Elysia().use(openapi()).use(routes)
  const response = await app.handle(new Request('http://localhost/openapi/json'))
  assert.equal(response.status, 200)
  return (await response.json()) as { paths: Record<string, Record<string, Operation>> }
}

describe('the OpenAPI document of a gateway', () => {
  const routes = gateway(client, {
    'GET /users/:id': {
      pattern: 'users.get',
      params: t.Object({ id: t.Number() }),
      response: t.Object({ name: t.String() })
    },
    'POST /orders': {
      pattern: 'orders.create',
      status: 201,
      query: t.Object({ dry: t.Optional(t.Boolean()) }),
      body: t.Object({ items: t.Array(t.String()) }),
      response: t.Object({ id: t.Number() })
    },
    'GET /ticks': { stream: 'ticks', response: t.Number() },
    'POST /events/order-placed': { emit: 'order.placed' },
    'GET /by-object': { pattern: { cmd: 'sum', v: 2 } },
    'GET /old/users/:id': 'users.find',
    'GET /v2/users/:id': 'users.find',
    'GET /own': {
      pattern: 'own.pattern',
      detail: {
        summary: 'Mine',
        operationId: 'mine',
        tags: ['My tag'],
        description: 'Of my own',
        responses: { 418: { description: 'A teapot' } }
      }
    },
    'GET /hidden': { pattern: 'hidden', detail: { hide: true } }
  })
  const operation = async (path: string, method = 'get') => {
    const { paths } = await documentOf(routes)
    return paths[path]?.[method] ?? assert.fail(`${method} ${path} is not in ${Object.keys(paths)}`)
  }

  for (const [path, method, summary, operationId, tags] of [
    ['/users/{id}', 'get', 'users.get', 'usersGet', ['users']],
    ['/orders', 'post', 'orders.create', 'ordersCreate', ['orders']],
    ['/ticks', 'get', 'ticks', 'ticks', ['ticks']],
    ['/events/order-placed', 'post', 'order.placed', 'orderPlaced', ['order']],
    ['/by-object', 'get', 'cmd sum v 2', 'cmdSumV2', ['by']],
    ['/old/users/{id}', 'get', 'users.find', 'getOldUsersId', ['users']],
    ['/v2/users/{id}', 'get', 'users.find', 'getV2UsersId', ['users']],
    ['/own', 'get', 'Mine', 'mine', ['My tag']]
  ] as const) {
    it(`names ${method} ${path}: ${operationId}`, async () => {
      const found = await operation(path, method)
      assert.deepEqual([found.summary, found.operationId, found.tags], [summary, operationId, tags])
    })
  }

  it('has the schemas of the request and of the answer', async () => {
    const user = await operation('/users/{id}')
    const [id] = user.parameters ?? []
    assert.deepEqual([id?.name, id?.in, id?.required], ['id', 'path', true])
    assert.deepEqual(user.responses['200']?.content?.['application/json']?.schema.type, 'object')
    const order = await operation('/orders', 'post')
    assert.deepEqual(
      order.parameters?.map(({ name, in: place }) => [name, place]),
      [['dry', 'query']]
    )
    const { schema } = order.requestBody!.content['application/json']!
    assert.deepEqual((schema as { required: string[] }).required, ['items'])
    assert.equal(order.responses['201']?.content?.['application/json']?.schema.type, 'object')
    assert.equal(order.responses['200'], undefined)
  })

  it('has the schema of an answer that another library has written', async () => {
    const response = z.object({
      name: z
        .string()
        .transform((name) => name.length)
        .pipe(z.number())
    })
    const { paths } = await documentOf(
      gateway(client, {
        'GET /found': { pattern: 'users.find', response },
        'GET /date': { pattern: 'users.find', response: z.object({ at: z.date() }) }
      })
    )
    const schemaOf = (path: string) =>
      paths[path]?.['get']?.responses['200']?.content?.['application/json']?.schema
    const { type, properties } = schemaOf('/found') as { type: string; properties: object }
    assert.deepEqual([type, properties], ['object', { name: { type: 'number' } }])
    assert.deepEqual(schemaOf('/date'), {}, 'a date has no form in JSON Schema')
  })

  it('has the shape of errors', async () => {
    for (const path of ['/users/{id}', '/own', '/ticks']) {
      const { responses } = await operation(path)
      const schema = responses['default']?.content?.['application/json']?.schema as unknown as {
        required: string[]
      }
      assert.deepEqual(schema.required, ['code', 'message'])
    }
    assert.equal((await operation('/own')).responses['418']?.description, 'A teapot')
  })

  it('says that a stream is one of events, and that an event has no answer', async () => {
    assert.ok(
      (await operation('/ticks')).responses['200']?.content?.['text/event-stream']?.schema.type === 'number'
    )
    assert.equal((await operation('/events/order-placed', 'post')).responses['202']?.content, undefined)
  })

  it('leaves out what is hidden', async () => {
    assert.equal((await documentOf(routes)).paths['/hidden'], undefined)
  })

  it('has each operationId once', async () => {
    const { paths } = await documentOf(routes)
    const ids = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId)
    )
    assert.equal(new Set(ids).size, ids.length)
  })
})

describe('the OpenAPI document of a gateway that is given its service', () => {
  const service = microservice({ transport: memory() })
    .message('users.get', ({ data }) => ({ id: data.id, name: 'Ada' }), {
      data: t.Object({ id: t.String() }),
      response: t.Object({ id: t.String(), name: t.String() })
    })
    .message('users.list', ({ data }) => [String(data.page)], {
      data: z.object({ page: z.string().optional(), name: z.string() }),
      response: z.array(z.string())
    })
    .message('users.create', ({ data }) => data.name, {
      data: t.Object({ id: t.String(), name: t.String(), age: t.Optional(t.Number()) }),
      response: t.String()
    })
    .message('sum', ({ data }) => data.length, { data: t.Array(t.Number()), response: t.Number() })
    .message(
      'ticks.*',
      async function* () {
        yield 1
      },
      { response: t.Number() }
    )
    .message('tree', () => 1, { data: t.Recursive((self) => t.Object({ children: t.Array(self) })) })
    .event('placed', () => {}, { data: t.Object({ id: t.String() }) })

  const routes = (given: Describable) =>
    gateway(
      client,
      {
        'GET /users/:id': 'users.get',
        'GET /users': 'users.list',
        'PUT /users/:id': 'users.create',
        'POST /sum': 'sum',
        'POST /sums': { pattern: 'sum', data: () => [1] },
        'GET /ticks': { stream: 'ticks.fast' },
        'POST /placed': { emit: 'placed' },
        'POST /tree': 'tree',
        'GET /own': { pattern: 'users.get', query: t.Object({ id: t.Number() }), response: t.Literal('own') },
        'GET /unknown': 'unknown'
      },
      { service: given }
    )

  for (const [how, given] of [
    ['itself', service],
    ['its description', service.describe()],
    ['its description as JSON', JSON.parse(JSON.stringify(service.describe())) as Describable]
  ] as const)
    it(`has the schemas of the service: ${how}`, async () => {
      const { paths } = await documentOf(routes(given))
      const answer = (path: string, method = 'get', type = 'application/json') =>
        paths[path]?.[method]?.responses['200']?.content?.[type]?.schema
      const body = (path: string, method = 'post') =>
        paths[path]?.[method]?.requestBody?.content['application/json']?.schema as {
          readonly properties?: object
          readonly required?: string[]
          readonly type?: string
        }
      assert.deepEqual(Object.keys((answer('/users/{id}') as { properties?: object }).properties ?? {}), [
        'id',
        'name'
      ])
      assert.equal(answer('/users')?.type, 'array')
      assert.equal(answer('/ticks', 'get', 'text/event-stream')?.type, 'number')
      assert.equal(answer('/own')?.type, 'string')
      assert.deepEqual(
        paths['/users']?.['get']?.parameters?.map(({ name, in: place, required }) => [name, place, required]),
        [
          ['page', 'query', false],
          ['name', 'query', true]
        ]
      )
      assert.deepEqual(Object.keys(body('/users/{id}', 'put').properties ?? {}), ['name', 'age'])
      assert.deepEqual(body('/users/{id}', 'put').required, ['name'])
      assert.equal(body('/sum').type, 'array')
      assert.equal(answer('/sums', 'post')?.type, 'number')
      for (const path of ['/sums', '/tree']) assert.equal(body(path), undefined)
      assert.deepEqual(Object.keys(body('/placed').properties ?? {}), ['id'])
      assert.equal(answer('/unknown'), undefined)
    })

  it('has the errors of the contract by the status with which they are answered', async () => {
    class Closed extends Error {}
    const shop = microservice({ transport: memory() })
      .error('CLOSED', Closed)
      .message('take', () => 1, {
        errors: {
          OUT_OF_STOCK: { details: t.Object({ left: t.Number() }), status: 410 },
          GONE: {},
          NOT_FOUND: t.Recursive((self) => t.Object({ children: t.Array(self) })),
          RATE: { status: 420 }
        }
      })
    const { paths } = await documentOf(
      gateway(client, { 'POST /take': 'take' }, { service: shop, errors: { RATE: 429 } })
    )
    const { responses } = paths['/take']!['post']!
    const schemaAt = (status: number) => responses[status]?.content?.['application/json']?.schema as object
    const message = { type: 'string' }
    const body = (code: string, details?: object) => ({
      type: 'object',
      required: ['code', 'message', ...(details ? ['details'] : [])],
      properties: { code: { type: 'string', enum: [code] }, message, ...(details && { details }) }
    })
    const left = { type: 'object', required: ['left'], properties: { left: { type: 'number' } } }
    assert.equal(responses['410']?.description, 'OUT_OF_STOCK or GONE')
    assert.deepEqual(schemaAt(410), { anyOf: [body('OUT_OF_STOCK', left), body('GONE')] })
    assert.deepEqual(schemaAt(404), body('NOT_FOUND', {}))
    assert.deepEqual(schemaAt(429), body('RATE'))
    assert.deepEqual(schemaAt(500), body('CLOSED'))
    assert.equal(responses['420'], undefined)
  })

  it('refuses what is no service', () => {
    for (const wrong of [{}, 'orders', { handlers: 7 }])
      assert.throws(() => gateway(client, { 'GET /a': 'a' }, { service: wrong as never }), {
        code: 'OPTION',
        path: 'options.service'
      })
  })
})
