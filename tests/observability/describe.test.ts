/**
 * `service.describe()`, over the wire, and as an AsyncAPI document. `asyncapi.nightly.test.ts` checks the document
 * with the official parser.
 */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { memory, microservice } from 'elysia-microservices'
import { type ConnectOptions, connect } from 'elysia-microservices/client'
import { asyncApi, asyncApiRoute, type ServiceDescription } from 'elysia-microservices/describe'
import { tcp } from 'elysia-microservices/tcp'
import { listen, newApp } from '../support/http-app.ts'
import { describedShop } from './described-shop.ts'

const ROUTE = 'elysia-microservices.describe'
const ends: { stop?(): Promise<void>; close?(): Promise<void> }[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await (end.close?.() ?? end.stop?.())
})
const connected = (options: ConnectOptions) => {
  const client = connect(options)
  ends.push(client)
  return client
}

function shop(options?: { readonly describe?: boolean }) {
  const made = describedShop(options)
  ends.push(made.service)
  return made
}

describe('service.describe()', () => {
  it('returns the name, the transports, and patterns with their schemas', async () => {
    const { door, service } = shop()
    assert.equal(service.describe().status, 'stopped')
    await service.listen()
    const { handlers, transports, ...own } = service.describe()
    assert.deepEqual(own, {
      name: 'shop',
      version: '1.2.0',
      instance: service.describe().instance,
      status: 'listening'
    })
    assert.deepEqual(
      transports.map(({ transport, address }) => [transport, address]),
      [
        ['tcp', door.address],
        ['memory', undefined]
      ]
    )
    const [create, any, several, invoice, odd, numbers, placed] = handlers
    assert.deepEqual(create, {
      kind: 'message',
      patterns: [{ kind: 'exact', pattern: 'orders.create' }],
      data: {
        type: 'object',
        required: ['items'],
        properties: { items: { type: 'array', items: { type: 'string' } }, note: { type: 'string' } }
      },
      headers: { type: 'object', required: ['tenant'], properties: { tenant: { type: 'string' } } },
      response: { type: 'object', required: ['id'], properties: { id: { type: 'number' } } },
      errors: {
        OUT_OF_STOCK: {
          details: { type: 'object', required: ['left'], properties: { left: { type: 'number' } } },
          status: 409
        },
        'CLOSED TODAY': {},
        'CLOSED-TODAY': {}
      },
      streams: { data: false },
      hooks: [{ type: 'beforeHandle', name: 'authenticated' }]
    })
    assert.deepEqual(any?.patterns, [{ kind: 'wildcard', pattern: 'orders.*' }])
    assert.equal(any?.data, undefined)
    assert.deepEqual(several?.patterns, [
      { kind: 'wildcard', pattern: 'files.>' },
      { kind: 'exact', pattern: '{"cmd":"version"}' },
      { kind: 'exact', pattern: '7' }
    ])
    assert.deepEqual(invoice?.patterns, [{ kind: 'regexp', pattern: '/^invoice-\\d+$/' }])
    assert.deepEqual([numbers?.data, numbers?.streams], [{ type: 'number' }, { data: true }])
    assert.equal(placed?.kind, 'event')
    const { properties } = odd!.data as { properties: Record<string, unknown> }
    assert.deepEqual(properties['big'], {})
    // Elysia numbers the recursive schemas of a process, so the number is not known.
    assert.match(JSON.stringify(properties['tree']), /^\{"\$ref":"#\/definitions\/T\d+"\}$/)
    assert.doesNotMatch(JSON.stringify(properties['at']), /"Date"/)
  })

  it('returns the metrics, if they are asked for', async () => {
    const { door, service } = shop()
    await service.listen()
    const client = connected({ host: '127.0.0.1', port: door.address!.port })
    for (const n of [1, 2, 3]) await client.request(`orders.${n}`)
    assert.equal(service.describe().figures, undefined)
    const figures = service.describe({ figures: true }).figures?.find(({ pattern }) => pattern === 'orders.*')
    assert.deepEqual(figures?.outcomes, { OK: 3 })
    assert.equal(figures?.durations.counts.length, figures!.durations.bounds.length + 1)
    assert.equal(
      figures?.durations.counts.reduce((a, b) => a + b, 0),
      3
    )
  })

  it('is not available to callers unless the service allows it', async () => {
    const { door, service } = shop()
    await service.listen()
    const client = connected({ host: '127.0.0.1', port: door.address!.port })
    await assert.rejects(client.request(ROUTE), { code: 'PATTERN_NOT_FOUND' })
  })

  it('is available to callers if the service allows it, over both protocols and inside the process', async () => {
    const inside = memory()
    const door = tcp({ host: '127.0.0.1', port: 0 })
    const service = microservice({ name: 'a', transport: [door, inside], describe: true }).message(
      'x',
      () => 1
    )
    ends.push(service)
    await service.listen()
    const { port } = door.address!
    const expected = JSON.parse(JSON.stringify(service.describe().handlers)) as unknown
    for (const options of [
      { host: '127.0.0.1', port },
      { host: '127.0.0.1', port, protocol: 'nest' as const },
      { transport: inside }
    ]) {
      const described = await connected(options).request<ServiceDescription>(ROUTE, {})
      assert.equal(described.name, 'a')
      assert.deepEqual(described.handlers, expected)
    }
  })

  it('is available to callers whom a function allows; for others the pattern does not exist', async () => {
    const service = microservice({
      transport: 'tcp',
      host: '127.0.0.1',
      port: 0,
      describe: async ({ headers }) => headers['token'] === 'secret'
    })
    ends.push(service)
    await service.listen()
    const client = connected({ host: '127.0.0.1', port: service.address!.port })
    await assert.rejects(client.request(ROUTE), {
      code: 'PATTERN_NOT_FOUND',
      message: /elysia-microservices/
    })
    const described = await client.request<ServiceDescription>(ROUTE, {}, { headers: { token: 'secret' } })
    assert.equal(described.status, 'listening')
  })

  it('is not taken over when another service uses this one', async () => {
    const used = shop({ describe: true }).service
    const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 }).use(used)
    ends.push(service)
    await service.listen()
    const client = connected({ host: '127.0.0.1', port: service.address!.port })
    await assert.rejects(client.request(ROUTE), { code: 'PATTERN_NOT_FOUND' })
    assert.equal(service.describe().handlers.length, used.describe().handlers.length)
  })

  it('refuses values that are neither a boolean nor a function', () => {
    assert.throws(() => microservice({ transport: memory(), describe: 'yes' as never }), {
      path: 'options.describe'
    })
  })
})

