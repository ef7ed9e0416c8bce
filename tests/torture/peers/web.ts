/**
 * The WebSocket client over a link that is cut, swallows bytes, freezes, delays or is flooded: the client resumes,
 * and nothing is lost.
 */
import { Link, randomFrom } from '@elysia-microservices/test-support'
import { connect, type UntypedWebClient } from '@elysia-microservices/websocket/client'
import { WebSocket } from 'ws'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { call, setup, Type } from './frames.ts'
import { type ServerProcess, withServer } from './process.ts'
import { SILENT, Tally } from './tally.ts'

const SEED = 20_261_123
const TIMES = { short: 5, long: 100 }
/** The number of callers at the same time, besides a stream and a channel. */
const CALLERS = 8
/**
 * Milliseconds within which a restored link must be used again, and within which a server must have forgotten a
 * client.
 */
const HEALS = 30_000
/** The number of messages, the requests in each message, and their text. */
const FLOOD = { messages: 50, requests: 10, text: 'x'.repeat(20_000) }
/** Node 20 has no WebSocket of its own. */
const type = (globalThis as { WebSocket?: object }).WebSocket ?? WebSocket

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A fault of a link. The link works again afterwards. */
interface Fault {
  readonly title: (times: number) => string
  /** The delay of the link from the beginning. */
  readonly delay?: (random: () => number) => number
  happens(link: Link, random: () => number): Promise<void>
}

const FAULTS: readonly Fault[] = [
  {
    title: (times) => `that is cut ${times} times`,
    happens: async (link) => link.cutAll()
  },
  {
    title: (times) => `that swallows everything for 20 to 200 ms, then is cut, ${times} times`,
    async happens(link, random) {
      link.hold()
      await sleep(20 + random() * 180)
      link.cutAll()
    }
  },
  {
    title: (times) => `of 1 to 31 ms each way, cut ${times} times`,
    delay: (random) => 1 + random() * 30,
    happens: async (link) => link.cutAll()
  },
  {
    title: (times) => `that freezes for 20 to 200 ms, ${times} times`,
    async happens(link, random) {
      link.hold()
      await sleep(20 + random() * 180)
      link.release()
    }
  },
  {
    title: (times) => `beside one that asks without end, 20 KB each, and is cut, ${times} times`,
    happens: async (link) => flood(link.port)
  }
]

/** A client under load. */
class Page {
  readonly tally = new Tally()
  readonly client: UntypedWebClient
  values = 0
  mirrored = 0
  emitted = 0
  #isOver = false
  readonly #loads: Promise<unknown>[]

  constructor(port: number) {
    this.client = connect({
      url: `ws://127.0.0.1:${port}/rsocket`,
      WebSocket: type,
      logger: SILENT,
      // No timeout: calls are answered or hang.
      timeout: false
    })
    this.#loads = [
      ...Array.from({ length: CALLERS }, (_, caller) => this.#ask(caller)),
      this.#emit(),
      this.tally.expect(() => this.#read(), 'each once'),
      this.tally.expect(() => this.#mirror(), 'each once')
    ]
  }

  /** Whether streams, channels and calls have all made progress since `before`. */
  hasGoneOn({ values, mirrored, answered }: ReturnType<Page['progress']>): boolean {
    const now = this.progress()
    // More values than a stream may have requested in advance.
    return now.values > values + 300 && now.mirrored > mirrored && now.answered > answered + CALLERS
  }

  progress() {
    return { values: this.values, mirrored: this.mirrored, answered: this.tally.counts.succeeded }
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#loads)
  }

  async #ask(caller: number): Promise<void> {
    for (let n = 0; !this.#isOver; n++) {
      const key = `${caller}.${n}`
      await this.tally.expect(() => this.client.request('once', key), key)
    }
  }

  async #emit(): Promise<void> {
    for (; !this.#isOver; await sleep(5)) {
      const key = `event ${this.emitted}`
      if ((await this.tally.expect(() => this.client.emit('note', key), undefined)) === 'succeeded')
        this.emitted++
    }
  }

  async #read(): Promise<string> {
    for await (const value of this.client.stream<number>('endless')) {
      if (value !== this.values) return `${value} in place of ${this.values}`
      this.values++
      if (this.#isOver) return 'each once'
      // A pause, so that the stream's demand is interrupted, and not only its speed.
      if (value % 100 === 0) await sleep(1)
    }
    return `the end after ${this.values}`
  }

