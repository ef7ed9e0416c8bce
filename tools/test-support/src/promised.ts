/** A promise that a test settles: `Promise.withResolvers`, which Node 20 does not have. */
export interface Promised<Value> {
  readonly promise: Promise<Value>
  resolve(value: Value): void
}

/** Makes a promise that the test settles. */
export function promised<Value = void>(): Promised<Value> {
  let resolve: (value: Value) => void = () => {}
  const promise = new Promise<Value>((settle) => {
    resolve = settle
  })
  return { promise, resolve: (value) => resolve(value) }
}
