/**
 * Tests leases by random lives of several clients of one server: they send, are slow, lose their sockets and resume.
 * Whatever was sent under a lease is admitted, and nobody waits for ever.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import { type IncomingMessage, wrapDispatcher } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { Admission } from '../limits/admission.ts'
import { counting } from '../limits/counting.ts'
import { NO_LIMITS } from '../limits/server-limits.ts'
import { FakeClock, FakeOutput } from '../testing/peer.ts'
import {
  type ClientUnderTest,
  newRsocketClient,
  newRsocketServer,
  RouteDispatcher,
  type ServerUnderTest,
  turn
} from '../testing/rsocket-peer.ts'
import { ResumableConnections } from './resumable-connections.ts'

const RESUME = { window: 1e9, bufferSize: 1e6, waiting: 1_000, waitingSize: 1e9 }
const LARGE = { maxMessageSize: 1e6, maxBufferSize: 1e6, maxUnsent: 1e6 }

/** The limits of a server and the kinds of its clients. */
interface Conditions {
  /** `limits.inFlight`; 0 for no limit. */
  readonly inFlight: number
  /** `limits.inFlightPerConnection`; 0 for no limit. */
  readonly perConnection: number
  readonly resumes: boolean
  /** For each client, whether it is of another library, which does not ask for leases. */
  readonly foreign: readonly boolean[]
}

/** Something that happens; `who` and `which` are numbers modulo what there is. */
interface Step {
  readonly what: 'emit' | 'request' | 'carry' | 'cut' | 'lose' | 'finish' | 'pass'
  readonly who: number
  readonly n: number
}

/** A client with the bytes that are on their way. */
interface Line {
  readonly client: ClientUnderTest
  readonly isForeign: boolean
  output: FakeOutput
  server: ServerUnderTest | undefined
  up: Uint8Array
  down: Uint8Array
}

/** A server with its clients, and what has become of their calls. */
class World {
  readonly clock = new FakeClock()
  readonly admission: Admission | undefined
  readonly refused: string[] = []
  readonly lines: Line[]
  /** Ids of sent messages, and how often each was handled. */
  readonly sent: number[] = []
  readonly handled = new Map<number, number>()
  readonly failures: unknown[] = []
  unsettled = 0
  /** Requests that were granted to connections when they lost their sockets. */
  debts = 0
  readonly #conditions: Conditions
  readonly #running: (() => void)[] = []
  readonly #resumable = new ResumableConnections(
    RESUME,
    () => () => {},
    () => {}
  )

  constructor(conditions: Conditions) {
    this.#conditions = conditions
    const { inFlight, foreign, resumes } = conditions
    if (inFlight > 0)
      this.admission = new Admission({
        maxInFlight: inFlight,
        adaptive: undefined,
        now: () => this.clock.time,
        afterTurn() {}
      })
    this.lines = foreign.map((isForeign) => {
      const { newTimer } = this.clock
      const resume = resumes ? RESUME : undefined
      const client = newRsocketClient({ ...LARGE, lease: true, resume, newTimer, keepaliveLifetime: 2e9 })
      const nothing = new Uint8Array()
      return { client, isForeign, output: new FakeOutput(), server: undefined, up: nothing, down: nothing }
    })
    for (const line of this.lines) {
      this.#connect(line)
      // A connection whose SETUP was lost cannot be resumed.
      line.server?.connection.receive(this.#as(line, line.output.sent()))
    }
  }

  do({ what, who, n }: Step): void {
    const line = this.lines[who % this.lines.length] as Line
    if (what === 'emit' || what === 'request')
      for (let count = 0; count <= n % 6; count++) this.#send(line, what)
    else if (what === 'carry') this.#carry(line, n)
    else if (what === 'finish') this.#running.splice(who % Math.max(1, this.#running.length), 1)[0]?.()
    else if (what === 'pass') this.clock.pass(n)
    else if (this.#conditions.resumes) this.#cut(line, what === 'cut')
  }

  /** The network is well again and handlers end: lets everything come to its end. */
  async heal(): Promise<void> {
    for (let round = 0; round < 400 && !this.#isDone; round++) {
      for (const line of this.lines) this.#carry(line, Number.POSITIVE_INFINITY)
      await turn()
      for (const finish of this.#running.splice(0)) finish()
      await turn()
      this.clock.pass(500)
    }
  }

  get #isDone(): boolean {
    // A client may use after a cut the requests that it was granted before, so for a while more may be promised than the limit.
    const isPaidBack = (this.admission?.promised ?? 0) <= this.#conditions.inFlight
    const isAnswered = this.unsettled === 0 && this.#running.length === 0
    return isPaidBack && isAnswered && this.handled.size === this.sent.length
  }

  #send({ client: { caller } }: Line, what: 'emit' | 'request'): void {
    const id = this.sent.push(this.sent.length) - 1
    this.unsettled++
    caller[what]('handle', id).then(
      () => this.unsettled--,
      (error: unknown) => this.failures.push(error)
    )
  }

  #connect(line: Line): void {
    const { admission, refused } = this
    const { perConnection, resumes } = this.#conditions
    const dispatcher = new RouteDispatcher({ handle: (message) => this.#handle(message) })
    line.output = new FakeOutput()
    line.server = newRsocketServer({
      ...LARGE,
      dispatcher: admission === undefined ? dispatcher : wrapDispatcher(dispatcher, [counting(admission)]),
      newTimer: this.clock.newTimer,
      resumable: resumes ? this.#resumable : undefined,
      limits: {
        ...NO_LIMITS,
        maxInFlight: perConnection === 0 ? Number.POSITIVE_INFINITY : perConnection,
        admission,
        refused: (_, why) => refused.push(why)
      }
    })
    line.client.connection.open(line.output)
  }

  #handle({ data }: IncomingMessage): unknown {
    const id = data as number
    this.handled.set(id, (this.handled.get(id) ?? 0) + 1)
    if (id % 3 === 2) return id
    return new Promise<number>((resolve) => this.#running.push(() => resolve(id)))
  }

  /** Delivers up to `n` bytes in each direction; connects first if there is no socket. */
  #carry(line: Line, n: number): void {
    if (line.server === undefined) this.#connect(line)
    const server = line.server as ServerUnderTest
    const up = Buffer.concat([line.up, line.output.sent()])
    line.up = up.subarray(n)
    if (up.length > 0) server.connection.receive(up.slice(0, n))
    const down = Buffer.concat([line.down, server.output.sent()])
    line.down = down.subarray(n)
    if (down.length > 0) line.client.connection.receive(down.slice(0, n))
  }

  /** A client of another library does not say in SETUP that it is one of this library. */
  #as({ isForeign }: Line, setup: Uint8Array): Uint8Array {
    const text = Buffer.from(setup).toString('latin1')
    return Buffer.from(isForeign ? text.replace('going-away', 'other-name') : text, 'latin1')
  }

  /** @param isNoticed whether the server notices at once; otherwise it does when the client resumes */
  #cut(line: Line, isNoticed: boolean): void {
    const { server } = line
    if (server === undefined) return
    const promised = this.admission?.promised ?? 0
    if (isNoticed) server.connection.close()
    this.debts += isNoticed ? promised - (this.admission?.promised ?? 0) : promised
    line.server = undefined
    line.up = new Uint8Array()
    line.down = new Uint8Array()
    line.client.connection.lost()
  }
}

