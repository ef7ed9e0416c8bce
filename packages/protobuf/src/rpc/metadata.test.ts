import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import { OptionError } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { toBase64 } from './base64.ts'
import { addMetadata, type HeaderList, headerList, type Metadata } from './metadata.ts'

function read(...fields: HeaderList): Metadata {
  const metadata: Metadata = {}
  for (const [name, value] of fields) addMetadata(metadata, name, value)
  return metadata
}

describe('metadata', () => {
  it('is that of the request, without that of HTTP, of protocols and of this library', () => {
    const metadata = read(
      ['authorization', 'Bearer x'],
      ['x-tenant', 'a'],
      ['content-type', 'application/json'],
      ['content-length', '2'],
      ['connect-timeout-ms', '5'],
      ['grpc-timeout', '5S'],
      ['accept-encoding', 'gzip'],
      ['elysia-group', 'forged'],
      [':path', '/'],
      ['Upper', 'x']
    )
    assert.deepEqual(metadata, { authorization: 'Bearer x', 'x-tenant': 'a' })
  })

  it('may have any name', () => {
    const metadata = read(['__proto__', 'x'], ['constructor', 'y'], ['__proto__', 'z'])
    assert.deepEqual(Object.entries(metadata), [
      ['__proto__', 'x,z'],
      ['constructor', 'y']
    ])
    assert.equal(Object.getPrototypeOf(metadata), Object.prototype)
  })

  it('of bytes is read with padding and without, also where a proxy has joined values', () => {
    const one = Uint8Array.of(1)
    assert.deepEqual(read(['a-bin', 'AQ==']), { 'a-bin': one })
    assert.deepEqual(read(['a-bin', 'AQ']), { 'a-bin': one })
    assert.deepEqual(read(['a-bin', 'AQ==, AQ']), { 'a-bin': [one, one] })
    assert.deepEqual(read(['a-bin', 'AQ'], ['a-bin', 'AQ'], ['a-bin', 'AQ']), { 'a-bin': [one, one, one] })
    assert.deepEqual(read(['a-bin', '']), { 'a-bin': new Uint8Array() })
    assert.deepEqual(read(['a-bin', 'A Q'], ['b-bin', 'é']), {})
  })

  it('is read as it was written', () => {
    const text = fc.stringMatching(/^[!-~][ -~]{0,20}$/).map((value) => value.trim())
    const name = fc.stringMatching(/^x[0-9a-z_.-]{0,12}$/).filter((one) => !one.endsWith('-bin'))
    fc.assert(
      fc.property(
        fc.dictionary(name, text, { maxKeys: 4 }),
        fc.dictionary(name, fc.uint8Array({ maxLength: 30 }), { maxKeys: 4 }),
        (texts, bytes) => {
          const binary = Object.entries(bytes).map(([one, value]) => [`${one}-bin`, value] as const)
          const given = Object.fromEntries(binary.map(([one, value]) => [one, toBase64(value)]))
          assert.deepEqual(read(...headerList('headers', { ...texts, ...given })), {
            ...texts,
            ...Object.fromEntries(binary)
          })
        }
      ),
      { numRuns: runs(300) }
    )
  })
})

describe('metadata to send', () => {
  it('has names in lower case, texts without spaces at their ends, and bytes without padding', () =>
    assert.deepEqual(
      headerList('headers', { 'X-Cache': ' hit ', 'trace-bin': 'AQ==', 'two-bin': 'AQ==,Ag' }),
      [
        ['x-cache', 'hit'],
        ['trace-bin', 'AQ'],
        ['two-bin', 'AQ,Ag']
      ]
    ))

  for (const [name, value, words] of [
    ['x y', '1', /is no name of a header/],
    ['', '1', /is no name of a header/],
    ['Content-Type', 'text/html', /needs it/],
    ['grpc-status', '0', /needs it/],
    ['x-word', 'é', /printable ASCII/],
    ['x-lines', 'a\r\ngrpc-status: 0', /printable ASCII/],
    ['x-bin', 'no base64', /must be bytes/]
  ] as const)
    it(`cannot be ${JSON.stringify([name, value])}`, () =>
      void assert.throws(
        () => headerList('options.headers', { [name]: value }),
        (error: unknown) => error instanceof OptionError && words.test(error.message)
      ))
})
