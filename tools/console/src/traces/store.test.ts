import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ReceivedSpan } from './otlp.ts'
import {
  MAX_CHARACTERS,
  MAX_FAILED,
  MAX_FOUND,
  MAX_SPANS,
  MAX_SPANS_OF_TRACE,
  MAX_TRACES,
  readSearch,
  TraceStore
} from './store.ts'

const idOf = (n: number, length = 32) => n.toString(16).padStart(length, '0')
const span = (trace: number, id: number, more: Partial<ReceivedSpan> = {}): ReceivedSpan => ({
  trace: idOf(trace),
  id: idOf(id, 16),
  parent: '',
  name: `call ${trace}`,
  service: 'orders',
  kind: 'server',
  start: trace * 1_000 + id,
  duration: 5,
  attributes: [],
  logs: [],
  ...more
})
const everything = { text: '', onlyErrors: false, longerThan: 0 }

describe('the store of traces', () => {
  it('finds traces by id, text, error and duration, the newest first', () => {
    const store = new TraceStore()
    store.add(span(1, 1, { duration: 50 }))
    store.add(span(2, 1, { error: 'Sold out' }))
    store.add(span(2, 2, { parent: idOf(1, 16), name: 'stock.reserve', service: 'stock' }))
    const find = (search: Partial<typeof everything>) =>
      store.find({ ...everything, ...search }).map(({ name }) => name)
    assert.deepEqual(find({}), ['call 2', 'call 1'])
    assert.deepEqual(find({ text: idOf(1) }), ['call 1'])
    assert.deepEqual(find({ text: 'RESERVE' }), ['call 2'])
    assert.deepEqual(find({ text: 'sold out' }), ['call 2'])
    assert.deepEqual(find({ onlyErrors: true }), ['call 2'])
    assert.deepEqual(find({ longerThan: 40 }), ['call 1'])
    assert.deepEqual(store.find(everything)[0]?.services, ['orders', 'stock'])
    assert.throws(() => readSearch({ text: 5 }), TypeError)
  })

  it('puts lines beside their spans, whichever comes first', () => {
    const store = new TraceStore()
    const line = (text: string) => ({ trace: idOf(1), span: idOf(1, 16), at: 1, level: 'info', text })
    store.addLine(line('before'))
    assert.deepEqual(store.find(everything), [])
    store.add(span(1, 1))
    store.addLine(line('after'))
    assert.deepEqual(
      store.get(idOf(1))?.spans[0]?.logs.map(({ text }) => text),
      ['before', 'after']
    )
  })

  it('keeps a bounded number of traces, spans and characters: the oldest make room', () => {
    const store = new TraceStore()
    for (let n = 1; n <= MAX_TRACES + 10; n++) store.add(span(n, 1))
    assert.deepEqual([store.size, store.dropped, store.get(idOf(10))], [MAX_TRACES, 10, undefined])
    assert.equal(store.find(everything).length, MAX_FOUND)
    for (let n = 1; n <= MAX_SPANS_OF_TRACE + 5; n++) store.add(span(5_000, n))
    const { spans, leftOut } = store.get(idOf(5_000))!
    assert.deepEqual([spans.length, leftOut], [MAX_SPANS_OF_TRACE, 5])
    const long = 'x'.repeat(MAX_CHARACTERS / 10)
    for (let n = 6_000; n < 6_020; n++) store.add(span(n, 1, { name: long }))
    assert.ok(store.size < 10)
  })

  it('keeps traces although programs send the lines of others, whose spans never come', () => {
    const store = new TraceStore()
    store.add(span(1, 1))
    const line = (n: number, text: string) =>
      store.addLine({ trace: idOf(n), span: idOf(1, 16), at: 1, level: 'info', text })
    for (let n = 2; n < MAX_TRACES * 5; n++) line(n, 'not sampled')
    assert.deepEqual([store.size, store.dropped], [1, 0])
    assert.equal(store.get(idOf(1))?.spans.length, 1)
    line(9_000, 'before its span')
    store.add(span(9_000, 1))
    assert.equal(store.get(idOf(9_000))?.spans[0]?.logs[0]?.text, 'before its span')
    assert.equal(store.size, 2)
  })

  it('keeps those with errors longer than all others, and as many of these as there is room for', () => {
    const store = new TraceStore()
    const error = 'Sold out'
    store.add(span(1, 1))
    store.add(span(1, 2, { error }))
    for (let n = 2; n <= 3 * MAX_TRACES; n++) store.add(span(n, 1))
    assert.equal(store.get(idOf(1))?.spans.length, 2)
    assert.equal(store.find({ ...everything, onlyErrors: true }).length, 1)
    assert.equal(store.find(everything)[0]?.id, idOf(3 * MAX_TRACES))
    for (let n = 10_000; n < 10_000 + 3 * MAX_FAILED; n++) store.add(span(n, 1, { error }))
    assert.equal(store.get(idOf(1)), undefined)
    assert.notEqual(store.get(idOf(3 * MAX_TRACES)), undefined)
    assert.equal(store.size, MAX_TRACES)
  })

  it('has room for others however large those with errors are', () => {
    const store = new TraceStore()
    for (let n = 1; n <= MAX_FAILED; n++)
      for (let id = 1; id <= 200; id++) store.add(span(n, id, { error: 'Sold out' }))
    for (let n = 1_000; n < 1_000 + MAX_SPANS / 4; n++) store.add(span(n, 1))
    assert.ok(store.get(idOf(999 + MAX_SPANS / 4)) !== undefined)
    assert.equal(store.size, MAX_TRACES)
  })
})
