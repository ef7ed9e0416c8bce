/**
 * The tests of the seam between this library and an engine, for authors of one: calls, failures, and durable events,
 * as far as the engine's traits say that it has them. They run under `node:test` and `bun test`.
 */
import { after, before } from 'node:test'
import { durableEvents } from './durable/durable.ts'
import { futureEvents } from './durable/future.ts'
import type { EngineUnderTest } from './engine-under-test.ts'
import { failures } from './faults.ts'
import { storeAlone } from './store-alone.ts'
import { type StoreUnderTest, storeCases } from './store-under-test.ts'
import { twoServices } from './two-services.ts'

export {
  type Detour,
  detourTo,
  type EngineOptions,
  type EngineUnderTest,
  type FakeServer,
  NO_SERVER,
  overFake,
  type RunningEngine
} from './engine-under-test.ts'
export { type CaseOf, casesOfRestarts, casesOver, has, NEEDS, type Need } from './needs.ts'
export type { RunningStore, StoreUnderTest } from './store-under-test.ts'

/**
 * Declares the tests of an engine: over its server, or over a fake of it.
 * @example
 * ```ts
 * import { engineTests, NO_SERVER } from '@elysia-microservices/engine-tests'
 * import { rabbitmq } from '@elysia-microservices/rabbitmq'
 *
 * engineTests({
 *   name: 'rabbitmq',
 *   title: 'RabbitMQ',
 *   traits: rabbitmq().traits,
 *   carriage: 'packets',
 *   hasServer: false,
 *   start: async () => ({ ...NO_SERVER, transport: () => rabbitmq({ url: 'amqp://127.0.0.1:5672' }) })
 * })
 * ```
 */
export function engineTests(engine: EngineUnderTest): void {
  keepRunning()
  for (const declare of [failures, twoServices, durableEvents, futureEvents, storeAlone]) declare(engine)
}

/** Declares the tests of a store of events, which stands beside a transport. */
export function storeTests(store: StoreUnderTest): void {
  keepRunning()
  storeCases(store)
}

/** A fake has no sockets, which would keep the process of the tests running. */
function keepRunning(): void {
  let running: ReturnType<typeof setInterval> | undefined
  before(() => {
    running = setInterval(() => {}, 60_000)
  })
  after(() => clearInterval(running))
}
