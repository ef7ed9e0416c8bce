/**
 * Tells when the app begins to listen that something was used in, whatever the way: in the app, an app used in it,
 * `group`, `guard`, a plugin that is loaded later. Elysia runs start hooks of the first two only.
 */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import { isApp, isListening, isOnNode, onTakenIn, outermost } from './outermost.ts'
import { stopOnNode } from './stopping.ts'

/** Is told when an app starts and stops. */
export interface Follower {
  /** This app, which does not listen yet, is or may be the one that will. */
  found?(app: AnyElysia): void
  /** The app listens. May be called again for the same app. */
  started(app: AnyElysia): void
  /** The app has stopped, or the process has nothing more to do. */
  stopped(app: AnyElysia): void
}

/**
 * Follows the app that an app belongs to, now or later.
 * @param what the follower in words, for the error
 * @throws {OptionError} nothing says which app that is
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
      host.onStart((started) => follower.started(hostOf(started)))
      host.onStop((stopped) => follower.stopped(hostOf(stopped)))
      onTakenIn(host, () => followOutermost(host))
    }
    if (isListening(host)) follower.started(host)
    return true
  }
  if (followOutermost(app)) return
  throw new OptionError(
    'app',
    `${what} is used in a plugin that is loaded later, inside guard(…, callback): Elysia does not tell it which app it belongs to. Use it in the app that listens`
  )
}
