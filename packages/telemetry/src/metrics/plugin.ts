/** `prometheus()`: an Elysia plugin that serves metrics in Prometheus' format. */
import { checkNames, OptionError } from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import type { Registry } from 'prom-client'
import { prometheusText } from './prometheus.ts'

/** Options of `prometheus()`. */
export interface PrometheusOptions {
  /** The path of the metrics. Default: `'/metrics'`. */
  readonly path?: string | undefined
  /**
   * A registry of prom-client, such as the application's own. Its metrics are written after those of this library.
   * Default: none.
   */
  readonly registry?: Registry | undefined
}

/**
 * Answers GET requests of Prometheus with the figures that `telemetry()` has counted in this process, and the
 * current figures of its services' transports. There is no access control, so restrict who can reach the path.
 * @throws {OptionError} an option is invalid
 */
export function prometheus(options: PrometheusOptions = {}) {
  checkNames('options', options, ['path', 'registry'])
  const { path = '/metrics', registry } = options
  if (typeof path !== 'string' || !path.startsWith('/'))
    throw OptionError.expected('options.path', "a path such as '/metrics'", path)
  if (registry !== undefined && typeof Object(registry).metrics !== 'function')
    throw OptionError.expected('options.registry', 'a registry of prom-client', registry)
  return <App extends AnyElysia>(app: App): App =>
    app.get(path, async () => {
      const { text, contentType } = await prometheusText(registry)
      return new Response(text, { headers: { 'content-type': contentType } })
    }) as App
}
