/** Connections that are cut within a frame, at every byte: while the client sends, and while the server answers. */

import { type Cut, Link, randomFrom } from '@elysia-microservices/test-support'
import { connect, RpcError } from 'elysia-microservices/client'
import type { TcpClientOptions } from 'elysia-microservices/tcp'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { type FrameInContext, nestFrames, rsocketFrames } from './frames.ts'
import { type Figures, type ServerProcess, withServer } from './process.ts'
import { RawPeer } from './raw-peer.ts'
import { sample } from './sample.ts'
import { HonestClient, SILENT, Tally } from './tally.ts'

const SEED = 20_261_122
/** How many offsets of each list a short run tries. */
const SHORT = { frames: 120, conversations: 30 }
/** The number of peers of one kind at the same time. */
const AT_ONCE = 20
/** Milliseconds within which a server must have forgotten a connection that was cut. */
const FORGETS = 30_000
/** Milliseconds within which a connection that was cut may be resumed. */
const RESUME_WINDOW = 2_000

/** Options of clients, with one that only tests have: the length of frames that are sent. */
type ConnectOptions = TcpClientOptions & { readonly fragmentSize?: number }

/** Cuts frames of every type at every offset, with plain sockets. */
async function frames(protocol: 'nest' | 'rsocket', circumstances: Circumstances): Promise<Row> {
  const all = (protocol === 'nest' ? nestFrames() : rsocketFrames()).flatMap((frame) =>
    Array.from({ length: frame.frame.length + 1 }, (_, offset) => ({ frame, offset }))
  )
  const chosen = circumstances.length === 'long' ? all : sample(all, SHORT.frames, randomFrom(SEED))
  return withServer('ours', { rsocket: { resume: { window: RESUME_WINDOW } } }, async (server) => {
    const honest = new HonestClient(server.port, protocol)
    await honest.answered(10)
    for (let at = 0; at < chosen.length; at += AT_ONCE) {
      circumstances.progress(`${protocol}: ${at} of ${chosen.length} frames cut`)
      const some = chosen.slice(at, at + AT_ONCE)
      await Promise.all(some.map(({ frame, offset }, n) => cutFrame(server.port, frame, offset, n % 2 === 0)))
    }
    const { broken, figures } = await leaks(server, 1)
    const tally = await honest.stop()
    return {
      scenario: `client cut as it sends, ${kindOf(protocol)} frames of every type, at ${chosen.length} of ${all.length} offsets`,
      server: 'ours',
      faults: chosen.length,
      ...tally.columns,
      peakRssMb: figures.peakRssMb,
      broken: [...broken, ...tally.broken(true)]
    }
  })
}

async function cutFrame(
  port: number,
  { before, frame }: FrameInContext,
  offset: number,
  reset: boolean
): Promise<void> {
  const peer = await RawPeer.connect(port)
  await peer.sent(Buffer.concat([before, frame.subarray(0, offset)]))
  peer.close(reset ? 'rst' : 'fin')
}

/** Cuts conversations of our client at every byte that one side sends. */
async function conversations(
  name: string,
  options: ConnectOptions,
  serverOptions: object,
  circumstances: Circumstances
): Promise<Row[]> {
  return withServer('ours', serverOptions, async (server) => {
    const link = await Link.start(server.port)
    try {
      await converse({ ...options, port: link.port }, new Tally(), 'uncut')
      const said = { ...link.said }
      const rows: Row[] = []
      for (const of of ['client', 'server'] as const) {
        const all = Array.from({ length: said[of] + 1 }, (_, after) => after)
        const chosen =
          circumstances.length === 'long' ? all : sample(all, SHORT.conversations, randomFrom(SEED))
        const tally = new Tally()
        link.cut = 0
        for (const after of chosen) {
          circumstances.progress(`${name}: ${of} cut after ${after} of ${said[of]} bytes`)
          await cutConversation(link, options, { of, after, how: after % 2 === 0 ? 'fin' : 'rst' }, tally)
        }
        const { broken, figures } = await leaks(server, 0)
        // A server that has received all of SETUP knows the connection: nothing may be lost when it is resumed.
        const mustSucceed = options.rsocket?.resume !== undefined && of === 'server'
        const whole = link.cut === 0 ? ['no connection was cut'] : []
        rows.push({
          scenario: `${of} cut as it ${of === 'client' ? 'sends' : 'answers'}, ${name}, at ${chosen.length} of ${all.length} offsets`,
          server: 'ours',
          faults: link.cut,
          ...tally.columns,
          doubled: figures.doubled ?? 0,
          peakRssMb: figures.peakRssMb,
          remark: mustSucceed
            ? 'resumed, and cut again while resuming'
            : 'every request of the client that was cut settles once',
          broken: [...broken, ...whole, ...tally.broken(mustSucceed), ...doubled(figures)]
        })
      }
      return rows
    } finally {
      await link.stop()
    }
  })
}

