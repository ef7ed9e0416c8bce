/**
 * Whatever single word of a call the engine loses, and whenever one end is away for a moment: both ends settle, without
 * a timeout of the caller, and the caller learns the truth.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import type { DialogueClient } from './client/dialogue-client.ts'
import { Ends, type Handlers } from './testing/ends.ts'
import type { HubOptions, TestCarrier } from './testing/hub.ts'

type Client = DialogueClient<TestCarrier>

/** Milliseconds within which each end must have noticed: 20 s of silence, and the signs of life before them. */
const NOTICED = 90_000
/** Milliseconds for which an end is away. */
const AWAY = 20

const later = (ms = 0) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Counts the handlers and the sources of channels that run at both ends. */
class Running {
  open = 0
  begun = 0

  begin(): () => void {
    this.open++
    this.begun++
    let isOver = false
    return () => {
      if (!isOver) this.open--
      isOver = true
    }
  }

  async *values<Value>(source: () => AsyncIterable<Value>): AsyncGenerator<Value> {
    const end = this.begin()
    try {
      yield* source()
    } finally {
      end()
    }
  }

  async task<Value>(work: () => Promise<Value>): Promise<Value> {
    const end = this.begin()
    try {
      return await work()
    } finally {
      end()
    }
  }
}

interface Kind {
  readonly hub?: HubOptions
  handlers(running: Running): Handlers
  /** The handler fails for reasons of its own, which the service logs. */
  readonly fails?: true
  /** Makes calls before words are counted and lost. */
  prepare?(client: Client): Promise<unknown>
  /** Makes the call, and checks its answer. Rejects with the error of the call. */
  call(client: Client, running: Running): Promise<unknown>
}

async function* count(to: number) {
  for (let n = 1; n <= to; n++) yield n
}

async function* endless() {
  for (let n = 0; ; n++) {
    await later()
    yield n
  }
}

/** Reads a stream as a reader does that asks for a few values at a time. */
function read(client: Client, pattern: string, data: unknown, take = Number.POSITIVE_INFINITY) {
  return new Promise<unknown[]>((resolve, reject) => {
    const values: unknown[] = []
    const receiver = {
      next(value: unknown) {
        values.push(value)
        if (values.length === take) {
          call.cancel()
          resolve(values)
        } else if (values.length % 2 === 0) call.request(2)
      },
      complete: () => resolve(values),
      error: reject
    }
    const call = client.stream(pattern, data, receiver, { demand: 3, timeout: false })
  })
}

const upTo = (n: number) => Array.from({ length: n }, (_, at) => at + 1)
const FOREVER = { timeout: false } as const
const LARGE = 'x'.repeat(10_000)
const inParts: HubOptions = { maxPayload: 4_096 }

const echo = (running: Running): Handlers => ({
  now: ({ data }) => data,
  soon: ({ data }) =>
    running.task(async () => {
      await later(40)
      return data
    }),
  sum: ({ data }) =>
    running.task(async () => {
      let sum = 0
      for await (const value of data as AsyncIterable<number>) sum += value
      return sum
    }),
  first: ({ data }) =>
    running.task(async () => {
      for await (const value of data as AsyncIterable<number>) {
        await later(5)
        return value
      }
      return undefined
    }),
  /** Reads two values, and then takes its time without the others. */
  some: ({ data }) =>
    running.task(async () => {
      let left = 2
      for await (const _ of data as AsyncIterable<number>) if (--left === 0) break
      await later(60)
      return 'enough'
    }),
  count: ({ data }) => running.values(() => count(data as number)),
  endless: () => running.values(endless),
  double: ({ data }) =>
    running.values(async function* () {
      for await (const value of data as AsyncIterable<number>) yield value * 2
    }),
  lengths: ({ data }) =>
    running.values(async function* () {
      for await (const value of data as AsyncIterable<string>) yield value.length
    }),
  large: ({ data }) =>
    running.values(async function* () {
      for (let n = 0; n < (data as number); n++) yield LARGE
    }),
  hangs: ({ signal }) =>
    running.task(() => new Promise((_, reject) => signal.addEventListener('abort', () => reject(Error())))),
  fails: () => {
    throw new Error('secret')
  }
})

