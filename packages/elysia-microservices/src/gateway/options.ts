/** Options of a gateway. */
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
