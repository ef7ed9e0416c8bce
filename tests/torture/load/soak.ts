/** Mixed load for a long time: neither memory nor connections, timers or handlers may leak. */
import type { TcpServerStats } from '@elysia-microservices/tcp'
import { pause, until, within } from '@elysia-microservices/test-support'
import type { ClientTransport } from '@elysia-microservices/transport'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { errorsInWords, Ledger } from '../support/ledger.ts'
import { residentMb, type Sample, slope } from '../support/memory.ts'
import { TortureService } from '../support/torture-service.ts'
import { MixedLoad } from './mixed-load.ts'

/** Megabytes per minute by which the server may grow after its warm-up. */
const GROWTH = 1
/** The share of the time for the warm-up. */
const WARM_UP = 0.3
const MINUTES = { short: 1 / 6, long: 10 }

export const soak: Scenario = {
  name: 'soak',
  run: async (circumstances) => [await run(circumstances)]
}

async function run({ length, progress, soakMinutes = MINUTES[length] }: Circumstances): Promise<Row> {
  // The limit is never reached, but with a limit, the service counts its running handlers.
  const service = new TortureService(1, { options: { limits: { inFlight: 10_000 } } })
  const ledger = new Ledger()
  try {
    const [server] = service.servers
    if (server === undefined) throw new Error('There is no server')
    await service.start()
    const load = new MixedLoad(service, ledger)
    load.start()
    const samples: Sample[] = []
    for (let at = 0, start = performance.now(); at < soakMinutes; at = (performance.now() - start) / 60_000) {
      const mb = residentMb(server.pid)
      if (mb !== undefined && at >= soakMinutes * WARM_UP) samples.push({ at, mb })
      progress(
        `${at.toFixed(1)} of ${soakMinutes.toFixed(1)} min, ${ledger.succeeded} succeeded, ${mb?.toFixed(0)} MB`
      )
      await pause(1_000)
    }
    load.stop()
    await ledger.settled()
    const broken = [...load.surprises(), ...(await leftovers(service))]
    const peakRssMb = service.peakMb
    const ended = await service.stop(server, 'SIGTERM')
    // The server ends by itself, but only if no timer or connection is left.
    if (ended?.code !== 0) broken.push(`The server ended with ${ended?.signal ?? ended?.code} after SIGTERM`)
    const runs = service.record.read()
    broken.push(...ledger.untruths(runs))
    const growth = slope(samples)
    if (length === 'long' && growth !== undefined && growth >= GROWTH)
      broken.push(`Memory grows by ${growth.toFixed(2)} MB a minute; less than ${GROWTH} is promised`)
    const minutes = soakMinutes < 1 ? `${Math.round(soakMinutes * 60)} s` : `${soakMinutes} min`
    return {
      scenario: `mixed load for ${minutes}: calls, streams, channels, events, cancels, timeouts, lost connections`,
      server: 'ours',
      faults: load.faults,
      ...ledger.account(runs),
      peakRssMb,
      remark: `${growth === undefined ? 'growth not measured' : `grows by ${growth.toFixed(2)} MB/min`}; failed: ${errorsInWords(ledger.errors)}`,
      broken
    }
  } finally {
    await service.end()
  }
}

/** Sentences about what the server still holds after all callers have gone. */
async function leftovers(service: TortureService): Promise<string[]> {
  await service.closeClients()
  const asker = service.client()
  let last: TcpServerStats | undefined
  const isIdle = async () => {
    last = await ask(asker)
    const { connections, inFlight, streams, unsent, received, waiting } = last
    return connections.current === 1 && inFlight.current + streams + unsent + received + waiting === 0
  }
  return until('The server has nothing open any more', isIdle).then(
    () => [],
    (error: Error) => [`${error.message}: ${JSON.stringify(last)}`]
  )
}

async function ask(client: ClientTransport): Promise<TcpServerStats> {
  return within(
    client.request('stats', undefined, { idempotent: true }),
    'The figures'
  ) as Promise<TcpServerStats>
}