const KINDS: Readonly<Record<string, Kind>> = {
  'a request that is answered at once': {
    handlers: echo,
    call: async (client) => assert.equal(await client.request('now', 1, FOREVER), 1)
  },
  'a request that is answered later': {
    handlers: echo,
    call: async (client) => assert.equal(await client.request('soon', 1, FOREVER), 1)
  },
  'requests of one turn': {
    handlers: echo,
    prepare: (client) => Promise.all(upTo(50).map((n) => client.request('now', n))),
    call: async (client) => {
      const all = await Promise.allSettled(upTo(50).map((n) => client.request('now', n, FOREVER)))
      for (const [at, one] of all.entries()) {
        if (one.status === 'rejected') throw one.reason
        assert.equal(one.value, at + 1)
      }
    }
  },
  'a request whose caller gives up': {
    handlers: echo,
    call: async (client) => {
      const aborter = new AbortController()
      const call = client.request('hangs', 1, { timeout: false, signal: aborter.signal })
      setTimeout(() => aborter.abort(), 40)
      await call.catch((error: { code?: string }) => {
        if (error.code !== 'CANCELED') throw error
      })
    }
  },
  'a request whose handler fails': {
    fails: true,
    handlers: echo,
    call: (client) => assert.rejects(client.request('fails', 1, FOREVER), notLost)
  },
  'a stream that is read to its end': {
    handlers: echo,
    call: async (client) => assert.deepEqual(await read(client, 'count', 9), upTo(9))
  },
  'a stream that is left': {
    handlers: echo,
    call: async (client) => assert.equal((await read(client, 'endless', 0, 7)).length, 7)
  },
  'a channel for one value': {
    handlers: echo,
    call: async (client, running) =>
      assert.equal(
        await client.request(
          'sum',
          running.values(() => count(9)),
          FOREVER
        ),
        45
      )
  },
  'a channel without values': {
    handlers: echo,
    call: async (client, running) =>
      assert.equal(
        await client.request(
          'sum',
          running.values(() => count(0)),
          FOREVER
        ),
        0
      )
  },
  'a channel for a stream': {
    handlers: echo,
    call: async (client, running) =>
      assert.deepEqual(
        await read(
          client,
          'double',
          running.values(() => count(30))
        ),
        upTo(30).map((n) => 2 * n)
      )
  },
  'a channel that waits for an answer to each value': {
    handlers: echo,
    async call(client, running) {
      let answered = () => {}
      const values: unknown[] = []
      async function* source() {
        for (let n = 1; n <= 4; n++) {
          const answer = new Promise<void>((resolve) => (answered = resolve))
          yield n
          await answer
        }
      }
      await new Promise<void>((complete, error) => {
        const next = (value: unknown) => {
          values.push(value)
          answered()
        }
        const receiver = { next, complete, error }
        client.stream('double', running.values(source), receiver, FOREVER)
      }).finally(() => answered())
      assert.deepEqual(values, [2, 4, 6, 8])
    }
  },
  'a channel whose handler stops reading': {
    handlers: echo,
    call: async (client, running) =>
      assert.equal(await client.request('some', running.values(endless), FOREVER), 'enough')
  },
  'a channel whose handler answers the first value': {
    handlers: echo,
    call: async (client, running) =>
      assert.equal(await client.request('first', running.values(endless), FOREVER), 0)
  },
  'a channel whose source fails': {
    fails: true,
    handlers: echo,
    async call(client, running) {
      async function* source() {
        yield* count(6)
        throw new Error('source')
      }
      await client.request('sum', running.values(source), FOREVER).catch((error: Error) => {
        if (error.message !== 'source') throw error
      })
    }
  },
  'a request in parts': {
    hub: inParts,
    handlers: echo,
    call: async (client) => assert.equal(await client.request('now', LARGE, FOREVER), LARGE)
  },
  'a stream in parts': {
    hub: inParts,
    handlers: echo,
    call: async (client) => assert.deepEqual(await read(client, 'large', 3), [LARGE, LARGE, LARGE])
  },
  'a channel in parts': {
    hub: inParts,
    handlers: echo,
    call: async (client, running) => {
      const source = () =>
        running.values(async function* () {
          for (let n = 0; n < 3; n++) yield LARGE
        })
      assert.deepEqual(await read(client, 'lengths', source()), Array(3).fill(LARGE.length))
    }
  }
}

