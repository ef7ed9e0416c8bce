import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { SpanView } from '../../protocol.ts'
import { waterfallOf } from './waterfall-model.ts'

const span = (id: string, parent: string, start: number, duration: number): SpanView => ({
  id,
  parent,
  name: id,
  service: id,
  kind: 'internal',
  start,
  duration,
  attributes: [],
  logs: []
})
const view = (...spans: SpanView[]) => waterfallOf({ id: 't', spans, leftOut: 0 })

describe('a waterfall', () => {
  it('has each span below what it belongs to, and its bar where it was', () => {
    const { rows, duration } = view(
      span('a', '', 100, 10),
      span('b', 'a', 102, 4),
      span('c', 'b', 103, 1),
      span('d', 'a', 107, 2)
    )
    assert.equal(duration, 10)
    assert.deepEqual(
      rows.map(({ span: { id }, depth, from, length }) => [id, depth, from, length]),
      [
        ['a', 0, 0, 1],
        ['b', 1, 0.2, 0.4],
        ['c', 2, 0.3, 0.1],
        ['d', 1, 0.7, 0.2]
      ]
    )
  })

  it('shows each span once, whatever its parent is said to be', () => {
    const ids = fc.integer({ min: 0, max: 8 }).map(String)
    const spans = fc.uniqueArray(fc.record({ id: ids, parent: ids }), { selector: ({ id }) => id })
    fc.assert(
      fc.property(spans, (given) => {
        const { rows } = view(...given.map(({ id, parent }, n) => span(id, parent, n, 1)))
        assert.deepEqual(rows.map(({ span }) => span.id).sort(), given.map(({ id }) => id).sort())
      })
    )
    assert.deepEqual(view().rows, [])
  })
})
