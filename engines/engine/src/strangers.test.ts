import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { newSecret } from './secret.ts'
import { Ends, valuesOf } from './testing/ends.ts'
import { TestCarrier } from './testing/hub.ts'
import { replyToken } from './words.ts'

const open: Ends[] = []
async function setting(maxPayload?: number) {
  const both = new Ends(maxPayload === undefined ? {} : { maxPayload })
  open.push(both)
  const service = await both.serve({
    echo: ({ data }) => data,
    nothing: () => undefined,
    slow: async ({ data }) => {
      await later(60)
      return data
    },
    count: async function* ({ data }) {
      for (let n = 1; n <= (data as number); n++) {
        yield n
        if (n % 10 === 0) await later(2)
      }
    },
    sum: async ({ data }) => {
      let sum = 0
      for await (const value of data as AsyncIterable<number>) sum += value
      return sum
    }
  })
  const client = both.client()
  await client.connect()
  const stranger = new TestCarrier(both.hub, {
    lost() {},
    restored() {},
    refused() {},
    unpublished() {},
    failed() {},
    ended() {}
  })
  return { both, service, client, stranger }
}
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})
const later = (ms = 0) => new Promise<void>((resolve) => setTimeout(resolve, ms))

describe('a request whose answer is wanted where no inbox is', () => {
  for (const reply of [
    '$JS.API.STREAM.DELETE.orders',
    'echo',
    '_EVERYONE',
    '_TOGETHER.echo',
    '_INBOX',
    '_INBOX.x',
    ' ',
    `_INBOX.${'x'.repeat(5_000)}.y`
  ])
    it(`is dropped: ${reply.slice(0, 40)}`, async () => {
      const { both, service, client, stranger } = await setting()
      const before = service.stats().refused
      stranger.publish('nothing', '1', reply)
      stranger.publish('echo', '{"pattern":"echo","data":1,"id":"1"}', reply)
      stranger.publish('_TOGETHER.echo', '&x 1 0 1', reply)
      stranger.publish('_EVERYONE', 'echo', reply)
      assert.equal(await client.request('echo', 2), 2)
      for (let tries = 0; service.stats().refused < before + 2; tries++) {
        assert.ok(tries < 1_000)
        await later(1)
      }
      const answers = both.hub.published.filter((one) => one.address === reply && !/^[{&1e]/.test(one.words))
      assert.deepEqual(answers, [])
      assert.ok(both.log.length <= 1, both.log.join('\n'))
    })

  it('is dropped, too, if it is the inbox of the service itself', async () => {
    const { both, service, client, stranger } = await setting()
    await client.request('slow', 1)
    const control = both.hub.published.find(({ words }) => words === '+a')?.reply ?? ''
    const inbox = control.split('.').slice(0, 2).join('.')
    assert.notEqual(inbox, '')
    const reply = `${inbox}.1-${newSecret()}.0`
    stranger.publish('nothing', '1', reply)
    await later(5)
    assert.equal(service.stats().refused, 1)
    // An answer would come back as a message of a stranger, which counts as refused, too.
    const answers = both.hub.published.filter(({ address }) => address === reply)
    assert.deepEqual(answers, [])
  })
})

describe('who knows where callers and services listen, and no secret', () => {
  it('can neither answer, cancel, wedge nor feed the calls of others', async () => {
    const { both, client, stranger } = await setting()
    const stream = valuesOf(client, 'count', 200)
    const slow = client.request('slow', 'mine')
    const sum = client.request(
      'sum',
      (async function* () {
        for (let n = 1; n <= 100; n++) {
          yield n
          if (n % 10 === 0) await later(2)
        }
      })()
    )
    await later(30)
    const inboxes = new Set<string>()
    for (const { address, reply } of both.hub.published)
      for (const one of [address, reply])
        if (one.startsWith('_INBOX.')) inboxes.add(`${one.split('.').slice(0, 2).join('.')}.`)
    assert.ok(inboxes.size >= 2)
    for (const inbox of inboxes)
      for (let number = 0; number < 10; number++) {
        const secret = newSecret()
        for (const token of [
          `${number}.0`,
          `${number}-.0`,
          `${number}-${secret}.0`,
          `1r${number}-${secret}-`,
          `1s${number}-${secret}--1-1`,
          `1m${number}-${secret}-`,
          '1b'
        ])
          for (const words of [
            'x',
            'gx,x',
            'g-5,1',
            'g99999,0',
            'e2',
            'v2 {"a":1}',
            'f{}',
            '+d"forged"',
            '+e',
            '+x',
            '+v["forged"]',
            '{"response":"forged","isDisposed":true,"id":"1"}',
            '',
            `1r${number}-${secret}- 10 +d"forged"`,
            `~${secret} 0 1000\nxxxx`,
            '~+5'
          ])
            stranger.publish(inbox + token, words, `_INBOX.stranger.${number}`)
      }
    assert.equal(await slow, 'mine')
    await stream.ended
    assert.deepEqual(
      stream.values,
      Array.from({ length: 200 }, (_, n) => n + 1)
    )
    assert.equal(await sum, 5_050)
  })
})

describe('who knows a call', () => {
  it('cannot have it count with what is no number', async () => {
    const { both, client, stranger } = await setting()
    const stream = valuesOf(client, 'count', 300)
    await later(10)
    const control =
      both.hub.published.find(({ reply }) => /^_INBOX\.\w+\.\d+-\w+\.\d+$/.test(reply))?.reply ?? ''
    for (const words of [
      'gNaN,NaN',
      'g,',
      'g1e99,0',
      'g-1,-1',
      'g1,99999999999999999999',
      'v',
      'vx 1',
      'e',
      'ex',
      '?',
      'g0,0'
    ])
      stranger.publish(control, words)
    await stream.ended
    assert.equal(stream.values.length, 300)
  })

  it('fails it alone by what no service says', async () => {
    const { both, client, stranger } = await setting()
    for (const words of [
      '+v5',
      '+v{',
      '+d{',
      '+r',
      '{',
      '+i',
      '+ix',
      `${'['.repeat(5_000)}${']'.repeat(5_000)}`
    ]) {
      const other = client.request('slow', 'other')
      const before = both.hub.published.length
      const call = client.request('slow', 'call').catch((error: Error) => error.name)
      await later(2)
      const { reply } = both.hub.published.slice(before).find(({ address }) => address === 'slow') ?? {
        reply: ''
      }
      stranger.publish(reply, words, `_INBOX.${newSecret()}.1-${newSecret()}.1`)
      assert.ok(
        ['call', 'ProtocolError', 'RejectedError', 'ConnectionError'].includes(String(await call)),
        words
      )
      assert.equal(await other, 'other')
    }
  })

  it('cannot have a client speak where no inbox is', async () => {
    const { both, client, stranger } = await setting()
    const call = client.request('slow', 1)
    await later(2)
    const { reply } = both.hub.published.find(({ address }) => address === 'slow') ?? { reply: '' }
    stranger.publish(reply, '+a', '$JS.API.STREAM.DELETE.orders')
    await assert.rejects(call, { name: 'ProtocolError' })
    assert.ok(both.hub.published.every(({ address }) => !address.startsWith('$')))
  })
})

describe('whatever a stranger says to a service', () => {
  it('it goes on answering', async () => {
    const { both, client, stranger } = await setting(4_096)
    const place = fc.constantFrom('echo', 'count', 'sum', '_TOGETHER.echo', '_TOGETHER.sum', '_EVERYONE')
    const token = fc.constantFrom('1r1-', '1s1-', '1m1-', '1b', '1e1-', '2r1-')
    const words = fc.oneof(
      fc.string(),
      fc.json(),
      fc.stringMatching(/^[&~^+]{1,2}[\w -]{0,40}\n?[\w{}":,]{0,40}$/),
      fc
        .tuple(fc.nat(200), fc.nat(200), fc.string())
        .map(([a, b, text]) => `&1r1-${newSecret()}- ${a} ${b} ${text}`),
      fc
        .tuple(fc.nat(3), fc.nat(9_000), fc.string())
        .map(([index, size, text]) => `~${newSecret()} ${index} ${size}\n${text}`)
    )
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(place, token, words), { maxLength: 20 }), async (said) => {
        for (const [address, head, text] of said)
          stranger.publish(address, text, `_INBOX.stranger.${head}${newSecret()}-`)
        assert.equal(await client.request('echo', 'alive'), 'alive')
      }),
      { numRuns: runs(100) }
    )
    assert.ok(
      both.log.every((line) => !line.includes('could not be handled')),
      both.log.join('\n')
    )
  })
})

