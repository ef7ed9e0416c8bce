import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readLines, readSpans } from './otlp.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'orders' } }] }
const spansOf = (...spans: object[]) => readSpans({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] })

describe('OTLP', () => {
  it('gives spans with their service, times, attributes and errors', () => {
    const [span] = spansOf({
      traceId: TRACE.toUpperCase(),
      spanId: SPAN,
      parentSpanId: '',
      name: 'orders.place',
      kind: 2,
      startTimeUnixNano: '1700000000000500000',
      endTimeUnixNano: '1700000000002000000',
      attributes: [
        { key: 'rpc.method', value: { stringValue: 'orders.place' } },
        { key: 'n', value: { intValue: '7' } },
        { key: 'list', value: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } } }
      ],
      events: [{ timeUnixNano: '1700000000001000000', name: 'stream.end' }],
      status: { code: 2, message: 'no tea' }
    })
    assert.deepEqual(span, {
      trace: TRACE,
      id: SPAN,
      parent: '',
      name: 'orders.place',
      service: 'orders',
      kind: 'server',
      start: 1_700_000_000_000.5,
      duration: 1.5,
      error: 'no tea',
      attributes: [
        ['rpc.method', 'orders.place'],
        ['n', '7'],
        ['list', 'a, b']
      ],
      logs: [{ at: 1_700_000_000_001, level: 'event', text: 'stream.end' }]
    })
  })

  it('gives lines that belong to spans, and no others', () => {
    const body = { stringValue: 'hello' }
    const logRecords = [{ traceId: TRACE, spanId: SPAN, timeUnixNano: '1000000', body }, { body }]
    assert.deepEqual(readLines({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] }), [
      { trace: TRACE, span: SPAN, at: 1, level: '', text: 'hello' }
    ])
  })

  it('reads anything, and keeps a bounded part of it', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), (given) => {
        assert.deepEqual(readSpans(given), [])
        for (const body of [{ resourceSpans: given }, { resourceSpans: [{ scopeSpans: given }] }])
          assert.ok(Array.isArray(readSpans(body)))
        for (const span of spansOf({
          traceId: TRACE,
          spanId: SPAN,
          name: given,
          attributes: given,
          kind: given
        }))
          assert.ok(JSON.stringify(span).length < 100_000)
      })
    )
    const long = 'x'.repeat(100_000)
    const attributes = Array.from({ length: 1_000 }, () => ({ key: long, value: { stringValue: long } }))
    const [span] = spansOf({
      traceId: TRACE,
      spanId: SPAN,
      name: long,
      attributes,
      status: { code: 2, message: long }
    })
    assert.ok(JSON.stringify(span).length < 25_000)
  })
})
