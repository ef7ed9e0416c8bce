import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { isInCheck } from '@elysia-microservices/test-support'
import { ConnectionError, RpcError } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { newSecret } from './secret.ts'
import { Ends, valuesOf } from './testing/ends.ts'
import type { TestCarrier } from './testing/hub.ts'
import { replyToken, textOf } from './words.ts'

const open: Ends[] = []
function ends(...options: ConstructorParameters<typeof Ends>): Ends {
  const made = new Ends(...options)
  open.push(made)
  return made
}
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

const later = (ms = 0) => new Promise<void>((resolve) => setTimeout(resolve, ms))
/** Waits until a condition is true. */
async function until(what: string, isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    assert.ok(tries < 5_000, `${what}: it has not become so`)
    await later(1)
  }
}
/** A generator of random numbers that are the same in each run. */
function seeded(seed: number): () => number {
  let state = seed | 1
  return () => {
    state = Math.imul(state, 48_271) & 0x7fffffff
    return state / 0x80000000
  }
}

async function* count(to: number) {
  for (let n = 1; n <= to; n++) yield n
}

for (const words of ['text', 'bytes'] as const)
  describe(`the dialogue in ${words}`, () => {
    it('carries requests, their answers, errors and headers', async () => {
      const both = ends({ words })
      await both.serve({
        echo: ({ data }) => data,
        slow: async ({ data }) => {
          await later(30)
          return data
        },
        nothing: () => undefined,
        headers: ({ headers }) => headers,
        fails: () => {
          throw new RpcError({ code: 'FULL', message: 'no room', details: { left: 0 } })
        },
        breaks: () => Promise.reject(new Error('secret'))
      })
      const client = both.client()
      assert.deepEqual(await client.request('echo', { a: [1, 'é'] }), { a: [1, 'é'] })
      assert.equal(await client.request('slow', 1), 1)
      assert.equal(await client.request('nothing', undefined), undefined)
      assert.deepEqual(await client.request('headers', 1, { headers: { 'x-a': '1' } }), { 'x-a': '1' })
      await assert.rejects(client.request('fails', 1), {
        code: 'FULL',
        message: 'no room',
        details: { left: 0 }
      })
      await assert.rejects(client.request('breaks', 1), {
        code: 'INTERNAL',
        message: 'Internal server error'
      })
      await assert.rejects(client.request('unknown', 1), { code: 'PATTERN_NOT_FOUND', mayHaveRun: false })
    })

    it('shows no handler a header that is of this library, even if another program sends it', async () => {
      const both = ends({ words })
      const seen: unknown[] = []
      await both.serve({
        note: ({ headers }) => void seen.push(headers),
        'on note': ({ headers }) => void seen.push(headers)
      })
      await both.client().connect()
      const stranger = both.lastCarrier
      const headers = { 'elysia-x': '1', tenant: 'a' }
      const packet = JSON.stringify({ pattern: 'note', data: 1 })
      stranger.publish('note', packet, `${stranger.newInbox()}1`, headers)
      stranger.emit('note', packet, undefined, headers)
      await until('both', () => seen.length === 2)
      assert.deepEqual(seen, [{ tenant: 'a' }, { tenant: 'a' }])
    })

    it('carries streams, to their end, their error, or as far as they are read', async () => {
      const both = ends({ words })
      let isLeft = false
      await both.serve({
        count: ({ data }) => count(data as number),
        fails: async function* () {
          yield 1
          throw new RpcError({ code: 'BROKEN', message: 'no more' })
        },
        endless: async function* () {
          try {
            for (let n = 0; ; n++) yield n
          } finally {
            isLeft = true
          }
        },
        // JSON cannot express `undefined` in a list.
        holes: async function* () {
          yield 1
          yield undefined
          yield 2
        }
      })
      const client = both.client()
      const counted = valuesOf(client, 'count', 1_000)
      await counted.ended
      assert.deepEqual(
        counted.values,
        Array.from({ length: 1_000 }, (_, n) => n + 1)
      )
      const holes = valuesOf(client, 'holes')
      await holes.ended
      assert.deepEqual(holes.values, [1, undefined, 2])
      const failed = valuesOf(client, 'fails')
      await assert.rejects(failed.ended, { code: 'BROKEN' })
      assert.deepEqual(failed.values, [1])
      const seen: unknown[] = []
      const call = client.stream('endless', undefined, {
        next(value) {
          seen.push(value)
          if (seen.length === 3) call.cancel()
        },
        complete() {},
        error() {}
      })
      await until('the generator is left', () => isLeft)
    })

    it('carries channels, both ways, and their failures', async () => {
      const both = ends({ words })
      await both.serve({
        double: async function* ({ data }) {
          for await (const value of data as AsyncIterable<number>) yield value * 2
        },
        sum: async ({ data }) => {
          let sum = 0
          for await (const value of data as AsyncIterable<number>) sum += value
          return sum
        },
        first: async ({ data }) => {
          for await (const value of data as AsyncIterable<number>) return value
          return undefined
        }
      })
      const client = both.client()
      const doubled = valuesOf(client, 'double', count(500))
      await doubled.ended
      assert.deepEqual(
        doubled.values,
        Array.from({ length: 500 }, (_, n) => 2 * (n + 1))
      )
      assert.equal(await client.request('sum', count(200)), 20_100)
      assert.equal(await client.request('sum', count(0)), 0)
      assert.equal(await client.request('first', count(1_000_000)), 1)
      const broken = (async function* () {
        yield 1
        throw new Error('source')
      })()
      await assert.rejects(client.request('sum', broken), /source/)
    })

    it('carries events to their handlers, and says nothing of nobody', async () => {
      const both = ends({ words })
      const seen: unknown[] = []
      await both.serve({ 'on noted': ({ data }) => void seen.push(data) })
      const client = both.client()
      await client.emit('noted', { n: 1 })
      await client.emit('unknown', 2)
      await until('the event', () => seen.length === 1)
      assert.deepEqual(seen, [{ n: 1 }])
    })
  })

