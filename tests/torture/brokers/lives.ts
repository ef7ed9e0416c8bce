/**
 * Lives on real servers: the steps and the promises of the simulated lives (`tests/lives`), over each engine. Every call
 * and every event is counted by its id. First come lives in which only calls are made, then those with the acts of
 * operators, after which no event may be lost or run twice, then those whose server is killed.
 */

import { isCall } from '../../lives/calls.ts'
import type { CarrierName } from '../../lives/carriers.ts'
import { planOf, type Worst } from '../../lives/plan.ts'
import { liveOn } from '../../lives/real.ts'
import { ownFolder } from '../../support/own-folder.ts'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import type { Broker, BrokerServer } from './engine.ts'
import { tortured } from './engines/all.ts'

/** Lives of each kind. */
const LIVES = { short: 2, long: 20 } as const
/** The latest step of a life, in milliseconds. */
const WITHIN = 2_000

const KINDS: readonly { readonly worst: Worst; readonly words: string }[] = [
  { worst: 'calls', words: 'calls and events only' },
  {
    worst: 'acts',
    words: 'services restart, join and change, groups are paused, dead letters redriven'
  },
  { worst: 'losses', words: 'the same, and the server is killed' }
]

async function run(broker: Broker, { length, progress }: Circumstances): Promise<readonly Row[]> {
  const servers = await broker.start(1, broker.storesNothing ? undefined : ownFolder('lives-torture'))
  const [server] = servers as [BrokerServer]
  const first = Date.now() % 1_000_000
  const rows: Row[] = []
  try {
    for (const { worst, words } of KINDS) {
      const broken: string[] = []
      let calls = 0
      let acts = 0
      for (let seed = first; seed < first + LIVES[length]; seed++) {
        progress(`${words}: life ${seed}, ${calls} calls`)
        const plan = planOf(seed, {
          carriers: [broker.name as CarrierName],
          worst,
          within: WITHIN
        })
        acts += plan.steps.filter((step) => !isCall(step)).length
        const config = { ...plan.config, suffix: `-${worst}-${seed}` }
        const lived = await liveOn(server, () => broker.transport([server.url]), { ...plan, config })
        calls += lived.calls + lived.events
        broken.push(...lived.broken.slice(0, 3).map((promise) => `seed ${seed}, ${worst}: ${promise}`))
      }
      rows.push({
        scenario: `lives over ${broker.title}: ${words}`,
        server: 'ours',
        faults: acts,
        requests: calls,
        succeeded: calls,
        failed: 0,
        lost: 0,
        doubled: 0,
        hung: 0,
        remark: `${LIVES[length]} lives from seed ${first} on; requests: calls and events, of which each has kept its promises`,
        broken
      })
    }
    return rows
  } finally {
    await server.stop()
  }
}

/** The first rows of the table. */
export const livesOnEngines: readonly Scenario[] = tortured('lives on servers')
  .filter(({ hasCluster }) => hasCluster !== 'only')
  .map((broker) => ({
    name: `${broker.name}-lives`,
    run: (circumstances) => run(broker, circumstances)
  }))
