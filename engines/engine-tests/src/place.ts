/** Where the events of a case are kept: by the engine that carries its messages, or by a store beside a transport. */
import {
  type AnyStore,
  memory,
  type StoringTransport,
  type TransportStats
} from '@elysia-microservices/transport'
import type { EngineOptions, RunningEngine } from './engine-under-test.ts'

/** Options of a service and of its clients. */
export type Place = { readonly transport: StoringTransport; readonly store?: AnyStore | undefined }

/** The transport and the store of services and clients that reach each other. */
export function placesOf(engine: RunningEngine): (options?: EngineOptions) => Place {
  const { store } = engine
  if (store === undefined) return (options) => ({ transport: engine.transport(options) as StoringTransport })
  // With a name of its own, so that it can stand beside the store of `memory()`.
  const transport = { ...memory(), name: 'calls' }
  return (options) => ({ transport, store: store(options) })
}

/** The figures of the part of a service that has its durable handlers. */
export function durableStats(service: { stats(): readonly TransportStats[] }): TransportStats | undefined {
  return service.stats().find(({ durable }) => durable !== undefined)
}
