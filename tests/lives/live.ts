/** Lives a plan in the simulated world. */

import { forgetSecrets } from '@elysia-microservices/engine'
import { forgetQueues } from '@elysia-microservices/rsocket/testing'
import { forgetFiles } from '@elysia-microservices/sqlite/testing'
import { carrierOf } from './carrier.ts'
import { storeOf } from './carriers.ts'
import { Life } from './life.ts'
import type { Plan } from './plan.ts'
import { emptyDatabase } from './postgres-server.ts'
import type { World } from './world.ts'

export interface Verdict {
  readonly broken: readonly string[]
  readonly hash: number
  readonly turns: number
  /** Milliseconds that passed in the world. */
  readonly time: number
  readonly calls: number
  readonly events: number
  readonly log: readonly string[]
}

/** Lives a plan. @param seed decides the order of what is due at the same moment */
export async function live(world: World, plan: Plan, seed: number): Promise<Verdict> {
  forgetQueues()
  forgetSecrets()
  forgetFiles()
  if (storeOf(plan.config) === 'postgres') await emptyDatabase()
  world.begin(seed, plan.config.begins)
  const life = new Life(world, plan, carrierOf(plan.config, world))
  await life.run()
  const { ledger } = life
  return {
    broken: ledger.broken,
    hash: ledger.hash,
    turns: world.turns,
    time: world.now,
    calls: ledger.calls.size,
    events: ledger.emitted.size + ledger.published.size,
    log: ledger.log
  }
}
