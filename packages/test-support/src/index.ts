/**
 * Helpers for the tests of several packages. It knows none of our packages, so that the tests of each may import it;
 * helpers of tests across packages are in `tests/support`.
 */
export { differsOnDeno } from './deno.ts'
export { DEAF_PORT, freePort } from './free-port.ts'
export { randomFrom } from './random.ts'
