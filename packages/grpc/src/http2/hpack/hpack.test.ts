import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import { ByteWriter } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { writeHuffman } from '../../testing/huffman.ts'
import { HpackDecoder } from './decoder.ts'
import { HpackEncoder, writeNumber } from './encoder.ts'
import { FieldKind, FieldList, fieldOf } from './field.ts'
import { STATIC_FIELDS } from './static-table.ts'

const NO_LIMIT = 2 ** 30

function decode(
  decoder: HpackDecoder,
  bytes: Uint8Array,
  list = new FieldList(NO_LIMIT, NO_LIMIT)
): string[] {
  decoder.decode(bytes, 0, bytes.length, list)
  return list.fields.map(({ name, value }) => `${name}: ${value}`)
}

const hex = (digits: string) => Buffer.from(digits.replaceAll(' ', ''), 'hex')

function encoded(encoder: HpackEncoder, fields: readonly string[]): Buffer {
  const out = new ByteWriter()
  encoder.encode(out, fields)
  return Buffer.from(out.written)
}

describe('a number', () => {
  const written = (flags: number, bits: number, value: number) => {
    const out = new ByteWriter()
    writeNumber(out, flags, bits, value)
    return Buffer.from(out.written).toString('hex')
  }

  it('is written as in appendix C.1', () => {
    assert.equal(written(0, 5, 10), '0a')
    assert.equal(written(0, 5, 1_337), '1f9a0a')
    assert.equal(written(0, 8, 42), '2a')
  })

  it('is read as it was written', () => {
    // A table of that size is allowed or refused, and the sentence has the number.
    fc.assert(
      fc.property(fc.nat(2 ** 27), (value) => {
        const bytes = hex(written(0x20, 5, value))
        if (value <= 4_096) assert.deepEqual(decode(new HpackDecoder(), bytes), [])
        else assert.throws(() => decode(new HpackDecoder(), bytes), new RegExp(` ${value} bytes`))
      }),
      { numRuns: runs(500) }
    )
  })
})

/** Each with the blocks of one connection, and the fields of each block. */
const VECTORS: Readonly<Record<string, readonly (readonly [string, ...string[]])[]>> = {
  'C.2.1': [
    ['400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', 'custom-key: custom-header']
  ],
  'C.2.2': [['040c 2f73 616d 706c 652f 7061 7468', ':path: /sample/path']],
  'C.2.3': [['1008 7061 7373 776f 7264 0673 6563 7265 74', 'password: secret']],
  'C.2.4': [['82', ':method: GET']],
  'C.3': [
    [
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      ':method: GET',
      ':scheme: http',
      ':path: /',
      ':authority: www.example.com'
    ],
    [
      '8286 84be 5808 6e6f 2d63 6163 6865',
      ':method: GET',
      ':scheme: http',
      ':path: /',
      ':authority: www.example.com',
      'cache-control: no-cache'
    ],
    [
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ':method: GET',
      ':scheme: https',
      ':path: /index.html',
      ':authority: www.example.com',
      'custom-key: custom-value'
    ]
  ],
  'C.4': [
    [
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      ':method: GET',
      ':scheme: http',
      ':path: /',
      ':authority: www.example.com'
    ],
    [
      '8286 84be 5886 a8eb 1064 9cbf',
      ':method: GET',
      ':scheme: http',
      ':path: /',
      ':authority: www.example.com',
      'cache-control: no-cache'
    ],
    [
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ':method: GET',
      ':scheme: https',
      ':path: /index.html',
      ':authority: www.example.com',
      'custom-key: custom-value'
    ]
  ]
}

/** The fields of C.5 and C.6, whose blocks differ in the Huffman code alone. */
const RESPONSES = [
  [
    ':status: 302',
    'cache-control: private',
    'date: Mon, 21 Oct 2013 20:13:21 GMT',
    'location: https://www.example.com'
  ],
  [
    ':status: 307',
    'cache-control: private',
    'date: Mon, 21 Oct 2013 20:13:21 GMT',
    'location: https://www.example.com'
  ],
  [
    ':status: 200',
    'cache-control: private',
    'date: Mon, 21 Oct 2013 20:13:22 GMT',
    'location: https://www.example.com',
    'content-encoding: gzip',
    'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'
  ]
]
const RESPONSE_BLOCKS: Readonly<Record<string, readonly string[]>> = {
  'C.5': [
    '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
    '4803 3330 37c1 c0bf',
    '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31'
  ],
  'C.6': [
    '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
    '4883 640e ffc1 c0bf',
    '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07'
  ]
}

