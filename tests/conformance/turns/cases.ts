/** All cases of a transport. */
import type { TransportUnderTest } from '../../calls/transports.ts'
import type { Case } from './case.ts'
import { casesBetweenOurEnds } from './own-ends.ts'
import { casesOfMisdeeds } from './raw-ends.ts'
import { casesOfResuming } from './resumed-ends.ts'

export function casesOf(transport: TransportUnderTest): Case[] {
  return [...casesBetweenOurEnds(transport), ...casesOfMisdeeds(transport), ...casesOfResuming(transport)]
}
