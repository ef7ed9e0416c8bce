import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ByteWriter } from './byte-writer.ts'

describe('bytes that are copied', () => {
  const source = Uint8Array.from({ length: 200 }, (_, at) => at)

  // Short ones are copied in a loop, longer ones by the runtime.
  for (const [start, end] of [
    [0, 0],
    [0, 200],
    [3, 8],
    [3, 35],
    [3, 36],
    [100, 200]
  ] as const)
    it(`are those from ${start} to ${end}, behind what was written before`, () => {
      const writer = new ByteWriter()
      writer.uint8(255)
      writer.bytes(source, start, end)
      writer.uint8(254)
      assert.deepEqual([...writer.written], [255, ...source.subarray(start, end), 254])
    })

  it('are all without positions, and do not change with their source', () => {
    const writer = new ByteWriter()
    const changing = source.slice(0, 40)
    writer.bytes(changing)
    changing.fill(0)
    assert.deepEqual([...writer.written], [...source.subarray(0, 40)])
  })
})
