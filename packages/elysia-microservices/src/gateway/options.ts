/** Options of a gateway. */
import type { ForwardOptions } from './call-options.ts'
import type { Describable } from './described.ts'
import type { ErrorOptions } from './error-response.ts'
import type { RouteContext, StreamRoute } from './route-types.ts'
import type { ClosingOptions } from './stop.ts'

/** Options of `gateway()`, for all of its routes; a route's own win. */
export interface GatewayOptions
  extends ForwardOptions<RouteContext>,
    ErrorOptions,
    ClosingOptions,
    StreamRoute {
  /**
   * The service behind the gateway, or what its `describe()` gave: OpenAPI documents have the schemas of its data and
   * its answers where a route has none of its own. Default: they have those of the routes.
   */
  readonly service?: Describable | undefined
}