it('lets nothing run for a client that has closed, even if its call had only begun', async () => {
  for (const kind of ['request', 'stream'] as const) {
    const both = ends()
    let begun = 0
    let ended = 0
    await both.serve({
      long: ({ signal }) => {
        begun++
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(++ended)))
      }
    })
    const client = both.client()
    await client.connect()
    const call = kind === 'request' ? client.request('long', undefined) : valuesOf(client, 'long').ended
    const failed = assert.rejects(call, { code: 'CONNECTION' })
    await until('the handler runs', () => begun === 1)
    await client.close()
    await failed
    // The service gets the messages of a client before the client's carrier is closed.
    assert.equal(ended, 1, kind)
  }
})

describe('demand', () => {
  it('keeps a generator within the window of its reader', async () => {
    const both = ends()
    let made = 0
    await both.serve({
      endless: async function* () {
        for (;;) yield ++made
      }
    })
    let read = 0
    const call = both
      .client()
      .stream('endless', undefined, { next: () => ++read < 10, complete() {}, error() {} }, { demand: 10 })
    await until('ten values', () => read === 10)
    await later(20)
    assert.ok(made <= 11, `${made} values made`)
    call.request(5)
    await until('five more', () => read === 15)
    await later(20)
    assert.ok(made <= 16, `${made} values made`)
    call.cancel()
  })

  it('waits for the carrier, by its bytes', async () => {
    const both = ends()
    let made = 0
    await both.serve({
      large: async function* () {
        for (;;) {
          made++
          yield 'x'.repeat(100_000)
        }
      }
    })
    const client = both.client()
    await client.connect()
    const { values, ended } = valuesOf(client, 'large')
    // The stream ends when its client is closed.
    ended.catch(() => {})
    await until('the first values', () => values.length > 3)
    const service = [...both.hub.carriers][0]
    assert.ok(service)
    service.hasRoom = false
    await later(20)
    const before = made
    await later(20)
    assert.equal(made, before)
    service.makeRoom()
    await until('it goes on', () => made > before)
  })
})

