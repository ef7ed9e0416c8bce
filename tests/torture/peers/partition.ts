/**
 * A link that is partitioned while calls are in flight: their callers must get errors, and calls must succeed when
 * the link is restored.
 */
import { ConnectionError, connect } from 'elysia-microservices/client'
import type { Row } from '../scenario.ts'
import type { ServerProcess } from './process.ts'
import { SILENT, Tally } from './tally.ts'

/** Milliseconds after its lifetime within which a client must notice a partition: the machine may be busy. */
const SLACK = 10_000
/** Milliseconds within which a restored link must be used. */
const HEALS = 30_000
/** The number of calls in flight when the link is partitioned. */
const CALLS = 20

/** A link between client and server. */
export interface PartableLink {
  /** The port of the link on this side. */
  readonly port: number
  /** Partitions the link: nothing arrives from now on, and neither side is told. */
  part(): Promise<void>
  heal(): Promise<void>
}

/** Partitions the link a number of times. @param lifetime the client's `rsocket.keepalive.lifetime` in milliseconds */
export async function partitions(
  server: ServerProcess,
  link: PartableLink,
  times: number,
  lifetime: number,
  progress: (text: string) => void
): Promise<Omit<Row, 'scenario' | 'server'>> {
  const tally = new Tally()
  const noticed: number[] = []
  const recovered: number[] = []
  const client = connect({
    host: '127.0.0.1',
    port: link.port,
    logger: SILENT,
    rsocket: { keepalive: { interval: Math.round(lifetime / 5), lifetime } },
    // Without a timeout and without retries, so that only the partition can end a call.
    timeout: false,
    connectTimeout: 1_000,
    retry: false,
    reconnect: { minDelay: 20, maxDelay: 200 }
  })
  /** The value of a call, or that its connection was lost. */
  const lost = (call: Promise<unknown>) =>
    call.catch((error: unknown) => {
      if (error instanceof ConnectionError) return 'lost'
      throw error
    })
  const longest = (times: readonly number[]) => Math.round(Math.max(0, ...times))
  for (let time = 1; time <= times; time++) {
    progress(`partition ${time} of ${times}`)
    await tally.expect(() => client.request('echo', time), time)
    const waiting = Array.from({ length: CALLS }, () =>
      tally.expect(() => lost(client.request('never')), 'lost')
    )
    await server.until(({ running }) => running === CALLS, HEALS)
    const parted = performance.now()
    await link.part()
    await Promise.all(waiting)
    noticed.push(performance.now() - parted)
    const healed = performance.now()
    await link.heal()
    await tally.expect(() => client.request('echo', 'healed'), 'healed')
    recovered.push(performance.now() - healed)
  }
  await client.close()
  const left = await server.until(({ connections, running }) => connections + (running ?? 0) === 0, HEALS)
  const slowest = longest(noticed)
  return {
    faults: times,
    ...tally.columns,
    worstRecoveryMs: longest(recovered),
    remark: `rsocket.keepalive.lifetime ${lifetime} ms: calls under way were failed after ${slowest} ms at the latest; without timeouts of their own`,
    broken: [
      ...tally.broken(true),
      ...(slowest > lifetime + SLACK ? [`a partition was noticed after ${slowest} ms only`] : []),
      ...(longest(recovered) > HEALS
        ? [`the link was used again only ${longest(recovered)} ms after it healed`]
        : []),
      ...(left.connections + (left.running ?? 0) > 0
        ? [`the server still has ${left.connections} connections and ${left.running} handlers`]
        : [])
    ]
  }
}
