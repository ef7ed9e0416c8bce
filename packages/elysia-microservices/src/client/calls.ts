/** The methods of a client that make calls; also what `client.with()` returns. */
import {
  adaptedCaller,
  adaptedPublish,
  type CallDefaults,
  type Caller,
  type CallOptions,
  checkedDefaults,
  type DurableCaller,
  defaulting,
  type EmitOptions,
  type Pattern,
  type Published,
  type PublishOptions,
  StreamValues,
  safely
} from '@elysia-microservices/transport/kit'
import { Observable } from 'rxjs'
import type { UntypedStoringCalls, UntypedStoringSafe } from './client-types.ts'
import type { ColdObservable } from './cold-observable.ts'

/** Makes calls with a caller and a function that publishes. */
export class Calls implements UntypedStoringCalls {
  readonly #caller: Caller
  readonly #publish: DurableCaller['publish']
  #safe: UntypedStoringSafe | undefined

  constructor(caller: Caller, publish: DurableCaller['publish']) {
    this.#caller = caller
    this.#publish = publish
  }

  request<Value>(pattern: Pattern, data?: unknown, options?: CallOptions): Promise<Value> {
    return this.#caller.request(pattern, data, options) as Promise<Value>
  }

  stream<Value>(pattern: Pattern, data?: unknown, options?: CallOptions): AsyncIterableIterator<Value> {
    return new StreamValues<Value>((receiver) => this.#caller.stream(pattern, data, receiver, options))
  }

  emit(pattern: Pattern, data?: unknown, options?: EmitOptions): Promise<void> {
    return this.#caller.emit(pattern, data, options)
  }

  async publish(pattern: Pattern, data?: unknown, options?: PublishOptions): Promise<Published> {
    return this.#publish(pattern, data, options)
  }

  send<Value>(pattern: Pattern, data?: unknown, options?: CallOptions): ColdObservable<Value> {
    return new Observable<Value>((subscriber) => {
      const receiver = {
        next: (value: unknown) => subscriber.next(value as Value),
        complete: () => subscriber.complete(),
        error: (error: Error) => subscriber.error(error)
      }
      const call = this.#caller.stream(pattern, data, receiver, options)
      return () => call.cancel()
    }) as ColdObservable<Value>
  }

  get safe(): UntypedStoringSafe {
    this.#safe ??= {
      request: <Value>(pattern: Pattern, data?: unknown, options?: CallOptions) =>
        safely(() => this.request<Value>(pattern, data, options)),
      emit: (pattern, data, options) => safely(() => this.emit(pattern, data, options)),
      publish: (pattern, data, options) => safely(() => this.publish(pattern, data, options))
    }
    return this.#safe
  }

  with(defaults: CallDefaults): UntypedStoringCalls {
    const adapt = defaulting(checkedDefaults(defaults))
    return new Calls(adaptedCaller(this.#caller, adapt), adaptedPublish(this.#publish, adapt))
  }
}