describe('a deadline', () => {
  it('ends the call, and the work of the service', async () => {
    const both = ends()
    const stopped: string[] = []
    await both.serve({
      hangs: ({ signal }) =>
        new Promise(() => signal.addEventListener('abort', () => stopped.push('request'), { once: true }))
    })
    const client = both.client()
    // Otherwise its time may be over before it is sent.
    await client.connect()
    await assert.rejects(client.request('hangs', 1, { timeout: 20 }), { code: 'TIMEOUT', mayHaveRun: true })
    await until('the handler is told', () => stopped.length === 1)
  })

  it('ends the work of the service even if the word is lost with which the caller gives up', async () => {
    const both = ends()
    const seen: string[] = []
    await both.serve({
      hangs: ({ signal }) => {
        seen.push('begun')
        return new Promise(() => signal.addEventListener('abort', () => seen.push('aborted'), { once: true }))
      }
    })
    const client = both.client()
    await client.connect()
    const late = assert.rejects(client.request('hangs', 1, { timeout: 200 }), { code: 'TIMEOUT' })
    await until('it runs', () => seen.includes('begun'))
    // Nothing arrives at either end any more, so only the limit that the request has named can end the work so soon.
    both.hub.faults = { lost: 1 }
    await late
    await until('the handler is aborted', () => seen.includes('aborted'))
  })
})

describe('a time without a limit', () => {
  it('is no other one than none: requests, streams and channels work as ever', async () => {
    const both = ends({})
    await both.serve({
      echo: async ({ data }) => data,
      count: async function* () {
        for (let n = 1; n <= 300; n++) yield n
      },
      channel: async function* ({ data }) {
        for await (const value of data as AsyncIterable<unknown>) yield value
      }
    })
    const client = both.client({ timeout: Number.POSITIVE_INFINITY })
    assert.equal(await client.request('echo', 1, { timeout: Number.MAX_SAFE_INTEGER }), 1)
    const count = valuesOf(client, 'count', 0)
    await count.ended
    assert.equal(count.values.length, 300)
    const given = async function* () {
      yield 'a'
      yield 'b'
    }
    const echoed = valuesOf(client, 'channel', given())
    await echoed.ended
    assert.deepEqual(echoed.values, ['a', 'b'])
    for (const { reply } of both.hub.published) assert.doesNotMatch(reply, /Infinity|\d{12}/)
  })
})

describe('requests of one turn', () => {
  /** Returns the average number of messages, in both directions, for each of some requests of one turn. */
  async function messagesFor(both: Ends, requests: number): Promise<number> {
    const client = both.client()
    const ask = () => Promise.all(Array.from({ length: requests }, (_, n) => client.request('echo', n)))
    // A client knows that a service uses this library once the service has answered.
    await ask()
    const before = both.hub.published.length
    assert.deepEqual(await ask(), [...Array(requests).keys()])
    return (both.hub.published.length - before) / requests
  }

  it('and their answers leave together, shared among processes', async () => {
    const both = ends()
    const handled = [0, 0]
    for (const index of [0, 1])
      await both.serve({
        echo: ({ data }) => {
          handled[index] = (handled[index] ?? 0) + 1
          return data
        }
      })
    // Of 200 requests one is measured, and then batches of up to 32 leave.
    assert.ok((await messagesFor(both, 200)) < 0.5)
    assert.ok(Math.min(...handled) > 40, handled.join(', '))
  })

  it('leave alone where answers take longer than a batch may cost', async () => {
    const both = ends()
    await both.serve({ echo: ({ data }) => data })
    const messages: number[] = []
    for (const answersTake of [0, 10, 30]) {
      both.answersTake = answersTake
      messages.push(await messagesFor(both, 200))
    }
    const [quick = 0, slower = 0, slow = 0] = messages
    assert.ok(quick < slower && slower < 0.5 && slow > 1, messages.join(', '))
  })

  it('leave alone where the engine has no place for them, or few are in flight', async () => {
    const none = ends({ together: false })
    await none.serve({ echo: ({ data }) => data })
    // The answers are sent together nevertheless.
    assert.ok((await messagesFor(none, 100)) > 1)
    const few = ends()
    await few.serve({ echo: ({ data }) => data })
    await messagesFor(few, 6)
    assert.ok(few.hub.published.every(({ address }) => !address.startsWith('_TOGETHER.')))
  })

  it('each have their own answer, error and headers', async () => {
    const both = ends()
    await both.serve({
      echo: ({ data }) => data,
      odd: ({ data, headers }) => {
        if (headers['x-n'] !== String(data)) throw new Error('headers of another')
        if ((data as number) % 3 === 0) throw new RpcError({ code: 'THREE', message: String(data) })
        return (data as number) % 3 === 1 ? data : later(1).then(() => data)
      }
    })
    const client = both.client()
    for (let round = 0; round < 10; round++) {
      const results = await Promise.allSettled(
        Array.from({ length: 100 }, (_, n) => client.request('odd', n, { headers: { 'x-n': String(n) } }))
      )
      for (const [n, result] of results.entries()) {
        if (n % 3 === 0) assert.equal(result.status === 'rejected' && result.reason.message, String(n))
        else assert.equal(result.status === 'fulfilled' && result.value, n)
      }
    }
    assert.ok(both.hub.published.some(({ address }) => address.startsWith('_TOGETHER.')))
  })

  it('are sent alone when nobody takes them together any more', async () => {
    const both = ends()
    const first = await both.serve({ echo: ({ data }) => data })
    const client = both.client()
    const ask = () => Promise.all(Array.from({ length: 100 }, (_, n) => client.request('echo', n)))
    await ask()
    await first.stop()
    // A service of Nest would listen only at the address of the pattern.
    both.lastCarrier.listen('echo', ({ words, reply }) => {
      const { data, id } = JSON.parse(String(words)) as { data: unknown; id: string }
      both.lastCarrier.publish(reply, JSON.stringify({ response: data, isDisposed: true, id }))
    })
    assert.deepEqual(
      await ask(),
      Array.from({ length: 100 }, (_, n) => n)
    )
  })

  it('fail each when nobody is left', async () => {
    const both = ends()
    const service = await both.serve({ echo: ({ data }) => data })
    const client = both.client()
    const ask = () => Promise.allSettled(Array.from({ length: 50 }, (_, n) => client.request('echo', n)))
    await ask()
    await service.stop()
    for (const result of await ask())
      assert.equal(result.status === 'rejected' && result.reason.code, 'PATTERN_NOT_FOUND')
  })
})

