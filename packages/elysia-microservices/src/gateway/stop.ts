/** What must end with the app: event streams before its HTTP server stops, clients after. */
import type { AnyElysia } from 'elysia'
import { follow } from '../app/follow.ts'
import { stopWith } from '../app/stopping.ts'
import type { UntypedClient } from '../client/client-types.ts'

/** Any client, typed or not, as far as all are alike. */
export type AnyClient = Pick<UntypedClient, 'connect' | 'close'>

/** What is done when the app stops; both may be called more than once. */
export interface Stoppable {
  /** Ends what would keep the HTTP server from stopping. */
  before?(): void
  /** Closes what requests in flight needed. */
  after(): Promise<unknown>
}

/** Lets `await app.stop()` do both, of the app that uses the plugin. Elysia's adapter for Node has no stop. */
export function endWithApp(plugin: AnyElysia, stoppable: Stoppable): void {
  follow(
    plugin,
    { started: (host) => stopWith(host, stoppable), stopped: () => void stoppable.after() },
    'The gateway'
  )
}
