/** All oracles, those without a peer first. */
import { BESIDE, CARRIED } from './composition/alone.ts'
import { ELYSIA } from './composition/elysia.ts'
import type { AnyOracle } from './oracle.ts'

export const ORACLES: readonly AnyOracle[] = [BESIDE, CARRIED, ELYSIA]
