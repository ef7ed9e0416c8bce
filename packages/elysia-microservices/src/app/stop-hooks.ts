/** The hooks that `app.onStop()` has registered. Elysia calls them and waits for none; who stops an app here does. */
import type { AnyElysia } from 'elysia'

interface StopHook {
  fn: (app: unknown) => unknown
}

/** The stop hooks of an app for one stop. */
export interface StopHooks {
  /** Calls those that Elysia has not called. */
  call(): void
  /** Resolves when all that were called have ended. Rejects if one has failed. */
  ended(): Promise<unknown>
}

/** The results of each hook's calls since the last stop began. */
const returned = new WeakMap<StopHook, unknown[]>()

/** Watches the stop hooks of an app from now on. */
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
    // The adapter for Node calls it once more when the process has nothing left to do.
    if (results.length > 0) return results[0]
    // Before the call, which may come back here.
    results.push(undefined)
    results[0] = fn(app)
    return results[0]
  }
}
