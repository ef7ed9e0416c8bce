/** An engine that stores events and answers when a test says so, and a publisher over it. */
import type { NotStoredError, Published } from '@elysia-microservices/transport/kit'
import type { OutgoingEvent, Store } from '../durable/outgoing-event.ts'
import { Publisher } from '../durable/publisher.ts'

/** An engine that stores events and answers when the test says so. */
export class SlowStore implements Store<OutgoingEvent> {
  isConnected = true
  readonly maxPayload = 1024 * 1024
  /** `sent`: events on their way to the engine. `answers`: answers on their way back. */
  sent: { readonly number: number; readonly id: string; readonly address: string }[] = []
  answers: (() => void)[] = []
  readonly stored: string[] = []
  publisher: Publisher<OutgoingEvent> | undefined

  append({ id, address }: OutgoingEvent, number: number): void {
    if (this.isConnected) this.sent.push({ number, id, address })
  }

  store(count: number, refusal?: NotStoredError): void {
    for (const { number, id } of this.sent.splice(0, count)) {
      const known = this.stored.indexOf(id)
      if (known === -1 && refusal === undefined) this.stored.push(id)
      const position = String(known === -1 ? this.stored.length : known + 1)
      this.answers.push(() => {
        if (refusal === undefined) this.publisher?.stored(number, position, known !== -1)
        else this.publisher?.refused(number, refusal, refusal.retryable)
      })
    }
  }

  answer(count: number): void {
    for (const answer of this.answers.splice(0, count)) answer()
  }

  /** Cuts the connection: all events and answers in transit are lost. */
  lose(): void {
    this.isConnected = false
    this.sent = []
    this.answers = []
  }
}

/** An event whose fields a test gives, or that are made up. */
export function event(id: string, options: Partial<OutgoingEvent> = {}): OutgoingEvent {
  const common = { pattern: 'p', address: 'p', isOwnId: false, timeout: 0, signal: undefined }
  return { ...common, size: 10, id, ...options }
}

/** A publisher over such a store. */
export function publishing(
  ensure: (address: string) => Promise<void> = async () => {},
  duplicateWindow = 120_000
) {
  const server = new SlowStore()
  const publisher = new Publisher({ title: 'NATS', ensure, duplicateWindow })
  server.publisher = publisher
  publisher.attach(server)
  return { server, publisher }
}

/** Resolves in the next turn of the event loop. */
export const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Stores and answers whatever is sent, until all events are published. */
export async function serve(server: SlowStore, published: readonly Promise<Published>[]): Promise<void> {
  const serving = setInterval(() => {
    server.store(10)
    server.answer(10)
  }, 5)
  await Promise.all(published)
  clearInterval(serving)
}