describe('what is larger than a message', () => {
  it('travels in parts, both ways, in requests, answers, streams and channels', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 60_000 }),
        fc.integer({ min: 3_000, max: 9_000 }),
        fc.boolean(),
        async (size, maxPayload, isBytes) => {
          const both = ends({ maxPayload, words: isBytes ? 'bytes' : 'text' })
          await both.serve({
            echo: ({ data }) => data,
            later: async ({ data }) => data,
            twice: async function* ({ data }) {
              yield data
              yield data
            },
            channel: async function* ({ data }) {
              for await (const value of data as AsyncIterable<unknown>) yield value
            }
          })
          const client = both.client()
          const text = 'aé€😀'.repeat(size / 5)
          assert.equal(await client.request('echo', text), text)
          assert.equal(await client.request('later', text), text)
          const twice = valuesOf(client, 'twice', text)
          await twice.ended
          assert.deepEqual(twice.values, [text, text])
          const given = async function* () {
            yield text
            yield text
          }
          const echoed = valuesOf(client, 'channel', given())
          await echoed.ended
          assert.deepEqual(echoed.values, [text, text])
          await both.close()
        }
      ),
      { numRuns: isInCheck ? 5 : 15 }
    )
  })

  it('is the only value of a stream, if its handler answers at once', async () => {
    const both = ends({})
    await both.serve({ list: ({ data }) => 'x'.repeat(data as number) })
    const client = both.client()
    for (const size of [1, 5_000, 100_000]) {
      const list = valuesOf(client, 'list', size)
      await list.ended
      assert.deepEqual(list.values, ['x'.repeat(size)])
    }
  })

  it('goes to one of two services, and neither to one that takes every event', async () => {
    const both = ends({ maxPayload: 9_000 })
    const handled: string[] = []
    const answering = (name: string) => ({
      length: ({ data }: { data: unknown }) => {
        handled.push(name)
        return String(data).length
      }
    })
    const audit = await both.serve({ 'on >': () => assert.fail('it is no event') }, 'audit')
    const one = await both.serve(answering('one'), 'one')
    const two = await both.serve(answering('two'), 'two')
    const client = both.client()
    assert.equal(await client.request('length', 'x'.repeat(100_000)), 100_000)
    // The other has the first part, and is told that no more comes.
    const waiting = () => [audit, one, two].some((service) => service.stats().parts.current > 0)
    const said = (words: string) => both.hub.published.filter((message) => message.words === words).length
    for (let tries = 0; said('~-') === 0 || waiting(); tries++) {
      assert.ok(tries < 2_000, 'parts wait for their rest')
      await later(1)
    }
    assert.equal(handled.length, 1)
    assert.equal(said('+n'), 1)
  })

  it('is an error for a caller that knows no parts, however close to the limit it is', async () => {
    const maxPayload = 9_000
    const both = ends({ maxPayload })
    await both.serve({
      text: ({ data }) => 'x'.repeat(data as number),
      later: async ({ data }) => 'x'.repeat(data as number)
    })
    await both.client().connect()
    const caller = both.lastCarrier
    const answers: string[] = []
    caller.listen('_INBOX.foreign.', (message) => void answers.push(textOf(message.words)))
    const sizes = [4_200, maxPayload - 1_200, maxPayload - 500, maxPayload + 1]
    for (const pattern of ['text', 'later'])
      for (const size of sizes)
        caller.publish(pattern, JSON.stringify({ pattern, data: size, id: '1' }), '_INBOX.foreign.x')
    for (let tries = 0; answers.length < 2 * sizes.length; tries++) {
      assert.ok(tries < 2_000, `${answers.length} answers`)
      await later(1)
    }
    for (const answer of answers) assert.ok(JSON.parse(answer), answer.slice(0, 20))
    assert.equal(answers.filter((answer) => answer.includes('Internal')).length, 4)
  })

  it('and than all messages is refused', async () => {
    const both = ends({ maxPayload: 1024 * 1024 })
    await both.serve({ huge: ({ data }) => 'x'.repeat(data as number) })
    const client = both.client()
    const size = 33 * 1024 * 1024
    await assert.rejects(client.request('huge', 'x'.repeat(size)), {
      code: 'PAYLOAD_TOO_LARGE',
      mayHaveRun: false
    })
    await assert.rejects(client.request('huge', size), { code: 'INTERNAL' })
    assert.ok(both.log.some((line) => /handler/i.test(line)))
  })
})

