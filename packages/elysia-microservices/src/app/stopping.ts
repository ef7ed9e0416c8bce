/** What `await app.stop()` waits for besides HTTP. Elysia's adapter for Node has no `app.stop()`. */
import type { AnyElysia } from 'elysia'

/** Something that ends with an app. Both are called again where the app listens and stops again. */
export interface Stopping {
  /** Begins before HTTP ends, and is waited for after: HTTP may be what it waits for, or wait for it. */
  before?(app: AnyElysia): unknown
  /** Comes when HTTP has ended. */
  after?(app: AnyElysia): unknown
}

const all = new WeakMap<AnyElysia, Set<Stopping>>()

/** Lets `app.stop()` do both. Elysia awaits no stop hook, and calls them when the server has stopped. */
export function stopWith(app: AnyElysia, stopping: Stopping): void {
  const known = all.get(app)
  if (known !== undefined) return void known.add(stopping)
  const here = new Set([stopping])
  all.set(app, here)
  const { stop } = app
  app.stop = async (closeActiveConnections) => {
    const begun = Promise.all([...here].map(async ({ before }) => before?.(app)))
    // A failure is thrown below, when HTTP has ended.
    begun.catch(() => {})
    try {
      return await stop(closeActiveConnections)
    } finally {
      await begun
      await Promise.all([...here].map(({ after }) => after?.(app)))
    }
  }
}
