/**
 * One connection sends requests without end, as many as its socket accepts: the other connections must still be
 * answered.
 */
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { call, nestRequest, setup, Type } from './frames.ts'
import { withServer } from './process.ts'
import { RawPeer } from './raw-peer.ts'
import { HonestClient } from './tally.ts'

type Protocol = 'nest' | 'rsocket'

const SECONDS = { short: 1, long: 30 }
/** The characters of each request, and the number of requests in each write. */
const SIZE = 20_000
const AT_ONCE = 50
const TEXT = 'x'.repeat(SIZE)

/** Requests behind each other, each with its own number. */
function requests(protocol: Protocol, first: number): Buffer {
  return Buffer.concat(
    Array.from({ length: AT_ONCE }, (_, index) => {
      const number = first + index
      if (protocol === 'nest') return nestRequest('echo', TEXT, String(number))
      return call(Type.REQUEST_RESPONSE, 2 * number + 1, 'echo', TEXT)
    })
  )
}

async function flood(
  server: 'ours' | 'nest',
  protocol: Protocol,
  { length, progress }: Circumstances
): Promise<Row> {
  return withServer(server, {}, async (target) => {
    const honest = new HonestClient(target.port, protocol)
    await honest.answered(100)
    const peer = await RawPeer.connect(target.port)
    peer.read()
    if (protocol === 'rsocket') await peer.sent(setup())
    let sent = 0
    const end = performance.now() + SECONDS[length] * 1_000
    while (performance.now() < end && !peer.closed) {
      await peer.sent(requests(protocol, sent))
      // Otherwise the well-behaved clients in this process would get no turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve))
      sent += AT_ONCE
      progress(`${server}, ${protocol}: ${sent} sent`)
    }
    const wasClosed = peer.closed
    peer.close()
    const tally = await honest.stop()
    const { peakRssMb } = await target.figures()
    const [p99, slowest] = [honest.percentile(0.99), honest.slowest].map((time) => Math.round(time))
    return {
      scenario: `a connection that asks without end, ${SIZE / 1_000} KB each, beside honest ones, ${protocol === 'nest' ? "Nest's wire" : 'RSocket'}`,
      server,
      faults: sent,
      ...tally.columns,
      peakRssMb,
      remark: `honest answers: p99 ${p99} ms, slowest ${slowest} ms`,
      broken: server === 'nest' ? [] : [...tally.broken(true), ...(wasClosed ? ['It was closed'] : [])]
    }
  })
}

export const neighbour: Scenario = {
  name: 'flooding-neighbour',
  // One after the other, because the time that others wait is measured.
  run: async (circumstances) => [
    await flood('ours', 'rsocket', circumstances),
    await flood('ours', 'nest', circumstances),
    await flood('nest', 'nest', circumstances)
  ]
}
