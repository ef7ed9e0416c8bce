/** `connect()`: the client of a service. */
import {
  type CallOptions,
  type ClientListener,
  type ClientStatus,
  type ClientTransport,
  type Pattern,
  TcpClient,
  type TcpClientOptions,
  ValidationError
} from '@elysia-microservices/transport'
import { Observable } from 'rxjs'
import type { ClientOf, EmitOptions, UntypedClient } from './client-types.ts'
import { streamValues } from './stream-values.ts'

/** Options of `connect()`. */
export interface ConnectOptions extends TcpClientOptions {
  /** How messages travel. Default, and the only transport yet: `'tcp'`. */
  readonly transport?: 'tcp' | undefined
}

/**
 * Makes a client; it connects with the first call, or with `client.connect()`.
 * `connect<typeof service>()` offers the patterns of the service with their types.
 * @throws {ValidationError} an option is not what it must be
 */
export function connect(options: ConnectOptions): UntypedClient
export function connect<Service>(options: ConnectOptions): ClientOf<Service>
export function connect({ transport = 'tcp', ...options }: ConnectOptions): UntypedClient {
  if (transport !== 'tcp') throw new ValidationError('options.transport', "'tcp'", transport)
  return new TransportClient(new TcpClient(options))
}

class TransportClient implements UntypedClient {
  readonly #transport: ClientTransport

  constructor(transport: ClientTransport) {
    this.#transport = transport
  }

  get status(): Observable<ClientStatus> {
    return new Observable((subscriber) => {
      const tell = (status: ClientStatus) => {
        subscriber.next(status)
        if (status === 'closed') subscriber.complete()
      }
      const stop = this.#transport.onEvent((event) => {
        if (event.type === 'status') tell(event.status)
      })
      tell(this.#transport.status)
      return stop
    })
  }

  onEvent(listener: ClientListener): () => void {
    return this.#transport.onEvent(listener)
  }

  connect(): Promise<void> {
    return this.#transport.connect()
  }

  close(): Promise<void> {
    return this.#transport.close()
  }

  request<Value>(pattern: Pattern, data?: unknown, options?: CallOptions): Promise<Value> {
    return this.#transport.request(pattern, data, options) as Promise<Value>
  }

  send<Value>(pattern: Pattern, data?: unknown, options?: CallOptions): Observable<Value> {
    return new Observable<Value>((subscriber) => {
      const receiver = {
        next: (value: unknown) => subscriber.next(value as Value),
        complete: () => subscriber.complete(),
        error: (error: Error) => subscriber.error(error)
      }
      const call = this.#transport.stream(pattern, data, receiver, options)
      return () => call.cancel()
    })
  }

  stream<Value>(pattern: Pattern, data?: unknown, options?: CallOptions): AsyncIterableIterator<Value> {
    return streamValues<Value>((receiver, demand) =>
      this.#transport.stream(pattern, data, receiver, { ...options, demand })
    )
  }

  emit(pattern: Pattern, data?: unknown, options?: EmitOptions): Promise<void> {
    return this.#transport.emit(pattern, data, options)
  }
}
