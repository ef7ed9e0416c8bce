/** Frames and headers that are larger than the limits, or announce that they are. */
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { onEachServer } from './attacks.ts'
import { call, Flag, frame, headers, nestRequest, route, setup, Type, uint } from './frames.ts'
import { withServer } from './process.ts'
import { RawPeer } from './raw-peer.ts'
import { HonestClient } from './tally.ts'

type Protocol = 'nest' | 'rsocket'
const MB = 1024 * 1024
const LIMITS = {
  receiveBuffer: MB,
  messageSize: MB,
  sendBuffer: 8 * MB,
  incompleteMessage: 1_000,
  handshake: 1_000
}
/** The same limits for NestJS. */
const OF_NEST = {
  maxBufferSize: LIMITS.receiveBuffer,
  maxSendBufferSize: LIMITS.sendBuffer,
  incompleteMessageTimeout: LIMITS.incompleteMessage
}
/** Megabytes that a process may use besides what its limits allow: garbage that was not collected yet. */
const SLACK_MB = 150
/**
 * Megabytes that the limits allow for a connection: a frame of `limits.receiveBuffer`, twice while its chunks are
 * joined.
 */
const PER_PEER_MB = 2
/** Milliseconds within which our server must have closed all connections. */
const PATIENCE = 30_000
/** As with half-open peers: NestJS gets nothing more when it uses this many megabytes. */
const CAP_MB = 500

interface Shape {
  readonly name: string
  readonly parts: readonly Buffer[]
  /** A text in the answer on a connection that may stay open; without it, the connection must be closed. */
  readonly answered?: string
}

function rsocketShapes(): Shape[] {
  const open = setup()
  const huge = Buffer.alloc(16 * MB - 1, 0x20)
  const half = Buffer.alloc(64 * 1024, 0x20)
  const fragment = frame(1, Type.PAYLOAD, Flag.NEXT | Flag.FOLLOWS, half)
  const begin = call(Type.REQUEST_RESPONSE, 1, 'echo', 1, Flag.FOLLOWS)
  const byBytes = repeated(frame(1, Type.PAYLOAD, Flag.NEXT | Flag.FOLLOWS, ' '), 800_000)
  const value = frame(1, Type.PAYLOAD, Flag.NEXT, JSON.stringify('x'.repeat(10_000)))
  const request = (...body: Buffer[]) => frame(1, Type.REQUEST_RESPONSE, Flag.METADATA, ...body)
  const largeHeaders = headers({ large: 'x'.repeat(100_000) })
  return [
    { name: 'first frame of 16 MiB announced', parts: [uint(3, 0xffffff), half] },
    { name: 'frame of 16 MiB announced', parts: [open, uint(3, 0xffffff), half] },
    { name: 'frame of 16 MiB sent', parts: [open, uint(3, huge.length), uint(4, 1), uint(2, 4 << 10), huge] },
    { name: 'frame of 2 bytes announced', parts: [open, uint(3, 2), half] },
    {
      name: 'fragments without end',
      parts: [open, begin, repeated(fragment, 64)]
    },
    { name: '800,000 fragments of a byte', parts: [open, begin, byBytes], answered: '' },
    {
      name: '1,000 values of 10 kB for a channel nobody reads',
      parts: [open, call(Type.REQUEST_CHANNEL, 1, 'never', 1), repeated(value, 1_000)],
      answered: 'The caller has sent far more values than it was granted'
    },
    { name: 'SETUP with 100 kB of metadata', parts: [setup({ metadata: largeHeaders })] },
    { name: 'metadata longer than its frame', parts: [open, request(uint(3, 0xffffff), half)] },
    {
      name: 'request with 100 kB of headers',
      parts: [open, request(route('echo', largeHeaders))],
      answered: 'limits.headerSize'
    },
    {
      name: 'composite metadata that lies about its length',
      parts: [open, request(uint(3, 5), Buffer.of(0xfe, 0xff, 0xff, 0xff, 0))],
      answered: ''
    }
  ]
}

function repeated(bytes: Buffer, count: number): Buffer {
  return Buffer.alloc(bytes.length * count, bytes)
}