describe('the vectors of appendix C are read', () => {
  for (const [name, blocks] of Object.entries(VECTORS))
    it(name, () => {
      const decoder = new HpackDecoder()
      for (const [digits, ...fields] of blocks) assert.deepEqual(decode(decoder, hex(digits)), fields)
    })

  for (const [name, blocks] of Object.entries(RESPONSE_BLOCKS))
    it(name, () => {
      const decoder = new HpackDecoder()
      // The tables of these vectors have 256 bytes, so that fields leave.
      assert.deepEqual(decode(decoder, hex('3fe101')), [])
      for (const [at, digits] of blocks.entries())
        assert.deepEqual(decode(decoder, hex(digits)), RESPONSES[at])
    })
})

const NAMES = [':path', ':status', 'te', 'authorization', 'x-one', 'x-two', 'grpc-timeout', 'content-type']
const someFields = fc.array(
  fc.tuple(
    fc.constantFrom(...NAMES),
    fc.oneof(
      fc.constantFrom('a', 'b', '200', 'trailers', ''),
      fc.string({ maxLength: 300 }),
      fc.integer({ min: 0, max: 6 }).map((n) => `value ${n} `.repeat(60))
    )
  ),
  { maxLength: 20 }
)

describe('fields', () => {
  it('are read as they were written, whatever came before, and however the table’s size changes', () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: someFields },
      { weight: 1, arbitrary: fc.constantFrom(0, 32, 100, 1_000, 4_096, 100_000) }
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder()]
        for (const one of steps) {
          if (typeof one === 'number') encoder.resize(one)
          else {
            const flat = one.flat()
            assert.deepEqual(
              decode(decoder, encoded(encoder, flat)),
              one.map(([name, value]) => `${name}: ${value}`)
            )
          }
        }
      }),
      { numRuns: runs(300) }
    )
  })

  it('that do not change become a few bytes; a value that comes twice in a row is remembered', () => {
    const encoder = new HpackEncoder()
    const fields = (id: string) => [
      ':method',
      'POST',
      ':path',
      '/shop.Orders/Total',
      'te',
      'trailers',
      'x-id',
      id
    ]
    const lengths = ['a', 'b', 'b', 'b'].map((id) => encoded(encoder, fields(id)).length)
    assert.ok((lengths[0] as number) > 30)
    assert.deepEqual(lengths.slice(1), [11, 11, 4])
  })

  it('with secrets are never put in a table', () => {
    const encoder = new HpackEncoder()
    for (let time = 0; time < 3; time++) {
      const bytes = encoded(encoder, ['authorization', 'Bearer 1', 'cookie', 'a=1'])
      assert.equal(bytes[0], 0x1f)
      assert.ok(bytes.includes('Bearer 1') && bytes.includes('a=1'))
    }
  })

  it('beyond ASCII are not written', () => {
    assert.throws(() => encoded(new HpackEncoder(), ['x-one', 'é']), /beyond ASCII/)
    assert.throws(() => encoded(new HpackEncoder(), ['é', 'x']), /beyond ASCII/)
  })
})

