/**
 * Finds the app that listens for a given app. Elysia makes separate instances for `group` and `guard`, and an app
 * that is used in another app never listens itself. Each instance has a `getServer` that asks the instance in which
 * it is used, and so on up to the app that listens.
 */
import type { AnyElysia } from 'elysia'

/**
 * The methods of an app that are used here. `getServer` is private in Elysia's class; an app without `getServer` is
 * taken for the outermost app.
 */
interface Linked {
  getServer: () => unknown
  getParent?: () => AnyElysia | null
}

/** The name of Elysia's adapter for Node. With this adapter `app.server` is never set. */
const NODE_ADAPTER = '@elysiajs/node'

/**
 * Whether the argument of a start hook is an app. Elysia's adapter for Node passes itself instead, which has a
 * method `stop` too.
 */
export function isApp(host: unknown): host is AnyElysia {
  return typeof host === 'object' && host !== null && 'decorator' in host && 'store' in host
}

/** The outermost app that an app is used in so far; `undefined` if Elysia does not say. */
export function outermost(app: AnyElysia): AnyElysia | undefined {
  const prototype = prototypeOf(app)
  if (prototype === undefined) return app
  const { getServer } = prototype
  let last: AnyElysia | undefined
  // Only the outermost app calls the method of the class, with itself as `this`. Nothing else says which app is the
  // outermost.
  prototype.getServer = function (this: Linked) {
    last = this as never
    return getServer.call(this)
  }
  try {
    linked(app).getServer()
  } finally {
    prototype.getServer = getServer
  }
  if (last !== undefined) return last
  // The parent may come from another copy of Elysia, whose class is another one.
  const parent = linked(app).getParent?.() ?? undefined
  return parent === undefined ? undefined : outermost(parent)
}

/** Whether an app listens already. */
export function isListening(app: AnyElysia): boolean {
  if (app.server) return true
  // On Node the app has a field `fetch` of its own once it listens: nothing else reads `fetch` before.
  return isOnNode(app) && Object.hasOwn(app, 'fetch')
}

/** Whether an app listens by Elysia's adapter for Node. */
export function isOnNode(app: AnyElysia): boolean {
  return app['~adapter'].name === NODE_ADAPTER
}

/** The listeners of `onTakenIn`, by app. */
const waiting = new WeakMap<AnyElysia, Set<() => void>>()

/** Calls the listener each time another app uses the given app. */
export function onTakenIn(app: AnyElysia, listener: () => void): void {
  const known = waiting.get(app)
  if (known !== undefined) return void known.add(listener)
  const prototype = prototypeOf(app)
  if (prototype === undefined) return
  const listeners = new Set([listener])
  waiting.set(app, listeners)
  let given: Linked['getServer'] | undefined
  let isAsking = false
  const ask = () => {
    isAsking = true
    try {
      return given?.()
    } finally {
      isAsking = false
    }
  }
  Object.defineProperty(app, 'getServer', {
    configurable: true,
    enumerable: true,
    // Elysia sets an app that an async plugin returns as its own parent. Such an app would ask itself without end,
    // so `isAsking` breaks the circle.
    get: () => (given === undefined || isAsking ? prototype.getServer : ask),
    set(getServer: Linked['getServer']) {
      given = getServer
      for (const heard of listeners) heard()
    }
  })
}

/**
 * The prototype that defines `getServer`. Each copy of Elysia has a class of its own, so `instanceof` does not
 * work.
 */
function prototypeOf(app: AnyElysia): Linked | undefined {
  let prototype: unknown = Object.getPrototypeOf(app)
  while (prototype !== null && !Object.hasOwn(Object(prototype), 'getServer'))
    prototype = Object.getPrototypeOf(prototype)
  return (prototype as Linked | null) ?? undefined
}

function linked(app: AnyElysia): Linked {
  return app as never
}
