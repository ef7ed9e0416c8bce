/**
 * Ten times as many requests as a service can handle: the service must keep its throughput, and refuse the others at
 * once.
 */

import { pinSelf, separateCores } from '../../support/pinning.ts'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { errorsInWords, Ledger } from '../support/ledger.ts'
import type { ServiceSetup } from '../support/service.ts'
import { TortureService } from '../support/torture-service.ts'
import { closedLoop, openLoop, type PhaseResult, type Target } from './phases.ts'

interface Variant {
  readonly name: string
  readonly scenario: string
  /** The pattern of the requests. */
  readonly pattern: string
  readonly setup: Omit<ServiceSetup, 'port' | 'record'>
  /** As many callers as keep the service busy without waiting long for each other. */
  readonly callers: number
  /** Whether clients use leases: then they wait instead of being refused. */
  readonly lease: boolean
}

const OVERLOAD = 10
const CONNECTIONS = 4
/** The share of the normal throughput that must remain. */
const KEPT = 0.85
/** The factor by which the 99th percentile of answered requests may grow. */
const SLOWER = 10
/** Milliseconds within which 99 of 100 refused requests must be refused. */
const REFUSED_WITHIN = 50

const database = { connections: 10, milliseconds: 5 }

const VARIANTS: readonly Variant[] = [
  {
    name: 'flood-cpu',
    scenario: 'flood, 10 times the capacity: 0.5 ms of CPU, limits.inFlight',
    pattern: 'burn.async',
    setup: { burn: 0.5, options: { limits: { inFlight: 8 } } },
    callers: 4,
    lease: false
  },
  {
    name: 'flood-cpu-adaptive',
    scenario: "flood, 10 times the capacity: 0.5 ms of CPU, answered at once, limits.inFlight: 'adaptive'",
    pattern: 'burn',
    setup: { burn: 0.5, options: { limits: { inFlight: 'adaptive' } } },
    callers: 4,
    lease: false
  },
  {
    name: 'flood-database',
    scenario: 'flood, 10 times the capacity: a database, limits.inFlight',
    pattern: 'query',
    setup: { database, options: { limits: { inFlight: 20 } } },
    callers: 15,
    lease: false
  },
  {
    name: 'flood-adaptive',
    scenario: "flood, 10 times the capacity: a database, limits.inFlight: 'adaptive'",
    pattern: 'query',
    setup: { database, options: { limits: { inFlight: 'adaptive' } } },
    callers: 15,
    lease: false
  },
  {
    name: 'flood-leases',
    scenario: 'flood, 10 times the callers: a database, clients honour leases',
    pattern: 'query',
    setup: { database, options: { limits: { inFlight: 20 } } },
    callers: 15,
    lease: true
  }
]

export const floods: readonly Scenario[] = VARIANTS.map((variant) => ({
  name: variant.name,
  run: async (circumstances) => [await flood(variant, circumstances)]
}))

async function flood(variant: Variant, { length, progress }: Circumstances): Promise<Row> {
  const { callers, lease, pattern } = variant
  const isLong = length === 'long'
  const cores = isLong ? separateCores() : undefined
  const release = cores === undefined ? () => {} : pinSelf(cores.client)
  const service = new TortureService(1, variant.setup, { cpu: cores?.server })
  const ledger = new Ledger()
  try {
    await service.start()
    // Without retries, so that refusals are visible.
    const clients = Array.from({ length: CONNECTIONS }, () =>
      service.client({ rsocket: { lease }, retry: false })
    )
    const target: Target = { ledger, clients, pattern }
    progress('warming up')
    await closedLoop(target, callers, isLong ? 3 : 0.5)
    progress('measuring what it can do')
    const normal = await closedLoop(target, callers, isLong ? 5 : 1)
    progress(`flooding: 10 times ${Math.round(normal.throughput)} requests a second`)
    const seconds = isLong ? 10 : 2
    const flooded = lease
      ? await closedLoop(target, callers * OVERLOAD, seconds)
      : await openLoop(target, normal.throughput * OVERLOAD, seconds)
    await ledger.settled()
    const runs = service.record.read()
    const account = ledger.account(runs)
    const broken = ledger.untruths(runs)
    const others = [...ledger.errors].filter(([code]) => code !== 'REJECTED')
    if (others.length > 0)
      broken.push(`Requests failed other than by refusal: ${errorsInWords(new Map(others))}`)
    if (isLong) broken.push(...tooLittle(normal, flooded, lease))
    return {
      scenario: variant.scenario,
      server: 'ours',
      faults: 1,
      ...account,
      peakRssMb: service.peakMb,
      remark: inWords(normal, flooded, lease),
      broken
    }
  } finally {
    release()
    await service.end()
  }
}

/** Checks guarantees about time, which only a machine without other work can keep. */
function tooLittle(normal: PhaseResult, flooded: PhaseResult, lease: boolean): string[] {
  const broken: string[] = []
  const kept = flooded.throughput / normal.throughput
  if (kept < KEPT)
    broken.push(`${percent(kept)} of the unloaded throughput is left; ${percent(KEPT)} are promised`)
  // With leases, calls wait at their callers: ten times as many callers wait ten times as long.
  if (lease) return broken
  if (flooded.acceptedP99 >= SLOWER * normal.acceptedP99)
    broken.push(
      `99 of 100 answered requests took ${ms(flooded.acceptedP99)}; less than ${SLOWER} times ${ms(normal.acceptedP99)} is promised`
    )
  if (flooded.refusedP99 > REFUSED_WITHIN)
    broken.push(`99 of 100 refusals took ${ms(flooded.refusedP99)}; ${REFUSED_WITHIN} ms are promised`)
  return broken
}

function inWords(normal: PhaseResult, flooded: PhaseResult, lease: boolean): string {
  const kept = percent(flooded.throughput / normal.throughput)
  const offered = Math.round(flooded.offered).toLocaleString('en')
  const refusals = lease ? 'none refused' : `refused in ${ms(flooded.refusedP99)}`
  return `${offered}/s offered, ${kept} of ${Math.round(normal.throughput).toLocaleString('en')}/s kept; p99 ${ms(normal.acceptedP99)} → ${ms(flooded.acceptedP99)}, ${refusals}`
}

const percent = (share: number) => `${Math.round(share * 100)} %`
const ms = (milliseconds: number) => `${milliseconds.toFixed(1)} ms`
