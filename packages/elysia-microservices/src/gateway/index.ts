/** The public interface of the gateway. Users cannot import anything that is not listed here. */
export {
  callOptions,
  type ForwardedOptions,
  type ForwardOptions,
  type HeaderRule,
  type RequestContext
} from './call-options.ts'
export { type ClientsOf, clients, type Decorated, type GivenClients } from './clients.ts'
export type { Describable } from './described.ts'
export type {
  AnswersWith,
  DeclaredBody,
  EdenRoute,
  EdenRoutes,
  ErrorAnswers,
  ErrorStatus,
  GatewayPlugin,
  StreamEvent
} from './eden-types.ts'
export type { ErrorBody, ErrorOptions } from './error-response.ts'
export { DEFAULT_STATUSES } from './error-status.ts'
export { gateway } from './gateway.ts'
export type { GatewayOptions } from './options.ts'
export type {
  EventRoute,
  MessageRoute,
  ParamsOf,
  RouteBase,
  RouteContext,
  RouteSchemas,
  StreamRoute
} from './route-types.ts'
export type { ClosingOptions } from './stop.ts'
