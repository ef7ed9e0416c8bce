/** Errors of the application: the classes registered with `.error()`, and what callers get of such an error. */
import { OptionError, RpcError, ValidationError } from '@elysia-microservices/transport/kit'
import type { HookScope } from './hook.ts'

/** A class of errors. */
export type ErrorClass<Failure extends Error = Error> = abstract new (...args: never[]) => Failure

/** A class that a service has registered under a code. */
export interface KnownClass {
  readonly code: string
  readonly type: ErrorClass
  readonly scope: HookScope
}

/** The codes of registered classes by the prototypes of these classes. */
export type KnownErrors = ReadonlyMap<object, string>

/**
 * Reads the classes in the arguments of `error()`.
 * @throws {OptionError} a code is no text, or a class is no class
 */
export function classesOf(classes: object, scope: HookScope): KnownClass[] {
  return Object.entries(classes).map(([code, type]) => {
    if (code === '') throw OptionError.expected('The code of error()', 'a text', code)
    if (typeof type !== 'function' || typeof type.prototype !== 'object' || type.prototype === null)
      throw OptionError.expected(`The class of error('${code}')`, 'a class of errors', type)
    return { code, type: type as ErrorClass, scope }
  })
}

/** Joins lists of classes. If lists give one class different codes, the last list wins. */
export function knownErrors(...lists: (readonly KnownClass[])[]): KnownErrors {
  return new Map(lists.flat().map(({ code, type }) => [type.prototype as object, code]))
}

/** The code of an error for `onError`: that of the closest registered class along the error's prototypes. */
export function codeOf(error: unknown, known: KnownErrors): string {
  try {
    return registered(error, known) ?? ownCode(error) ?? 'UNKNOWN'
  } catch {
    // The error is a Proxy whose traps throw.
    return 'UNKNOWN'
  }
}

/**
 * The error as it leaves the handler. An error of a registered class becomes an `RpcError` with its code, message
 * and `details`; any other error is returned unchanged.
 */
export function toAnswer(error: unknown, known: KnownErrors): unknown {
  let code: string | undefined
  try {
    if (error instanceof RpcError) return error
    code = registered(error, known)
  } catch {
    return error
  }
  if (code === undefined) return error
  const { message, details } = error as Error & { details?: unknown }
  return Object.assign(new RpcError({ code, message, details }), { cause: error })
}

function ownCode(error: unknown): string | undefined {
  if (error instanceof ValidationError) return 'VALIDATION'
  return error instanceof RpcError ? 'RPC' : undefined
}

function registered(error: unknown, known: KnownErrors): string | undefined {
  if (known.size === 0 || typeof error !== 'object' || error === null) return undefined
  let prototype: unknown = Object.getPrototypeOf(error)
  while (prototype !== null) {
    const code = known.get(prototype as object)
    if (code !== undefined) return code
    // The library's own codes are closer than that of a class further up, such as `Error`.
    if (prototype === ValidationError.prototype || prototype === RpcError.prototype) return undefined
    prototype = Object.getPrototypeOf(prototype)
  }
  return undefined
}
