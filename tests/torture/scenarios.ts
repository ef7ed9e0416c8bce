/** Every scenario of the suite, in the order of the table. There is no other list. */
import { durableEvents } from './brokers/durable.ts'
import { livesOnEngines } from './brokers/lives.ts'
import { requestsOverEngines } from './brokers/requests.ts'
import { floods } from './load/flood.ts'
import { killedServers } from './load/killed.ts'
import { largeRequests } from './load/large-requests.ts'
import { rollingRestarts } from './load/rolling-restart.ts'
import { soak } from './load/soak.ts'
import { hostilePeers } from './peers/index.ts'
import type { Scenario } from './scenario.ts'

export const overTcp: readonly Scenario[] = [
  ...killedServers,
  ...rollingRestarts,
  ...floods,
  ...largeRequests,
  ...hostilePeers
]

export const overBrokers: readonly Scenario[] = [...livesOnEngines, ...requestsOverEngines, ...durableEvents]

/** Load without a fault comes first. */
export const scenarios: readonly Scenario[] = [
  ...livesOnEngines,
  ...overTcp,
  ...overBrokers.filter((scenario) => !livesOnEngines.includes(scenario)),
  soak
]
