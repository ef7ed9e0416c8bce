/**
 * Tells a plugin when the app that it belongs to begins to listen and stops. A plugin can be used in the app
 * itself, in an app used there, in `group` or `guard`, or in a plugin that is loaded later. Elysia runs start hooks
 * only in the first two cases.
 */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import { isApp, isListening, isOnNode, onTakenIn, outermost } from './outermost.ts'
import { stopOnNode } from './stopping.ts'

/** Told when an app starts and stops. */
export interface Follower {
  /** Called with an app that does not listen yet, and that may be the one that will. */
  found?(app: AnyElysia): void
  /** The app listens. This may be called several times for the same app. */
  started(app: AnyElysia): void
  /** The app has stopped, or the process has nothing more to do. */
  stopped(app: AnyElysia): void
}

/** The hooks of apps that follow them. */
const following = new WeakSet<object>()

/** Whether a hook of an app only tells a plugin of this library when the app starts or stops. */
export function isFollowing(hook: unknown): boolean {
  return typeof hook === 'function' && following.has(hook)
}

/**
 * Follows the app that listens for a given app, now or later.
 * @param what the follower in words, for the error
 * @throws {OptionError} the app that listens cannot be found
 */
export function follow(app: AnyElysia, follower: Follower, what: string): void {
  const seen = new WeakSet<AnyElysia>()
  const followOutermost = (from: AnyElysia) => {
    const host = outermost(from)
    if (host === undefined) return false
    const hostOf = (given: unknown) => (isApp(given) ? given : (outermost(host) ?? host))
    if (!seen.has(host)) {
      seen.add(host)
      if (!isListening(host)) {
        if (isOnNode(host)) stopOnNode(host)
        follower.found?.(host)
      }
      const start = (started: unknown) => follower.started(hostOf(started))
      const stop = (stopped: unknown) => follower.stopped(hostOf(stopped))
      following.add(start).add(stop)
      host.onStart(start)
      host.onStop(stop)
      onTakenIn(host, () => followOutermost(host))
    }
    if (isListening(host)) follower.started(host)
    return true
  }
  if (followOutermost(app)) return
  throw new OptionError(
    'app',
    `${what} is used in a plugin that is loaded later, inside guard(…, callback): Elysia does not say which app such a plugin belongs to. Use ${what} in the app that listens`
  )
}
