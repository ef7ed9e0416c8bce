/** A thousand peers that connect and then send nothing, stop half-way, send a byte now and then, or never read. */
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { onEachServer } from './attacks.ts'
import { call, nestRequest, setup, Type } from './frames.ts'
import { type ServerProcess, withServer } from './process.ts'
import { RawPeer } from './raw-peer.ts'
import { HonestClient } from './tally.ts'

type Protocol = 'nest' | 'rsocket'
const MB = 1024 * 1024
/** The size of the answers that a peer requests and never reads, and their number. */
const ANSWER = 64 * 1024
const ROUNDS = 96
const QUESTIONS_PER_ROUND = 8
/** The size of an answer for which neither the system nor `limits.sendBuffer` has room. */
const HUGE = 8 * MB
const HUGE_ROUNDS = 90
/** Milliseconds within which the peers must have read, at the end, all that was sent. */
const READS = 20_000
/** Megabytes that NestJS may use before it gets no further requests. */
const CAP_MB = 500
/** Megabytes of a process that do not depend on its peers: garbage that was not collected yet. */
const SLACK_MB = 150

const TIMES = {
  short: { incompleteMessage: 600, handshake: 600, idle: 800 },
  // The first two are the defaults; there is no default for `idle`.
  long: { incompleteMessage: 30_000, handshake: 10_000, idle: 20_000 }
}

/** Our limits; for NestJS, those that it has, under its own names. */
function limitsOf(server: 'ours' | 'nest', length: Circumstances['length']): object {
  const times = TIMES[length]
  if (server === 'ours') return { limits: { receiveBuffer: MB, sendBuffer: MB, ...times } }
  return { maxBufferSize: MB, maxSendBufferSize: MB, incompleteMessageTimeout: times.incompleteMessage }
}

/** The behaviour of a peer, and the limit that must end its connection. */
interface Kind {
  readonly name: string
  readonly endedBy: string | undefined
  /** Does the next step; some steps are repeated. */
  act(peer: RawPeer, round: number, index: number): unknown
}

const first = (bytes: Buffer) => (peer: RawPeer, round: number) => {
  if (round === 0) peer.send(bytes)
}

/** @param interval milliseconds between two bytes of the peers that send slowly */
function kinds(protocol: Protocol, interval: number): Kind[] {
  const open = protocol === 'nest' ? Buffer.alloc(0) : setup()
  const big = (size: number, id: number) =>
    protocol === 'nest'
      ? nestRequest('big', size, String(id))
      : call(Type.REQUEST_RESPONSE, 2 * id + 1, 'big', size)
  const half = protocol === 'nest' ? nestRequest('echo', 'half of it').subarray(0, 30) : open.subarray(0, 30)
  const many = Array.from({ length: QUESTIONS_PER_ROUND }, (_, n) => n)
  const dripped = protocol === 'nest' ? Buffer.from(`1000000#"${'x'.repeat(64)}`) : open
  return [
    { name: 'silent', endedBy: 'limits.idle', act() {} },
    {
      name: 'half a message',
      endedBy: protocol === 'nest' ? 'limits.incompleteMessage' : 'limits.handshake',
      act: first(half)
    },
    {
      name: 'half a request',
      endedBy: 'limits.incompleteMessage',
      act: first(Buffer.concat([open, big(1, 0)]).subarray(0, -5))
    },
    {
      name: 'drips',
      endedBy: protocol === 'nest' ? 'limits.incompleteMessage' : 'limits.handshake',
      act: (peer, round) => round === 0 && peer.drip(dripped, interval)
    },
    {
      name: 'never reads one huge answer',
      endedBy: 'limits.sendBuffer',
      // Only a few peers act at a time: an answer of this size is in memory once its handler returns it, whatever the
      // limits are.
      act: (peer, round, index) =>
        round === index % HUGE_ROUNDS && peer.send(Buffer.concat([open, big(HUGE, 0)]))
    },
    {
      name: 'never reads, asks on and on',
      endedBy: 'limits.incompleteMessage',
      act: (peer, round) => {
        const questions = many.map((n) => big(ANSWER, round * QUESTIONS_PER_ROUND + n))
        peer.send(Buffer.concat([...(round === 0 ? [open] : []), ...questions]))
      }
    },
    {
      name: 'never reads, stops asking',
      // Or `limits.incompleteMessage`, for peers whose last requests are not answered any more.
      endedBy: 'limits.idle',
      act: (peer, round, index) => {
        // The system buffers some megabytes, so each peer stops at another amount: one of them when only a little
        // waits in the server.
        const questions = round > 20 + (index % 61) ? [] : [big(ANSWER, round)]
        peer.send(Buffer.concat([...(round === 0 ? [open] : []), ...questions]))
      }
    }
  ]
}