describe('a lost connection', () => {
  it('fails what may have run, repeats what may, and lets new calls wait', async () => {
    const both = ends()
    let runs = 0
    await both.serve({
      hangs: () => {
        runs++
        return runs > 2 ? 'again' : new Promise(() => {})
      },
      echo: ({ data }) => data
    })
    const client = both.client()
    await client.connect()
    const carrier = both.lastCarrier
    const lost = assert.rejects(client.request('hangs', 1), { code: 'CONNECTION', mayHaveRun: true })
    const repeated = client.request('hangs', 1, { idempotent: true })
    await until('both run', () => runs === 2)
    carrier.lose()
    await lost
    const waiting = client.request('echo', 2)
    assert.equal(client.status, 'reconnecting')
    await assert.rejects(
      client.request('echo', 1, { timeout: 10 }),
      /No connection to TEST at hub within 10 ms/
    )
    carrier.restore()
    assert.equal(await repeated, 'again')
    assert.equal(await waiting, 2)
    assert.equal(client.status, 'connected')
  })

  it('that is over is replaced, by clients and by services', async () => {
    const both = ends()
    await both.serve({ echo: ({ data }) => data })
    const client = both.client()
    assert.equal(await client.request('echo', 1), 1)
    const [service, own] = [...both.hub.carriers]
    own?.end(new Error('gone'))
    assert.equal(await client.request('echo', 2), 2)
    service?.end()
    await until('the service listens again', () => both.hub.carriers.size === 2)
    assert.equal(await client.request('echo', 3), 3)
    assert.ok(both.log.some((line) => /has ended; connecting again/.test(line)))
  })

  it('that is over keeps no timers and no parts of messages', async () => {
    const both = ends()
    const server = await both.serve({ echo: ({ data }) => data })
    const client = both.client()
    assert.equal(await client.request('echo', 1), 1)
    const [service, own] = [...both.hub.carriers] as [TestCarrier, TestCarrier]
    const inbox = own.newInbox()
    own.listen(inbox, () => {})
    own.publish(
      'echo',
      `~${newSecret()} 0 100\n0123456789`,
      `${inbox}${replyToken('request', 1, newSecret(), undefined)}`
    )
    await until('a part is held', () => server.stats().parts.current > 0)
    own.end()
    service.end()
    assert.deepEqual([service.isClosed, own.isClosed], [true, true])
    assert.equal(server.stats().parts.current, 0)
  })

  it('that is over before it is used fails calls at once, and the next call makes a new one', async () => {
    const both = ends()
    await both.serve({ echo: ({ data }) => data })
    const client = both.client()
    const { engine } = both
    const opened = engine.open.bind(engine)
    engine.open = async (listener) => {
      engine.open = opened
      const carrier = await opened(listener)
      carrier.flush = async () => carrier.end(new Error('expired'))
      return carrier
    }
    await assert.rejects(client.request('echo', 1), /The connection to TEST has ended/)
    assert.equal(await client.request('echo', 2), 2)
  })

  it('at the first attempt fails calls at once, and the next call tries again', async () => {
    const both = ends()
    await both.serve({ echo: ({ data }) => data })
    const client = both.client()
    both.engine.refusal = new Error('refused')
    await assert.rejects(client.request('echo', 1), /refused/)
    both.engine.refusal = undefined
    assert.equal(await client.request('echo', 2), 2)
  })

  it('holds the answers of a service until it has its server again', async () => {
    const both = ends()
    let answer!: (value: unknown) => void
    await both.serve({ later: () => new Promise((resolve) => (answer = resolve)) })
    const client = both.client()
    const asked = client.request('later', 1)
    await until('it runs', () => answer !== undefined)
    const [service] = [...both.hub.carriers]
    service?.lose()
    answer('held')
    await later(5)
    service?.restore()
    assert.equal(await asked, 'held')
  })
})

