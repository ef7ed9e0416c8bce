/** This project's durable events over any engine: `publish()`, and a durable handler. */
import type { EventStore } from '@elysia-microservices/transport'
import { type AnyMicroservice, microservice } from 'elysia-microservices'
import { connect, type StoringTransport, type UntypedStoringClient } from 'elysia-microservices/client'
import type { ClientPlan, EchoClient } from '../echo-client.ts'
import { silent } from '../elysia/ask-through.ts'
import { AT_A_TIME, PATTERN } from './stream.ts'

/** The parts in which engines differ. */
interface Stored {
  readonly plan: ClientPlan
  transport(): StoringTransport
  /** Where events are kept, if the transport does not keep them. */
  readonly store?: EventStore
  /** Where a group begins. Default: with the first stored event. */
  readonly start?: 'new'
  /** More events than it handles per second. */
  readonly takesAtMost?: number
  /** Stores this many events as `publish` does, without waiting for each. Default: by `publish`. */
  fill?(client: UntypedStoringClient, count: number): Promise<void>
}

export async function storedEvents({
  plan: { payload, window },
  transport,
  store,
  start,
  takesAtMost,
  fill
}: Stored): Promise<EchoClient> {
  const place = () => ({ transport: transport(), ...(store !== undefined && { store }) })
  const client = connect({ ...place(), logger: silent })
  // Over a store, no call travels by the transport, so nothing need listen there.
  if (store === undefined) await client.connect()
  let service: AnyMicroservice | undefined
  async function takeStored(take: (data: unknown) => void): Promise<void> {
    service = microservice({ name: 'bench', ...place(), logger: silent }).event(
      PATTERN,
      ({ data }) => take(data),
      // As many events again are received in advance.
      { durable: { start: start ?? 'all', concurrency: Math.ceil(window / 2) } }
    )
    await service.listen()
  }
  if (start === 'new') {
    // Begins a handler first, so that its group exists and events are stored for it.
    await takeStored(() => {})
    await (service as AnyMicroservice | undefined)?.stop()
  }
  return {
    echo: (_payload, _answered, failed) => failed(new Error('Events have no answers')),
    emit: (data) => client.publish(PATTERN, data),
    fill: (count) => (fill === undefined ? byPublish(client, count, payload.value) : fill(client, count)),
    ...(takesAtMost !== undefined && { takesAtMost }),
    takeStored,
    async close() {
      await service?.stop()
      await client.close()
    }
  }
}

async function byPublish(client: UntypedStoringClient, count: number, data: unknown): Promise<void> {
  for (let left = count; left > 0; left -= AT_A_TIME)
    await Promise.all(Array.from({ length: Math.min(left, AT_A_TIME) }, () => client.publish(PATTERN, data)))
}
