/** Nest's `ClientGrpc`, whose calls travel over the transport of this library. */
import {
  type ClientTransport,
  consume,
  loggerOf,
  OptionError,
  type StreamSource,
  type Transport,
  ValueQueue
} from '@elysia-microservices/transport/kit'
import type { NestMethod } from '@elysia-microservices/transport/nest'
import { Logger } from '@nestjs/common'
import { ClientProxy } from '@nestjs/microservices'
import { isObservable, Observable } from 'rxjs'
import { callbackMethod } from './grpc-callbacks.ts'
import { callGrpc, extrasOf } from './grpc-calls.ts'
import { nestLogger } from './nest-logger.ts'
import { clientOptions, type MicroserviceClientOptions, warnOfUnknown } from './options.ts'

const USE_SERVICES =
  'Method is not supported in gRPC mode. Use ClientGrpc instead (learn more in the documentation).'

/**
 * The type of fields that hold a client for gRPC: `@Inject('ORDERS') private readonly client: ClientGrpc`. A client of Nest
 * has it, too.
 */
export interface ClientGrpc {
  /**
   * The methods of a service, each of which makes an Observable.
   * @param name with or without its package
   * @throws {Error} there is no such service
   */
  getService<T extends object>(name: string): T
  /**
   * The methods of a service with a callback as the last argument, or with streams of Node, as grpc-js has them.
   * @param name with or without its package
   * @throws {Error} there is no such service
   */
  getClientByServiceName<T = unknown>(name: string): T
}

/** A method of a service, as Nest's users call it. */
type ServiceMethod = (...args: unknown[]) => Observable<unknown>

/**
 * Calls services over gRPC, by their names: `client.getService<Orders>('Orders').get({ id: 7 })`. Made by `ClientsModule`,
 * `ClientProxyFactory` and `@Client()` of this package for `Transport.GRPC`.
 */
export class MicroserviceGrpcClient extends ClientProxy implements ClientGrpc {
  protected readonly logger = new Logger(MicroserviceGrpcClient.name)
  readonly #transport: Transport
  readonly #methods: readonly NestMethod[]
  readonly #timeout: number
  readonly #log: ReturnType<typeof loggerOf>
  #opened: ClientTransport | undefined

  /** @throws {OptionError} an option is invalid, or is an option of Nest that has no effect here */
  constructor(options: MicroserviceClientOptions) {
    super()
    const { transport, methods, timeout, logger, unknown } = clientOptions(options)
    if (methods === undefined)
      throw OptionError.expected('options.transport', 'Transport.GRPC', transport.name)
    this.#transport = transport
    this.#methods = methods
    this.#timeout = timeout
    this.#log = loggerOf(logger ?? nestLogger(this.logger))
    warnOfUnknown(unknown, this.#log)
  }

  /** @throws {Error} as in Nest, this client has no status */
  override get status(): never {
    throw new Error('The "status" attribute is not supported by the gRPC transport')
  }

  /**
   * The methods of a service, by their names in the `.proto` and in camelCase. A method makes a cold Observable:
   * each subscription is a call, and unsubscribing cancels it.
   * @param name with or without its package
   * @throws {OptionError} there is no such service
   */
  getService<T extends object>(name: string): T {
    return this.#named(name, (method) => this.#observableMethod(method)) as T
  }

  /**
   * The methods of a service with a callback as the last argument, or with streams of Node, as clients of grpc-js have
   * them.
   * @throws {OptionError} there is no such service
   */
  getClientByServiceName<T = unknown>(name: string): T {
    const client = this.#named(name, (method) => callbackMethod(() => this.#open(), method))
    return Object.assign(client, { close: () => void this.close() }) as T
  }

  /** Closes the connections: calls in flight fail. The next call connects again. */
  override async close(): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    await opened?.close()
  }

  /** Rejects, as in Nest: a client of gRPC connects when a call is made. */
  override async connect(): Promise<never> {
    throw new Error('The "connect()" method is not supported in gRPC mode.')
  }

  /** @throws {Error} as in Nest: services have methods */
  override send(): never {
    throw new Error(USE_SERVICES)
  }

  /** @throws {Error} as in Nest */
  override on(): never {
    throw new Error('Method is not supported in gRPC mode.')
  }

  /** @throws {Error} as in Nest */
  override unwrap(): never {
    throw new Error('Method is not supported in gRPC mode.')
  }

  /** Called by Nest for `send()`. */
  protected override publish(): never {
    throw new Error(USE_SERVICES)
  }

  /** Called by Nest for `emit()`. */
  protected override async dispatchEvent(): Promise<never> {
    throw new Error(USE_SERVICES)
  }

  #named(name: string, make: (method: NestMethod) => unknown): Record<string, unknown> {
    const own = this.#methods.filter(({ service }) => service === name || service.endsWith(`.${name}`))
    const [first] = own
    if (first === undefined)
      throw new OptionError('name', `There is no service '${name}' in the package of options.package`)
    const made: Record<string, unknown> = {}
    // As in Nest, the first of several packages with a service of this name counts.
    for (const method of own.filter(({ service }) => service === first.service)) {
      made[method.name] = make(method)
      made[camelCase(method.name)] = made[method.name]
    }
    return made
  }

  #observableMethod(method: NestMethod): ServiceMethod {
    const where = `${method.service}.${method.name}`
    return (...args) =>
      new Observable((subscriber) => {
        // A method that takes a stream may be called with nothing but its metadata.
        const [given, ...rest] =
          method.clientStreams && !isStreamed(args[0]) ? [[][Symbol.iterator](), ...args] : args
        const failed = (error: unknown) => subscriber.error(this.serializeError(error))
        const data = isObservable(given)
          ? kept(given, (error) => {
              call.cancel()
              failed(error)
            })
          : given
        const call = callGrpc(this.#open(), method, data, extrasOf(rest, where), {
          next: (value) => subscriber.next(value),
          complete: () => subscriber.complete(),
          error: failed
        })
        return () => call.cancel()
      })
  }

  #open(): ClientTransport {
    this.#opened ??= this.#transport.client({
      logger: this.#log,
      timeout: this.#timeout,
      dispatcher: undefined
    })
    return this.#opened
  }
}

/**
 * The values of an Observable, which is subscribed to at once, as in Nest: what it emits before the connection is there
 * must not be lost.
 * @param failed it has failed
 */
function kept(values: Observable<unknown>, failed: (error: unknown) => void): ValueQueue<unknown> {
  const queue = new ValueQueue<unknown>({ resume: () => source.resume(), cancel: () => source.cancel() })
  const source: StreamSource = consume(values, {
    next: (value) => queue.push(value),
    complete: () => queue.end(),
    error(error) {
      queueMicrotask(() => failed(error))
    },
    teardownFailed: failed
  })
  return queue
}

function isStreamed(data: unknown): boolean {
  return isObservable(data) || (typeof data === 'object' && data !== null && Symbol.asyncIterator in data)
}

/** A name as grpc-js has it beside that of the `.proto`: `GetURLFor` is `getUrlFor`. */
function camelCase(name: string): string {
  const words = name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) ?? [name]
  return words
    .map((word, at) =>
      at === 0 ? word.toLowerCase() : word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase()
    )
    .join('')
}
