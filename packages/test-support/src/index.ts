/**
 * What tests of several packages need. It knows none of our packages, so that the tests of each may import it; what
 * tests across packages share stands in `tests/support`.
 */
export { differsOnDeno } from './deno.ts'
export { freePort } from './free-port.ts'
export { randomFrom } from './random.ts'
