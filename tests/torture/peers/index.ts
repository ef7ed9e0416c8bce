/** The scenarios with hostile peers and bad networks, in the order of the table. */
import type { Scenario } from '../scenario.ts'
import { churn } from './churn.ts'
import { clock } from './clock.ts'
import { cuts } from './cuts.ts'
import { depth } from './depth.ts'
import { fuzz } from './fuzz.ts'
import { grpcStrangers } from './grpc.ts'
import { halfOpen } from './half-open.ts'
import { links } from './links.ts'
import { neighbour } from './neighbour.ts'
import { oversized } from './oversized.ts'
import { resumable } from './resumable.ts'
import { teardowns } from './teardowns.ts'
import { web } from './web.ts'

export const hostilePeers: readonly Scenario[] = [
  cuts,
  halfOpen,
  oversized,
  depth,
  fuzz,
  churn,
  teardowns,
  resumable,
  neighbour,
  clock,
  links,
  web,
  grpcStrangers
]
