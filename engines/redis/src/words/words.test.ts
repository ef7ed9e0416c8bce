import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addressOfHandler, textOf } from '@elysia-microservices/engine'
import fc from 'fast-check'
import {
  changeOf,
  channelOfInbox,
  globHears,
  globOf,
  inboxOf,
  isInbox,
  isInboxPrefix,
  isOfSystem,
  NEST_ANSWER,
  placeOf,
  readChange,
  readPlace,
  whyNot
} from './channels.ts'
import {
  fieldsOf,
  frameOf,
  headersIn,
  idOfAnswer,
  isOnlyStored,
  nestEvent,
  nestRequest,
  readFrame,
  readNest,
  STORED
} from './frames.ts'

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
    for (const text of ['', 'a', 'a\n', 'a\nb', 'a\n\n', 'a\nb\n{}'])
      assert.throws(() => readFrame(Buffer.from(text)), { name: 'ProtocolError' })
    const forged = Buffer.from(`a\n${NEST_ANSWER}orders.reply\n\n{}`)
    assert.equal(readFrame(forged).reply, '?')
  })
})

describe('headers', () => {
  it('are the texts of an object, and none if there are none, or the rest of a frame can be read alone', () => {
    const read = (headers: string) => readFrame(Buffer.from(`a\n\n${headers}\n{}`))
    assert.deepEqual({ ...read('{"x":"1","y":5}').headers }, { x: '1' })
    for (const none of ['', '{', '5', 'null', '{"y":5}', '{}']) {
      const { headers, words, address } = read(none)
      assert.deepEqual([headers, textOf(words), address], [undefined, '{}', 'a'], none)
    }
    assert.equal(readFrame(Buffer.from('a\n\n\n'), 'before.').address, 'before.a')
    for (const none of [undefined, null, 'text', 5]) assert.equal(headersIn(none), undefined)
  })

  it('and a key are fields of an event that has them', () => {
    const event = { packet: '{}', id: 'i', headers: undefined }
    assert.deepEqual(fieldsOf({ ...event, key: '' }), ['packet', '{}', 'id', 'i'])
    assert.deepEqual(fieldsOf({ ...event, key: 'k', headers: { h: ['1', '2'] } }).slice(4), [
      ...['key', 'k'],
      ...['headers', '{"h":"1, 2"}']
    ])
  })
})

describe("Nest's packets", () => {
  it('of an answer have an id, unless nobody of this library has asked', () => {
    assert.equal(idOfAnswer('{"id":"7"}'), '7')
    for (const words of ['{"id":7}', '{}', 'null', 'no JSON']) assert.equal(idOfAnswer(words), undefined)
  })

  it('of an event say whether only the store has it', () => {
    assert.equal(isOnlyStored(nestEvent('{"pattern":"a"}', { h: '1' }, [STORED])), true)
    assert.equal(isOnlyStored(nestEvent('{"pattern":"a"}', { h: '1' }, [])), false)
    assert.equal(isOnlyStored(nestEvent('{"pattern":"a"}', undefined, [STORED])), true)
    assert.equal(isOnlyStored(nestEvent('{"pattern":"a"}', undefined, ['q', STORED])), false)
    assert.deepEqual(readNest(nestEvent('{"pattern":"a"}', undefined, ['q', STORED])).reached, ['q', STORED])
  })

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

  it('of this library and of answers are hidden from handlers of all patterns', () => {
    assert.deepEqual(['_elysia:x', 'a.reply', 'a.replies', 'a_elysia:'].map(isOfSystem), [
      true,
      true,
      false,
      false
    ])
  })

  it('of inboxes have a prefix of letters, digits and _, or none', () => {
    for (const prefix of ['a', 'A_9', 'a'.repeat(64)]) {
      assert.equal(isInboxPrefix(prefix), true)
      assert.equal(isInbox(`${inboxOf('abcdefghijkl', prefix)}1`), true)
    }
    for (const prefix of ['', 'a'.repeat(65), 'a:b', 5]) assert.equal(isInboxPrefix(prefix), false)
    for (const address of ['_elysia:i:abcdefghijkl', '_elysia:i:abcdefghijk.1', '_elysia:j:abcdefghijkl.1'])
      assert.equal(isInbox(address), false, address)
    assert.equal(channelOfInbox('_elysia:i:abcdefghijkl.1.2'), '_elysia:i:abcdefghijkl')
  })

  it('that have come or gone are read as they were written, and nothing else', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.array(fc.string()), (isThere, channels) => {
        assert.deepEqual(readChange(changeOf({ isThere, channels })), { isThere, channels })
      })
    )
    fc.assert(fc.property(fc.string(), (text) => void readChange(`+[${text}`)))
    const channels = Array.from({ length: 4_096 }, () => 'c')
    assert.equal(readChange(changeOf({ isThere: true, channels }))?.channels.length, 4_096)
    assert.equal(readChange(changeOf({ isThere: true, channels: [...channels, 'c'] })), undefined)
    for (const text of ['', '+', '+[5]', '+["a",5]', '*["a"]', '+{}'])
      assert.equal(readChange(text), undefined)
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
