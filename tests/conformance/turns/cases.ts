/** All cases of a transport. */
import { isOnPush } from '@elysia-microservices/test-support'
import type { TransportUnderTest } from '../../calls/transports.ts'
import { underBun } from '../../workspace.ts'
import type { Case } from './case.ts'
import { casesBetweenOurEnds } from './own-ends.ts'
import { casesOfMisdeeds } from './raw-ends.ts'
import { casesOfResuming } from './resumed-ends.ts'

/** Whether each case is tried over one transport only: on Node on a push. Bun tries all over each. */
export const areShared = isOnPush && !underBun

export function casesOf(transport: TransportUnderTest): Case[] {
  const all = [
    ...casesBetweenOurEnds(transport),
    ...casesOfMisdeeds(transport),
    ...casesOfResuming(transport)
  ]
  return areShared ? all.filter((_, place) => (place % 2 === 0) === (transport.name === 'RSocket')) : all
}
