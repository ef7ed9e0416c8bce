/** The only server is killed under load and started again on the same port. */

import { pause, within } from '@elysia-microservices/test-support'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { errorsInWords, Ledger } from '../support/ledger.ts'
import { type CallerOptions, TortureService } from '../support/torture-service.ts'
import { amidCalls } from './callers.ts'

interface Variant {
  readonly name: string
  readonly scenario: string
  readonly protocol: 'rsocket' | 'nest' | 'grpc'
  readonly idempotent: boolean
}

const CALLERS = 16
/** The most milliseconds from the restart of the server to the next success. */
const RECOVERY = 1_000
/**
 * The longest pause between attempts limits the time of the recovery; the default of 10 s is for servers that stay
 * away.
 */
const CLIENT: CallerOptions = { reconnect: { minDelay: 20, maxDelay: 250 }, timeout: 20_000 }

const VARIANTS: readonly Variant[] = [
  { name: 'kill', scenario: 'server killed (SIGKILL) under load', protocol: 'rsocket', idempotent: false },
  {
    name: 'kill-idempotent',
    scenario: 'the same, requests are idempotent',
    protocol: 'rsocket',
    idempotent: true
  },
  { name: 'kill-nest', scenario: "the same, on Nest's wire", protocol: 'nest', idempotent: false },
  {
    name: 'kill-nest-idempotent',
    scenario: "the same, on Nest's wire, idempotent",
    protocol: 'nest',
    idempotent: true
  },
  { name: 'kill-grpc', scenario: 'the same, over gRPC', protocol: 'grpc', idempotent: false },
  {
    name: 'kill-grpc-idempotent',
    scenario: 'the same, over gRPC, idempotent',
    protocol: 'grpc',
    idempotent: true
  }
]

export const killedServers: readonly Scenario[] = VARIANTS.map((variant) => ({
  name: variant.name,
  run: async (circumstances) => [await kill(variant, circumstances)]
}))

async function kill(variant: Variant, { length, progress }: Circumstances): Promise<Row> {
  const { protocol, idempotent } = variant
  const kills = length === 'long' ? 50 : 5
  const isGrpc = protocol === 'grpc'
  const service = new TortureService(1, { isGrpc })
  const ledger = new Ledger()
  try {
    const [server] = service.servers
    if (server === undefined) throw new Error('There is no server')
    await service.start()
    let worstRecoveryMs = 0
    const killings = async () => {
      for (let n = 1; n <= kills; n++) {
        await within(ledger.nextSuccess(), 'The next success')
        // At a random moment, so also in the middle of requests.
        await pause(50 + Math.random() * 150)
        await service.stop(server, 'SIGKILL')
        await service.start(server)
        const back = performance.now()
        await within(ledger.nextSuccess(), 'The next success after the server is back')
        worstRecoveryMs = Math.max(worstRecoveryMs, performance.now() - back)
        progress(`${n} of ${kills} kills, ${ledger.succeeded} requests succeeded`)
      }
    }
    const client = service.client({ ...CLIENT, ...(!isGrpc && { protocol }) })
    await amidCalls(ledger, [client], CALLERS, killings, { idempotent })
    await ledger.settled()
    const runs = service.record.read()
    const account = ledger.account(runs, idempotent)
    const broken = ledger.untruths(runs)
    if (idempotent && account.failed > 0)
      broken.push(`${account.failed} idempotent requests failed: ${errorsInWords(ledger.errors)}`)
    if (length === 'long' && worstRecoveryMs >= RECOVERY)
      broken.push(`It took ${Math.round(worstRecoveryMs)} ms to the next success; ${RECOVERY} are promised`)
    const ranTwice = [...runs.values()].filter((times) => times > 1).length
    return {
      scenario: variant.scenario,
      server: 'ours',
      faults: kills,
      ...account,
      worstRecoveryMs,
      peakRssMb: service.peakMb,
      remark: idempotent ? `${ranTwice} ran twice, as they may` : errorsInWords(ledger.errors),
      broken
    }
  } finally {
    await service.end()
  }
}
