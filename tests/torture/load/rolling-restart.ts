/** Servers are stopped by SIGTERM and started again, one after the other, under load. */

import { within } from '@elysia-microservices/test-support'
import type { ClientTransport } from '@elysia-microservices/transport'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { errorsInWords, Ledger } from '../support/ledger.ts'
import { TortureService } from '../support/torture-service.ts'
import { amidCalls } from './callers.ts'

const SERVERS = 3
const CALLERS = 16

export const rollingRestarts: readonly Scenario[] = [false, true].flatMap((isGrpc) =>
  [false, true].map((idempotent) => ({
    name: `rolling-restart${isGrpc ? '-grpc' : ''}${idempotent ? '-idempotent' : ''}`,
    run: async (circumstances) => [await restart(idempotent, isGrpc, circumstances)]
  }))
)

/** Resolves when this number of further connections is established. */
function connections(client: ClientTransport, count: number): Promise<void> {
  return new Promise((resolve) => {
    let made = 0
    const stop = client.onStatus(({ type }) => {
      if (type !== 'connected' || ++made < count) return
      stop()
      resolve()
    })
  })
}

async function restart(
  idempotent: boolean,
  isGrpc: boolean,
  { length, progress }: Circumstances
): Promise<Row> {
  const rounds = length === 'long' ? 20 : 2
  const service = new TortureService(SERVERS, { isGrpc })
  const ledger = new Ledger()
  try {
    await service.start()
    const client = service.client({ reconnect: { minDelay: 10, maxDelay: 250 } })
    const all = connections(client, SERVERS)
    await client.connect()
    await within(all, 'The client connects to all servers')
    const broken: string[] = []
    const restarts = async () => {
      for (let round = 1; round <= rounds; round++) {
        for (const server of service.servers) {
          const back = connections(client, 1)
          const ended = await service.stop(server, 'SIGTERM')
          if (ended?.code !== 0)
            broken.push(`A server ended with ${ended?.signal ?? ended?.code} after SIGTERM`)
          await service.start(server)
          await within(back, 'The client connects to the server that is back')
        }
        progress(`${round} of ${rounds} rounds, ${ledger.succeeded} requests succeeded`)
      }
    }
    await amidCalls(ledger, [client], CALLERS, restarts, { idempotent })
    await ledger.settled()
    const runs = service.record.read()
    const account = ledger.account(runs, idempotent)
    broken.push(...ledger.untruths(runs))
    if (account.failed > 0)
      broken.push(`${account.failed} requests failed in rolling restarts: ${errorsInWords(ledger.errors)}`)
    return {
      scenario: `rolling restart of ${SERVERS} servers (SIGTERM)${isGrpc ? ', over gRPC' : ''}${idempotent ? ', requests are idempotent' : ''}`,
      server: 'ours',
      faults: rounds * SERVERS,
      ...account,
      peakRssMb: service.peakMb,
      remark: errorsInWords(ledger.errors) || 'none failed',
      broken
    }
  } finally {
    await service.end()
  }
}
