/** The gate that runs the tests: `check`, `test` (on a push) or `nightly`; undefined if they are run by hand. */
const gate = process.env['GATE']

/** Whether the tests run on a push, with as few processes and repetitions as find what a commit breaks. */
export const isOnPush = gate === 'test'

/** Whether the tests run at night, in their long forms. */
export const isAtNight = gate === 'nightly'