async function attack(
  server: 'ours' | 'nest',
  protocol: Protocol,
  { length, progress }: Circumstances
): Promise<Row> {
  const count = length === 'long' ? 1_000 : 105
  return withServer(server, limitsOf(server, length), async (target) => {
    const honest = new HonestClient(target.port, protocol)
    await honest.answered(200)
    const before = await target.figures()
    const all = kinds(protocol, length === 'long' ? 1_000 : 100)
    const peers = (await RawPeer.connectMany(target.port, count)).map((peer, n) => ({
      peer,
      kind: all[n % all.length] as Kind
    }))
    const asked = await ask(target, peers, server === 'nest', progress)
    const staying = peers.filter(({ kind }) => kind.endedBy === undefined).length
    const wait = 2 * Math.max(...Object.values(TIMES[length])) + (server === 'ours' ? 15_000 : 0)
    progress(`${server}, ${protocol}: waits for the limits`)
    const began = performance.now()
    const after = await target.until(({ connections }) => connections <= staying + 1, wait)
    const waited = Math.round(performance.now() - began)
    const peak = await target.figures()
    for (const { peer } of peers) peer.read()
    // A peer notices the end of its connection only behind the megabytes that the system has buffered.
    const living = () => peers.filter(({ peer }) => !peer.closed)
    await target.until(() => living().length < after.connections, READS)
    const open = new Map(all.map(({ name }) => [name, 0]))
    for (const { kind } of living()) open.set(kind.name, (open.get(kind.name) ?? 0) + 1)
    for (const { peer } of peers) peer.close('rst')
    const tally = await honest.stop()
    const still = [...open].filter(([, number]) => number > 0).map(([name, number]) => `${number} ${name}`)
    const rssLimitMb = before.rssMb + SLACK_MB + Math.ceil((count * 2 * MB) / 1e6)
    const left = after.connections - 1 - staying
    const broken = [
      ...tally.broken(true),
      ...(left > 0 ? [`${left} connections were not closed by the limits: ${still.join(', ')}`] : []),
      ...(peak.peakRssMb > rssLimitMb
        ? [`the server held ${peak.peakRssMb} MB, its limits allow ${rssLimitMb} MB`]
        : [])
    ]
    return {
      scenario: `${count} half-open peers (${all.map(({ name }) => name).join('; ')}), ${protocol === 'nest' ? "Nest's wire" : 'RSocket'}`,
      server,
      faults: count,
      ...tally.columns,
      peakRssMb: peak.peakRssMb,
      rssLimitMb,
      remark: `${after.connections - 1} of ${count} still connected after ${waited} ms${still.length === 0 ? '' : ` (${still.join(', ')})`}; ${asked}; limit: ${before.rssMb} MB before, 1 MiB received and 1 MiB unsent a connection, ${SLACK_MB} MB of garbage`,
      broken: server === 'nest' ? [] : broken
    }
  })
}

/**
 * Lets all peers do their steps, round by round. @param capped whether to stop when the server uses too much memory
 */
async function ask(
  target: ServerProcess,
  peers: readonly { peer: RawPeer; kind: Kind }[],
  capped: boolean,
  progress: Circumstances['progress']
): Promise<string> {
  for (let round = 0; round < ROUNDS; round++) {
    const { rssMb } = await target.figures()
    if (capped && rssMb > CAP_MB) return `asking stopped at ${CAP_MB} MB, in round ${round + 1} of ${ROUNDS}`
    progress(`round ${round + 1} of ${ROUNDS}, ${rssMb} MB`)
    // The peers of a round act one after the other, so that the growth of memory is noticed.
    for (const [index, { peer, kind }] of peers.entries()) {
      kind.act(peer, round, index)
      if (index % 50 === 49) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return `${ROUNDS} rounds of questions`
}

export const halfOpen: Scenario = {
  name: 'half-open-peers',
  run: (circumstances) => onEachServer(attack, circumstances)
}
