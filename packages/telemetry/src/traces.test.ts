/** Spans of services and clients, as a real SDK exports them. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { RpcError } from '@elysia-microservices/transport'
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AlwaysOffSampler, ParentBasedSampler, type ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { telemetry } from './telemetry.ts'
import { type Handlers, newEnds, take, type WithMiddleware } from './testing/ends.ts'
import { startSdk } from './testing/sdk.ts'
import { startReceived } from './traces/tracing.ts'

type Ends = Awaited<ReturnType<typeof newEnds>>

describe('traces', () => {
  let sdk: ReturnType<typeof startSdk>
  let ends: Ends | undefined
  before(() => {
    sdk = startSdk()
  })
  beforeEach(() => sdk.reset())
  afterEach(async () => {
    await ends?.close()
    ends = undefined
  })
  after(() => sdk.end())

  const asking = async (handlers: Handlers, middleware?: WithMiddleware) => {
    ends = await newEnds(handlers, middleware)
    return ends.client
  }
  /** All spans, after service and client have stopped. */
  const spans = async (): Promise<ReadableSpan[]> => {
    await ends?.close()
    return sdk.spans
  }
  const of = (all: readonly ReadableSpan[], kind: SpanKind): ReadableSpan => {
    const found = all.filter((span) => span.kind === kind)
    assert.equal(found.length, 1, `${found.length} spans of kind ${SpanKind[kind]}`)
    return found[0] as ReadableSpan
  }
  const { CLIENT, SERVER, PRODUCER, CONSUMER, INTERNAL } = SpanKind

  it('a request is a client span with a server span below it', async () => {
    const client = await asking({ 'orders.total': async ({ data }) => (data as number[]).length })
    assert.equal(await client.request('orders.total', [1, 2]), 2)
    const all = await spans()
    const [sent, received] = [of(all, CLIENT), of(all, SERVER)]
    assert.equal(all.length, 2)
    assert.equal(received.parentSpanContext?.spanId, sent.spanContext().spanId)
    assert.equal(received.spanContext().traceId, sent.spanContext().traceId)
    for (const span of [sent, received]) {
      assert.equal(span.name, 'orders.total')
      assert.equal(span.status.code, SpanStatusCode.UNSET)
      assert.deepEqual(span.attributes, {
        'rpc.system.name': 'elysia_microservices',
        'rpc.method': 'orders.total',
        'rpc.status_code': 'OK'
      })
      assert.deepEqual(span.events, [])
    }
  })

  it('what a handler does is below its span: at once, after an await, in the steps of a generator', async () => {
    const inner = (name: string) => sdk.tracer.startSpan(name).end()
    const client = await asking({
      async later() {
        inner('at once')
        await new Promise((resolve) => setTimeout(resolve, 1))
        inner('after an await')
      },
      async *steps() {
        inner('first step')
        yield 1
        await null
        inner('second step')
      }
    })
    await client.request('later', 1)
    await take(client, 'steps', 9)
    const all = await spans()
    const ids = Object.fromEntries(
      all.filter(({ kind }) => kind === SERVER).map((span) => [span.name, span.spanContext().spanId])
    )
    const parents = all
      .filter(({ kind }) => kind === INTERNAL)
      .map((span) => [span.name, span.parentSpanContext?.spanId])
    assert.deepEqual(parents, [
      ['at once', ids['later']],
      ['after an await', ids['later']],
      ['first step', ids['steps']],
      ['second step', ids['steps']]
    ])
  })

  it('a call inside of a handler stands in the trace of the handler', async () => {
    const client = await asking({
      outer: () => client.request('inner', 1),
      inner: () => 1
    })
    await client.request('outer', 1)
    const all = await spans()
    assert.deepEqual(
      all.map(({ name, kind }) => `${SpanKind[kind]} ${name}`),
      ['SERVER inner', 'CLIENT inner', 'SERVER outer', 'CLIENT outer']
    )
    for (const [index, span] of all.slice(0, 3).entries())
      assert.equal(span.parentSpanContext?.spanId, all[index + 1]?.spanContext().spanId)
  })

  it('an error that a handler means is no error of the service, and no exception', async () => {
    const fail = () => {
      throw new RpcError({ code: 'OUT_OF_STOCK', message: 'none left' })
    }
    const client = await asking({ throws: fail, rejects: async () => fail() })
    for (const pattern of ['throws', 'rejects']) {
      sdk.reset()
      await assert.rejects(client.request(pattern, 1), { code: 'OUT_OF_STOCK' })
      const [sent, received] = [of(sdk.spans, CLIENT), of(sdk.spans, SERVER)]
      assert.deepEqual(received.status, { code: SpanStatusCode.UNSET })
      assert.equal(received.attributes['rpc.status_code'], 'OUT_OF_STOCK')
      assert.equal(received.attributes['error.type'], undefined)
      assert.deepEqual(sent.status, { code: SpanStatusCode.ERROR, message: 'none left' })
      assert.equal(sent.attributes['rpc.status_code'], 'OUT_OF_STOCK')
      assert.equal(sent.attributes['error.type'], 'OUT_OF_STOCK')
      assert.deepEqual([...sent.events, ...received.events], [])
    }
  })

  it('an error that nobody means is an exception of the service, and INTERNAL to the caller', async () => {
    const client = await asking({
      broken: () => {
        throw new TypeError('x is undefined')
      }
    })
    await assert.rejects(client.request('broken', 1), { code: 'INTERNAL' })
    const [sent, received] = [of(sdk.spans, CLIENT), of(sdk.spans, SERVER)]
    assert.deepEqual(received.status, { code: SpanStatusCode.ERROR, message: 'x is undefined' })
    assert.equal(received.attributes['rpc.status_code'], 'INTERNAL')
    assert.equal(received.attributes['error.type'], 'TypeError')
    assert.equal(received.events[0]?.name, 'exception')
    assert.equal(sent.attributes['error.type'], 'INTERNAL')
    assert.deepEqual(sent.events, [])
  })

  it('patterns that nobody handles share a name', async () => {
    const client = await asking({})
    await assert.rejects(client.request('no.such.pattern', 1), { code: 'PATTERN_NOT_FOUND' })
    const all = await spans()
    assert.equal(all.length, 2)
    for (const span of all) {
      assert.equal(span.name, '_OTHER')
      assert.equal(span.attributes['rpc.method'], '_OTHER')
      assert.equal(span.attributes['rpc.method_original'], 'no.such.pattern')
      assert.equal(span.attributes['error.type'], 'PATTERN_NOT_FOUND')
      assert.equal(span.status.code, SpanStatusCode.ERROR)
    }
  })

  it('calls a span by the pattern of the handler, also where a middleware in between is late', async () => {
    const client = await asking(
      {
        'users.7': (message) => {
          message.matched = 'users.*'
          return 7
        }
      },
      {
        service: [
          telemetry(),
          (next) => async (message) => {
            await null
            return next(message)
          }
        ]
      }
    )
    await client.request('users.7', 1)
    const received = of(await spans(), SERVER)
    assert.equal(received.name, 'users.*')
    assert.equal(received.attributes['rpc.method_original'], 'users.7')
  })

  it('a stream is one span, with its first value, its end and its number of values', async () => {
    const client = await asking({
      *count() {
        yield* [1, 2, 3]
      }
    })
    assert.deepEqual(await take(client, 'count', 9), [1, 2, 3])
    for (const span of await spans()) {
      assert.deepEqual(
        span.events.map(({ name }) => name),
        ['stream.first_value', 'stream.end']
      )
      assert.equal(span.attributes['elysia_microservices.stream.values'], 3)
      assert.equal(span.attributes['rpc.status_code'], 'OK')
    }
  })

  it('a stream that is left is canceled, which is no error', async () => {
    const client = await asking({
      async *endless() {
        for (let n = 0; ; n++) {
          await new Promise((resolve) => setTimeout(resolve, 1))
          yield n
        }
      }
    })
    await take(client, 'endless', 2)
    const all = await spans()
    assert.equal(all.length, 2)
    for (const span of all) {
      assert.equal(span.attributes['rpc.status_code'], 'CANCELED')
      assert.deepEqual(span.status, { code: SpanStatusCode.UNSET })
    }
  })

  it('a call that its signal gives up is canceled, at both ends', async () => {
    const controller = new AbortController()
    const client = await asking({
      slow: async ({ signal }) => {
        await null
        controller.abort()
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
        throw new Error('given up')
      }
    })
    await assert.rejects(client.request('slow', 1, { signal: controller.signal }), { code: 'CANCELED' })
    for (const span of await spans()) {
      assert.equal(span.attributes['rpc.status_code'], 'CANCELED')
      assert.equal(span.attributes['error.type'], undefined)
      assert.equal(span.status.code, SpanStatusCode.UNSET)
    }
  })

  it('a deadline is told apart from a cancellation', async () => {
    const client = await asking({
      slow: ({ signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => setTimeout(resolve, 5)))
    })
    await assert.rejects(client.request('slow', 1, { timeout: 20 }), { code: 'TIMEOUT' })
    for (const span of await spans()) {
      assert.equal(span.attributes['rpc.status_code'], 'TIMEOUT')
      assert.equal(span.attributes['error.type'], 'TIMEOUT')
      assert.equal(span.status.code, SpanStatusCode.ERROR)
    }
  })

  it('an event is a producer span with a consumer span below it', async () => {
    const client = await asking({ 'order.placed': () => {} })
    await client.emit('order.placed', 1)
    const all = await spans()
    const [sent, received] = [of(all, PRODUCER), of(all, CONSUMER)]
    assert.equal(sent.name, 'send order.placed')
    assert.equal(received.name, 'process order.placed')
    assert.equal(received.parentSpanContext?.spanId, sent.spanContext().spanId)
    assert.deepEqual(received.attributes, {
      'messaging.system.name': 'elysia_microservices',
      'messaging.destination.name': 'order.placed',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process'
    })
  })

  it('baggage travels, and headers stay', async () => {
    const client = await asking({
      tenant: ({ headers }) => [
        propagation.getActiveBaggage()?.getEntry('tenant')?.value,
        headers['greeting'],
        trace.getActiveSpan() !== undefined
      ]
    })
    const baggage = propagation.createBaggage({ tenant: { value: 'a' } })
    const headers = { greeting: 'hello' }
    const answer = await context.with(propagation.setBaggage(context.active(), baggage), () =>
      client.request('tenant', 1, { headers })
    )
    assert.deepEqual(answer, ['a', 'hello', true])
    assert.deepEqual(headers, { greeting: 'hello' })
  })

  it('continues the trace of its headers where there is no current span, as behind a gateway', async () => {
    const client = await asking({ x: () => 1 })
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    await client.request('x', 1, { headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } })
    const all = await spans()
    assert.equal(of(all, CLIENT).parentSpanContext?.spanId, 'b7ad6b7169203331')
    assert.equal(of(all, SERVER).spanContext().traceId, traceId)
  })

  it('begins a trace of its own where headers are broken, or large', async () => {
    const broken = [
      '00-xyz',
      '',
      '00-00000000000000000000000000000000-b7ad6b7169203331-01',
      'x'.repeat(60_000)
    ]
    ends = await newEnds({ x: ({ headers }) => Object.keys(headers).length }, { client: [] })
    for (const traceparent of broken) {
      sdk.reset()
      const headers = { traceparent, tracestate: 'x'.repeat(60_000), baggage: 'y'.repeat(60_000) }
      assert.equal(await ends.client.request('x', 1, { headers }), 3)
      assert.equal(of(sdk.spans, SERVER).parentSpanContext, undefined)
    }
  })

  it('begins a trace of its own where headers cannot be read, and lets the handler have the event', async () => {
    const event = {
      transport: 'nats',
      pattern: 'orders.paid',
      get headers(): never {
        throw new Error('read')
      }
    }
    const { span } = startReceived('consumer', event) as NonNullable<ReturnType<typeof startReceived>>
    span.end()
    assert.equal(of(await spans(), CONSUMER).parentSpanContext, undefined)
  })

  it('asks the SDK about a share of new traces only, and of all that go on', async () => {
    const client = await asking(
      { x: ({ headers }) => headers['traceparent'] },
      { client: [telemetry({ sample: 0 })], service: [telemetry({ sample: 0 })] }
    )
    assert.match((await client.request('x', 1)) as string, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
    assert.deepEqual(sdk.spans, [])
    const root = sdk.tracer.startSpan('root')
    await context.with(trace.setSpan(context.active(), root), () => client.request('x', 1))
    assert.deepEqual(
      sdk.spans.map(({ kind }) => kind),
      [SERVER, CLIENT]
    )
    for (const sample of [-1, 2, Number.NaN, '1' as never])
      assert.throws(() => telemetry({ sample }), { path: 'options.sample' })
  })

  it('carries a trace that nobody records, and makes no spans', async () => {
    await sdk.end()
    sdk = startSdk(new ParentBasedSampler({ root: new AlwaysOffSampler() }))
    try {
      const client = await asking({
        x: ({ headers }) => headers['traceparent'],
        async *y() {
          yield trace.getActiveSpan()?.spanContext().traceId
        }
      })
      assert.match((await client.request('x', 1)) as string, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
      assert.match((await take(client, 'y', 9))[0] as string, /^[0-9a-f]{32}$/)
      assert.deepEqual(await spans(), [])
    } finally {
      await sdk.end()
      sdk = startSdk()
    }
  })
})

describe('without an SDK', () => {
  it('headers and results are as they were', async () => {
    const ends = await newEnds({ x: ({ headers }) => headers, y: () => 1 })
    const headers = { a: '1' }
    assert.deepEqual(await ends.client.request('x', 1, { headers }), headers)
    assert.deepEqual(await ends.client.request('x', 1), {})
    assert.equal(await ends.client.request('y', 1), 1)
    await ends.close()
  })
})
