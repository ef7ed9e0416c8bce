/** What must end with the app: event streams before its HTTP server stops, clients after. */
import type { Elysia } from 'elysia'
import type { UntypedClient } from '../client/client-types.ts'
import { isApp } from '../service/lifecycle.ts'

/** Any client, typed or not: what all have in common. */
export type AnyClient = Pick<UntypedClient, 'connect' | 'close'>

/** The steps when the app stops; both may be called more than once. */
export interface Stoppable {
  /** Ends what would keep the HTTP server from stopping. */
  before?(): void
  /** Closes what requests in flight needed. */
  after(): Promise<unknown>
}

/** Lets `await app.stop()` of the app that uses the plugin do both steps. Elysia's adapter for Node has no stop. */
export function stopWith(plugin: Elysia, { before, after }: Stoppable): void {
  plugin.onStart((host) => {
    if (!isApp(host)) return
    const { stop } = host
    // Elysia awaits no stop hook, and calls them after the server has stopped.
    host.stop = async (closeActiveConnections) => {
      before?.()
      const stopped = await stop(closeActiveConnections)
      await after()
      return stopped
    }
  })
  plugin.onStop(() => void after())
}
