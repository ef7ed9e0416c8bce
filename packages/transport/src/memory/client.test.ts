/** Tests the calling side of `memory()`, and the messages that it sends, with a server that records them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EMPTY, of, Subject } from 'rxjs'
import type { CallReceiver } from '../call.ts'
import { ManualClock } from '../durable/clock.ts'
import { PatternNotFoundError, RpcError } from '../errors/index.ts'
import { turn } from '../testing/streams.ts'
import type { ClientContext } from '../transport.ts'
import { MemoryClient } from './client.ts'
import { type MemoryCaller, type MemoryEnd, MemoryHub, type MemoryRequest, type Wanted } from './hub.ts'
import type { MemoryMessage } from './memory-message.ts'

/** A request as the server has received it. */
interface Asked {
  readonly message: MemoryMessage
  readonly isSingle: boolean
  readonly demand: number
  readonly caller: MemoryCaller
  /** Messages of the caller about the request, after the request itself. */
  readonly told: string[]
}

class RecordingEnd implements MemoryEnd {
  readonly service: string
  readonly asked: Asked[] = []
  readonly events: MemoryMessage[] = []
  /** Called before a request is accepted; a test makes it throw. */
  refuse: (message: MemoryMessage) => void = () => {}

  constructor(service = 'test') {
    this.service = service
  }

  request(
    message: MemoryMessage,
    { isSingle, demand }: Wanted,
    caller: MemoryCaller,
    opened: (request: MemoryRequest) => void
  ): void {
    this.refuse(message)
    const told: string[] = []
    opened({
      requestN: (n) => void told.push(`wants ${n}`),
      cancel: () => void told.push('cancelled'),
      input: (bytes) => void told.push(Buffer.from(bytes).toString()),
      inputEnded: (failure) => void told.push(failure === undefined ? 'no more' : failure.message)
    })
    this.asked.push({ message, isSingle, demand, caller, told })
  }

  takes(): boolean {
    return true
  }

  event(message: MemoryMessage): void {
    this.events.push(message)
  }

  /** The request that arrived last. */
  get last(): Asked {
    const last = this.asked.at(-1)
    assert.ok(last)
    return last
  }
}

function newClient(given: Partial<ClientContext> = {}) {
  const hub = new MemoryHub('application/json', new ManualClock())
  const end = new RecordingEnd()
  hub.add(end)
  const logged: string[] = []
  const log = (line: string) => void logged.push(line)
  const client = new MemoryClient(hub, {
    ...{ timeout: 0, dispatcher: undefined },
    logger: { error: log, warn: log },
    ...given
  })
  return { hub, end, client, logged }
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value))

/** Records the values and the end of a call. */
class Receiver implements CallReceiver {
  readonly seen: unknown[] = []
  errors: Error[] = []

  next(value: unknown): void {
    this.seen.push(value)
  }

  complete(): void {
    this.seen.push('complete')
  }

  error(error: Error): void {
    this.seen.push(error.name)
    this.errors.push(error)
  }
}

const closed = (mayHaveRun: boolean) => ({ name: 'ConnectionError', mayHaveRun })

