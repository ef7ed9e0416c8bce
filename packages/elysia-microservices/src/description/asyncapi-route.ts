/** `asyncApiRoute()`: an Elysia plugin that answers with the AsyncAPI document of a service. */
import {
  checkNames,
  consoleLogger,
  loggerOf,
  OptionError,
  quietLog
} from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import { asyncApi } from './asyncapi.ts'

const log = quietLog(loggerOf(consoleLogger))

/** Options of `asyncApiRoute()`. */
export interface AsyncApiRouteOptions {
  /** The path of the route. Default: `'/asyncapi.json'`. */
  readonly path?: string | undefined
}

/**
 * Answers GET requests with the current AsyncAPI document of a service. The document shows all patterns and
 * schemas, so restrict who can reach the route.
 * @throws {OptionError} `service` is not a service, or an option is unknown or invalid
 */
export function asyncApiRoute(service: Parameters<typeof asyncApi>[0], options: AsyncApiRouteOptions = {}) {
  checkNames('options', options, ['path'])
  const { path = '/asyncapi.json' } = options
  const { describe, handlers } = Object(service) as { describe?: unknown; handlers?: unknown }
  if (typeof describe !== 'function' && !Array.isArray(handlers))
    throw OptionError.expected('service', 'a service made by microservice(), or its description', service)
  if (typeof path !== 'string' || !path.startsWith('/'))
    throw OptionError.expected('options.path', "a path such as '/asyncapi.json'", path)
  return <App extends AnyElysia>(app: App): App => app.get(path, () => answer(service)) as App
}

function answer(service: Parameters<typeof asyncApi>[0]): Response {
  try {
    return Response.json(asyncApi(service))
  } catch (error) {
    log.error('asyncapi', 'The description of a service cannot be written as an AsyncAPI document', error)
    return Response.json({ code: 'INTERNAL', message: 'Internal server error' }, { status: 500 })
  }
}
