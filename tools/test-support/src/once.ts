/**
 * A question that is asked once in a process. Programs that are asked for their version take up to a second, and every
 * test of an engine asks whether its server is here.
 */
export function once<T>(ask: () => T): () => T {
  let answered: { readonly answer: T } | undefined
  return () => {
    answered ??= { answer: ask() }
    return answered.answer
  }
}
