/** Thousands of connections per second are opened and closed, some with RST, some in the middle of their handshake. */
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { nestRequest, setup } from './frames.ts'
import { withServer } from './process.ts'
import { RawPeer } from './raw-peer.ts'
import { HonestClient } from './tally.ts'

const TARGET_RATE = 5_000
const LONG_MS = 20_000
const SHORT_COUNT = 2_000
/** The number of connections that are opened at the same time. */
const AT_ONCE = 64
/**
 * The number of local addresses to connect from: each has about 28,000 ports, and a port cannot be used again for a
 * while.
 */
const ADDRESSES = 32
/** Megabytes that a server may keep after all connections are closed, in its allocator. */
const KEPT_MB = 100
/** Milliseconds within which the server must have forgotten the last connection. */
const FORGETS = 15_000

/** The behaviour of connections, in turn. */
const LIVES: readonly ((peer: RawPeer) => Promise<void> | void)[] = [
  (peer) => peer.close(),
  (peer) => peer.close('rst'),
  async (peer) => {
    await peer.sent(setup().subarray(0, 20))
    peer.close()
  },
  async (peer) => {
    await peer.sent(setup().subarray(0, 20))
    peer.close('rst')
  },
  async (peer) => {
    await peer.sent(nestRequest('later', 'an answer nobody reads'))
    peer.close('rst')
  },
  async (peer) => {
    await peer.sent(setup())
    peer.close()
  }
]

async function comeAndGo({ length, progress }: Circumstances): Promise<Row> {
  return withServer('ours', {}, async (server) => {
    const honest = new HonestClient(server.port, 'rsocket')
    await honest.answered(200)
    const before = await server.figures()
    const began = performance.now()
    let made = 0
    let refused = 0
    const enough = () => (length === 'long' ? performance.now() - began > LONG_MS : made >= SHORT_COUNT)
    const workers = Array.from({ length: AT_ONCE }, async () => {
      while (!enough()) {
        const number = made++
        if (number % 5_000 === 0) progress(`${number} connections`)
        try {
          const peer = await RawPeer.connect(server.port, `127.0.0.${1 + (number % ADDRESSES)}`)
          await LIVES[number % LIVES.length]?.(peer)
        } catch {
          refused++
        }
        const ahead = (number / TARGET_RATE) * 1_000 - (performance.now() - began)
        if (ahead > 5) await new Promise((resolve) => setTimeout(resolve, ahead))
      }
    })
    await Promise.all(workers)
    const seconds = (performance.now() - began) / 1_000
    const after = await server.until(({ connections }) => connections === 1, FORGETS)
    const rssLimitMb = before.rssMb + KEPT_MB
    const settled = await server.until(({ rssMb }) => rssMb <= rssLimitMb, 5_000)
    const tally = await honest.stop()
    return {
      scenario: `${made} connections opened and closed, ${Math.round(made / seconds)} per second, a third with RST, a third in the middle of SETUP`,
      server: 'ours',
      faults: made,
      ...tally.columns,
      peakRssMb: settled.peakRssMb,
      rssLimitMb,
      remark: `${after.connections - 1} left; RSS ${before.rssMb} MB before, ${settled.rssMb} MB after (limit: ${KEPT_MB} MB more than before); ${refused} could not be made; slowest honest answer ${Math.round(honest.slowest)} ms`,
      broken: [
        ...tally.broken(true),
        ...(after.connections === 1
          ? []
          : [`${after.connections - 1} connections are left ${FORGETS} ms after the last`]),
        ...(settled.rssMb > rssLimitMb
          ? [`the server keeps ${settled.rssMb} MB, ${before.rssMb} MB before`]
          : []),
        ...(refused > made / 100 ? [`${refused} connections could not be made`] : [])
      ]
    }
  })
}

export const churn: Scenario = {
  name: 'connection-churn',
  run: async (circumstances) => [await comeAndGo(circumstances)]
}
