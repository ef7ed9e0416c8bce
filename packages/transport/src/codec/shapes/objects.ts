/** Makes objects of a shape. */

/** Reads the next value. */
export type ReadNext = () => unknown

/** Makes an object and reads the values of its keys, in order. */
export type Maker = (readNext: ReadNext) => object

/** Most keys of a shape for which code is made. */
const MAX_COMPILED = 100

/**
 * Whether code may be made from text. A page is not asked, because a page with a Content-Security-Policy would report
 * the question.
 */
let mayCompile =
  typeof (globalThis as { readonly process?: { readonly versions?: object } }).process?.versions === 'object'

/** Makes an object key by key. */
export function makeByKeys(keys: readonly string[], readNext: ReadNext): object {
  const value: Record<string, unknown> = {}
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string
    if (key === '__proto__') define(value, key, readNext())
    else value[key] = readNext()
  }
  return value
}

/** Makes a key `__proto__`, which an assignment would not do. */
function define(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}

/**
 * Makes a function that does the same in a fraction of the time: an engine knows beforehand what the object will look like.
 * `undefined` if the runtime does not allow that. The keys come from a peer; in the code they are nothing but literals.
 */
export function compileMaker(keys: readonly string[]): Maker | undefined {
  if (!mayCompile || keys.length > MAX_COMPILED) return undefined
  const members = keys.map((key) => {
    const literal = JSON.stringify(key)
    // In brackets, `__proto__` is a key like any other.
    return `${key === '__proto__' ? `[${literal}]` : literal}:readNext()`
  })
  try {
    return new Function('readNext', `return{${members.join()}}`) as Maker
  } catch {
    // The runtime was started without code from text, or it is one of an edge.
    mayCompile = false
    return undefined
  }
}
