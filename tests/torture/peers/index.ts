/** The scenarios of hostile peers, in the order of their table. */
import type { Scenario } from '../scenario.ts'
import { cuts } from './cuts.ts'
import { halfOpen } from './half-open.ts'

export const SCENARIOS: readonly Scenario[] = [cuts, halfOpen]
