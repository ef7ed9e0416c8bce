/**
 * The signal of a message. Its listeners are the user's code, and a runtime makes an uncaught exception of what one of
 * them throws, which ends a Node process: here it is caught, so that a caller who leaves harms nobody.
 */
import { isThenable, whenSettled } from './stream.ts'

type AddListener = AbortSignal['addEventListener']
type Listener = Parameters<AddListener>[1]

/**
 * Catches what the listeners of a signal throw, and what they reject with, from here on. Those of another signal that
 * follows it (`AbortSignal.any`) are not seen.
 * @param failed is called with it
 */
export function guardListeners(signal: AbortSignal, failed: (error: unknown) => void): void {
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  const guarded = new WeakMap<object, (event: Event) => void>()

  function guard(listener: Listener): Listener {
    // The runtime itself refuses a value that is no listener.
    if ((typeof listener !== 'function' && typeof listener !== 'object') || listener === null) return listener
    let guard = guarded.get(listener)
    if (guard === undefined) {
      guard = (event) => run(listener, event)
      guarded.set(listener, guard)
    }
    return guard
  }

  function run(listener: NonNullable<Listener>, event: Event): void {
    try {
      const result: unknown =
        typeof listener === 'function' ? listener.call(signal, event) : listener.handleEvent(event)
      if (typeof result === 'object' && result !== null && isThenable(result))
        void whenSettled(result, () => {}, failed)
    } catch (error) {
      failed(error)
    }
  }

  let onabort: AbortSignal['onabort'] = null
  // A listener of its own: the same function may be registered beside it.
  const runOnAbort = (event: Event) => onabort !== null && run(onabort as NonNullable<Listener>, event)
  Object.defineProperties(signal, {
    addEventListener: {
      value: (type: string, listener: Listener, options?: AddEventListenerOptions | boolean) =>
        add(type, guard(listener), options)
    },
    removeEventListener: {
      value: (type: string, listener: Listener, options?: EventListenerOptions | boolean) =>
        remove(type, guard(listener), options)
    },
    onabort: {
      get: () => onabort,
      set(listener: unknown) {
        remove('abort', runOnAbort)
        onabort = typeof listener === 'function' ? (listener as AbortSignal['onabort']) : null
        if (onabort !== null) add('abort', runOnAbort)
      }
    }
  })
}
