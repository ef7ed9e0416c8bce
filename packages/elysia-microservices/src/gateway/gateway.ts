/** `gateway()`: HTTP routes that call a service. */
import { type PassingOptions, routeOf, UnreadJson } from '@elysia-microservices/transport/kit'
import { Elysia } from 'elysia'
import type { UntypedClient } from '../client/client-types.ts'
import { callOptions, type ForwardedOptions } from './call-options.ts'
import { checkBody, defaultData } from './data.ts'
import { answersInDynamicMode } from './dynamic-mode.ts'
import type { EdenRoutes, GatewayPlugin } from './eden-types.ts'
import { ErrorAnswers, type HttpContext, NO_SNIFFING } from './error-response.ts'
import { EVENT_STREAM_HEADERS, type EventStreamInit, openEventStream } from './event-stream.ts'
import { EventStreams } from './event-streams.ts'
import { failureOf } from './failures.ts'
import { answersErrors, describeRequest, type ErrorHook, parseError } from './http-error.ts'
import { checkGatewayNames, type GatewayOptions } from './options.ts'
import { requestIdOf } from './request-id.ts'
import type { AlwaysPassed, Known, NameAt, PassedByAll, RouteOf } from './route-checks.ts'
import type { At, GivenClient, RouteContext } from './route-types.ts'
import { type Route, readRoutes } from './routes.ts'
import { turnOf } from './signal.ts'
import { Clients } from './stop.ts'

/** The fields of an Elysia handler's context that are used here. */
interface GatewayContext extends RouteContext, HttpContext {
  readonly server?: { timeout?(request: Request, seconds: number): void } | null
}

/** The longest idle timeout that Bun accepts, in seconds; 0 means no timeout. */
const MAX_IDLE = 255
/** Seconds that Bun waits longer than the call, so that the caller gets a 504 and not a closed connection. */
const IDLE_MARGIN = 5
/**
 * Statuses whose responses have no body (RFC 9110, 15.3.5 and 15.3.6). Node refuses to make such a response with a
 * body, and Bun would send the body.
 */
const BODYLESS = [204, 205]
const JSON_HEADERS = { 'content-type': 'application/json', ...NO_SNIFFING }
const BYTES_HEADERS = { 'content-type': 'application/octet-stream', ...NO_SNIFFING }

/**
 * Makes an Elysia plugin of routes that call a service: `'GET /users/:id': 'users.get'` calls the pattern
 * `users.get` and answers with its value.
 * @param client the client, or a function that makes a client, which the app then owns and closes
 * @param routes by method and path: a pattern, or an object with a pattern under `pattern` (one value), `stream`
 * (Server-Sent Events) or `emit` (an event)
 * @throws {OptionError} a key, a route or an option is invalid
 * @example
 * ```ts
 * import { Elysia } from 'elysia'
 * import { connect } from 'elysia-microservices/client'
 * import { gateway } from 'elysia-microservices/gateway'
 *
 * new Elysia()
 *   .use(gateway(() => connect({ port: 4000 }), { 'GET /users/:id': 'users.get' }, { timeout: 5_000 }))
 *   .listen(3000)
 * ```
 */
export function gateway<Service, const Routes, const Names = AlwaysPassed, Made = never>(
  client: GivenClient<Service>,
  routes: {
    readonly [Key in keyof Routes]: RouteOf<Known<Service, readonly Names[] | Made>, Key, Routes[Key]>
  },
  options: GatewayOptions & PassedByAll<Names, Made> = {}
): GatewayPlugin<
  EdenRoutes<
    Service,
    {
      readonly [Key in keyof Routes]: {
        readonly pattern: NameAt<Routes[Key]>
        readonly params: At<Routes[Key], 'params'>
        readonly query: At<Routes[Key], 'query'>
        readonly body: At<Routes[Key], 'body'>
      }
    }
  >
> {
  checkGatewayNames(options)
  const plugin = new Elysia()
  const answers = new ErrorAnswers(options)
  const streams = new EventStreams()
  const read = readRoutes(routes as Readonly<Record<string, unknown>>, options)
  const errorHooks = new Map<unknown, ErrorHook>()
  const owned = new Clients(options)
  const caller = owned.take(client as UntypedClient | (() => UntypedClient))

  for (const route of read) {
    const answer = { message: answerValue, event: answerEvent, stream: answerStream }[route.kind]
    const scope: Scope = { route, client: caller, answers, streams }
    const answerRequest = (context: GatewayContext) => {
      requestIdOf(context)
      return answer(scope, context)
    }
    const handler = handlerOf(answerRequest, hasFunctions(route))
    const schemas = route.schemas as Readonly<Record<string, unknown>>
    const error = answersErrors(answers, schemas, routeOf(route.pattern), route.forward.idempotent)
    errorHooks.set(handler, error)
    plugin.route(
      route.key.method,
      route.key.path,
      handler as never,
      {
        ...route.schemas,
        detail: route.detail,
        error
      } as object
    )
  }
  answersInDynamicMode(
    plugin,
    ({ handler, isReading, error, request, set }) =>
      errorHooks.get(handler)?.({ error: isReading ? parseError() : error, request, set }),
    'The gateway'
  )
  owned.endWith(plugin, streams)
  return plugin as never
}

