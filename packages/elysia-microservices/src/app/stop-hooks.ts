/**
 * Waits for the hooks that `app.onStop()` has registered. Elysia calls these hooks without waiting for their
 * promises.
 */
import type { AnyElysia } from 'elysia'

interface StopHook {
  fn: (app: unknown) => unknown
}

/** The stop hooks of an app for one stop. */
export interface StopHooks {
  /** Calls the hooks that Elysia has not called. */
  call(): void
  /** Resolves when all hooks that were called have ended. Rejects if a hook has failed. */
  ended(): Promise<unknown>
}

/** The result of each hook's call since the last stop began. */
const returned = new WeakMap<StopHook, unknown[]>()

/** Watches the stop hooks of an app, from now until the app stops. */
export function stopHooks(app: AnyElysia): StopHooks {
  const { stop = [] } = (app as unknown as { event: { stop?: StopHook[] } }).event
  for (const hook of stop) watch(hook)
  return {
    call() {
      for (const hook of stop) if (returned.get(hook)?.length === 0) hook.fn(app)
    },
    ended: () => Promise.all(stop.flatMap((hook) => returned.get(hook) ?? []))
  }
}

function watch(hook: StopHook): void {
  const isNew = !returned.has(hook)
  returned.set(hook, [])
  if (!isNew) return
  const { fn } = hook
  hook.fn = (app) => {
    const results = returned.get(hook) as unknown[]
    // Elysia's adapter for Node calls each hook again when the process has nothing left to do.
    if (results.length > 0) return results[0]
    // The entry is added before the call, because the hook may stop the app and so be called again.
    results.push(undefined)
    results[0] = fn(app)
    return results[0]
  }
}
