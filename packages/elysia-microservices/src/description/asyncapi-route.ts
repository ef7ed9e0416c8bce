/** `asyncApiRoute()`: an Elysia plugin that answers with the AsyncAPI document of a service. */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import { asyncApi } from './asyncapi.ts'

/** Options of `asyncApiRoute()`. */
export interface AsyncApiRouteOptions {
  /** Where. Default: `'/asyncapi.json'`. */
  readonly path?: string | undefined
}

/**
 * Answers GET requests with the AsyncAPI document of a service, as it is then. Nothing is kept from anybody: let only
 * those reach it who may know.
 * @throws {OptionError} the service is none, or the path is no path
 */
export function asyncApiRoute(
  service: Parameters<typeof asyncApi>[0],
  { path = '/asyncapi.json' }: AsyncApiRouteOptions = {}
) {
  const { describe, handlers } = Object(service) as { describe?: unknown; handlers?: unknown }
  if (typeof describe !== 'function' && !Array.isArray(handlers))
    throw OptionError.expected('service', 'a service made by microservice(), or its description', service)
  if (typeof path !== 'string' || !path.startsWith('/'))
    throw OptionError.expected('options.path', "a path such as '/asyncapi.json'", path)
  return <App extends AnyElysia>(app: App): App =>
    app.get(path, () => Response.json(asyncApi(service))) as App
}
