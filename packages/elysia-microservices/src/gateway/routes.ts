/** Reads and checks the routes of a gateway. */
import { checkNames, OptionError, routeOf } from '@elysia-microservices/transport/kit'
import type { DocumentDecoration } from 'elysia'
import { jsonSchemaOf } from '../description/json-schema.ts'
import type { AnySchema } from '../schema/schema-types.ts'
import { forMessages } from '../schema/texts-of-urls.ts'
import { isTypeBox } from '../schema/typebox.ts'
import { assertForwardOptions, type ForwardOptions } from './call-options.ts'
import { withToldDecoders } from './decoders.ts'
import { describeRoute, handlersOf } from './described.ts'
import { documentRoutes } from './documentation.ts'
import { statusTable } from './error-status.ts'
import type { GatewayOptions } from './options.ts'
import { parseRouteKey, type RouteKey } from './route-key.ts'
import type { RouteContext } from './route-types.ts'

/** A route as the user gives it, without the types of its service. */
export interface GivenRoute extends ForwardOptions<RouteContext> {
  readonly pattern?: unknown
  readonly stream?: unknown
  readonly emit?: unknown
  readonly status?: number | undefined
  readonly heartbeat?: number | undefined
  readonly data?: ((context: RouteContext) => unknown) | undefined
  readonly params?: unknown
  readonly query?: unknown
  readonly body?: unknown
  readonly response?: AnySchema | undefined
  readonly detail?: DocumentDecoration | undefined
}

/** A route that has been checked, with its defaults. */
export interface Route {
  readonly key: RouteKey
  readonly kind: 'message' | 'stream' | 'event'
  readonly pattern: string | number | object
  /** The status of a successful answer. */
  readonly status: number
  /** Whether the route has set the status. If so, an answer without a value has this status, too. */
  readonly hasStatus: boolean
  readonly heartbeat: number | undefined
  readonly forward: ForwardOptions<RouteContext>
  readonly data: ((context: RouteContext) => unknown) | undefined
  readonly schemas: { readonly params?: unknown; readonly query?: unknown; readonly body?: unknown }
  readonly response: object | undefined
  readonly detail: DocumentDecoration
}

const KINDS = { pattern: 'message', stream: 'stream', emit: 'event' } as const
const KNOWN = [
  ...Object.keys(KINDS),
  ...['status', 'heartbeat', 'data', 'params', 'query', 'body', 'response', 'detail'],
  ...['timeout', 'waitForConnection', 'timeoutHeader', 'headers', 'idempotent', 'key', 'within']
]

/** Reads and checks all routes. @throws {OptionError} a key or a route is invalid */
export function readRoutes(routes: Readonly<Record<string, unknown>>, options: GatewayOptions): Route[] {
  const read = Object.entries(routes).map(([key, given]) => readRoute(key, given, options))
  const handlers = options.service === undefined ? [] : handlersOf(options.service)
  const details = documentRoutes(
    read.map((route) => {
      const pattern = routeOf(route.pattern as never)
      const isOwn = route.data !== undefined || Object.keys(route.schemas).length > 0
      return { ...route, pattern, described: describeRoute(handlers, { ...route, pattern, isOwn }) }
    }),
    statusTable(options.errors)
  )
  return read.map((route, index) => ({ ...route, detail: details[index] as DocumentDecoration }))
}

function readRoute(key: string, given: unknown, options: GatewayOptions) {
  const path = `routes['${key}']`
  const isPattern = typeof given === 'string' || typeof given === 'number'
  if (!isPattern && (typeof given !== 'object' || given === null)) {
    throw OptionError.expected(path, 'a pattern, or an object with a pattern', given)
  }
  const route: GivenRoute = isPattern ? { pattern: given } : (given as GivenRoute)
  checkNames(path, route, KNOWN)
  const named = (['pattern', 'stream', 'emit'] as const).filter((name) => route[name] !== undefined)
  const [name] = named
  if (name === undefined || named.length > 1) {
    throw new OptionError(
      path,
      `${path} must have one of pattern, stream and emit, but has ${named.join(' and ') || 'none'}`
    )
  }
  const forward = forwardOptions(route, options)
  assertForwardOptions(forward)
  const kind = KINDS[name]
  if (kind === 'event') refuseOfEvents(path, route)
  return {
    key: parseRouteKey(key),
    kind,
    pattern: route[name] as string | number | object,
    status: successStatus(path, route.status, kind),
    hasStatus: route.status !== undefined,
    heartbeat: heartbeatOf(path, route.heartbeat ?? options.heartbeat),
    forward,
    data: dataFunction(path, route.data),
    schemas: withToldDecoders(defined({ params: route.params, query: route.query, body: route.body })),
    response: route.response && documented(route.response),
    detail: route.detail
  }
}

/** A schema as it is written in OpenAPI documents. */
function documented(schema: AnySchema): object {
  return isTypeBox(schema) ? forMessages(schema, 'response') : jsonSchemaOf(schema, 'output')
}

/** Refuses options for answers on a route that sends an event, because an event has no answer. */
function refuseOfEvents(path: string, route: GivenRoute): void {
  for (const name of ['idempotent', 'within'] as const) {
    if (route[name] !== undefined)
      throw new OptionError(
        `${path}.${name}`,
        `${path}.${name} has no effect, because an event has no answer; leave it out`
      )
  }
}

function forwardOptions(route: GivenRoute, options: GatewayOptions): ForwardOptions<RouteContext> {
  return {
    timeout: route.timeout ?? options.timeout,
    waitForConnection: route.waitForConnection ?? options.waitForConnection,
    timeoutHeader: route.timeoutHeader ?? options.timeoutHeader,
    headers: route.headers ?? options.headers,
    idempotent: route.idempotent ?? options.idempotent,
    key: route.key ?? options.key,
    within: route.within ?? options.within
  }
}

function successStatus(path: string, status: number | undefined, kind: Route['kind']): number {
  if (status === undefined) return kind === 'event' ? 202 : 200
  // A stream cannot choose its status: it is sent before the stream can fail.
  if (kind !== 'stream' && Number.isInteger(status) && status >= 200 && status <= 299) return status
  if (kind === 'stream')
    throw new OptionError(
      `${path}.status`,
      `${path}.status has no effect on a stream, whose status is 200; leave it out`
    )
  throw OptionError.expected(`${path}.status`, 'a status from 200 to 299', status)
}

function heartbeatOf(path: string, heartbeat: number | undefined): number | undefined {
  if (heartbeat === undefined || (Number.isInteger(heartbeat) && heartbeat > 0)) return heartbeat
  throw OptionError.expected(`${path}.heartbeat`, 'milliseconds, a whole number above 0', heartbeat)
}

function dataFunction(path: string, data: unknown): Route['data'] {
  if (data === undefined || typeof data === 'function') return data as Route['data']
  throw OptionError.expected(`${path}.data`, 'a function', data)
}

function defined<Values extends object>(values: Values): Partial<Values> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined)
  ) as Partial<Values>
}