describe('the end of a service', () => {
  it('lets what is in flight end, and cuts the rest when its time is over', async () => {
    const both = ends()
    let begun = 0
    const service = await both.serve({
      slow: async ({ data }) => {
        begun++
        await later(data as number)
        return 'done'
      },
      hangs: () => {
        begun++
        return new Promise(() => {})
      }
    })
    const client = both.client()
    const slow = client.request('slow', 30)
    const hangs = assert.rejects(client.request('hangs', 1), { code: 'CONNECTION', mayHaveRun: true })
    await until('both run', () => begun === 2)
    assert.equal(service.stats().inFlight.current, 2)
    await service.stop({ drain: 60 })
    assert.equal(await slow, 'done')
    await hangs
    assert.equal(service.stats().inFlight.current, 0)
  })

  it('of a client fails its calls, and tells services', async () => {
    const both = ends()
    let isTold = false
    await both.serve({
      hangs: ({ signal }) => new Promise(() => signal.addEventListener('abort', () => (isTold = true)))
    })
    const client = both.client()
    const failed = assert.rejects(client.request('hangs', 1), { code: 'CONNECTION', mayHaveRun: true })
    // The service sends its control address when the handler has run for a while.
    await until('it is reached', () => both.hub.published.some(({ words }) => words === '+a'))
    await later(2)
    await client.close()
    await failed
    await until('the handler is told', () => isTold)
    await assert.rejects(client.request('hangs', 1), { code: 'CONNECTION', mayHaveRun: false })
  })
})

