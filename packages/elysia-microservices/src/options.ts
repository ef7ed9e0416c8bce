/** What a service is configured with. */
import type { TcpServerOptions } from '@elysia-microservices/transport'
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
  /** Milliseconds that work in flight may take when the service stops. Default: 10,000. */
  readonly drain?: number | undefined
}

/** Where to listen, over the options of the service. */
export interface ListenOptions {
  readonly host?: string | undefined
  readonly port?: number | undefined
}
