/**
 * Protects the signal of a message. Its listeners are the user's code. If a listener throws, the runtime reports an
 * uncaught exception, which ends a Node process. Here the error is caught, so that a caller that cancels cannot end the
 * process.
 */
import { isThenable, whenSettled } from './stream.ts'

type AddListener = AbortSignal['addEventListener']
type Listener = Parameters<AddListener>[1]

/**
 * Catches errors that the listeners of a signal throw or reject with, from now on. Listeners of another signal that
 * follows this signal (`AbortSignal.any`) are not covered.
 * @param failed is called with the error
 */
export function guardListeners(signal: AbortSignal, failed: (error: unknown) => void): void {
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  const guarded = new WeakMap<object, (event: Event) => void>()

  function guard(listener: Listener): Listener {
    // A value that is no listener is refused by the runtime itself.
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
  // A separate listener, because the same function may also be registered with `addEventListener`.
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
