/**
 * Finds the app that listens for another one. Elysia makes instances of its own for `group` and `guard`, and an app
 * that is used in another one never listens itself. From all of these a way leads to the server: each instance has a
 * `getServer` that asks the next one outside.
 */
import type { AnyElysia } from 'elysia'

/**
 * The methods of an app that are used here: `getServer` is private to its class, and without it an app is taken for the
 * outermost itself.
 */
interface Linked {
  getServer: () => unknown
  getParent?: () => AnyElysia | null
}

/** Elysia's adapter for Node; with it, `app.server` is never set. */
const NODE_ADAPTER = '@elysiajs/node'

/** Whether a start hook was handed an app: Elysia's adapter for Node hands over itself, which has a `stop` too. */
export function isApp(host: unknown): host is AnyElysia {
  return typeof host === 'object' && host !== null && 'decorator' in host && 'store' in host
}

/** The app at the end of that way, as far as it goes now; `undefined` where Elysia has lost it. */
export function outermost(app: AnyElysia): AnyElysia | undefined {
  const prototype = prototypeOf(app)
  if (prototype === undefined) return app
  const { getServer } = prototype
  let last: AnyElysia | undefined
  // The last one answers by the method of the class, which sees itself as `this`; nothing else tells who it is.
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
  // The next one outside may be of another copy of Elysia, with a class of its own.
  const parent = linked(app).getParent?.() ?? undefined
  return parent === undefined ? undefined : outermost(parent)
}

/** Whether an app listens already. */
export function isListening(app: AnyElysia): boolean {
  if (app.server) return true
  // On Node, listening is the first to ask for `fetch`, which is a field of the app from then on.
  return isOnNode(app) && Object.hasOwn(app, 'fetch')
}

/** Whether an app listens by Elysia's adapter for Node. */
export function isOnNode(app: AnyElysia): boolean {
  return app['~adapter'].name === NODE_ADAPTER
}

/** Listeners of `onTakenIn`, by app. */
const waiting = new WeakMap<AnyElysia, Set<() => void>>()

/** Calls the listener each time when another app takes an app in. */
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
    // An app that an async plugin gives back is told to ask itself, which would never end.
    get: () => (given === undefined || isAsking ? prototype.getServer : ask),
    set(getServer: Linked['getServer']) {
      given = getServer
      for (const heard of listeners) heard()
    }
  })
}

/** The class of an app, of whichever copy of Elysia. */
function prototypeOf(app: AnyElysia): Linked | undefined {
  let prototype: unknown = Object.getPrototypeOf(app)
  while (prototype !== null && !Object.hasOwn(Object(prototype), 'getServer'))
    prototype = Object.getPrototypeOf(prototype)
  return (prototype as Linked | null) ?? undefined
}

function linked(app: AnyElysia): Linked {
  return app as never
}
