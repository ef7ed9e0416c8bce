/** The fourteen checks of one end that calls, over any client. `checks.proto` says what the other end does. */
import assert from 'node:assert/strict'
import { until, Values, within } from '@elysia-microservices/test-support'

/** A call that has failed, in gRPC's words. */
export interface Failure {
  readonly code: string
  readonly message: string
}

/** One connection of a client. */
export interface Caller {
  echo(text: string, more?: { user?: string; timeout?: number; signal?: AbortSignal }): Promise<string>
  down(text: string): AsyncIterable<string>
  up(values: AsyncIterable<string>): Promise<string>
  both(values: AsyncIterable<string>): AsyncIterable<string>
  /** A failed call in gRPC's words. */
  failure(error: unknown): Failure
  close(): Promise<void> | void
}

/** Opens a connection of its own. */
export type Connect = () => Caller | Promise<Caller>

interface State {
  /** Calls whose handlers were told that nobody waits any more. */
  readonly told: number
  /** Values that the last Down has made. */
  readonly made: number
  /** Calls that wait now. */
  readonly waiting: number
}

const LARGE = 300_000
const HUGE = 20_000_000
const MANY = 20_000
const TURNS = 500
/** Values of 50 KB that may be ahead of a reader that stands still: half of all. The windows of grpcio grow to some 34 MB. */
const AHEAD = 1_000

async function stateOf(caller: Caller): Promise<State> {
  const [told, made, waiting] = (await caller.echo('state')).split(' ').map(Number) as [
    number,
    number,
    number
  ]
  return { told, made, waiting }
}

async function isTold(caller: Caller, { told: before }: State): Promise<void> {
  await until('the other end is told', async () => (await stateOf(caller)).told > before)
}

async function fails(caller: Caller, call: Promise<unknown>, expected: Partial<Failure>): Promise<void> {
  const error = await call.then(
    () => assert.fail('The call did not fail'),
    (error: unknown) => error
  )
  const failure = caller.failure(error)
  assert.deepEqual({ ...failure, ...expected }, failure)
}

async function* times(n: number, value: string): AsyncGenerator<string> {
  for (let at = 0; at < n; at++) yield value
}

function checkValues(values: readonly string[], n: number, size: number): void {
  assert.equal(values.length, n)
  const letters = 'x'.repeat(size)
  for (const [at, value] of values.entries()) assert.ok(value === `${at}:${letters}`, `value ${at}`)
}

