/** `memory()` as a store alone, beside another transport: both ends, without calls. */
import type { ClientStatus, ConnectionListener } from '../connection-event.ts'
import type { Dispatcher } from '../dispatcher.ts'
import type { DurableCaller } from '../durable/published.ts'
import { endedWithin } from '../running-messages.ts'
import type {
  ServerContext,
  ServerTransport,
  StopOptions,
  StoreClient,
  TransportStats
} from '../transport.ts'
import { memoryDurable } from './durable-client.ts'
import { type MemoryConsumer, memoryConsumers } from './durable-server.ts'
import type { MemoryHub } from './hub.ts'

/** Runs the durable handlers of a service. */
export class MemoryStoreServer implements ServerTransport {
  readonly name = 'memory'
  readonly isDurable = true
  readonly #hub: MemoryHub
  readonly #context: ServerContext
  #consumers: readonly MemoryConsumer[] = []

  constructor(hub: MemoryHub, context: ServerContext) {
    this.#hub = hub
    this.#context = context
  }

  async start(dispatcher: Dispatcher): Promise<void> {
    this.#consumers = memoryConsumers(this.#hub, dispatcher, this.#context)
  }

  begin(): void {
    for (const consumer of this.#consumers) consumer.begin()
  }

  async stop({ drain }: StopOptions = {}): Promise<void> {
    const consumers = this.#consumers
    await endedWithin(Promise.all(consumers.map((consumer) => consumer.stop())), drain)
    for (const consumer of consumers) consumer.cut()
    this.#consumers = []
  }

  stats(): TransportStats {
    const running = this.#consumers.reduce((sum, { running }) => sum + running, 0)
    return {
      transport: 'memory',
      address: undefined,
      inFlight: { current: running, limit: false },
      streams: 0,
      ...(this.#consumers.length > 0 && { durable: this.#consumers.map(({ figures }) => figures) })
    }
  }
}

/** Publishes and manages events. It always reaches its store, so it has no events to tell. */
export class MemoryStoreClient implements StoreClient {
  readonly name = 'memory'
  readonly #durable: DurableCaller
  #isClosed = false

  constructor(hub: MemoryHub) {
    this.#durable = memoryDurable(hub, () => this.#isClosed, false)
  }

  get future(): DurableCaller['future'] {
    return this.#durable.future
  }

  get status(): ClientStatus {
    return this.#isClosed ? 'closed' : 'connected'
  }

  onStatus(_listener: ConnectionListener): () => void {
    return () => {}
  }

  async connect(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosed = true
  }

  publish(...args: Parameters<DurableCaller['publish']>): ReturnType<DurableCaller['publish']> {
    return this.#durable.publish(...args)
  }

  deadLetters(group: string): ReturnType<DurableCaller['deadLetters']> {
    return this.#durable.deadLetters(group)
  }

  backlog(...args: Parameters<DurableCaller['backlog']>): ReturnType<DurableCaller['backlog']> {
    return this.#durable.backlog(...args)
  }

  async lag(group: string): Promise<number> {
    return this.#durable.lag?.(group) as Promise<number>
  }

  hasGroup(group: string): Promise<boolean> {
    return this.#durable.hasGroup(group)
  }

  pauseGroup(group: string, isPaused: boolean): Promise<void> {
    return this.#durable.pauseGroup(group, isPaused)
  }
}
