/** What a service is configured with. */
import type { TcpServerOptions } from '@elysia-microservices/transport'
import type { ChaosOptions } from './chaos/options.ts'
import type { Controller } from './controller/entry.ts'
import type { Resolve } from './controller/instances.ts'
import type { NestOptions } from './controller/nest-app.ts'

/** Options of `microservice()`. */
export interface MicroserviceOptions extends TcpServerOptions {
  /** How messages come. The only transport yet: `'tcp'`. */
  readonly transport: 'tcp'
  /**
   * Classes with `@MessagePattern` and `@EventPattern` methods, instances of such, or
   * `{ controller, resolve }` for a class with a container of its own.
   */
  readonly controllers?: readonly Controller[] | undefined
  /**
   * Asks a container for the instances of controllers, guards, pipes, interceptors and exception filters that
   * are given as classes, once for each class, when the service starts. Default: they are made without arguments.
   */
  readonly resolve?: Resolve | undefined
  /**
   * Whether to call Nest's lifecycle hooks (`onModuleInit` and so on) of these instances. Say `false` where the
   * container calls them itself, as Nest's does. Default: `true`.
   */
  readonly lifecycle?: boolean | undefined
  /** What a Nest application sets for all its controllers. */
  readonly nest?: NestOptions | undefined
  /**
   * Answer with several processes on one port, each of them running this program again: so many, or `'auto'` for one
   * per processor this process may use. This process supervises them then, and answers nothing itself. Limits are per
   * worker. Refused with `path`, and, beyond 1, under Bun where it is not Linux. Default: this process answers.
   */
  readonly workers?: number | 'auto' | undefined
  /** Milliseconds that work in flight may take when the service stops. Default: 10,000. */
  readonly drain?: number | undefined
  /**
   * Faults to inject into this service's messages, for tests and staging. Refused where `NODE_ENV` is
   * `'production'`, unless it says `allowInProduction`. Default: none.
   */
  readonly chaos?: ChaosOptions | undefined
}

/** Where to listen, over the options of the service. */
export interface ListenOptions {
  readonly host?: string | undefined
  readonly port?: number | undefined
  /** A Unix socket, in place of host and port. */
  readonly path?: string | undefined
}