/**
 * Returns the route's handler. Elysia reads a handler's source to see which parts of the context it uses, and makes
 * only these. The user's functions may use any part, so with such functions the whole context is made. Without
 * them, headers and cookies are not parsed.
 */
function handlerOf(answer: (context: GatewayContext) => unknown, hasFunctions: boolean) {
  if (hasFunctions) return (context: GatewayContext) => answer(context)
  return ({ request, set, params, query, body, server }: GatewayContext) =>
    answer({ request, set, params, query, body, server } as GatewayContext)
}

/** Whether a function of the user gets the context. */
function hasFunctions({ data, forward: { headers, key, within } }: Route): boolean {
  return [data, headers, key, within].some((one) => typeof one === 'function')
}

/** The route, and the parts of its gateway that are needed to answer a request. */
interface Scope {
  readonly route: Route
  readonly client: UntypedClient
  readonly answers: ErrorAnswers
  readonly streams: EventStreams
}

async function answerValue({ route, client }: Scope, context: GatewayContext): Promise<Response> {
  try {
    const options: PassingOptions & ForwardedOptions = {
      ...callOptions(context, route.forward),
      leavesUnread: true
    }
    keepOpenFor(context, options.timeout)
    const value = await client.request(route.pattern as never, await dataOf(route, context), options)
    return responseTo(value, route, context)
  } catch (error) {
    throw failureOf(error, context.body)
  }
}

function responseTo(value: unknown, route: Route, context: GatewayContext): Response {
  const status = value === undefined && !route.hasStatus ? 204 : route.status
  // The status is stored in `set`, too, for hooks of the app that read it there, as access logs do.
  context.set.status = status
  if (value === undefined || BODYLESS.includes(status)) return new Response(null, { status })
  if (value instanceof Uint8Array) {
    return new Response(value as Uint8Array<ArrayBuffer>, { status, headers: BYTES_HEADERS })
  }
  if (value instanceof UnreadJson) return new Response(value.bytes, { status, headers: JSON_HEADERS })
  return Response.json(value, { status, headers: JSON_HEADERS })
}

async function answerEvent({ route, client }: Scope, context: GatewayContext): Promise<Response> {
  try {
    const { headers, key, waitForConnection, timeout } = callOptions(context, route.forward)
    const options = { headers, waitForConnection, timeout, ...(key !== undefined && { key }) }
    keepOpenFor(context, timeout)
    await client.emit(route.pattern as never, await dataOf(route, context), options)
    context.set.status = route.status
    return new Response(null, { status: route.status })
  } catch (error) {
    throw failureOf(error, context.body)
  }
}

async function answerStream(scope: Scope, context: GatewayContext): Promise<Response> {
  // Elysia answers HEAD with the GET handler, and reads the whole body to state its length. A stream may have no end.
  if (context.request.method === 'HEAD') return new Response(null, { headers: EVENT_STREAM_HEADERS })
  try {
    return await streamTo(scope, context)
  } catch (error) {
    throw failureOf(error, context.body)
  }
}

async function streamTo(
  { route, client, answers, streams }: Scope,
  context: GatewayContext
): Promise<Response> {
  const options = callOptions(context, route.forward)
  const data = await dataOf(route, context)
  await turnOf(context.request)
  // A stream may be silent for any time, so its connection must not be closed as idle.
  keepOpen(context, 0)
  const init: EventStreamInit = {
    start: (signal) => client.stream(route.pattern as never, data, { ...options, signal }),
    signal: options.signal,
    heartbeat: route.heartbeat,
    bodyOf: (error) => answers.of(error, describeRequest(context, routeOf(route.pattern))).body
  }
  return (await openEventStream(init, streams.at(context.server))).response
}

function dataOf({ key, data, schemas }: Route, context: GatewayContext): unknown {
  checkBody(context.body)
  return data === undefined ? defaultData(key.method, context, schemas.query !== undefined) : data(context)
}

/** @param timeout milliseconds of the call; `false` for no limit */
function keepOpenFor(context: GatewayContext, timeout: number | false): void {
  keepOpen(context, timeout === false ? 0 : Math.ceil(timeout / 1000) + IDLE_MARGIN)
}

/**
 * Bun closes a connection that is idle for 30 s (Elysia's default), even if a request waits for its answer. Node
 * does not.
 */
function keepOpen({ server, request }: GatewayContext, seconds: number): void {
  server?.timeout?.(request, seconds > MAX_IDLE ? 0 : seconds)
}
