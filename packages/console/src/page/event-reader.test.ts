import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { EventReader } from './event-reader.ts'

describe('EventReader', () => {
  it('reads the same events wherever the text is cut', () => {
    const text = 'data: {"a":1}\n\n:\n\nevent: end\ndata: null\n\ndata: rest'
    fc.assert(
      fc.property(fc.array(fc.nat(text.length)), (cuts) => {
        const reader = new EventReader()
        const ends = [...cuts, text.length].sort((a, b) => a - b)
        const events = ends.flatMap((end, index) => reader.read(text.slice(ends[index - 1] ?? 0, end)))
        assert.deepEqual(events, [
          { name: 'message', data: '{"a":1}' },
          { name: 'end', data: 'null' }
        ])
      })
    )
  })
})
