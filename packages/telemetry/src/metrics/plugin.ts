/** `metrics()`: an Elysia plugin that answers Prometheus. */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import type { Registry } from 'prom-client'
import { prometheusText } from './prometheus.ts'

/** Options of `metrics()`. */
export interface MetricsOptions {
  /** Where. Default: `'/metrics'`. */
  readonly path?: string | undefined
  /** A registry of prom-client, whose metrics stand below ours, such as those of the application. Default: none. */
  readonly registry?: Registry | undefined
}

/**
 * Answers GET requests of Prometheus with what `telemetry()` has counted in this process, and what the transports of its
 * services do at the moment. Nothing is kept from anybody: let only those reach it who may know.
 * @throws {OptionError} an option is invalid
 */
export function metrics({ path = '/metrics', registry }: MetricsOptions = {}) {
  if (typeof path !== 'string' || !path.startsWith('/'))
    throw OptionError.expected('options.path', "a path such as '/metrics'", path)
  return <App extends AnyElysia>(app: App): App =>
    app.get(path, async () => {
      const { text, contentType } = await prometheusText(registry)
      return new Response(text, { headers: { 'content-type': contentType } })
    }) as App
}