describe('parts of requests', () => {
  const head = (index: number, size: number, id: string) => `~${id} ${index} ${size}\n`
  const reply = (who: string, call: number) =>
    `_INBOX.${who}.${replyToken('request', call, newSecret(), undefined)}`

  it('that do not come whole are bounded for each caller, counted, and refused', async () => {
    const { both, service, stranger, client } = await setting()
    stranger.listen('_INBOX.one.', () => {})
    const size = 32 * 1024 * 1024
    const part = 'x'.repeat(900_000)
    for (let call = 1; call <= 80; call++)
      stranger.publish('echo', head(0, size, newSecret()) + part, reply('one', call))
    assert.equal(await client.request('echo', 'alive'), 'alive')
    const refused = () => both.hub.published.filter(({ words }) => words.startsWith('+r')).length
    for (let tries = 0; refused() < 5; tries++) {
      assert.ok(tries < 2_000, `${refused()} refused`)
      await later(1)
    }
    const { current, limit } = service.stats().parts
    assert.ok(current <= 64 * 1024 * 1024 && current > 60_000_000, String(current))
    assert.ok(Number(limit) >= current)
    // Other callers are still served.
    const text = 'y'.repeat(3_000_000)
    assert.equal(await client.request('echo', text), text)
  })

  it('of a caller that has gone are not held', async () => {
    const { both, service, stranger } = await setting()
    const to = reply('gone', 1)
    stranger.publish('echo', `${head(0, 100, newSecret())}0123456789`, to)
    const isAnswered = () => both.hub.published.some(({ address }) => address === to)
    for (let tries = 0; !isAnswered() || service.stats().parts.current > 0; tries++) {
      assert.ok(tries < 1_000, 'the part is held')
      await later(1)
    }
  })

  it('that contradict each other end the request, and nothing else', async () => {
    const { both, service, stranger, client } = await setting()
    stranger.listen('_INBOX.one.', () => {})
    const id = newSecret()
    const to = reply('one', 1)
    stranger.publish('echo', `${head(0, 100, id)}0123456789`, to)
    await later(5)
    const ack = both.hub.published.find(({ address, words }) => address === to && words === '~+10')
    assert.ok(ack)
    stranger.publish(ack.reply, head(1, 100, id))
    await later(5)
    assert.equal(service.stats().parts.current, 0)
    for (const words of [
      head(0, 0, id),
      head(0, -1, id),
      `~${id} x y\n`,
      head(0, 2 ** 40, id),
      `${head(3, 100, id)}x`,
      `${head(0, 2, id)}xyz`
    ])
      stranger.publish('echo', words, reply('one', 2))
    await later(5)
    assert.equal(service.stats().parts.current, 0)
    assert.equal(await client.request('echo', 'alive'), 'alive')
  })
})
