/** The scene of cases about durable events: a running engine, services and clients that reach each other, clean-ups. */
import { after, afterEach, before } from 'node:test'
import { Log } from '@elysia-microservices/test-support'
import type { DurableOptions } from '@elysia-microservices/transport'
import { type Message, type Microservice, microservice } from 'elysia-microservices'
import { connect, type UntypedStoringClient } from 'elysia-microservices/client'
import type { EngineOptions, EngineUnderTest, RunningEngine } from '../engine-under-test.ts'
import { type Place, placesOf } from '../place.ts'

export interface Scene {
  readonly under: EngineUnderTest
  readonly log: Log
  /** The running engine. Cases share it. */
  engine(): RunningEngine
  /** The transport and the store of a service or a client. */
  place(options?: EngineOptions): Place
  /** A pattern that only one case uses. */
  fresh(): string
  /** A client, which is closed after the case. @param timeout milliseconds. Default: 10,000 */
  newClient(timeout?: number, options?: EngineOptions): UntypedStoringClient
  /** A service with one durable handler, which is stopped after the case. */
  serve(
    pattern: string,
    handler: (message: Message) => unknown,
    durable?: DurableOptions,
    options?: { readonly name?: string; readonly port?: number }
  ): Promise<Microservice>
  /** Does something after the case: the last one first. */
  cleanUp(task: () => Promise<unknown>): void
}

/** Declares, in a `describe`, that the engine runs while its cases do. */
export function durableScene(under: EngineUnderTest): Scene {
  const log = new Log()
  const { logger } = log
  const cleanUps: (() => Promise<unknown>)[] = []
  let engine: RunningEngine
  let place: Scene['place']
  let count = 0
  before(async () => {
    engine = await under.start()
    place = placesOf(engine)
  })
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })
  after(() => engine.close())
  return {
    under,
    log,
    engine: () => engine,
    place: (options) => place(options),
    fresh: () => `event${++count}.happened`,
    newClient(timeout = 10_000, options) {
      const client = connect({ ...place(options), logger, timeout })
      cleanUps.push(() => client.close())
      return client
    },
    async serve(pattern, handler, durable = {}, { name = 'test', port } = {}) {
      const at = place(port === undefined ? {} : { port })
      const service = microservice({ name, ...at, logger, drain: 5_000 }).event(pattern, handler, { durable })
      await service.listen()
      cleanUps.push(() => service.stop())
      return service
    },
    cleanUp: (task) => void cleanUps.push(task)
  }
}
