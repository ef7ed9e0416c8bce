/**
 * Takes parts of OpenAPI documents from the description of the service behind a gateway. The gateway checks no data
 * with these schemas; the service does.
 */
import { OptionError, routeMatches } from '@elysia-microservices/transport/kit'
import type {
  ErrorDescription,
  HandlerDescription,
  PatternDescription,
  ServiceDescription
} from '../description/description.ts'
import type { JsonSchema } from '../description/json-schema.ts'
import type { RouteKey } from './route-key.ts'

/** A service, or the result of `service.describe()`, possibly read from JSON. */
export type Describable = ServiceDescription | { describe(): ServiceDescription }

/** A route for which schemas are looked up. */
interface Undescribed {
  readonly key: RouteKey
  readonly kind: 'message' | 'stream' | 'event'
  readonly pattern: string
  /**
   * Whether the route has a function `data`, or schemas of its own for the request. Then the request need not have
   * the shape of the service's data.
   */
  readonly isOwn: boolean
}

/** The parts that the description has for a route; other parts are missing. */
export interface RouteDescription {
  readonly response?: JsonSchema
  readonly requestBody?: object
  readonly parameters?: readonly object[]
  /** The errors that the pattern declares, by code. */
  readonly errors?: Readonly<Record<string, ErrorDescription>>
}

const BODYLESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS'])

/**
 * The handlers of a service.
 * @throws {OptionError} the value is neither a service nor a description
 */
export function handlersOf(service: Describable): readonly HandlerDescription[] {
  const described =
    typeof Object(service).describe === 'function' ? (service as { describe(): unknown }).describe() : service
  const { handlers } = Object(described) as Partial<ServiceDescription>
  if (Array.isArray(handlers)) return handlers
  throw OptionError.expected('options.service', 'a service, or the result of its describe()', service)
}

/** Returns the description of a route, which is taken from the description of its handler. */
export function describeRoute(
  handlers: readonly HandlerDescription[],
  { key, kind, pattern, isOwn }: Undescribed
): RouteDescription {
  const handler = handlerOf(handlers, kind === 'event' ? 'event' : 'message', pattern)
  if (handler === undefined) return {}
  const response = usable(handler.response)
  const data = isOwn ? undefined : usable(handler.data)
  const { errors } = handler
  return {
    ...(response && kind !== 'event' && { response }),
    ...(errors && { errors: Object.fromEntries(Object.entries(errors).map(usableError)) }),
    ...(data && requestOf(key, data))
  }
}

function usableError([code, { details, ...rest }]: readonly [string, ErrorDescription]) {
  return [code, { ...rest, ...(details && { details: usable(details) ?? {} }) }] as const
}

function handlerOf(
  handlers: readonly HandlerDescription[],
  kind: HandlerDescription['kind'],
  pattern: string
): HandlerDescription | undefined {
  const having = (fits: (one: PatternDescription) => boolean) =>
    handlers.find((handler) => handler.kind === kind && handler.patterns.some(fits))
  return (
    having((one) => one.kind === 'exact' && one.pattern === pattern) ??
    having((one) => one.kind === 'wildcard' && routeMatches(one.pattern, pattern))
  )
}

/** A schema with definitions of its own cannot be used: its references would be wrong inside a document. */
function usable(schema: JsonSchema | undefined): JsonSchema | undefined {
  return schema === undefined || 'definitions' in schema ? undefined : schema
}

/** Describes the data without the parameters of the path: as the body, or as the query for methods without a body. */
function requestOf({ method, params }: RouteKey, data: JsonSchema): RouteDescription {
  const { properties } = data as { readonly properties?: Readonly<Record<string, JsonSchema>> }
  if (properties === undefined) return BODYLESS.has(method) || params.length > 0 ? {} : bodyOf(data)
  const names = Object.keys(properties).filter((name) => !params.includes(name))
  const required = ((data['required'] ?? []) as readonly string[]).filter((name) => names.includes(name))
  if (!BODYLESS.has(method)) {
    const rest = Object.fromEntries(names.map((name) => [name, properties[name]]))
    return names.length === 0 ? {} : bodyOf({ ...data, properties: rest, required }, required.length > 0)
  }
  // Elysia's OpenAPI plugin documents the parameters of a path itself, and drops parameters that are added here.
  if (params.length > 0) return {}
  return {
    parameters: names.map((name) => ({
      name,
      in: 'query',
      required: required.includes(name),
      schema: properties[name]
    }))
  }
}

function bodyOf(schema: JsonSchema, required = true): RouteDescription {
  return { requestBody: { required, content: { 'application/json': { schema } } } }
}
