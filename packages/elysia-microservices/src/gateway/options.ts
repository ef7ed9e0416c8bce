/** Options of a gateway. */
import { checkNames } from '@elysia-microservices/transport/kit'
import type { ForwardOptions } from './call-options.ts'
import type { Describable } from './described.ts'
import type { ErrorOptions } from './error-response.ts'
import type { RouteContext, StreamRoute } from './route-types.ts'
import type { ClosingOptions } from './stop.ts'

/** Options of `gateway()`, for all of its routes. A route's own options take precedence. */
export interface GatewayOptions
  extends ForwardOptions<RouteContext>,
    ErrorOptions,
    ClosingOptions,
    StreamRoute {
  /**
   * The service behind the gateway, or the result of its `describe()`. OpenAPI documents then have the service's
   * schemas for data and answers, where a route has no schemas of its own. Default: only schemas of routes are
   * documented.
   */
  readonly service?: Describable | undefined
}

/** The names of all options; the compiler reports one that is missing. */
const NAMES: { readonly [Name in keyof Required<GatewayOptions>]: true } = {
  timeout: true,
  waitForConnection: true,
  timeoutHeader: true,
  headers: true,
  idempotent: true,
  key: true,
  within: true,
  errors: true,
  retryAfter: true,
  logger: true,
  closeClients: true,
  heartbeat: true,
  service: true
}

/** @throws {OptionError} there is an option of another name */
export function checkGatewayNames(options: unknown): void {
  checkNames('options', options, Object.keys(NAMES))
}