describe('whatever is lost, doubled or delayed', () => {
  it('each call settles once, with nothing but its own, and streams have no gaps', async () => {
    const fault = fc.integer({ min: 0, max: 30 }).map((percent) => percent / 100)
    await fc.assert(
      fc.asyncProperty(fc.nat(), fault, fault, fc.boolean(), async (seed, lost, doubled, isBytes) => {
        const both = ends({ random: seeded(seed), words: isBytes ? 'bytes' : 'text', maxPayload: 4_096 })
        await both.serve({
          echo: ({ data }) => data,
          later: async ({ data }) => {
            await later(1)
            return data
          },
          count: ({ data }) => count(data as number),
          double: async function* ({ data }) {
            for await (const value of data as AsyncIterable<number>) yield value * 2
          }
        })
        const client = both.client()
        await client.connect()
        both.hub.faults = { lost, doubled }
        const timeout = 60
        let settled = 0
        const requests = Array.from({ length: 40 }, async (_, n) => {
          const data = n % 7 === 0 ? String(n).repeat(4_000) : n
          try {
            assert.equal(await client.request(n % 2 === 0 ? 'echo' : 'later', data, { timeout }), data)
          } catch (error) {
            if (!['TIMEOUT', 'CONNECTION', 'REJECTED'].includes((error as { code: string }).code)) throw error
          }
          settled++
        })
        const streams = Array.from({ length: 10 }, async (_, n) => {
          const isChannel = n % 2 === 0
          const { values, ended } = valuesOf(
            client,
            isChannel ? 'double' : 'count',
            isChannel ? count(30) : 30,
            timeout
          )
          let isWhole = false
          const end = ended.then(
            () => (isWhole = true),
            () => {}
          )
          await Promise.race([end, later(120)])
          const whole = Array.from({ length: 30 }, (_, k) => (k + 1) * (isChannel ? 2 : 1))
          assert.deepEqual(values, isWhole ? whole : whole.slice(0, values.length))
          settled++
        })
        await Promise.all([...requests, ...streams])
        assert.equal(settled, 50)
        await both.close()
      }),
      { numRuns: isInCheck ? 4 : 12 }
    )
  })

  it('what only comes twice does no harm', async () => {
    const both = ends({ random: seeded(7) })
    await both.serve({ count: ({ data }) => count(data as number), echo: ({ data }) => data })
    const client = both.client()
    await client.connect()
    both.hub.faults = { doubled: 0.5, of: (address) => address.startsWith('_INBOX.') }
    for (let n = 0; n < 20; n++) {
      assert.equal(await client.request('echo', n), n)
      const { values, ended } = valuesOf(client, 'count', 300)
      await ended
      assert.equal(values.length, 300)
    }
  })
})

describe('a channel', () => {
  it('sends its values one by one to a service that asks for them one by one', async () => {
    const both = ends({})
    const client = both.client()
    await client.connect()
    const service = both.lastCarrier
    const control = `${service.newInbox()}1-${newSecret()}.`
    const heard: string[] = []
    let reply = ''
    service.listen('sum', (message) => {
      reply = message.reply
      service.publish(reply, '+i1', `${control}0`)
    })
    service.listen(control.slice(0, control.lastIndexOf('.', control.length - 2) + 1), ({ words }) => {
      heard.push(textOf(words))
      if (heard.length < 3) service.publish(reply, `+i${heard.length + 1}`, `${control}0`)
      else service.publish(reply, '+d6', `${control}1`)
    })
    assert.equal(await client.request('sum', count(9)), 6)
    assert.deepEqual(heard.slice(0, 3), ['v1 1', 'v2 2', 'v3 3'])
  })
})

describe('the name of a caller, over an engine', () => {
  it('is asked for once, when a handler wants to know it, and never of an end that is not ours', async () => {
    const both = ends({})
    const sources = new Set<unknown>()
    const names: (string | undefined)[] = []
    await both.serve({
      who: ({ source }) => {
        sources.add(source)
        names.push(source?.name)
        return names.length
      },
      silent: () => 1
    })
    const client = both.client({ name: 'orders' })
    await client.request('silent', 1)
    await client.request('who', 1)
    await until('it has told its name', () => {
      for (const source of sources) if ((source as { name?: string }).name === 'orders') return true
      return false
    })
    await client.request('who', 1)
    assert.deepEqual([sources.size, names.at(-1)], [1, 'orders'])
  })
})

describe('a client that cannot listen for answers', () => {
  it('says so if the server refuses it, and may try again if the server has only not answered', async () => {
    const refused = ends({ refusal: new Error('ACCESS_REFUSED') }).client()
    await assert.rejects(refused.connect(), {
      message: /give its user the permission/,
      retryable: false,
      mayHaveRun: false
    })
    const unanswered = ends({ refusal: new ConnectionError('The server does not answer', false) }).client()
    await assert.rejects(unanswered.connect(), { message: 'The server does not answer', retryable: true })
  })
})
