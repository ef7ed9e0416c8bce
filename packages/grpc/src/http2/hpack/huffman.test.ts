import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { huffmanBits, packed, writeHuffman } from '../../testing/huffman.ts'
import { CODE_LENGTHS, codesOf, readHuffman } from './huffman.ts'

const read = (bytes: Uint8Array) => readHuffman(bytes, 0, bytes.length)
const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1')

describe('the Huffman code', () => {
  it('has the codes of appendix B', () => {
    const codes = codesOf(CODE_LENGTHS)
    const some = {
      0: 0x1ff8,
      1: 0x7fffd8,
      9: 0xffffea,
      32: 0x14,
      48: 0x0,
      97: 0x3,
      126: 0x1ffd,
      255: 0x3ffffee
    }
    for (const [symbol, code] of Object.entries(some)) assert.equal(codes[Number(symbol)], code, symbol)
    assert.equal(codes[256], 0x3fffffff)
  })

  it('is read as it was written, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        assert.equal(read(writeHuffman(bytes)), latin1(bytes))
      }),
      { numRuns: runs(500) }
    )
    const long = Buffer.alloc(20_000, 'a long text ')
    assert.equal(read(writeHuffman(long)), latin1(long))
  })

  it('is refused with padding of a byte or more, padding of zeros, or EOS', () => {
    const bits = huffmanBits(Buffer.from('a'))
    assert.equal(read(packed(`${bits.padEnd(16, '1')}11111111`)), undefined)
    assert.equal(read(packed(bits.padEnd(Math.ceil(bits.length / 8) * 8, '0'))), undefined)
    assert.equal(read(packed('1'.repeat(30))), undefined)
    assert.equal(read(packed(`${bits}${'1'.repeat(30)}${bits}`)), undefined)
    assert.equal(read(new Uint8Array()), '')
  })

  it('is read or refused, whatever comes, and what is read is written the same', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 30 }), (bytes) => {
        const text = read(bytes)
        if (text !== undefined) assert.deepEqual(writeHuffman(Buffer.from(text, 'latin1')), bytes)
      }),
      { numRuns: runs(2_000) }
    )
  })
})
