/**
 * Tests of the specifications Extensions/CompositeMetadata.md, Routing.md, PerStreamDataMimeTypesDefinition.md and
 * Security/Authentication.md.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import { ByteWriter, OptionError, ProtocolError } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { entry, headersEntry, join, routeEntry } from '../testing/rsocket-frames.ts'
import {
  beginEntry,
  type Credentials,
  endEntry,
  readCredentials,
  readEntries,
  readMimeType,
  readTags,
  writeCredentials,
  writeMimeType
} from './composite-metadata.ts'
import { mimeTypeId, mimeTypeOfId } from './mime-type.ts'
import { newPayload } from './payload.ts'
import {
  dataMimeTypeMetadata,
  dataMimeTypeOf,
  MetadataReader,
  MetadataWriter,
  NO_METADATA,
  parseComposite
} from './request-metadata.ts'

const COMPOSITE = 'message/x.rsocket.composite-metadata.v0'
const mimeTypes = fc.oneof(
  fc.stringMatching(/^[a-z]{1,20}\/[a-z.+-]{1,60}$/),
  fc.constantFrom('application/json', 'message/x.rsocket.routing.v0', 'text/plain')
)

function written(write: (out: ByteWriter) => void): Buffer {
  const out = new ByteWriter()
  write(out)
  return Buffer.from(out.copyFrom(0))
}

describe('composite metadata', () => {
  it('gives back any entries, by number where the MIME type has one', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(mimeTypes, fc.uint8Array({ maxLength: 300, size: 'max' })), { maxLength: 8 }),
        (entries) => {
          const bytes = written((out) => {
            for (const [mimeType, content] of entries) {
              const start = beginEntry(out, mimeType)
              out.bytes(content)
              endEntry(out, start)
            }
          })
          const read = [...readEntries(bytes)].map(({ mimeType, content }) => [
            mimeType,
            new Uint8Array(content)
          ])
          assert.deepEqual(
            read,
            entries.map(([mimeType, content]) => [mimeType, new Uint8Array(content)])
          )
        }
      )
    )
  })

  it('that ends within an entry is refused, and nothing else is thrown', () => {
    const whole = join([
      routeEntry('orders.get'),
      headersEntry({ a: 'b' }),
      entry('application/x.own', 'content')
    ])
    for (let length = 0; length < whole.length; length++) {
      try {
        parseComposite(whole.subarray(0, length))
      } catch (error) {
        assert.ok(error instanceof ProtocolError)
      }
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60, size: 'max' }), (bytes) => {
        try {
          parseComposite(Buffer.from(bytes))
        } catch (error) {
          assert.ok(error instanceof ProtocolError)
        }
      }),
      { numRuns: runs(2_000) }
    )
  })

  it('is refused with what is wrong with it', () => {
    const own = entry('a/b', 'content')
    for (const [bytes, message] of [
      [own.subarray(0, 3), 'Metadata ends within an entry'],
      [own.subarray(0, 4), 'Metadata ends within an entry'],
      [own.subarray(0, 6), 'Metadata ends within an entry'],
      [own.subarray(0, 7), 'Metadata ends within an entry'],
      [own.subarray(0, -1), 'Metadata ends within an entry'],
      [join([own, Buffer.of(0x85)]), 'Metadata ends within an entry'],
      [entry(0x7e, Buffer.of(2), 'a'), 'A tag of routing metadata reaches beyond it'],
      [entry(0x7a), 'A MIME type is missing in metadata'],
      [entry(0x7c), 'Authentication metadata is empty']
    ] as const)
      assert.throws(() => parseComposite(bytes), { name: 'ProtocolError', message })
  })

  it('may have an entry without content, also at its end', () => {
    const bytes = join([entry(0x70), entry('a/b')])
    assert.deepEqual(
      readEntries(bytes).map(({ mimeType, content }) => [mimeType, content.length]),
      [
        [undefined, 0],
        ['a/b', 0]
      ]
    )
  })

  it('may have entries of types nobody knows, and several routes, of which the first counts', () => {
    const bytes = join([
      entry('application/x.own', 'x'),
      entry(0x70, 'reserved'),
      routeEntry('a'),
      routeEntry('b')
    ])
    assert.equal(parseComposite(bytes).route, 'a')
  })

  it('numbers well-known MIME types as the extension says', () => {
    assert.equal(mimeTypeId('application/json'), 0x05)
    assert.equal(mimeTypeId('message/x.rsocket.authentication.v0'), 0x7c)
    assert.equal(mimeTypeId('message/x.rsocket.routing.v0'), 0x7e)
    assert.equal(mimeTypeId('message/x.rsocket.composite-metadata.v0'), 0x7f)
    for (const id of [0x05, 0x06, 0x7a, 0x7b, 0x7c, 0x7e, 0x7f])
      assert.equal(mimeTypeId(mimeTypeOfId(id) ?? ''), id)
  })

  it('has no codec, and no meaning, for the other numbers', () => {
    assert.equal(mimeTypeOfId(0x01), undefined)
    assert.equal(mimeTypeId('constructor'), undefined)
  })
})

describe('a MIME type', () => {
  it('is read wherever it stands, and up to its last byte', () => {
    const names = fc.array(mimeTypes, { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(names, (all) => {
        const bytes = written((out) => {
          for (const name of all) writeMimeType(out, name)
        })
        let at = 0
        for (const name of all) {
          const { mimeType, next } = readMimeType(bytes, at)
          assert.equal(mimeType, name)
          at = next
        }
        assert.equal(at, bytes.length)
      })
    )
  })

  it('of one letter has the length 0, because no name is shorter', () => {
    assert.deepEqual([...written((out) => writeMimeType(out, 'x'))], [0, 0x78])
  })

  it('is that of the data, or one of those that the caller accepts', () => {
    const types = written((out) => {
      writeMimeType(out, 'application/x.own')
      writeMimeType(out, 'application/json')
    })
    const read = parseComposite(join([entry(0x7a, types), entry(0x7b, types)]))
    assert.equal(read.dataMimeType, 'application/x.own')
    assert.deepEqual(read.acceptMimeTypes, ['application/x.own', 'application/json'])
  })
})

describe('routing metadata', () => {
  it('has any number of tags, of any length', () => {
    const tags = fc.array(
      fc
        .string({ maxLength: 60, size: 'max', unit: 'grapheme' })
        .filter((text) => Buffer.byteLength(text) <= 255)
    )
    fc.assert(
      fc.property(tags, (all) => {
        const bytes = join(all.flatMap((tag) => [Buffer.of(Buffer.byteLength(tag)), tag]))
        assert.deepEqual(readTags(bytes), all)
      })
    )
  })
})

describe('metadata of requests', () => {
  const headers = fc.dictionary(
    fc.stringMatching(/^[a-z-]{1,20}$/).filter((name) => !name.startsWith('elysia-')),
    fc.string({ maxLength: 50, size: 'max' }),
    { maxKeys: 6 }
  )
  const routes = fc
    .string({ maxLength: 60, size: 'max', unit: 'grapheme' })
    .filter((text) => Buffer.byteLength(text) <= 255)

  it('has a timeout of at most 15 digits, which a number holds exactly', () => {
    const writer = new MetadataWriter()
    for (const [told, read] of [
      [1, 1],
      [10 ** 15 - 1, 10 ** 15 - 1],
      [10 ** 15, undefined]
    ] as const)
      assert.equal(parseComposite(Buffer.from(writer.write('a', undefined, told))).timeout, read)
  })

  it('is read as it was written', () => {
    fc.assert(
      fc.property(
        routes,
        fc.option(headers, { nil: undefined }),
        fc.option(fc.integer({ min: 1, max: 1e9 }), { nil: undefined }),
        (route, given, timeout) => {
          const writer = new MetadataWriter()
          const bytes = Buffer.from(writer.write(route, given, timeout))
          const read = new MetadataReader(COMPOSITE).read(bytes, 0, bytes.length)
          assert.equal(read.route, route)
          assert.equal(read.timeout, timeout)
          assert.deepEqual({ ...read.headers }, { ...given })
          // The writer remembers the metadata and returns the same bytes again.
          assert.deepEqual(Buffer.from(writer.write(route, given, timeout)), bytes)
        }
      )
    )
  })

  it('is written and read alike in any order, whatever is remembered', () => {
    const some = fc.record({
      route: fc.constantFrom('', 'a', 'b', 'ab', 'ba', 'x'.repeat(200)),
      headers: fc.constantFrom(undefined, { a: '1' }, { a: '2' }, { a: 'x'.repeat(600) }),
      timeout: fc.constantFrom(undefined, 1, 2)
    })
    fc.assert(
      fc.property(fc.array(some, { maxLength: 30, size: 'max' }), (requests) => {
        const reader = new MetadataReader(COMPOSITE)
        const writer = new MetadataWriter()
        for (const { route, headers, timeout } of requests) {
          const bytes = Buffer.from(writer.write(route, headers, timeout))
          assert.deepEqual(bytes, Buffer.from(new MetadataWriter().write(route, headers, timeout)))
          // The metadata lies in the middle of a chunk that is overwritten later.
          const chunk = Buffer.concat([Buffer.from([1, 2, 3]), bytes, Buffer.from([4])])
          const read = reader.read(chunk, 3, 3 + bytes.length)
          chunk.fill(0)
          assert.deepEqual(
            [read.route, read.headers === undefined ? undefined : { ...read.headers }, read.timeout],
            [route, headers, timeout]
          )
        }
      })
    )
  })

  it('has a route of at most 255 bytes', () => {
    for (const route of ['é'.repeat(127), 'a'.repeat(255)])
      assert.equal(
        parseComposite(Buffer.from(new MetadataWriter().write(route, undefined, undefined))).route,
        route
      )
    assert.throws(
      () => new MetadataWriter().write('é'.repeat(128), undefined, undefined),
      (error) => error instanceof OptionError && error.path === 'pattern' && /at most 255/.test(error.message)
    )
  })

  it('remembers what it has read, within a bound, but no credentials', () => {
    const reader = new MetadataReader(COMPOSITE)
    const read = (bytes: Buffer) => reader.read(bytes, 0, bytes.length)
    assert.equal(read(routeEntry('a')), read(routeEntry('a')))
    const secret = join([routeEntry('a'), entry(0x7c, Buffer.of(0x81), 'token')])
    assert.notEqual(read(secret), read(secret))
    for (let n = 0; n < 5_000; n++) assert.equal(read(routeEntry(`route ${n}`)).route, `route ${n}`)
  })

  it('is told apart by every byte, however often it comes', () => {
    const reader = new MetadataReader(COMPOSITE)
    const read = (bytes: Buffer) => reader.read(bytes, 0, bytes.length)
    const known = routeEntry('a')
    for (let time = 0; time < 3; time++) assert.equal(read(known).route, 'a')
    // The bytes that differ are: the number of the MIME type, the length of the tag, and the tag.
    const other = Buffer.from(known)
    other[0] = 0xf0
    assert.equal(read(other).route, undefined)
    assert.equal(read(known).route, 'a')
    assert.equal(read(routeEntry('b')).route, 'b')
    assert.equal(read(routeEntry('aa')).route, 'aa')
    assert.equal(read(Buffer.alloc(0)).route, undefined)
  })

  it('is nothing but its own bytes, whatever came last and whatever stands around it', () => {
    const reader = new MetadataReader(COMPOSITE)
    const readAt = (before: Uint8Array, bytes: Buffer, behind: Uint8Array) => {
      const buffer = Buffer.concat([before, bytes, behind])
      return reader.read(buffer, before.length, before.length + bytes.length)
    }
    const none = Buffer.alloc(0)
    const known = routeEntry('a')
    const more = headersEntry({ a: 'bc' })
    // The data behind the metadata may look like more metadata.
    for (let before = 0; before < 60; before++) {
      for (let time = 0; time < 2; time++) readAt(none, join([known, more]), none)
      assert.equal(readAt(Buffer.alloc(before), known, more).headers, undefined)
    }
    const mirrored = Buffer.from(known.subarray(1)).reverse()
    for (let time = 0; time < 3; time++) assert.equal(readAt(none, known, none).route, 'a')
    assert.equal(readAt(mirrored, routeEntry('b'), none).route, 'b')
    // Metadata of the same length that differs in every byte.
    const other = entry('xy')
    assert.deepEqual(
      [...other].filter((byte, index) => byte === known[index]),
      []
    )
    for (let time = 0; time < 3; time++) assert.equal(readAt(none, known, none).route, 'a')
    assert.equal(readAt(none, other, none).route, undefined)
    const far = Buffer.alloc(1_000)
    assert.equal(readAt(far, known, none), readAt(none, known, none))
    const fresh = routeEntry('fresh')
    assert.equal(readAt(far, fresh, none), readAt(none, fresh, none))
  })

  it('is remembered by a reader if it is short, until there are 1,024 others', () => {
    const reader = new MetadataReader(COMPOSITE)
    const read = (bytes: Buffer) => reader.read(bytes, 0, bytes.length)
    const ofLength = (length: number) => entry('x/y', Buffer.alloc(length - 7, 1))
    assert.equal(ofLength(512).length, 512)
    assert.equal(read(ofLength(512)), read(ofLength(512)))
    assert.notEqual(read(ofLength(513)), read(ofLength(513)))
    const all = Array.from({ length: 1_023 }, (_, n) => read(routeEntry(`route ${n}`)))
    for (const n of [0, 1, 1_022]) assert.equal(read(routeEntry(`route ${n}`)), all[n])
    read(routeEntry('one more'))
    assert.notEqual(read(routeEntry('route 0')), all[0])
  })

  it('is remembered by a writer, until there are 1,024 others of its kind', () => {
    for (const timeout of [undefined, 5]) {
      const writer = new MetadataWriter()
      const write = (n: number) => writer.write(`route ${n}`, undefined, timeout)
      const all = Array.from({ length: 1_024 }, (_, n) => write(n))
      for (const n of [0, 1, 1_023]) assert.equal(write(n), all[n])
      write(1_024)
      assert.notEqual(write(0), all[0])
      assert.deepEqual(write(0), all[0])
    }
  })

  it('of another MIME type says nothing', () => {
    const bytes = routeEntry('a')
    assert.equal(new MetadataReader('application/x.own').read(bytes, 0, bytes.length), NO_METADATA)
  })

  it('may be the tags of a route alone, of which the first counts, or none', () => {
    const reader = new MetadataReader('message/x.rsocket.routing.v0')
    const read = (...tags: string[]) => {
      const bytes = join(tags.flatMap((tag) => [Buffer.of(tag.length), tag]))
      return { ...reader.read(bytes, 0, bytes.length) }
    }
    assert.deepEqual(read('a', 'b'), { ...NO_METADATA, route: 'a' })
    assert.deepEqual(read(), NO_METADATA)
  })

  it('names the type of its data and those it accepts, by number or by name', () => {
    const type = (mimeType: number | string) =>
      typeof mimeType === 'number'
        ? Buffer.of(0x80 | mimeType)
        : join([Buffer.of(mimeType.length - 1), mimeType])
    const read = (...parts: Buffer[]) => parseComposite(join(parts))
    assert.equal(read(entry(0x7a, type(5))).dataMimeType, 'application/json')
    assert.equal(read(entry(0x7a, type('text/x'))).dataMimeType, 'text/x')
    // A number without a defined MIME type is not read as the connection's own type.
    assert.equal(read(entry(0x7a, type(0x70))).dataMimeType, 'unknown')
    const accepted = [type('text/x'), type(0x70), type(5), type('a/b')]
    const { acceptMimeTypes } = read(entry(0x7b, ...accepted))
    assert.deepEqual(acceptMimeTypes, ['text/x', 'application/json', 'a/b'])
    assert.deepEqual(read(entry(0x7b)).acceptMimeTypes, [])
    assert.deepEqual(read().acceptMimeTypes, [])
  })

  it('keeps the time to itself, and takes it only where it is one', () => {
    const read = (headers: object) => parseComposite(headersEntry(headers))
    const ours = { 'elysia-timeout': '50', 'elysia-lifetime': '90', 'elysia-window': '7' }
    const { headers, timeout, lifetime } = read({ ...ours, elysia: 'y', a: 'b' })
    assert.deepEqual([{ ...headers }, timeout, lifetime], [{ elysia: 'y', a: 'b' }, 50, 90])
    assert.equal(read({ 'elysia-lifetime': '90' }).headers, undefined)
    for (const told of ['', '-1', '1.5', ' 1', '1e3', 'soon']) {
      assert.equal(read({ 'elysia-timeout': told }).timeout, undefined)
      assert.equal(read({ 'elysia-lifetime': told }).lifetime, undefined)
    }
  })

  it('tells the type of an answer; metadata of another form, which an application may send, tells none', () => {
    const typeOf = (bytes: Buffer, before = 3) => {
      const buffer = Buffer.concat([Buffer.alloc(before), bytes, Buffer.from('data')])
      const end = before + bytes.length
      return dataMimeTypeOf(newPayload(buffer, before, end, end, buffer.length))
    }
    for (const name of ['text/x', 'application/json', 'application/octet-stream'])
      assert.equal(typeOf(Buffer.from(dataMimeTypeMetadata(name))), name)
    assert.equal(typeOf(routeEntry('a')), undefined)
    assert.equal(typeOf(Buffer.from('{"any":"form"}')), undefined)
  })

  it('takes only texts for headers, and refuses what is no object of them', () => {
    assert.deepEqual({ ...parseComposite(headersEntry({ a: 'b', n: 1, o: {} })).headers }, { a: 'b' })
    for (const content of ['[1]', 'null', '"x"', '{', '7'])
      assert.throws(() => parseComposite(entry(5, content)), ProtocolError)
    const polluted = parseComposite(entry(5, '{"__proto__":{"x":1},"constructor":"c"}')).headers
    assert.equal(({} as Record<string, unknown>)['x'], undefined)
    assert.equal(polluted?.['constructor'], 'c')
  })
})

describe('authentication metadata', () => {
  it('is read as it was written', () => {
    const credentials = fc.oneof(
      fc.record({
        type: fc.constant('bearer' as const),
        token: fc.string({ maxLength: 300, size: 'max', unit: 'grapheme' })
      }),
      fc.record({
        type: fc.constant('simple' as const),
        username: fc.string({ maxLength: 100, size: 'max', unit: 'grapheme' }),
        password: fc.string({ maxLength: 100, size: 'max', unit: 'grapheme' })
      }),
      fc.record({
        type: fc.constant('other' as const),
        name: fc.stringMatching(/^[!-~]{1,127}$/),
        payload: fc.uint8Array({ maxLength: 100, size: 'max' }).map((bytes) => Buffer.from(bytes))
      })
    )
    fc.assert(
      fc.property(credentials, (given: Credentials) => {
        const bytes = written((out) => {
          const start = beginEntry(out, 'message/x.rsocket.authentication.v0')
          writeCredentials(out, given)
          endEntry(out, start)
        })
        assert.deepEqual({ ...parseComposite(bytes).credentials }, { ...given })
      })
    )
  })

  it('may have nothing in any of its fields', () => {
    for (const given of [
      { type: 'bearer', token: '' },
      { type: 'simple', username: '', password: '' },
      { type: 'simple', username: 'a', password: '' },
      { type: 'other', name: 'x.own', payload: Buffer.of() }
    ] as const) {
      const bytes = written((out) => writeCredentials(out, given))
      assert.deepEqual({ ...readCredentials(bytes) }, given)
    }
  })

  it('has the bytes that the extension says [MUST]', () => {
    const simple = { type: 'simple', username: 'me', password: 'secret' } as const
    assert.deepEqual(
      written((out) => writeCredentials(out, simple)),
      join([Buffer.of(0x80, 0, 2), 'mesecret'])
    )
    const bearer = { type: 'bearer', token: 'secret' } as const
    assert.deepEqual(
      written((out) => writeCredentials(out, bearer)),
      join([Buffer.of(0x81), 'secret'])
    )
    const other = { type: 'other', name: 'x.own', payload: Buffer.of(7) } as const
    assert.deepEqual(
      written((out) => writeCredentials(out, other)),
      join([Buffer.of(5), 'x.own', Buffer.of(7)])
    )
  })

  it('of a type whose number nobody knows is given with the number', () => {
    assert.deepEqual(readCredentials(Buffer.of(0xaf, 7, 8)), {
      type: 'other',
      name: '0x2f',
      payload: Buffer.of(7, 8)
    })
  })

  it('is refused where it ends too soon, with what is missing', () => {
    for (const [bytes, message] of [
      [Buffer.of(0x80, 0), 'Simple authentication metadata has no username length'],
      [Buffer.of(0x80, 0, 2, 0x61), 'A username is longer than its authentication metadata'],
      [Buffer.of(2, 0x61), 'The name of an authentication type is longer than its metadata']
    ] as const)
      assert.throws(() => readCredentials(bytes), { name: 'ProtocolError', message })
  })
})
