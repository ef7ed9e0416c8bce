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

/** A handler that waits until the test lets it go. @param note is told what has come */
export function busy<Message>(note: (message: Message) => void): {
  handler(message: Message): Promise<void>
  go(): void
} {
  const { promise, resolve } = promised()
  const handler = (message: Message) => {
    note(message)
    return promise
  }
  return { handler, go: () => resolve() }
}
