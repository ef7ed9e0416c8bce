/** A React hook that makes a stream of a service the state of a component. */
import { useEffect, useReducer, useState } from 'react'

/**
 * Reads a stream for as long as the component is shown. Leaving cancels the call, and a slow page slows the service.
 * @param open makes the call. The stream starts again whenever this is another function
 * @param add returns the next state for a value. It may be called twice with the same value
 */
export function useStream<Value, State>(
  open: () => AsyncIterableIterator<Value>,
  add: (state: State, value: Value) => State,
  initial: State
): readonly [state: State, error: Error | undefined] {
  const [state, next] = useReducer(add, initial)
  const [error, fail] = useState<Error>()
  useEffect(() => {
    const values = open()
    const read = async () => {
      for await (const value of values) next(value)
    }
    read().catch(fail)
    return () => void values.return?.()
  }, [open])
  return [state, error]
}
