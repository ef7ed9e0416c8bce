/** Callers that leave streams and calls whose clean-up throws: no other caller may notice. */
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { call, frame, nestRequest, setup, Type } from './frames.ts'
import { type Figures, withServer } from './process.ts'
import { RawPeer } from './raw-peer.ts'
import { HonestClient } from './tally.ts'

type Protocol = 'nest' | 'rsocket'

/** The kinds of streams that a peer opens, by the names in the service's handler `teardown`. */
const KINDS = ['finalize', 'unsubscribe', 'generator', 'abort'] as const
/** The number of peers at the same time. */
const PEERS = 50
const ROUNDS = { short: 3, long: 100 }
/** Milliseconds within which handlers must have begun, or have ended. */
const PATIENCE = 20_000

function opening(protocol: Protocol): Buffer {
  if (protocol === 'nest') return Buffer.concat(KINDS.map((kind) => nestRequest('teardown', kind, kind)))
  return Buffer.concat([
    setup(),
    ...KINDS.map((kind, index) => {
      const type = kind === 'abort' ? Type.REQUEST_RESPONSE : Type.REQUEST_STREAM
      return call(type, 2 * index + 1, 'teardown', kind)
    })
  ])
}

/** Leaves all streams of a peer: in turn by RST, by FIN, and by cancelling if the protocol can. */
async function leave(protocol: Protocol, peer: RawPeer, number: number): Promise<void> {
  if (protocol === 'rsocket' && number % 3 === 0)
    await peer.sent(Buffer.concat(KINDS.map((_, index) => frame(2 * index + 1, Type.CANCEL, 0))))
  else peer.close(number % 2 === 0 ? 'rst' : 'fin')
}

async function comeAndLeave(protocol: Protocol, { length, progress }: Circumstances): Promise<Row> {
  return withServer('ours', {}, async (server) => {
    const honest = new HonestClient(server.port, protocol)
    await honest.answered(100)
    const broken: string[] = []
    let left = 0
    let last: Figures | undefined
    for (let round = 0; round < ROUNDS[length] && broken.length === 0; round++) {
      progress(`${protocol}: ${left} left`)
      const peers = await RawPeer.connectMany(server.port, PEERS)
      for (const peer of peers) {
        peer.read()
        await peer.sent(opening(protocol))
      }
      const expected = PEERS * KINDS.length
      const begun = await server.until(({ running }) => running === expected, PATIENCE)
      if (begun.running !== expected) broken.push(`${begun.running} of ${expected} handlers began`)
      await Promise.all(peers.map((peer, number) => leave(protocol, peer, number)))
      last = await server.until(({ running, streams }) => running === 0 && streams === 0, PATIENCE)
      if (last.running !== 0 || last.streams !== 0)
        broken.push(`${last.running} handlers and ${last.streams} streams are left after their callers`)
      const cut = peers.filter((peer, number) => protocol === 'rsocket' && number % 3 === 0 && peer.closed)
      if (cut.length > 0) broken.push(`${cut.length} connections were closed because of what they cancelled`)
      for (const peer of peers) peer.close()
      left += expected
    }
    const after = await server.until(({ connections }) => connections === 1, PATIENCE)
    if (after.connections !== 1) broken.push(`${after.connections - 1} connections are left`)
    const tally = await honest.stop()
    return {
      scenario: `callers leave calls whose clean-up throws (finalize, unsubscribe, finally, an abort listener), ${PEERS} at a time, ${protocol === 'nest' ? "Nest's wire" : 'RSocket'}`,
      server: 'ours',
      faults: left,
      ...tally.columns,
      peakRssMb: after.peakRssMb,
      remark: `${last?.running} handlers left; slowest honest answer ${Math.round(honest.slowest)} ms`,
      broken: [...tally.broken(true), ...broken]
    }
  })
}

export const teardowns: Scenario = {
  name: 'throwing-teardowns',
  run: (circumstances) =>
    Promise.all([comeAndLeave('rsocket', circumstances), comeAndLeave('nest', circumstances)])
}