describe('asyncApi()', () => {
  it('makes a document with a channel for each pattern, whose references lead somewhere', () => {
    const document = asyncApi(shop().service)
    assert.equal(document.info['title'], 'shop')
    assert.equal(Object.keys(document.operations).length, 9)
    const channels = Object.values(document.channels) as {
      readonly address: string | null
      readonly messages: Readonly<Record<string, { readonly payload: { readonly required?: string[] } }>>
    }[]
    const addresses = channels.map(({ address }) => address)
    for (const address of ['orders.create', 'orders.{part1}', 'files.{rest}'])
      assert.ok(addresses.includes(address), address)
    assert.deepEqual(lostReferences(document), [])
    const create = channels.find(({ address }) => address === 'orders.create')
    assert.deepEqual(create?.messages['request']?.payload.required, ['items'])
    const names = ['request', 'answer', 'error-OUT_OF_STOCK', 'error-CLOSED-TODAY', 'error-CLOSED-TODAY-2']
    assert.deepEqual(Object.keys(create?.messages ?? {}), names)
  })

  it('is answered by a plugin, as the service is then', async () => {
    const { service } = shop()
    const http = await listen(
      newApp()
        .use(asyncApiRoute(service))
        .use(asyncApiRoute(service, { path: '/b.json' }))
    )
    try {
      await service.listen()
      for (const path of ['/asyncapi.json', '/b.json']) {
        const response = await fetch(http.url + path)
        assert.match(response.headers.get('content-type')!, /^application\/json/)
        assert.deepEqual(await response.json(), JSON.parse(JSON.stringify(asyncApi(service))))
      }
    } finally {
      await http.stop()
    }
    assert.throws(() => asyncApiRoute({} as never), { path: 'service' })
    assert.throws(() => asyncApiRoute(service, { path: 'x' }), { path: 'options.path' })
  })

  it('is made of a service without a name, handlers or an address, and of a description that came over the wire', () => {
    const empty = asyncApi(microservice({ transport: memory() }))
    const sent = asyncApi(JSON.parse(JSON.stringify(shop().service.describe())) as ServiceDescription)
    for (const document of [empty, sent]) assert.deepEqual(lostReferences(document), [])
    assert.deepEqual(empty.channels, {})
    assert.equal(Object.keys(sent.operations).length, 9)
  })
})

/** Each `$ref` of a document whose target does not exist in it. */
function lostReferences(document: object): string[] {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]*)"/g)]
  return references.flatMap(([, path = '']) => {
    const found = path
      .split('/')
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document)
    return found === undefined ? [path] : []
  })
}