/** The checks by name. Each gets a connection that it shares with the others. */
export const CHECKS: Readonly<Record<string, (caller: Caller, connect: Connect) => Promise<void>>> = {
  async unary(caller) {
    for (const text of ['hello', 'ü€😀', '']) assert.equal(await caller.echo(text), text)
  },
  async '3,000 calls by 100 callers'(caller) {
    const callers = Array.from({ length: 100 }, async (_, one) => {
      for (let n = 0; n < 30; n++) assert.equal(await caller.echo(`${one}.${n}`), `${one}.${n}`)
    })
    await Promise.all(callers)
  },
  async error(caller) {
    const call = caller.echo('fail', { user: 'me' })
    await fails(caller, call, { code: 'NOT_FOUND', message: 'No order of me: ü' })
  },
  async '20,000 values down'(caller) {
    const values: string[] = []
    for await (const value of caller.down(`${MANY} 10`)) values.push(value)
    checkValues(values, MANY, 10)
  },
  async '20,000 values up'(caller) {
    assert.equal(await caller.up(times(MANY, 'x'.repeat(10))), `${MANY} ${MANY * 10}`)
  },
  async 'ping-pong'(caller) {
    const sent = new Values<string>()
    sent.put('0')
    let turn = 0
    for await (const value of caller.both(sent)) {
      assert.equal(value, `<${turn}>`)
      if (++turn === TURNS) sent.end()
      else sent.put(String(turn))
    }
    assert.equal(turn, TURNS)
  },
  async '300 KB both ways'(caller) {
    let count = 0
    for await (const value of caller.both(times(10, 'x'.repeat(LARGE)))) {
      assert.equal(value.length, LARGE + 2)
      count++
    }
    assert.equal(count, 10)
  },
  async '20 MB'(caller) {
    const text = 'x'.repeat(HUGE)
    assert.ok((await caller.echo(text)) === text)
  },
  async '40 x 300 KB at once'(caller) {
    const texts = Array.from({ length: 40 }, (_, at) => String(at % 10).repeat(LARGE))
    const answers = await Promise.all(texts.map((text) => caller.echo(text)))
    assert.ok(answers.every((answer, at) => answer === texts[at]))
  },
  async 'deadline, both ends'(caller) {
    const before = await stateOf(caller)
    await fails(caller, caller.echo('wait', { timeout: 300 }), { code: 'DEADLINE_EXCEEDED' })
    await isTold(caller, before)
  },
  async cancel(caller) {
    const before = await stateOf(caller)
    const leaving = new AbortController()
    const failed = fails(caller, caller.echo('wait', { signal: leaving.signal }), { code: 'CANCELLED' })
    await until('the call is there', async () => (await stateOf(caller)).waiting > before.waiting)
    leaving.abort()
    await failed
    await isTold(caller, before)
  },
  async 'cancel of a stream'(caller) {
    const before = await stateOf(caller)
    let read = 0
    for await (const _value of caller.down('1000000 100')) if (++read === 5) break
    await isTold(caller, before)
    assert.ok((await stateOf(caller)).made < 1_000_000)
  },
  async 'slow reader'(caller) {
    const values = caller.down('2000 50000')[Symbol.asyncIterator]()
    const read = [(await values.next()).value]
    let made = -1
    await until('the other end stands still', async () => {
      const before = made
      made = (await stateOf(caller)).made
      await new Promise((resolve) => setTimeout(resolve, 300))
      return made === before
    })
    assert.ok(made <= AHEAD, `${made} values of 50 KB were made; one was read`)
    for (let next = await values.next(); next.done !== true; next = await values.next()) read.push(next.value)
    checkValues(read, 2_000, 50_000)
  },
  async '200 connections'(_caller, connect) {
    const callers = await Promise.all(Array.from({ length: 200 }, () => connect()))
    const answers = await Promise.all(callers.map((caller, at) => caller.echo(String(at))))
    for (const caller of callers) await caller.close()
    assert.deepEqual(
      answers,
      answers.map((_, at) => String(at))
    )
  }
}

/** The result of a check, as programs print it: a line of JSON each. */
export interface Result {
  readonly check: string
  /** Why it has failed; `undefined`: it has not. */
  readonly error?: string | undefined
}

/** Does all checks, one after the other, and prints a line for each. */
export async function printChecks(connect: Connect): Promise<void> {
  const caller = await connect()
  for (const [check, run] of Object.entries(CHECKS)) {
    const error = await within(run(caller, connect), 'the check').then(
      () => undefined,
      (error: Error) => String(error.message ?? error).slice(0, 500)
    )
    const result: Result = { check, error }
    console.log(JSON.stringify(result))
  }
  await caller.close()
}

/** The behaviour of the end that answers, for programs in JavaScript. */
export class Answers {
  told = 0
  made = 0
  waiting = 0

  get state(): string {
    return `${this.told} ${this.made} ${this.waiting}`
  }

  /** Never answers. */
  wait(signal: AbortSignal): Promise<never> {
    this.waiting++
    return new Promise((_, reject) => {
      const leave = () => {
        this.waiting--
        this.told++
        reject(signal.reason)
      }
      if (signal.aborted) leave()
      else signal.addEventListener('abort', leave, { once: true })
    })
  }

  /** The values of Down. */
  async *down(text: string): AsyncGenerator<string> {
    const [n, size] = text.split(' ').map(Number) as [number, number]
    const letters = 'x'.repeat(size)
    let isDone = false
    this.made = 0
    try {
      for (let at = 0; at < n; at++) {
        this.made++
        yield `${at}:${letters}`
      }
      isDone = true
    } finally {
      if (!isDone) this.told++
    }
  }

  async up(values: AsyncIterable<string>): Promise<string> {
    let count = 0
    let letters = 0
    for await (const value of values) {
      count++
      letters += value.length
    }
    return `${count} ${letters}`
  }

  async *both(values: AsyncIterable<string>): AsyncGenerator<string> {
    for await (const value of values) yield `<${value}>`
  }
}
