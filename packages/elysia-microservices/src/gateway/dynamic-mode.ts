/**
 * Error hooks of plugins and routes in apps with `aot: false`. In this mode Elysia runs only the error hooks of the app
 * itself, so errors that are left to the hook of a route would be answered with their own, internal texts.
 */
import type { AnyElysia } from 'elysia'
import { follow } from '../app/follow.ts'
import type { HttpContext } from './error-response.ts'

/** The context of an error hook in the dynamic mode. */
interface Failed extends HttpContext {
  readonly error: unknown
  readonly path: string
}

/** An error of the dynamic mode. */
export interface DynamicFailure extends HttpContext {
  readonly error: unknown
  /** The handler of the route; `undefined` if there is no route. */
  readonly handler: unknown
  /** Whether the error comes from reading the body. */
  readonly isReading: boolean
}

/** The members of an app in which Elysia keeps its routes in this mode. */
interface Routed {
  readonly router: {
    readonly dynamic: { find(method: string, path: string): { readonly store: { handle: unknown } } | null }
  }
}

/**
 * Answers the errors of routes in apps with `aot: false`, after the error hooks of the app.
 * @param answer answers an error; `undefined` to leave it to Elysia
 * @param what the plugin in words, for an error
 */
export function answersInDynamicMode(
  plugin: AnyElysia,
  answer: (failure: DynamicFailure) => Response | undefined,
  what: string
): void {
  const seen = new WeakSet<AnyElysia>()
  const found = (app: AnyElysia) => {
    if (app.config.aot !== false || seen.has(app)) return
    seen.add(app)
    /** The requests that have passed all `onRequest` hooks. */
    const entered = new WeakSet<Request>()
    const hook = (context: Failed) => {
      const { dynamic } = (app as unknown as Routed).router
      const found = dynamic.find(context.request.method, context.path)
      // Between its hooks and the moment in which it sets `route`, Elysia only reads the body. It passes on what the
      // reader of the body has thrown.
      const isReading = entered.has(context.request) && !('route' in context)
      return answer({ ...context, handler: found?.store.handle, isReading })
    }
    let isLast = false
    // Hooks run in their order, and the app may add its own at any time before its first request.
    app.onRequest(() => {
      if (isLast) return
      isLast = true
      app.onRequest(({ request }) => void entered.add(request)).onError(hook as never)
    })
  }
  follow(plugin, { found, started: found, stopped() {} }, what)
}