async function cutConversation(link: Link, options: ConnectOptions, cut: Cut, tally: Tally): Promise<void> {
  // If the client resumes, its second connection is cut, too, in the middle of resuming.
  link.cuts = options.rsocket?.resume === undefined ? [cut] : [cut, { ...cut, after: cut.after % 40 }]
  await converse({ ...options, port: link.port }, tally, `${cut.of} ${cut.after}`)
  link.cuts = []
}

/** Makes all kinds of calls at the same time over one connection. */
async function converse(options: ConnectOptions, tally: Tally, key: string): Promise<void> {
  const client = connect({
    host: '127.0.0.1',
    logger: SILENT,
    timeout: 20_000,
    retry: false,
    reconnect: false,
    ...options
  })
  const text = 'an answer of some length, so that it has to be cut into fragments: aé€😀'.repeat(2)
  const refused = async () => {
    await client.request('fail').catch((error: unknown) => {
      if (!(error instanceof RpcError) || error.code !== 'REFUSED') throw error
    })
  }
  const firstTwo = async () => {
    const values: unknown[] = []
    for await (const value of client.stream('endless')) if (values.push(value) === 2) break
    return values
  }
  const calls = [
    tally.expect(() => client.request('once', key), key),
    tally.expect(() => client.request('later', text), text),
    tally.expect(() => all(client.stream('count', 3)), [0, 1, 2]),
    tally.expect(refused, undefined),
    tally.expect(() => client.emit('note', key), undefined)
  ]
  if (options.protocol === 'rsocket') {
    calls.push(tally.expect(firstTwo, [0, 1]))
    calls.push(tally.expect(() => client.request('sum', numbers()), 6))
  }
  await Promise.all(calls)
  await client.close()
}

async function* numbers(): AsyncGenerator<number> {
  yield* [1, 2, 3]
}

async function all(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of stream) values.push(value)
  return values
}

/** Sentences about what the server still holds of closed connections. */
async function leaks(server: ServerProcess, honest: number): Promise<{ broken: string[]; figures: Figures }> {
  const clean = ({ connections, streams, running }: Figures) =>
    connections === honest && streams === 0 && running === 0
  const figures = await server.until(clean, FORGETS)
  const { connections, streams, running } = figures
  const left = `${connections - honest} connections, ${streams} streams and ${running} handlers`
  return {
    figures,
    broken: clean(figures) ? [] : [`the server still has ${left} ${FORGETS} ms after the last cut`]
  }
}

function doubled({ doubled = 0 }: Figures): string[] {
  return doubled === 0 ? [] : [`${doubled} requests were run twice`]
}

function kindOf(protocol: 'nest' | 'rsocket'): string {
  return protocol === 'nest' ? "Nest's" : 'RSocket'
}

export const cuts: Scenario = {
  name: 'cut-frames',
  async run(circumstances) {
    const rsocket = { protocol: 'rsocket' } as const
    const conversing = (name: string, options: ConnectOptions, serverOptions: object = {}) =>
      conversations(name, options, serverOptions, circumstances)
    return [
      await frames('rsocket', circumstances),
      await frames('nest', circumstances),
      ...(await conversing("Nest's wire", { protocol: 'nest' })),
      ...(await conversing('RSocket', rsocket)),
      ...(await conversing(
        'RSocket in fragments, with leases',
        { ...rsocket, fragmentSize: 64, rsocket: { lease: true } },
        { fragmentSize: 64, limits: { inFlightPerConnection: 100 } }
      )),
      ...(await conversing(
        'RSocket, resumed',
        { ...rsocket, rsocket: { resume: { window: RESUME_WINDOW } } },
        { rsocket: { resume: { window: RESUME_WINDOW } } }
      ))
    ]
  }
}
