import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { forgetSecrets, isSecret, newSecret, SECRET_LENGTH } from './secret.ts'
import {
  bytesOf,
  type CallerKind,
  jsonOf,
  letterAt,
  numberIn,
  readGrant,
  readReply,
  replyHead,
  replyToken,
  STREAM_WINDOW,
  textOf
} from './words.ts'

const KINDS: readonly CallerKind[] = ['request', 'stream', 'event']
const INBOX = '_INBOX.ABC.'

describe('a reply token', () => {
  it('reads as it was written, behind whatever inbox', () => {
    const timeout = fc.option(fc.integer({ min: 1, max: 10 ** 12 }), { nil: undefined })
    fc.assert(
      fc.property(
        fc.constantFrom(...KINDS),
        fc.nat(),
        timeout,
        fc.integer({ min: 1, max: 2 ** 31 - 1 }),
        fc.integer({ min: 1, max: STREAM_WINDOW }),
        timeout,
        (kind, call, waits, demand, window, lifetime) => {
          const secret = newSecret()
          const token = replyToken(kind, call, secret, waits, demand, window, lifetime)
          assert.ok(token.startsWith(replyHead(kind, call, secret)))
          const isStream = kind === 'stream'
          const expected = { kind, timeout: waits, demand: 1, window: STREAM_WINDOW }
          const stream = { ...expected, demand, window, ...(lifetime !== undefined && { lifetime }) }
          assert.deepEqual(readReply(INBOX + token), isStream ? stream : expected)
        }
      )
    )
  })

  it('reads as it was written with the least of each number', () => {
    const token = replyToken('stream', 0, newSecret(), 1, 1, 1, 1)
    assert.deepEqual(readReply(INBOX + token), {
      kind: 'stream',
      timeout: 1,
      demand: 1,
      window: 1,
      lifetime: 1
    })
    assert.equal(readReply(INBOX + replyToken('request', 0, newSecret(), 0.2))?.timeout, 1)
    const usual = { kind: 'stream', timeout: undefined, demand: 1, window: STREAM_WINDOW }
    assert.deepEqual(readReply(INBOX + replyToken('stream', 0, newSecret(), undefined)), usual)
  })

  it('of another version, or written otherwise, is none of ours', () => {
    const secret = newSecret()
    for (const token of [
      `2r17-${secret}-`,
      `r17-${secret}-`,
      `1q17-${secret}-`,
      `1r-${secret}-`,
      `1r1x-${secret}-`,
      `1r-1-${secret}-`,
      `1r17-${secret}`,
      `1r17-${secret.slice(1)}-`,
      `1r17-${secret.slice(1)}A-`,
      `1r17-${secret}-0`,
      `1r17-${secret}--1`,
      `1r17-${secret}-5e3`,
      `1r17-${secret}-9999999999999999`,
      `1s17-${secret}-`,
      `1s17-${secret}--1`,
      `1s17-${secret}--0-10`,
      `1s17-${secret}--10-0`,
      `1s17-${secret}--1.5-10`,
      `1s17-${secret}--10-NaN`,
      `1s17-${secret}--10-10-`,
      `1s17-${secret}--10-10-0`,
      `1s17-${secret}--10-10-5-5`,
      `1s17-${secret}--10-10-5e3`,
      ''
    ])
      assert.equal(readReply(INBOX + token), undefined, token)
  })

  it('of any text is read without a failure, and never with a number out of its range', () => {
    const secret = newSecret()
    const text = fc.oneof(
      fc.string(),
      fc.stringMatching(/^1[rse]\d{0,20}-[a-z2-7]{11,13}(-[-\d.e]{0,20}){0,4}$/),
      fc
        .array(fc.constantFrom('1', 's', 'r', '-', '.', '7', secret), { maxLength: 12 })
        .map((all) => all.join(''))
    )
    fc.assert(
      fc.property(text, (token) => {
        const read = readReply(INBOX + token)
        if (read === undefined) return
        const { timeout, demand, window, lifetime } = read
        for (const number of [timeout ?? 1, demand, window, lifetime ?? 1])
          assert.ok(Number.isSafeInteger(number) && number >= 1, `${token}: ${number}`)
        assert.ok(window <= STREAM_WINDOW)
      })
    )
  })
})

describe('a number in words', () => {
  it('is whole and in decimal digits, or none', () => {
    fc.assert(fc.property(fc.nat(), (n) => assert.equal(numberIn(`x${n}y`, 1, 1 + String(n).length), n)))
    for (const [start, end] of [
      [0, 0],
      [1, 0],
      [2, 2]
    ] as const)
      assert.equal(numberIn('123', start, end), -1)
    for (const text of ['', '-1', '1.5', '1e3', 'NaN', ' 1', '1 ', '0x1', '9'.repeat(16), '٣'])
      assert.equal(numberIn(text, 0), -1, text)
    assert.equal(numberIn('9'.repeat(15), 0), 999_999_999_999_999)
  })

  it('of a grant is one of two, or of three for a channel', () => {
    assert.deepEqual(readGrant('g512,20480'), { values: 512, size: 20_480, inputs: 0 })
    assert.deepEqual(readGrant('g512,20480,3'), { values: 512, size: 20_480, inputs: 3 })
    for (const words of [
      'g',
      'gx,x',
      'g1',
      'g1,',
      'g,1',
      'g1,2,',
      'g1,2,x',
      'g1,2,3,4',
      'g1,2,-3',
      'g-1,2',
      'gNaN,1',
      'g1e9,1',
      'gInfinity,0'
    ])
      assert.equal(readGrant(words), undefined, words)
  })
})

describe('a secret', () => {
  it('has twelve letters that stand in an address, and is a new one each time', () => {
    const secrets = Array.from({ length: 20_000 }, newSecret)
    assert.equal(new Set(secrets).size, secrets.length)
    for (const secret of secrets) assert.match(secret, /^[a-z2-7]{12}$/)
    assert.ok(isSecret(`x${secrets[0]}`, 1))
    assert.ok(!isSecret('x', 0) && !isSecret('A'.repeat(SECRET_LENGTH), 0))
    for (const letter of '189az{`')
      assert.equal(isSecret(letter.repeat(SECRET_LENGTH), 0), /[a-z]/.test(letter))
    // Each letter of the alphabet occurs at each position.
    for (let at = 0; at < SECRET_LENGTH; at++)
      assert.equal(new Set(secrets.map((secret) => secret[at])).size, 32)
  })
})

it('secrets of another process come from new random bytes', (t) => {
  const random = t.mock.method(crypto, 'getRandomValues')
  newSecret()
  random.mock.resetCalls()
  newSecret()
  assert.equal(random.mock.callCount(), 0)
  forgetSecrets()
  newSecret()
  assert.equal(random.mock.callCount(), 1)
})

describe('words', () => {
  it('are the same as text and as bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(3), (text, start) => {
        const ascii = `+${text}`
        const bytes = bytesOf(ascii)
        assert.equal(textOf(bytes), ascii)
        assert.equal(textOf(bytes, 1), textOf(ascii, 1))
        assert.equal(letterAt(bytes), letterAt(ascii))
        assert.equal(letterAt('ab', start), letterAt(bytesOf('ab'), start))
      })
    )
  })

  it('that are JSON of a thousand levels are refused', () => {
    assert.throws(() => jsonOf('['.repeat(5_000) + ']'.repeat(5_000)), { name: 'ProtocolError' })
    assert.deepEqual(jsonOf('{"a":[1]}'), { a: [1] })
  })
})
