/** The scenarios of hostile peers and bad networks, in the order of the table. */
import type { Scenario } from '../scenario.ts'
import { churn } from './churn.ts'
import { clock } from './clock.ts'
import { cuts } from './cuts.ts'
import { fuzz } from './fuzz.ts'
import { halfOpen } from './half-open.ts'
import { links } from './links.ts'
import { oversized } from './oversized.ts'

export const hostilePeers: readonly Scenario[] = [cuts, halfOpen, oversized, fuzz, churn, clock, links]
