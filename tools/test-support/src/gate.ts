/**
 * Whether the tests run before or on a push, or by hand: with as few processes and repetitions as find what a commit
 * breaks. `tools/scripts/jobs.ts` sets `GATE=nightly` for the long form.
 */
export const isOnPush = process.env['GATE'] !== 'nightly'

/** Whether `npm run check` runs the tests, which has a minute. */
export const isInCheck = process.env['GATE'] === 'check'

/** How often a property is tried: in `npm run check` a tenth of `many`. */
export const runs = (many: number): number => (isInCheck ? Math.ceil(many / 10) : many)

/** Declares a case that `npm run check` leaves out: `onPush(it)('carries 16 MiB at once', …)`. */
export const onPush = <Declare extends (name: string, run: () => Promise<void>) => unknown>(
  declare: Declare
): Declare => (isInCheck ? ((() => {}) as unknown as Declare) : declare)
