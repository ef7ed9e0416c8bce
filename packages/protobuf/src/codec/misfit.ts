/** A value that does not fit its message. The path grows while the error passes through the messages around it. */
import { describe } from '@elysia-microservices/transport/kit'

const IDENTIFIER = /^[\p{L}_$][\p{L}\p{N}_$]*$/u

/** Thrown while a value is converted; the codec makes an error for users of it. */
export class Misfit extends Error {
  override name = 'Misfit'
  /** The path from the message to the part that does not fit, such as `.items[2].price`. */
  path = ''

  /** The same error, seen from the message or list around the part. */
  within(step: string): this {
    this.path = step + this.path
    return this
  }
}

/** @param expected the right kind of value, as the end of `must be …` */
export function misfit(expected: string, value: unknown): Misfit {
  return new Misfit(`must be ${expected}, but is ${describe(value)}`)
}

/** The step of a path that leads to a field or to an entry of a map. */
export function stepTo(name: string): string {
  return IDENTIFIER.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`
}

/** An error of a part, with the step that leads to the part. */
export function within(error: unknown, step: string): unknown {
  return error instanceof Misfit ? error.within(step) : error
}