describe('a client of memory()', () => {
  it('connects where a service listens, until it is closed', async () => {
    const { hub, end, client } = newClient()
    await client.connect()
    assert.equal(client.status, 'connected')
    hub.remove(end)
    await assert.rejects(client.connect(), { ...closed(false), message: /No service listens/ })
    await client.close()
    assert.equal(client.status, 'closed')
    hub.add(end)
    await assert.rejects(client.connect(), closed(false))
  })

  it('tells its listeners once that it is closed', async () => {
    const { client } = newClient()
    const heard: unknown[] = []
    client.onStatus((event) => void heard.push(event))
    await client.close()
    await client.close()
    assert.deepEqual(heard, [{ type: 'status', status: 'closed' }])
  })

  it('gives up its calls when it is closed, tells the other side, and makes no more', async () => {
    const { end, client } = newClient()
    const asked = client.request('wait', 1)
    await turn()
    const waiting = client.request('late', 1)
    await client.close()
    await assert.rejects(asked, closed(true))
    // This call was never sent.
    await assert.rejects(waiting, closed(false))
    await assert.rejects(client.request('late', 1), closed(false))
    await assert.rejects(client.emit('late', 1), closed(false))
    await turn()
    assert.deepEqual(end.last.told, ['cancelled'])
    assert.deepEqual([end.asked.length, end.events.length], [1, 0])
  })

  it('keeps no process alive when it is closed, and publishes nothing more', async () => {
    const { client } = newClient()
    const running = new Set<unknown>()
    const { setTimeout, clearTimeout } = globalThis
    try {
      globalThis.setTimeout = ((...args: Parameters<typeof setTimeout>) => {
        const timer = setTimeout(...args)
        running.add(timer)
        return timer
      }) as typeof setTimeout
      globalThis.clearTimeout = ((timer: ReturnType<typeof setTimeout>) => {
        running.delete(timer)
        clearTimeout(timer)
      }) as typeof clearTimeout
      const asked = assert.rejects(client.request('p', 1, { timeout: 60_000 }), closed(false))
      assert.equal(running.size, 1)
      await client.close()
      assert.equal(running.size, 0)
      await asked
    } finally {
      Object.assign(globalThis, { setTimeout, clearTimeout })
    }
    await assert.rejects(client.durable.publish('p', 1), closed(false))
  })

  it('reaches nobody where no service listens', async () => {
    const { hub, end, client } = newClient()
    hub.remove(end)
    const nobody = { ...closed(false), message: /No service listens/ }
    await Promise.all(
      [client.request('p', 1), client.emit('p', 1)].map((call) => assert.rejects(call, nobody))
    )
  })
})

