/** Parts of Elysia apps that messages cannot have, so that `service.use(app)` refuses them. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { isFollowing } from './follow.ts'

/** The parts of an Elysia app that are read here. */
interface Parts {
  readonly event?: Readonly<Record<string, unknown>>
  readonly definitions?: { readonly error?: object }
  readonly validator?: Readonly<Record<string, unknown>>
  readonly standaloneValidator?: Readonly<Record<string, unknown>>
}

const SCOPES = ['local', 'scoped', 'global']

/**
 * Checks an Elysia app whose decorators and store a service uses. Its hooks and schemas are for HTTP requests, and would
 * never run for messages: a plugin that checks who calls would protect nothing.
 * @throws {OptionError} the app has hooks, schemas of guards or classes of errors
 */
export function checkElysiaPlugin(app: object): void {
  const { event = {}, definitions, validator = {}, standaloneValidator = {} } = app as Parts
  const hooks = Object.keys(event).filter((name) => hasHooks(event[name]))
  const isGuarded = SCOPES.some((scope) => (validator[scope] ?? standaloneValidator[scope]) != null)
  const codes = Object.keys(definitions?.error ?? {})
  const parts = [
    ...(hooks.length > 0 ? [`hooks (${hooks.join(', ')})`] : []),
    ...(isGuarded ? ['schemas of a guard'] : []),
    ...(codes.length > 0 ? [`classes of errors (${codes.join(', ')})`] : [])
  ]
  if (parts.length === 0) return
  throw new OptionError(
    'The argument of use()',
    `An Elysia app in use() gives a service its decorators and its store, but this app also has ${parts.join(' and ')}, which are for HTTP and do nothing for messages: write them as hooks of a service, microservice(…).derive({ as: 'scoped' }, …), and use that service. For the values alone, write .decorate(app.decorator).state(app.store)`
  )
}

function hasHooks(given: unknown): boolean {
  return Array.isArray(given) && given.some((hook) => !isFollowing((hook as { fn?: unknown } | null)?.fn))
}