function nestShapes(): Shape[] {
  const huge = Buffer.alloc(2 * MB, 0x31)
  return [
    { name: 'a gigabyte announced', parts: [Buffer.from('1000000000#"half')] },
    { name: 'a gigabyte announced, 2 MiB sent', parts: [Buffer.from('1000000000#"'), huge] },
    { name: 'more digits than a number has', parts: [Buffer.from('9'.repeat(400)), Buffer.from('#{}')] },
    { name: 'a length without end', parts: [huge] },
    { name: 'a negative length', parts: [Buffer.from('-5#{}')] },
    { name: 'a length that is none', parts: [Buffer.from('1x#{}12y#{}z#')] },
    { name: 'a message of 2 MiB', parts: [nestRequest('echo', 'x'.repeat(2 * MB))] },
    { name: 'a pattern of 2 MiB', parts: [nestRequest('x'.repeat(2 * MB), 1)] },
    {
      name: 'arrays 200,000 deep',
      parts: [deep(200_000)],
      answered: ''
    }
  ]
}

function deep(levels: number): Buffer {
  // An event, because a request would be answered with the same data as JSON: in Bun 1.4.5 that takes half a second
  // until the stack overflows.
  const json = `{"pattern":"note","data":${'['.repeat(levels)}${']'.repeat(levels)}}`
  return Buffer.from(`${json.length}#${json}`)
}

async function attack(
  server: 'ours' | 'nest',
  protocol: Protocol,
  circumstances: Circumstances
): Promise<Row> {
  const shapes = protocol === 'nest' ? nestShapes() : rsocketShapes()
  const each = circumstances.length === 'long' ? 100 : 2
  return withServer(server, server === 'ours' ? { limits: LIMITS } : OF_NEST, async (target) => {
    const honest = new HonestClient(target.port, protocol)
    await honest.answered(200)
    const before = await target.figures()
    const peers: { peer: RawPeer; shape: Shape }[] = []
    let sending = ''
    for (const shape of shapes) {
      circumstances.progress(`${server}, ${protocol}: ${shape.name}`)
      const some = await RawPeer.connectMany(target.port, each)
      for (const peer of some) {
        peer.read()
        peers.push({ peer, shape })
        if (server === 'nest' && (await target.figures()).rssMb > CAP_MB)
          sending = `sending stopped at ${CAP_MB} MB; `
        else await peer.sent(Buffer.concat(shape.parts))
      }
    }
    const mayStay = (shape: Shape) => shape.answered !== undefined
    const wait = server === 'ours' ? PATIENCE : 3 * LIMITS.incompleteMessage
    const began = performance.now()
    const stillOpen = () => peers.filter(({ peer, shape }) => !peer.closed && !mayStay(shape))
    const unanswered = () =>
      peers.filter(({ peer, shape }) => shape.answered && !peer.received.includes(shape.answered))
    const after = await target.until(() => stillOpen().length === 0 && unanswered().length === 0, wait)
    const open = stillOpen()
    const untold = unanswered().length
    const waited = Math.round(performance.now() - began)
    for (const { peer } of peers) peer.close()
    const tally = await honest.stop()
    const rssLimitMb = before.rssMb + SLACK_MB + peers.length * PER_PEER_MB
    const names = [...new Set(open.map(({ shape }) => shape.name))].join('; ')
    const broken = [
      ...tally.broken(true),
      ...(open.length > 0 ? [`${open.length} connections were not closed: ${names}`] : []),
      ...(untold > 0 ? [`${untold} were not told what they did wrong`] : []),
      ...(after.peakRssMb > rssLimitMb
        ? [`it held ${after.peakRssMb} MB, its limits allow ${rssLimitMb} MB`]
        : [])
    ]
    return {
      scenario: `oversized frames, ${each} of each: ${shapes.map(({ name }) => name).join('; ')}`,
      server,
      faults: peers.length,
      ...tally.columns,
      peakRssMb: after.peakRssMb,
      rssLimitMb,
      remark: `${sending}${open.length} still connected after ${waited} ms${names === '' ? '' : ` (${names})`}; limit: ${before.rssMb} MB before, ${PER_PEER_MB} MB a connection (limits.receiveBuffer 1 MiB), ${SLACK_MB} MB of garbage`,
      broken: server === 'nest' ? [] : broken
    }
  })
}

export const oversized: Scenario = {
  name: 'oversized-frames',
  run: (circumstances) => onEachServer(attack, circumstances)
}
