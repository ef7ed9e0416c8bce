/** `clients()`: an Elysia plugin that gives clients to handlers as decorators. */
import { MicroserviceError } from '@elysia-microservices/transport/kit'
import { Elysia } from 'elysia'
import type { Empty } from '../types/scope.ts'
import { isRepeatable } from './call-options.ts'
import { answersInDynamicMode } from './dynamic-mode.ts'
import { ErrorAnswers, type ErrorOptions, errorResponse, type HttpContext } from './error-response.ts'
import { describeRequest } from './http-error.ts'
import { type AnyClient, Clients, type ClosingOptions } from './stop.ts'

/** The clients by the names that handlers use. A function makes a client that the app owns and closes. */
export type GivenClients = Readonly<Record<string, AnyClient | (() => AnyClient)>>

/** The decorators that {@link clients} makes. */
export type ClientsOf<Given> = {
  readonly [Name in keyof Given]: Given[Name] extends () => infer Made ? Made : Given[Name]
}

/** An Elysia plugin with these decorators. */
export type Decorated<Decorators extends Record<string, unknown>> = Elysia<
  '',
  { decorator: Decorators; store: Empty; derive: Empty; resolve: Empty }
>

/**
 * Makes an Elysia plugin that gives clients to handlers: after `.use(clients({ users }))` the context of a handler
 * has the typed client `users`. Errors of calls that a handler does not catch are answered as {@link gateway}
 * answers them; all other errors are left to Elysia and the app.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { Elysia } from 'elysia'
 * import { connect } from 'elysia-microservices/client'
 * import { callOptions, clients } from 'elysia-microservices/gateway'
 *
 * new Elysia()
 *   .use(clients({ users: () => connect({ port: 4000 }) }))
 *   .get('/users/:id', ({ users, params, ...context }) => users.request('users.get', params.id, callOptions(context)))
 * ```
 */
export function clients<const Given extends GivenClients>(
  given: Given,
  options: ErrorOptions & ClosingOptions = {}
): Decorated<ClientsOf<Given>> {
  const answers = new ErrorAnswers(options)
  const owned = new Clients(options)
  const all = Object.entries(given).map(([name, client]) => [name, owned.take(client)])
  const answerTo = (error: MicroserviceError, context: HttpContext) =>
    answers.of(error, describeRequest(context), isRepeatable(context.request))
  const answer = ({ error, ...context }: { error: unknown }) =>
    error instanceof MicroserviceError
      ? errorResponse(answerTo(error, context as HttpContext), context as HttpContext)
      : undefined
  const plugin = new Elysia()
    .decorate(Object.fromEntries(all) as Record<string, unknown>)
    .onError({ as: 'scoped' }, answer)
  answersInDynamicMode(plugin, answer, 'clients()')
  owned.endWith(plugin as never)
  return plugin as never
}