describe('a request over memory()', () => {
  it('is sent as it was when it was made, in a turn of its own', async () => {
    // A client without a name has the name of its process, which a service of another test may have set.
    const { end, client } = newClient({ name: 'orders' })
    const [data, headers] = [{ n: 1 }, { tenant: 'a' }]
    const asked = client.request({ b: 1, a: 2 }, data, { headers })
    data.n = 2
    headers.tenant = 'b'
    assert.equal(end.asked.length, 0)
    await turn()
    const { message, isSingle, caller, told } = end.last
    const { source, ...sent } = message
    assert.equal(source?.name, 'orders')
    assert.deepEqual(
      { ...sent, data: Buffer.from(message.data ?? []).toString() },
      {
        pattern: '{"b":1,"a":2}',
        route: message.route,
        data: '{"n":1}',
        headers: { tenant: 'a' },
        timeout: undefined,
        lifetime: undefined
      }
    )
    assert.equal(isSingle, true)
    caller.value(json(5))
    assert.equal(await asked, 5)
    await turn()
    // The first value is the answer, even if more values follow.
    assert.deepEqual(told, ['cancelled'])
  })

  it('has an answer without a value, or an error, of the class that the other side meant', async () => {
    const { end, client } = newClient()
    const answered = async (say: (caller: MemoryCaller) => void) => {
      const asked = client.request('p', 1)
      await turn()
      say(end.last.caller)
      return asked
    }
    assert.equal(await answered((caller) => caller.end()), undefined)
    const text = JSON.stringify({ code: 'E', message: 'm', details: 1 })
    await assert.rejects(
      answered((caller) => caller.error(text, false)),
      (error) =>
        error instanceof RpcError && error.code === 'E' && error.message === 'm' && error.details === 1
    )
    await assert.rejects(
      answered((caller) => caller.error('{"message":"m"}', false)),
      { code: 'UNKNOWN' }
    )
    await assert.rejects(
      answered((caller) => caller.lost()),
      { ...closed(true), message: /stopped before it had answered/ }
    )
    await assert.rejects(answered((caller) => caller.value(Buffer.from('{'))))
    await turn()
    assert.deepEqual(end.last.told, ['cancelled'])
  })

  it('that is refused is retried, as often as is allowed', async () => {
    const { end, client } = newClient()
    const retries: unknown[] = []
    client.onStatus((event) => void (event.type === 'retry' && retries.push(event.attempt)))
    const outcome = assert.rejects(client.request('p', 1), {
      ...{ name: 'RejectedError', message: 'busy', mayHaveRun: false }
    })
    for (let attempt = 1; attempt <= 3; attempt++) {
      while (end.asked.length < attempt) await turn()
      const { caller } = end.last
      caller.error('{"message":"busy"}', true)
      // A late value of an earlier attempt is ignored.
      caller.value(json('late'))
    }
    await outcome
    assert.deepEqual([end.asked.length, retries], [3, [1, 2]])
  })

  it('whose service stops is retried if it may run twice', async () => {
    const { end, client } = newClient()
    const asked = client.request('p', 1, { idempotent: true })
    await turn()
    end.last.caller.lost()
    while (end.asked.length < 2) await turn()
    end.last.caller.value(json(5))
    assert.equal(await asked, 5)
  })

  it('goes to the first service that knows the pattern, and fails if none does', async () => {
    const { hub, end, client } = newClient()
    const other = new RecordingEnd('other')
    hub.add(other)
    const unknown = ({ pattern }: MemoryMessage) => {
      throw PatternNotFoundError.of(pattern)
    }
    end.refuse = unknown
    for (let call = 0; call < 3; call++) void client.request('p', 1)
    await turn()
    assert.deepEqual([end.asked.length, other.asked.length], [0, 3])
    other.refuse = unknown
    await assert.rejects(client.request('p', 1), (error) => {
      assert.ok(error instanceof PatternNotFoundError)
      // The error counts as received from another service, so a handler that does not catch it fails.
      assert.deepEqual([error.received, error.message], ['p', PatternNotFoundError.of('p').message])
      return true
    })
    other.refuse = () => {
      throw new RpcError({ code: 'BROKEN', message: 'm' })
    }
    end.refuse = other.refuse
    await assert.rejects(client.request('p', 1), { code: 'BROKEN' })
  })

  it('tells how long its caller waits, also by default', async () => {
    for (const [context, timeout, expected] of [
      [{ timeout: 9_000 }, undefined, 9_000],
      [{ timeout: 9_000 }, 4_000, 4_000],
      [{ timeout: 9_000 }, false, undefined],
      [{ timeout: 0 }, undefined, undefined]
    ] as const) {
      const { end, client } = newClient(context)
      const asked = assert.rejects(client.request('p', 1, { timeout }), closed(true))
      await client.emit('p', 1, { timeout })
      assert.equal(end.last.message.timeout, expected)
      assert.equal(end.events[0]?.timeout, undefined)
      await client.close()
      await asked
    }
  })

  it('fails when its time is over, and the other side is told', async () => {
    const { end, client } = newClient({ timeout: 60_000 })
    const failed: string[] = []
    const calls = ([30, 10, 20] as const).map((timeout) =>
      client.request(`for ${timeout}`, 1, { timeout }).catch((error: Error & { mayHaveRun: boolean }) => {
        failed.push(`${error.message}, ${error.mayHaveRun}`)
      })
    )
    const last = client.request('answered', 1)
    await Promise.all(calls)
    // A busy machine may notice several deadlines at once.
    assert.deepEqual(
      failed.sort(),
      [10, 20, 30].map((timeout) => `No answer to 'for ${timeout}' within ${timeout} ms, true`)
    )
    await turn()
    assert.deepEqual(
      end.asked.map(({ told }) => told),
      [['cancelled'], ['cancelled'], ['cancelled'], []]
    )
    end.last.caller.value(json(1))
    assert.equal(await last, 1)
    // Otherwise the timer of the client would keep the process alive for a minute.
    await client.close()
  })

  it('that is given up before it was sent is never sent, and may not have run', async () => {
    const { end, client } = newClient()
    const controller = new AbortController()
    const early = client.request('early', 1, { signal: controller.signal })
    controller.abort()
    await assert.rejects(early, { name: 'CanceledError', mayHaveRun: false })
    await turn()
    assert.equal(end.asked.length, 0)
    const later = new AbortController()
    const sent = client.request('sent', 1, { signal: later.signal })
    await turn()
    later.abort()
    await assert.rejects(sent, { name: 'CanceledError', mayHaveRun: true })
    await turn()
    assert.deepEqual(end.last.told, ['cancelled'])
  })

  it('that cannot be sent fails at once, and is gone', async () => {
    const { end, client } = newClient()
    await assert.rejects(client.request('p', 5n), { code: 'OPTION', mayHaveRun: false })
    await assert.rejects(client.request('p', 1, { timeout: 0 }), {
      path: 'options.timeout',
      message: 'options.timeout must be milliseconds, or false for no limit, but is 0'
    })
    await assert.rejects(client.request('p', 1, { timeout: -1 }), { path: 'options.timeout' })
    await client.close()
    assert.equal(end.asked.length, 0)
  })
})

