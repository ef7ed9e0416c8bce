/** Strangers that speak HTTP/2 as no client of gRPC does, while honest clients are answered. */

import { grpc } from '@elysia-microservices/grpc'
import {
  data,
  frame,
  headers,
  PREFACE_BYTES,
  ping,
  reset,
  settings,
  uint32,
  windowUpdate
} from '@elysia-microservices/grpc/testing'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { begun, callOf, fieldsOf, METHODS } from './grpc-methods.ts'
import { withServer } from './process.ts'
import { RawPeer } from './raw-peer.ts'
import { HonestClient } from './tally.ts'

const MB = 1024 * 1024
/**
 * Milliseconds of the limits that end those who only wait. Honest clients are in the process that attacks, so that on a busy
 * machine they stand still for seconds, too.
 */
const LIMITS = {
  receiveBuffer: MB,
  sendBuffer: 4 * MB,
  incompleteMessage: 600,
  handshake: 600,
  idle: 5_000,
  silence: 1_500
}
/** Milliseconds within which every stranger must be gone. */
const PATIENCE = 30_000
/** Megabytes that the server may need beside what its limits allow: garbage that was not collected yet. */
const SLACK_MB = 200

const OPEN = Buffer.concat([PREFACE_BYTES, settings()])
const [HEADERS, CONTINUATION, END_HEADERS] = [1, 9, 4]
const INITIAL_WINDOW_SIZE = 4
const MOST = 2 ** 31 - 1

const several = (count: number, make: (at: number) => Uint8Array) =>
  Buffer.concat(Array.from({ length: count }, (_, at) => make(at)))
const idOf = (at: number) => 2 * at + 1

/** One field of 4,000 bytes, put into the table, and then named thousands of times. */
function bomb(): Buffer {
  const [name, value] = [Buffer.from('a'), Buffer.alloc(4_000, 'x')]
  // RFC 7541: a literal with incremental indexing, its lengths as numbers with prefixes of 7 bits; then index 62.
  const literal = Buffer.concat([Uint8Array.of(0x40, 1), name, Uint8Array.of(127, 0xa1, 0x1e), value])
  return Buffer.concat([literal, Buffer.alloc(4_000, 0x80 | 62)])
}

/** Numbers that look random, and are the same in every run. */
function noise(length: number, seed: number): Buffer {
  let state = seed
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length; at++) {
    state = (state * 48_271) % 2_147_483_647
    bytes[at] = state & 0xff
  }
  return bytes
}

/** The bytes of a stranger, once it is connected. It reads nothing, unless `reads`. */
interface Kind {
  readonly name: string
  readonly reads?: true
  act(peer: RawPeer, index: number): void
}

