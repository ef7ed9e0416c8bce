import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { MessageHeaders } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { ANSWERS, AnswersOfTurn, readAnswers, readRequests, requestEntry, TOGETHER } from './batches.ts'
import type { Carrier } from './carrier.ts'

const TOKEN = fc.stringMatching(/^1r\d{1,6}-[a-z2-7]{12}-\d{0,5}$/)
const WORDS = fc.string({ unit: 'grapheme' })

describe('answers of one turn', () => {
  it('leave in one message for each inbox, and read as they were, in order', async () => {
    const answer = fc.tuple(fc.constantFrom('_INBOX.a.', '_INBOX.b.', '_INBOX.ab.'), TOKEN, WORDS)
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { maxLength: 40 }), async (given) => {
        const published: [string, string][] = []
        const carrier = { publish: (address: string, words: string) => void published.push([address, words]) }
        const answers = new AnswersOfTurn(carrier as unknown as Carrier)
        for (const [inbox, token, words] of given) answers.send(inbox + token, words)
        await Promise.resolve()
        const read: string[] = []
        for (const [address, words] of published) {
          const inbox = address.slice(0, address.lastIndexOf('.') + 1)
          if (address !== inbox + ANSWERS) read.push(`${address} ${words}`)
          else readAnswers(words, (token, one) => void read.push(`${inbox}${token} ${one}`))
        }
        const of = (inbox: string) => given.filter(([one]) => one === inbox)
        for (const inbox of ['_INBOX.a.', '_INBOX.b.', '_INBOX.ab.'])
          assert.deepEqual(
            read.filter((one) => one.startsWith(inbox)),
            of(inbox).map(([, token, words]) => `${inbox}${token} ${words}`)
          )
        assert.ok(published.length <= 3)
      })
    )
  })

  it('leave by themselves, whatever inbox a stranger names beside them', async () => {
    const published: string[] = []
    const carrier = { publish: (address: string) => void published.push(address) }
    const answers = new AnswersOfTurn(carrier as unknown as Carrier)
    const [stranger, caller] = ['_INBOX.1r1-aaaaaaaaaaaa-', '_INBOX.calls.secret.1r2-bbbbbbbbbbbb-']
    for (const address of [stranger, caller]) answers.send(address, '1')
    await Promise.resolve()
    assert.deepEqual(published, [stranger, caller])
  })

  it('that are many, or long, leave before its end', async () => {
    const published: string[] = []
    const carrier = { publish: (address: string) => void published.push(address) }
    const answers = new AnswersOfTurn(carrier as unknown as Carrier)
    for (let n = 0; n < 100; n++) answers.send('_INBOX.a.1r1-aaaaaaaaaaaa-', 'x'.repeat(1_000))
    assert.ok(published.length >= 5 && published.length <= 8, String(published.length))
    answers.send('_INBOX.a.1r2-aaaaaaaaaaaa-', 'x'.repeat(5_000))
    assert.equal(published.at(-1), '_INBOX.a.1r2-aaaaaaaaaaaa-')
  })
})

describe('requests that left together', () => {
  it('read as they were', () => {
    const headers = fc.option(fc.dictionary(fc.stringMatching(/^[a-z-]{1,9}$/), WORDS, { minKeys: 1 }), {
      nil: undefined
    })
    fc.assert(
      fc.property(fc.array(fc.tuple(TOKEN, WORDS, headers)), (given) => {
        const text = TOGETHER + given.map(([token, packet, own]) => requestEntry(token, packet, own)).join('')
        const read: [string, string, MessageHeaders | undefined][] = []
        readRequests(text, (...one) => void read.push(one))
        assert.deepEqual(
          read.map(([token, packet, own]) => [token, packet, own && { ...own }]),
          given.map(([token, packet, own]) => [token, packet, own && { ...own }])
        )
      })
    )
  })

  it('and answers, whatever stands there, are read without a failure and without what is cut off', () => {
    const text = fc.oneof(
      fc.string(),
      fc.stringMatching(/^&?([\w-]{0,9} ){1,3}[\w {}":]{0,30}$/),
      fc
        .tuple(TOKEN, fc.integer({ min: -5, max: 50 }), fc.integer({ min: -5, max: 50 }), WORDS)
        .map((all) => `&${all.join(' ')}`)
    )
    fc.assert(
      fc.property(text, (given) => {
        const whole = (_token: string, words: string) => assert.ok(given.includes(words))
        readAnswers(given, whole)
        readRequests(given, whole)
      })
    )
    const found: unknown[] = []
    readRequests('&t 1 7 x{"a":1}', (...one) => void found.push(one))
    readRequests('&t 1 3 x{a}', (...one) => void found.push(one))
    readRequests('&t 1 99 x{}', (...one) => void found.push(one))
    assert.deepEqual(found, [
      ['t', 'x', undefined],
      ['t', 'x', undefined]
    ])
  })
})
