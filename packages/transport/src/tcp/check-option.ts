/** What checks of options share. */
import { ValidationError } from '../errors.ts'

/** @throws {ValidationError} it is no number, or is less */
export function atLeast(least: number, name: string, value: number): void {
  if (typeof value === 'number' && value >= least) return
  throw new ValidationError(`options.${name}`, `a number, ${least} or more`, value)
}

/** The options that are given: a key that is `undefined` has its default. */
export function defined<Options extends object>(
  options: Options
): { [Key in keyof Options]: NonNullable<Options[Key]> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Key in keyof Options]: NonNullable<Options[Key]> }
}