const KINDS: readonly Kind[] = [
  { name: 'silent', act() {} },
  { name: 'half a preface', act: (peer) => peer.send(OPEN.subarray(0, 10)) },
  {
    name: 'half a frame',
    act: (peer) => peer.send(Buffer.concat([OPEN, callOf(1, 'echo', '1').subarray(0, 20)]))
  },
  {
    name: 'a byte now and then',
    act: (peer) => peer.drip(Buffer.concat([OPEN, frame(HEADERS, 0, 1, [], 16_000)]), 50)
  },
  {
    name: 'noise',
    reads: true,
    act: (peer, index) => peer.send(Buffer.concat([OPEN, noise(5_000, index + 1)]))
  },
  {
    name: 'broken calls',
    reads: true,
    act(peer, index) {
      const call = callOf(1, 'echo', '"text"')
      // A byte of the call is another one, behind the preface.
      call[(index * 7) % call.length] = index & 0xff
      peer.send(Buffer.concat([OPEN, call]))
    }
  },
  {
    name: 'rapid reset',
    act: (peer) =>
      peer.send(
        Buffer.concat([
          OPEN,
          several(5_000, (at) => Buffer.concat([begun(idOf(at), 'endless'), reset(idOf(at), 8)]))
        ])
      )
  },
  {
    name: 'endless fields',
    act: (peer) =>
      peer.send(
        Buffer.concat([
          OPEN,
          frame(HEADERS, 0, 1, [0x82]),
          several(10_000, () => frame(CONTINUATION, 0, 1, [0x82]))
        ])
      )
  },
  {
    name: 'bombs of fields',
    act: (peer) =>
      peer.send(Buffer.concat([OPEN, several(1_500, (at) => frame(HEADERS, END_HEADERS, idOf(at), bomb()))]))
  },
  { name: 'PING on and on', act: (peer) => peer.send(Buffer.concat([OPEN, several(50_000, () => ping(1))])) },
  {
    name: 'windows of a byte',
    act: (peer) =>
      peer.send(
        Buffer.concat([
          PREFACE_BYTES,
          settings([INITIAL_WINDOW_SIZE, 0]),
          several(50, (at) => callOf(idOf(at), 'big', '100000')),
          several(20_000, (at) => windowUpdate(idOf(at % 50), 1))
        ])
      )
  },
  {
    name: 'a window that is too large',
    reads: true,
    act: (peer) =>
      peer.send(
        Buffer.concat([OPEN, callOf(1, 'big', '100000'), windowUpdate(0, MOST), windowUpdate(0, MOST)])
      )
  },
  {
    name: 'never reads',
    act: (peer) =>
      peer.send(
        Buffer.concat([
          PREFACE_BYTES,
          settings([INITIAL_WINDOW_SIZE, MOST]),
          windowUpdate(0, MOST - 65_535),
          several(100, (at) => callOf(idOf(at), at % 2 === 0 ? 'big' : 'endless', '200000'))
        ])
      )
  },
  {
    name: 'no windows for endless streams',
    act: (peer) =>
      peer.send(
        Buffer.concat([
          PREFACE_BYTES,
          settings([INITIAL_WINDOW_SIZE, 0]),
          several(500, (at) => callOf(idOf(at), 'endless', '1'))
        ])
      )
  },
  {
    name: 'calls without messages',
    act: (peer) => peer.send(Buffer.concat([OPEN, several(900, (at) => begun(idOf(at), 'echo'))]))
  },
  {
    name: 'halves of messages',
    act: (peer) =>
      peer.send(
        Buffer.concat([
          OPEN,
          several(100, (at) => {
            const half = Buffer.concat([Uint8Array.of(0), uint32(4 * MB), Buffer.alloc(15_000)])
            return Buffer.concat([begun(idOf(at), at % 2 === 0 ? 'echo' : 'sum'), data(idOf(at), half)])
          })
        ])
      )
  },
  {
    name: 'long fields',
    reads: true,
    act: (peer) =>
      peer.send(
        Buffer.concat([
          OPEN,
          several(200, (at) =>
            headers(idOf(at), [
              ...fieldsOf('echo'),
              ...Array.from({ length: 120 }, () => ['x-a', 'y'.repeat(100)] as const)
            ])
          )
        ])
      )
  }
]

async function attack({ length, progress }: Circumstances): Promise<Row> {
  const each = length === 'long' ? 20 : 4
  return withServer('grpc', { limits: LIMITS }, async (server) => {
    const transport = grpc({
      host: '127.0.0.1',
      port: server.port,
      proto: METHODS,
      retry: false,
      reconnect: false
    })
    const honest = new HonestClient(server.port, transport)
    await honest.answered(100)
    const before = await server.figures()
    const peers = await RawPeer.connectMany(server.port, each * KINDS.length)
    for (const [index, peer] of peers.entries()) {
      const kind = KINDS[index % KINDS.length] as Kind
      if (kind.reads) peer.read()
      kind.act(peer, index)
      if (index % KINDS.length === 0) progress(`${index} of ${peers.length} strangers`)
      // One after the other, so that honest calls come between them.
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const after = await server.until(
      ({ connections, running, inFlight = 0 }) => connections === 1 && running === 0 && inFlight <= 2,
      PATIENCE
    )
    // A peer notices the end of its connection only behind the bytes that the system has buffered.
    for (const peer of peers) peer.read()
    const left = () => peers.filter(({ closed }) => !closed).length
    for (let waited = 0; left() > 0 && waited < PATIENCE; waited += 20)
      await new Promise((resolve) => setTimeout(resolve, 20))
    const still = new Set(
      peers.flatMap(({ closed }, index) => (closed ? [] : [KINDS[index % KINDS.length]?.name]))
    )
    for (const peer of peers) peer.close('rst')
    const tally = await honest.stop()
    const { peakRssMb } = await server.figures()
    const rssLimitMb = before.rssMb + SLACK_MB
    const broken = [
      ...tally.broken(true),
      ...(after.connections > 1 ? [`${after.connections - 1} connections are left`] : []),
      ...(still.size > 0 ? [`strangers were not cut: ${[...still].join(', ')}`] : []),
      ...(after.running === 0 ? [] : [`${after.running} handlers still run`]),
      ...(peakRssMb > rssLimitMb ? [`the server held ${peakRssMb} MB; ${rssLimitMb} MB are allowed`] : [])
    ]
    return {
      scenario: `strangers over gRPC (${KINDS.map(({ name }) => name).join('; ')})`,
      server: 'ours',
      faults: peers.length,
      ...tally.columns,
      peakRssMb,
      rssLimitMb,
      remark: `the slowest honest answer took ${Math.round(honest.slowest)} ms`,
      broken
    }
  })
}

export const grpcStrangers: Scenario = {
  name: 'strangers-grpc',
  run: async (circumstances) => [await attack(circumstances)]
}