  async #mirror(): Promise<string> {
    const isOver = () => this.#isOver
    async function* numbers(): AsyncGenerator<number> {
      for (let n = 0; !isOver(); n++, await sleep(1)) yield n
    }
    for await (const value of this.client.stream<number>('mirror', numbers())) {
      if (value !== this.mirrored) return `${value} in place of ${this.mirrored}`
      this.mirrored++
    }
    return isOver() ? 'each once' : `the end after ${this.mirrored}`
  }
}

/** Sends requests without waiting for answers, and closes the connection abruptly. */
async function flood(port: number): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/rsocket`, ['turns.rsocket.elysia-microservices'])
  const closed = new Promise((_resolve, reject) => {
    socket.once('close', (code) => reject(new Error(`The flood was closed with ${code}`)))
  })
  closed.catch(() => {})
  socket.on('error', () => {})
  await Promise.race([closed, new Promise((resolve) => socket.once('open', resolve))])
  const answered = new Promise((resolve) => socket.once('message', resolve))
  socket.send(setup())
  for (let message = 0; message < FLOOD.messages; message++) {
    const requests = Array.from({ length: FLOOD.requests }, (_, n) =>
      call(Type.REQUEST_RESPONSE, 2 * (message * FLOOD.requests + n) + 1, 'echo', FLOOD.text)
    )
    socket.send(Buffer.concat(requests))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.race([closed, answered])
  socket.terminate()
}

async function until(isDone: () => boolean, patience: number): Promise<boolean> {
  for (const end = performance.now() + patience; !isDone(); await sleep(2))
    if (performance.now() > end) return false
  return true
}

async function suffer(
  fault: Fault,
  server: ServerProcess,
  { length, progress }: Circumstances
): Promise<Row> {
  const times = TIMES[length]
  const random = randomFrom(SEED)
  const link = await Link.start(server.port)
  if (fault.delay !== undefined) link.delay = () => fault.delay?.(random) ?? 0
  const page = new Page(link.port)
  const broken: string[] = []
  let worst = 0
  for (let time = 0; time <= times && broken.length === 0; time++) {
    progress(`${fault.title(times)}: ${time}`)
    const before = page.progress()
    if (time > 0) await fault.happens(link, random)
    const whole = performance.now()
    if (!(await until(() => page.hasGoneOn(before), HEALS)))
      broken.push(
        `Not everything had gone on ${HEALS} ms after fault ${time}: ${JSON.stringify([before, page.progress()])}`
      )
    if (time > 0) worst = Math.max(worst, Math.round(performance.now() - whole))
  }
  await page.stop()
  const { emitted, values, mirrored, tally } = page
  const all = await server.until(({ noted }) => noted === emitted, HEALS)
  await page.client.close()
  const left = await server.until(
    ({ connections, streams, running }) => connections + (streams ?? 0) + (running ?? 0) === 0,
    HEALS
  )
  await link.stop()
  const { doubled = 0, peakRssMb, connections, streams, running } = left
  if (all.noted !== emitted) broken.push(`${emitted} events were sent, ${all.noted} came`)
  if (doubled > 0) broken.push(`${doubled} requests or events ran twice`)
  if (connections + (streams ?? 0) + (running ?? 0) > 0)
    broken.push(`the server still has ${connections} connections, ${streams} streams and ${running} handlers`)
  return {
    scenario: `a page's connection ${fault.title(times)}, resumed`,
    server: 'ours',
    faults: times,
    ...tally.columns,
    doubled,
    worstRecoveryMs: worst,
    peakRssMb,
    remark: `a stream of ${values.toLocaleString('en')} values and a channel of ${mirrored.toLocaleString('en')}, each value once; ${emitted.toLocaleString('en')} events`,
    broken: [...broken, ...tally.broken(true)]
  }
}

export const web: Scenario = {
  name: 'pages-on-bad-links',
  async run(circumstances) {
    const rows: Row[] = []
    for (const fault of FAULTS)
      rows.push(await withServer('web', {}, (server) => suffer(fault, server, circumstances)))
    return rows
  }
}