describe('calls over memory()', () => {
  it('leave the event loop its turns, although each follows the one before without waiting for anything', async () => {
    const { client } = newClient()
    // The calls of the test before may belong to this turn.
    await turn()
    let count = 0
    let counted: number | undefined
    setImmediate(() => {
      counted = count
    })
    for (; count < 10_000; count++) await client.emit('p', count)
    assert.ok(counted !== undefined && counted <= 1_000, `${counted} calls before the first turn`)
  })
})

describe('a stream over memory()', () => {
  it('asks for as many values as its reader wants, and for more when it wants more', async () => {
    const { end, client } = newClient()
    const receiver = new Receiver()
    const call = client.stream('p', 1, receiver, { demand: 2 })
    call.request?.(3)
    await turn()
    assert.deepEqual([end.last.demand, end.last.isSingle], [5, false])
    call.request?.(4)
    await turn()
    assert.deepEqual(end.last.told, ['wants 4'])
    const { caller } = end.last
    for (const value of [1, 2]) caller.value(json(value))
    caller.end()
    caller.value(json(3))
    caller.error('{}', false)
    await turn()
    assert.deepEqual(receiver.seen, [1, 2, 'complete'])
    assert.deepEqual(end.last.told, ['wants 4'])
  })

  it('asks by itself for more while its reader takes the values', async () => {
    const { end, client } = newClient()
    const receiver = new Receiver()
    client.stream('p', 1, receiver)
    await turn()
    const { demand, caller, told } = end.last
    for (let value = 0; value < demand / 2 - 1; value++) caller.value(json(value))
    await turn()
    assert.deepEqual(told, [])
    caller.value(json(1))
    await turn()
    assert.equal(told.length, 1)
    assert.match(String(told[0]), /^wants \d{2,}$/)
    assert.equal(receiver.seen.length, demand / 2)
  })

  it('asks for one more at a time where the values are so large that no more should be on their way', async () => {
    const { end, client } = newClient()
    client.stream('p', 1, { next() {}, complete: assert.fail, error: assert.fail })
    await turn()
    const { demand, caller, told } = end.last
    const large = json('x'.repeat(9 * 1024 * 1024))
    for (let left = demand - 1; left > 0; left--) {
      assert.deepEqual(told, left < demand / 2 ? ['wants 1'] : [])
      caller.value(left === demand / 2 || left === 1 ? large : json(1))
      await turn()
    }
    assert.deepEqual(told, ['wants 1', 'wants 1'])
  })

  it('tells the other side when its reader leaves, once, and gives nothing more', async () => {
    const { end, client } = newClient()
    const receiver = new Receiver()
    const call = client.stream('p', 1, receiver)
    await turn()
    call.cancel()
    call.cancel()
    end.last.caller.value(json(1))
    end.last.caller.lost()
    await turn()
    assert.deepEqual([end.last.told, receiver.seen], [['cancelled'], []])
  })
})

