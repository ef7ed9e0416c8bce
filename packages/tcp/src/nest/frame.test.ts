import assert from 'node:assert/strict'
import { StringDecoder } from 'node:string_decoder'
import { describe, it } from 'node:test'
import { ANY_CHARACTER, runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { encodeFrame, NestFrameDecoder } from './frame.ts'

const NO_LIMIT = 2 ** 30

describe('a decoder that is to forget what has come', () => {
  it('has nothing, neither a text nor the beginning of one', () => {
    const decoder = new NestFrameDecoder(NO_LIMIT)
    decoder.push(Buffer.from('10#123'))
    assert.equal(decoder.next(), undefined)
    assert.equal(decoder.incomplete, true)
    decoder.discard()
    assert.deepEqual([decoder.incomplete, decoder.buffered], [false, 0])
    decoder.push(Buffer.from('2#42'))
    assert.equal(decoder.next(), '42')
  })

  it('has nothing of chunks that waited behind each other, nor of a length that was searched', () => {
    const decoder = new NestFrameDecoder(NO_LIMIT)
    const came = (...chunks: string[]) => {
      const found = chunks.map((chunk) => {
        decoder.push(Buffer.from(chunk))
        return decoder.next()
      })
      return found.at(-1)
    }
    for (const chunks of [
      ['100#a', 'b', 'c'],
      ['    ', '    ']
    ]) {
      assert.equal(came(...chunks), undefined)
      decoder.discard()
      assert.deepEqual([decoder.incomplete, decoder.buffered], [false, 0])
      assert.equal(came(' 4#1', '234'), '1234')
      assert.equal(decoder.buffered, 0)
    }
  })
})

/** Returns all texts that a decoder makes of these chunks, and at the end the name of the error if there is one. */
function decodeAll(chunks: readonly Uint8Array[], maxBufferSize = NO_LIMIT): string[] {
  const decoder = new NestFrameDecoder(maxBufferSize)
  const texts: string[] = []
  try {
    for (const chunk of chunks) {
      decoder.push(chunk)
      for (let text = decoder.next(); text !== undefined; text = decoder.next()) texts.push(text)
    }
  } catch (error) {
    texts.push(`<${(error as Error).name}>`)
  }
  return texts
}

/** The simplest decoder, which reads as Nest does: all text in one string, cut with `parseInt` and `substring`. */
function decodeObviously(chunks: readonly Uint8Array[], maxBufferSize: number): string[] {
  const utf8 = new StringDecoder('utf8')
  const texts: string[] = []
  let buffer = ''
  let length: number | undefined
  for (const chunk of chunks) {
    buffer += utf8.write(chunk as Buffer)
    while (true) {
      if (buffer.length > maxBufferSize) return [...texts, '<PayloadTooLargeError>']
      if (length === undefined) {
        const hash = buffer.indexOf('#')
        if (hash < 0) break
        length = Number.parseInt(buffer.substring(0, hash), 10)
        if (Number.isNaN(length)) return [...texts, '<ProtocolError>']
        buffer = buffer.substring(hash + 1)
      }
      if (buffer.length < length) break
      texts.push(buffer.substring(0, Math.max(0, length)))
      buffer = buffer.substring(Math.max(0, length))
      length = undefined
    }
  }
  return texts
}

/** Cuts bytes at these positions. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1))), bytes.length].sort(
    (a, b) => a - b
  )
  return ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end))
}

const text = fc.string({ unit: ANY_CHARACTER, maxLength: 40, size: 'max' })
const places = fc.array(fc.nat(), { maxLength: 12 })

describe('NestFrameDecoder', () => {
  it('gives back any texts, however their bytes are divided', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 8 }), places, (texts, at) => {
        const bytes = Buffer.from(texts.map(encodeFrame).join(''))
        assert.deepEqual(decodeAll(cut(bytes, at)), texts)
      })
    )
  })

  it('gives back any texts byte by byte', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 3 }), (texts) => {
        const bytes = Buffer.from(texts.map(encodeFrame).join(''))
        const chunks = [...bytes].map((byte) => Buffer.of(byte))
        assert.deepEqual(decodeAll(chunks), texts)
      })
    )
  })

  it('agrees with the obvious decoder on bytes of every kind', () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 20, size: 'max' }).map((bytes) => Buffer.from(bytes)),
      text.map((content) => Buffer.from(encodeFrame(content))),
      fc
        .constantFrom('#', '12#', ' 3#', '-1#', '0#', '+2#', '1e3#', '\ufeff2#', 'x#', '999999999999999999#')
        .map((part) => Buffer.from(part))
    )
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 10 }),
        places,
        fc.constantFrom(5, 30, NO_LIMIT),
        (pieces, at, limit) => {
          const chunks = cut(Buffer.concat(pieces), at)
          assert.deepEqual(decodeAll(chunks, limit), decodeObviously(chunks, limit))
        }
      ),
      { numRuns: runs(2_000) }
    )
  })

  it('gives the same texts if all chunks, or some, wait before the first is asked for', () => {
    // Some texts are longer than a piece, others shorter.
    const some = fc.array(fc.oneof(text, fc.constantFrom('y'.repeat(20_000), 'é'.repeat(40_000))), {
      maxLength: 6
    })
    fc.assert(
      fc.property(some, places, fc.nat(6), (texts, at, every) => {
        const bytes = Buffer.from(texts.map(encodeFrame).join(''))
        const decoder = new NestFrameDecoder(NO_LIMIT)
        const received: string[] = []
        const take = () => {
          for (let one = decoder.next(); one !== undefined; one = decoder.next()) received.push(one)
        }
        cut(bytes, at).forEach((chunk, index) => {
          decoder.push(chunk)
          if (index % (every + 1) === every) take()
        })
        take()
        assert.deepEqual(received, texts)
        assert.deepEqual([decoder.buffered, decoder.incomplete], [0, false])
      }),
      { numRuns: runs(1_000) }
    )
  })

  it('counts what waits, of every piece', () => {
    const decoder = new NestFrameDecoder(NO_LIMIT)
    decoder.push(Buffer.from('100000#'))
    assert.equal(decoder.next(), undefined)
    for (let sent = 10_000; sent <= 90_000; sent += 10_000) {
      decoder.push(Buffer.alloc(10_000, 'x'))
      assert.deepEqual([decoder.next(), decoder.buffered], [undefined, sent])
    }
    decoder.push(Buffer.from(`${'x'.repeat(10_000)}2#`))
    assert.deepEqual([decoder.next()?.length, decoder.next(), decoder.buffered], [100_000, undefined, 0])
  })

  it('is incomplete from the first character of a frame to its last', () => {
    const decoder = new NestFrameDecoder(NO_LIMIT)
    assert.deepEqual([decoder.incomplete, decoder.buffered, decoder.next()], [false, 0, undefined])
    for (const character of '2#a') {
      decoder.push(Buffer.from(character))
      assert.equal(decoder.next(), undefined)
      assert.equal(decoder.incomplete, true)
    }
    decoder.push(Buffer.from('b'))
    assert.equal(decoder.next(), 'ab')
    assert.equal(decoder.incomplete, false)
    assert.equal(decoder.buffered, 0)
  })

  it('keeps a text right that comes in thousands of chunks', () => {
    const content = 'é'.repeat(5_000)
    const chunks = [...Buffer.from(encodeFrame(content))].map((byte) => Buffer.of(byte))
    assert.deepEqual(decodeAll(chunks), [content])
  })

  it('says what was wrong with a length', () => {
    for (const [length, shown] of [
      [32, /Corrupted length value "x{32}"/],
      [33, /Corrupted length value "x{32}\.\.\."/]
    ] as const) {
      const decoder = new NestFrameDecoder(NO_LIMIT)
      decoder.push(Buffer.from(`${'x'.repeat(length)}#{}`))
      assert.throws(() => decoder.next(), { name: 'ProtocolError', message: shown })
    }
  })

  it('waits for no end of a length beyond 1,024 characters, however they are divided', () => {
    const longest = `${'0'.repeat(1_023)}2#`
    for (const size of [1, 7, 1_000, 10_000]) {
      const divided = (text: string) =>
        Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
          Buffer.from(text.slice(index * size, (index + 1) * size))
        )
      assert.deepEqual(decodeAll(divided(`2#{}${longest}[]`)), ['{}', '[]'])
      for (const ending of ['', '#[]']) {
        const decoder = new NestFrameDecoder(NO_LIMIT)
        assert.throws(
          () => {
            for (const chunk of divided(`2#{}${'0'.repeat(1_025)}${ending}`)) {
              decoder.push(chunk)
              while (decoder.next() !== undefined);
            }
          },
          { name: 'ProtocolError', message: /expected at most 1024 characters before '#'/ }
        )
      }
    }
  })

  it('says which limit was exceeded, and by how much', () => {
    const decoder = new NestFrameDecoder(10)
    decoder.push(Buffer.from('20#12345678'))
    assert.throws(() => decoder.next(), {
      name: 'PayloadTooLargeError',
      option: 'limits.receiveBuffer',
      limit: 10
    })
  })
})

describe('encodeFrame', () => {
  it('counts UTF-16 code units', () => {
    assert.equal(encodeFrame('"€😀"'), '5#"€😀"')
  })
})
