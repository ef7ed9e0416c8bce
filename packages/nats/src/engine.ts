/** NATS as the dialogue needs it: connections, subjects, and what its other users write and read. */
import type {
  Carried,
  CarriedHeaders,
  CarrierListener,
  Engine,
  Subject
} from '@elysia-microservices/transport/engine'
import { PatternNotFoundError, type RpcError } from '@elysia-microservices/transport/kit'
import { NatsConnection } from './connection/nats-connection.ts'
import type { CheckedOptions } from './options/options.ts'
import { checkHeaders, recordOf } from './words/headers.ts'
import { errorHeaders, readMicroError } from './words/micro-errors.ts'
import { isStorage } from './words/pub-ack.ts'
import { answerDiscovery, type ServiceIdentity } from './words/service-info.ts'
import { subjectOfHandler } from './words/subjects.ts'

/** NATS for one client or server. */
export class NatsEngine implements Engine<NatsConnection> {
  readonly name = 'nats'
  readonly title = 'NATS'
  readonly recordOf = recordOf
  readonly checkHeaders = checkHeaders
  readonly #options: CheckedOptions
  readonly #identity: ServiceIdentity | undefined

  /** @param identity what a service says to NATS's tools; `undefined` for a client */
  constructor(options: CheckedOptions, identity?: ServiceIdentity) {
    this.#options = options
    this.#identity = identity
  }

  get where(): string {
    const { servers, port } = this.#options.connection
    return [servers ?? `localhost:${port ?? 4222}`].flat().join(', ')
  }

  open(listener: CarrierListener): Promise<NatsConnection> {
    const { connection, inboxes } = this.#options
    const name = this.#identity === undefined ? {} : { name: this.#identity.name }
    return NatsConnection.open({ ...name, ...connection }, inboxes, listener)
  }

  subjectOf(route: string | undefined): string {
    return subjectOfHandler(route)
  }

  foreignError({ headers, words }: Carried): RpcError | undefined {
    return headers === undefined ? undefined : readMicroError(headers, words)
  }

  foreignErrorHeaders(code: string | undefined, message: string): CarriedHeaders {
    return errorHeaders(code, message)
  }

  engineAnswer(body: unknown, pattern: string): Error | undefined {
    if (!isStorage(body)) return undefined
    return new PatternNotFoundError(
      `Nobody answers '${pattern}': a stream of NATS stores it, as a durable event; send it by publish()`,
      pattern
    )
  }

  listening(connection: NatsConnection, subjects: readonly Subject[]): void {
    if (this.#identity !== undefined) answerDiscovery(connection, { ...this.#identity, subjects })
  }
}