describe('a block that is wrong', () => {
  const long = (byte: number) => Buffer.alloc(10, byte)
  const wrong: Readonly<Record<string, Uint8Array>> = {
    'has the index 0': hex('80'),
    'has an index beyond both tables': hex('be'),
    'has a name with an index beyond both tables': hex('7f80 01 0161'),
    'ends within a number': hex('ff'),
    'ends within a name': hex('4005 6162'),
    'ends before a value': hex('4001 61'),
    'ends within a value': hex('4001 61 05 62'),
    'has a number of many bytes': Buffer.concat([hex('ff'), long(0xff), hex('01')]),
    'has a number of many zeros': Buffer.concat([hex('ff'), long(0x80), hex('00')]),
    'has a text of 2^27 bytes': hex('4001 61 7f ffffff3f'),
    'has a table above the allowed size': hex('3fe21f'),
    'changes the size behind a field': hex('82 20'),
    'has Huffman code with EOS': hex('4001 61 84 ffffffff'),
    'has Huffman code with zeros as padding': hex('4001 61 81 18')
  }
  for (const [name, bytes] of Object.entries(wrong))
    it(name, () => {
      assert.throws(
        () => decode(new HpackDecoder(), bytes),
        (error: { name: string; errorCode?: number }) =>
          error.name === 'ConnectionFault' && error.errorCode === 9
      )
    })

  it('is read or refused, whatever it is', () => {
    const decoder = new HpackDecoder()
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          decode(decoder, bytes)
        } catch (error) {
          assert.equal((error as { errorCode?: number }).errorCode, 9, String(error))
        }
      }),
      { numRuns: runs(3_000) }
    )
  })
})

describe('a list of fields', () => {
  it('keeps nothing above its limits, while the tables go on', () => {
    const decoder = new HpackDecoder()
    const bomb = Buffer.concat([
      hex('4001 61 7fa1 1e'),
      Buffer.alloc(4_000, 'x'),
      // The field of 4 KB, 10,000 times.
      Buffer.alloc(10_000, 0xbe)
    ])
    const list = new FieldList(16_384, 100)
    assert.deepEqual(decode(decoder, bomb, list), [])
    assert.equal(list.isTooLarge, true)
    assert.deepEqual(decode(decoder, hex('be')), [`a: ${'x'.repeat(4_000)}`])
    const many = new FieldList(NO_LIMIT, 100)
    assert.deepEqual(decode(decoder, Buffer.alloc(101, 0x82), many), [])
    assert.equal(many.isTooLarge, true)
    const enough = new FieldList(NO_LIMIT, 100)
    assert.equal(decode(decoder, Buffer.alloc(100, 0x82), enough).length, 100)
    assert.equal(enough.isTooLarge, false)
  })
})

describe('a field', () => {
  const kinds: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
    REGULAR: [
      ['a', ''],
      ['a-b', 'c d'],
      ['te', 'trailers'],
      ['x', 'é'.normalize()],
      ['grpc-x-bin', 'AA==']
    ],
    PSEUDO: [
      [':path', '/'],
      [':anything', 'x']
    ],
    MALFORMED: [
      ['A', 'x'],
      ['', 'x'],
      [':', 'x'],
      ['a b', 'x'],
      ['a:b', 'x'],
      ['é', 'x'],
      ['a', 'x\n'],
      ['a', 'x\ry'],
      ['a', '\0'],
      ['a', ' x'],
      ['a', 'x '],
      ['a', '\tx'],
      ['te', 'gzip'],
      ['connection', 'close'],
      ['keep-alive', '1'],
      ['proxy-connection', 'x'],
      ['transfer-encoding', 'chunked'],
      ['upgrade', 'h2c']
    ]
  }
  for (const [kind, fields] of Object.entries(kinds))
    for (const [name, value] of fields)
      it(`${JSON.stringify(name)}: ${JSON.stringify(value)} is ${kind.toLowerCase()}`, () =>
        assert.equal(fieldOf(name, value).kind, FieldKind[kind as keyof typeof FieldKind]))

  it('of the static table is at its place', () => {
    assert.equal(STATIC_FIELDS.length, 61)
    const names = STATIC_FIELDS.map(({ name, value }) => `${name}=${value}`)
    assert.deepEqual(
      [1, 2, 8, 15, 16, 31, 61].map((index) => names[index - 1]),
      [
        ':authority=',
        ':method=GET',
        ':status=200',
        'accept-charset=',
        'accept-encoding=gzip, deflate',
        'content-type=',
        'www-authenticate='
      ]
    )
  })

  it('in the Huffman code is the same as without', () => {
    const text = writeHuffman(Buffer.from('/shop.Orders/Total'))
    const bytes = Buffer.concat([Uint8Array.of(0x04, 0x80 | text.length), text])
    assert.deepEqual(decode(new HpackDecoder(), bytes), [':path: /shop.Orders/Total'])
  })
})
