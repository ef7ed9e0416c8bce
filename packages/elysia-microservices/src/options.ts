/** What a service is configured with. */
import type { TcpServerOptions } from '@elysia-microservices/transport'
import type { Controller } from './controller/reader.ts'

/** Options of `microservice()`. */
export interface MicroserviceOptions extends TcpServerOptions {
  /** How messages come. The only transport yet: `'tcp'`. */
  readonly transport: 'tcp'
  /** Classes with `@MessagePattern` and `@EventPattern` methods, or instances of such. */
  readonly controllers?: readonly Controller[] | undefined
  /** Milliseconds that work in flight may take when the service stops. Default: 10,000. */
  readonly drain?: number | undefined
}

/** Where to listen, over the options of the service. */
export interface ListenOptions {
  readonly host?: string | undefined
  readonly port?: number | undefined
}