describe('a channel over memory()', () => {
  it('sends what its source gives as far as the other side takes it, and then the end', async () => {
    const { end, client } = newClient()
    function* numbers() {
      for (let n = 0; n < 70; n++) yield n
    }
    const receiver = new Receiver()
    client.stream('p', numbers(), receiver)
    await turn()
    assert.equal(end.last.message.data, undefined)
    // The first value is sent with the request; the other side estimates by its size how many more may follow.
    assert.deepEqual(end.last.told, ['0'])
    end.last.caller.inputWanted(64)
    await turn()
    const first = Array.from({ length: 65 }, (_, n) => String(n))
    assert.deepEqual(end.last.told, first)
    end.last.caller.inputWanted(2)
    await turn()
    assert.deepEqual(end.last.told, [...first, '65', '66'])
    end.last.caller.inputWanted(100)
    await turn()
    assert.deepEqual(end.last.told, [...first, '65', '66', '67', '68', '69', 'no more'])
    end.last.caller.value(json('both ways'))
    end.last.caller.end()
    await turn()
    assert.deepEqual(receiver.seen, ['both ways', 'complete'])
  })

  it('of no value, or one, ends at once', async () => {
    const { end, client } = newClient()
    for (const [source, said] of [
      [[].values(), []],
      [[1].values(), ['1']],
      [EMPTY, []],
      [of(1), ['1']],
      // An `undefined` value counts as a value.
      [of(undefined), ['']],
      [of(1, 2), ['1', '2']]
    ] as const) {
      client.stream('p', source, new Receiver())
      await turn()
      end.last.caller.inputWanted(64)
      await turn()
      assert.deepEqual(end.last.told, [...said, 'no more'])
    }
  })

  it('whose source ends before the request has left says so behind it', async () => {
    const { end, client } = newClient()
    const source = new Subject<number>()
    client.stream('p', source, new Receiver())
    source.next(1)
    source.complete()
    assert.equal(end.asked.length, 0)
    await turn()
    assert.deepEqual(end.last.told, ['1', 'no more'])
  })

  it('says its first value before its end, however soon the end comes', async () => {
    for (let turns = 0; turns < 8; turns++) {
      const { end, client } = newClient()
      const source = new Subject<number>()
      client.stream('p', source, new Receiver())
      source.next(1)
      for (let n = 0; n < turns; n++) await Promise.resolve()
      source.complete()
      await turn()
      assert.deepEqual(end.last.told, ['1', 'no more'])
    }
  })

  it('whose source gives no value in its time was never sent', async () => {
    const { end, client } = newClient()
    const source = new Subject<number>()
    await assert.rejects(client.request('p', source, { timeout: 5 }), {
      name: 'TimeoutError',
      mayHaveRun: false
    })
    await turn()
    assert.deepEqual([end.asked.length, source.observed], [0, false])
  })

  it('ends its source when the other side takes no more, and goes on being answered', async () => {
    const { end, client } = newClient()
    const source = new Subject<number>()
    const receiver = new Receiver()
    client.stream('p', source, receiver)
    source.next(1)
    await turn()
    end.last.caller.inputWanted(0)
    await turn()
    assert.equal(source.observed, false)
    end.last.caller.value(json(5))
    await turn()
    assert.deepEqual([receiver.seen, end.last.told], [[5], ['1']])
  })

  it('whose source fails tells the other side, its caller and the log', async () => {
    const { end, client, logged } = newClient()
    const source = new Subject<number>()
    const receiver = new Receiver()
    client.stream('p', source, receiver)
    source.next(1)
    await turn()
    source.error(new Error('secret'))
    await turn()
    assert.deepEqual(end.last.told.slice(0, 2), [
      '1',
      'The caller\'s input failed: {"code":"INTERNAL","message":"Internal server error"}'
    ])
    assert.deepEqual(
      receiver.errors.map(({ message }) => message),
      ['secret']
    )
    assert.deepEqual(logged, ["The input of the channel 'p' failed"])
  })

  it('that is given up before it was sent is never sent, and its source is left', async () => {
    const { end, client } = newClient()
    const source = new Subject<number>()
    const call = client.stream('p', source, new Receiver())
    source.next(1)
    call.cancel()
    await turn()
    assert.deepEqual([end.asked.length, source.observed], [0, false])
  })

  it('gives other work its turn, however many values the other side takes', async () => {
    const { end, client } = newClient()
    let made = 0
    function* endless() {
      while (true) yield made++
    }
    const call = client.stream('p', endless(), new Receiver())
    await turn()
    end.last.caller.inputWanted(1_000_000)
    await turn()
    assert.ok(made < 5_000, `${made} values`)
    const before = made
    await new Promise((resolve) => setTimeout(resolve, 1))
    await turn()
    assert.ok(made > before)
    call.cancel()
  })
})

describe('an event over memory()', () => {
  it('has left when it was handed over, and is given up with its caller', async () => {
    const { end, client } = newClient()
    assert.equal(await client.emit('p', 1, { headers: { tenant: 'a' } }), undefined)
    assert.deepEqual(
      end.events.map(({ headers }) => headers),
      [{ tenant: 'a' }]
    )
    const controller = new AbortController()
    const event = client.emit('p', 1, { signal: controller.signal })
    controller.abort()
    await assert.rejects(event, { name: 'CanceledError', mayHaveRun: false })
    await turn()
    assert.equal(end.events.length, 1)
  })
})
