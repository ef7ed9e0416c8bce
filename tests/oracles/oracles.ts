/** All oracles, those without a peer first. */
import { BESIDE, CARRIED } from './composition/alone.ts'
import { ELYSIA } from './composition/elysia.ts'
import { EVENTS_HANDLED } from './composition/events.ts'
import { HELD } from './composition/held.ts'
import { STREAMED } from './composition/streamed.ts'
import { NEST } from './nest/nest.ts'
import type { AnyOracle } from './oracle.ts'

export const ORACLES: readonly AnyOracle[] = [HELD, BESIDE, STREAMED, EVENTS_HANDLED, CARRIED, ELYSIA, NEST]