/** Accepts the error of the handler. Lets the error of a lost word through to the caller of `assert.rejects`. */
function notLost(error: Error & { code?: string }): boolean {
  if (error.code === 'INTERNAL') return true
  throw error
}

/** The fault at a delivery of the hub. */
type Fault = 'the word is lost' | 'the service is away' | 'the client is away'

/**
 * Lives one call, with a fault at one of its words.
 * @returns how many words there were
 * @throws what an end has done wrong
 */
async function live(kind: Kind, fault: Fault | undefined, at: number): Promise<number> {
  const both = new Ends(kind.hub)
  const running = new Running()
  const server = await both.serve(kind.handlers(running))
  const [service] = [...both.hub.carriers] as [TestCarrier]
  const client = both.client({ timeout: 0 })
  await client.connect()
  const own = both.lastCarrier
  await kind.prepare?.(client)
  let words = 0
  const away = (carrier: TestCarrier) => {
    carrier.lose()
    setTimeout(() => carrier.restore(), AWAY)
  }
  both.hub.faults = {
    lost: 1,
    of() {
      if (words++ !== at || fault === undefined) return false
      if (fault !== 'the word is lost')
        queueMicrotask(() => away(fault === 'the service is away' ? service : own))
      return fault === 'the word is lost'
    }
  }
  const before = running.begun
  let isSettled = false
  let wrong: Error | undefined
  void kind
    .call(client, running)
    .catch((error: Error & { code?: string; mayHaveRun?: boolean }) => {
      if (fault === undefined) wrong = error
      else if (error.code === 'CONNECTION') {
        if (running.begun > before && error.mayHaveRun !== true)
          wrong = new Error('a handler has run, and the error says that it has not')
      } else if (error.code !== 'REJECTED' && error.code !== 'PATTERN_NOT_FOUND') wrong = error
    })
    .finally(() => {
      isSettled = true
    })
  const deadline = performance.now() + NOTICED
  const left = () =>
    [
      !isSettled && 'the call waits',
      running.open > 0 && `${running.open} handlers or sources run`,
      server.stats().inFlight.current > 0 && 'the service counts it'
    ].filter((one) => one !== false)
  for (let tries = 0; left().length > 0 && performance.now() < deadline; tries++)
    await later(tries < 10 ? 20 : 1_000)
  const forgotten = left()
  await both.close()
  if (wrong !== undefined) throw wrong
  const blamed = both.log.find((line) => /handler/i.test(line))
  if (blamed !== undefined && kind.fails !== true) throw new Error(`a handler is blamed: ${blamed}`)
  if (forgotten.length > 0) throw new Error(`for ever: ${forgotten.join(', ')}`)
  return words
}

const FAULTS: readonly Fault[] = ['the word is lost', 'the service is away', 'the client is away']

describe('one word that is lost, and one end that is away for a moment', () => {
  for (const [name, kind] of Object.entries(KINDS))
    it(`let both ends settle: ${name}`, async () => {
      using time = new VirtualTime()
      const failures: string[] = []
      const words = await time.settled(live(kind, undefined, -1))
      for (const fault of FAULTS)
        for (let at = 0; at < words; at++)
          await time
            .settled(live(kind, fault, at))
            .catch((error) => failures.push(`word ${at} of ${words}, ${fault}: ${error}`))
      assert.deepEqual(failures, [])
    })
})
