/**
 * Whether the tests run before or on a push, or by hand: with as few processes and repetitions as find what a commit
 * breaks. `tools/scripts/jobs.ts` sets `GATE=nightly` for the long form.
 */
export const isOnPush = process.env['GATE'] !== 'nightly'

/** Whether `npm run check` runs the tests, which has a minute. */
export const isInCheck = process.env['GATE'] === 'check'

/** The share of its tries that a property has in `npm run check`, and in `npm test`. */
const SHARES: Readonly<Record<string, number>> = { check: 10, test: 3 }
const share = SHARES[process.env['GATE'] ?? ''] ?? 1

/**
 * How often a property is tried: at night and by hand as often as its test says, in `npm test` a third of that, in
 * `npm run check` a tenth. The tries differ from run to run.
 */
export const runs = (many: number): number => Math.ceil(many / share)

/** Declares a case that `npm run check` leaves out: `onPush(it)('carries 16 MiB at once', …)`. */
export const onPush = <Declare extends (name: string, run: () => Promise<void>) => unknown>(
  declare: Declare
): Declare => (isInCheck ? ((() => {}) as unknown as Declare) : declare)
