/** A store beside a transport, and what its suite must know of it. */
import { type EventStore, memory } from '@elysia-microservices/transport'
import { durableEvents } from './durable/durable.ts'
import { futureEvents } from './durable/future.ts'
import type { EngineOptions, EngineUnderTest, RunningEngine } from './engine-under-test.ts'

/** A running store, until `close` is called. */
export interface RunningStore extends Omit<RunningEngine, 'transport' | 'store'> {
  /** The store, for a service or for clients. */
  store(options?: EngineOptions): EventStore
}

/** A store. */
export interface StoreUnderTest
  extends Pick<EngineUnderTest, 'name' | 'title' | 'missing' | 'hasServer' | 'slow' | 'sharesByPartition'> {
  readonly stores: EventStore['stores']
  /** Starts the store, empty. */
  start(): Promise<RunningStore>
}

/** Declares the tests of a store beside a transport. */
export function storeCases(store: StoreUnderTest): void {
  const engine: EngineUnderTest = {
    ...store,
    traits: { ...memory().traits, stores: store.stores },
    carriage: 'codecs',
    start: async () => ({
      ...(await store.start()),
      transport: () => {
        throw new Error('A store carries no calls')
      }
    })
  }
  for (const declare of [durableEvents, futureEvents]) declare(engine)
}