const steps = fc.array(
  fc.record<Step>({
    what: fc.constantFrom('emit', 'request', 'carry', 'carry', 'carry', 'cut', 'lose', 'finish', 'pass'),
    who: fc.nat({ max: 30 }),
    n: fc.nat({ max: 1_500 })
  }),
  { maxLength: 50, size: 'max' }
)

const conditions = fc.record<Conditions>({
  inFlight: fc.constantFrom(0, 1, 2, 4, 9),
  perConnection: fc.constantFrom(0, 1, 3),
  resumes: fc.boolean(),
  foreign: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })
})

async function live(given: Conditions, life: readonly Step[]): Promise<void> {
  const world = new World(given)
  const { admission, sent, handled } = world
  const limit = () => given.inFlight + world.debts
  for (const step of life) {
    world.do(step)
    await turn()
    if (admission !== undefined)
      assert.ok(admission.inFlight + admission.promised <= limit(), 'too much was granted')
  }
  await world.heal()
  assert.deepEqual(world.refused, [])
  assert.deepEqual(world.failures, [])
  assert.equal(world.unsettled, 0, 'a call waits for ever')
  assert.deepEqual(
    sent.filter((id) => handled.get(id) !== 1),
    [],
    'not every message was handled once'
  )
  assert.equal(admission?.inFlight ?? 0, 0)
  assert.ok((admission?.promised ?? 0) <= given.inFlight)
}

describe('clients with leases', () => {
  it('lose nothing and wait for nothing, whatever is limited, cut and resumed [property]', () =>
    fc.assert(fc.asyncProperty(conditions, steps, live), { numRuns: runs(60) }))

  it('share the room of the server: two clients lose no event without any fault', () =>
    live({ inFlight: 4, perConnection: 0, resumes: false, foreign: [false, false] }, [
      { what: 'carry', who: 0, n: 1_000 },
      { what: 'carry', who: 1, n: 1_000 },
      { what: 'emit', who: 0, n: 5 },
      { what: 'emit', who: 0, n: 5 },
      { what: 'emit', who: 1, n: 2 },
      { what: 'carry', who: 0, n: 1_000 },
      { what: 'carry', who: 1, n: 1_000 }
    ]))

  it('get the only LEASE of a server without limits also when it was lost with the socket', () =>
    live({ inFlight: 0, perConnection: 0, resumes: true, foreign: [false] }, [
      { what: 'carry', who: 0, n: 0 },
      { what: 'emit', who: 0, n: 1 },
      { what: 'carry', who: 0, n: 0 },
      { what: 'cut', who: 0, n: 0 }
    ]))

  it('have paid for events that are sent again after a resume', () =>
    live({ inFlight: 0, perConnection: 3, resumes: true, foreign: [false] }, [
      { what: 'carry', who: 0, n: 1_000 },
      { what: 'emit', who: 0, n: 5 },
      { what: 'cut', who: 0, n: 0 },
      { what: 'emit', who: 0, n: 5 }
    ]))
})
