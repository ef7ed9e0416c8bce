import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addressOfHandler, textOf } from '@elysia-microservices/engine'
import fc from 'fast-check'
import {
  changeOf,
  globHears,
  globOf,
  inboxOf,
  isInbox,
  NEST_ANSWER,
  placeOf,
  readChange,
  readPlace,
  whyNot
} from './channels.ts'
import { frameOf, nestEvent, nestRequest, readFrame, readNest } from './frames.ts'

const line = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\n'))
const secret = fc.stringMatching(/^[a-z2-7]{12}$/)

describe('frames', () => {
  it('are read as they were written', () => {
    fc.assert(
      fc.property(
        line,
        fc.option(secret),
        fc.string({ unit: 'grapheme' }),
        fc.dictionary(line, line),
        (address, inbox, words, headers) => {
          const reply = inbox === null ? undefined : `_elysia:i:${inbox}.1r1-`
          const read = readFrame(Buffer.from(frameOf(address, words, reply, headers)))
          assert.deepEqual(
            [read.address, textOf(read.words), read.reply, { ...read.headers }],
            [address, words, reply ?? '', { ...headers }]
          )
        }
      )
    )
  })

  it('carry bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const read = readFrame(Buffer.from(frameOf('a', bytes)))
        assert.deepEqual([...(read.words as Uint8Array)], [...bytes])
      })
    )
  })

  it('of any content throw nothing but ProtocolError, and name no address that is not an inbox', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        try {
          const { reply } = readFrame(Buffer.from(bytes))
          assert.ok(reply === '' || reply === '?' || isInbox(reply))
        } catch (error) {
          assert.equal((error as Error).name, 'ProtocolError')
        }
      })
    )
    const forged = Buffer.from(`a\n${NEST_ANSWER}orders.reply\n\n{}`)
    assert.equal(readFrame(forged).reply, '?')
  })
})

describe("Nest's packets", () => {
  it('have our id in a request, and headers as metadata', () => {
    const packet = '{"pattern":"a","data":1,"id":"7"}'
    assert.equal(nestRequest(packet, 'x', undefined), '{"pattern":"a","data":1,"id":"x"}')
    assert.equal(
      nestRequest(packet, 'x', { a: 'b' }),
      '{"pattern":"a","data":1,"metadata":{"a":"b"},"id":"x"}'
    )
  })

  it('are as NestJS writes them if no service of this library has received the event', () => {
    assert.equal(nestEvent('{"pattern":"a"}', undefined, []), '{"pattern":"a"}')
    assert.equal(
      nestEvent('{"pattern":"a"}', { h: '1' }, ['q']),
      '{"pattern":"a","metadata":{"h":"1"},"_elysia":["q"]}'
    )
  })

  it('are read whatever they contain', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void readNest(text)))
    assert.deepEqual(readNest('no JSON'), {
      words: '{"data":"no JSON"}',
      isRequest: false,
      isForNest: false,
      headers: undefined,
      reached: []
    })
    const ids = [`${inboxOf('abcdefghijklmnop', undefined)}1r1`, 'a1b2', 5, undefined]
    assert.deepEqual(
      ids.map((id) => readNest(JSON.stringify({ id })).isForNest),
      [true, false, false, false]
    )
  })
})

describe('channels', () => {
  it('of processes are read as they were written', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.string({ minLength: 1 }),
        secret,
        fc.boolean(),
        (pattern, queue, id, answers) => {
          const place = placeOf(pattern, queue, id, answers)
          assert.deepEqual(readPlace(place.channel), place)
        }
      )
    )
    assert.equal(readPlace('_elysia:s:m:%:abc:x'), undefined)
  })

  it('of patterns with wildcards are globs', () => {
    assert.equal(globOf('a.*.c[1].>'), 'a.*.c\\[1\\].*')
    assert.equal(globOf('>'), '[^_]*')
  })

  it('of patterns with wildcards match what Redis matches', () => {
    assert.ok(globHears('a.*', 'a.b.c') && globHears('>', 'a.b') && globHears('a[1].>', 'a[1].'))
    assert.ok(!globHears('>', '_a') && !globHears('a.*', 'axb') && !globHears('>', ''))
  })

  it('that have come or gone are read as they were written, and nothing else', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.array(fc.string()), (isThere, channels) => {
        assert.deepEqual(readChange(changeOf({ isThere, channels })), { isThere, channels })
      })
    )
    fc.assert(fc.property(fc.string(), (text) => void readChange(`+[${text}`)))
    for (const text of ['', '+', '+[5]', '*["a"]', '+{}']) assert.equal(readChange(text), undefined)
  })

  for (const [route, message] of [
    [undefined, /RegExp/],
    ['_elysia:i:x', /_elysia:/],
    ['a.reply', /\.reply/],
    ['a..b', /a segment of it is empty/]
  ] as const)
    it(`are refused for ${route}`, () => {
      assert.throws(() => addressOfHandler({ title: 'Redis', whyNot }, route), {
        name: 'OptionError',
        message
      })
    })
})
