/** The needs of a case: it is skipped over an engine that lacks one of them. */
import { it } from 'node:test'
import { isMissing, isOnPush, PATIENCE } from '@elysia-microservices/test-support'
import type { EngineUnderTest } from './engine-under-test.ts'

/** Properties that engines may lack, with their names in the list of skipped tests and in the documentation. */
export const NEEDS = {
  server: 'server that can be lost',
  strangers: 'strangers who may publish there',
  nest: "transport of Nest's own",
  wildcards: "wildcards in patterns of Nest's handlers",
  anyPattern: 'patterns that are no names, such as objects and wildcards',
  sharesRequests: 'requests that services of several names share',
  hearsNobody: 'word at once that nobody handles a pattern',
  headers: 'headers',
  channels: 'streams as data',
  answerHeaders: 'headers of answers',
  stores: 'durable events',
  once: 'events stored once for an id',
  positions: 'positions of stored events',
  future: 'events that wait for their time',
  wideStores: 'durable handlers with wildcards',
  browses: 'dead letters that can be looked at',
  startsAll: 'groups that start with all events'
} as const

/** One property that a case needs. */
export type Need = keyof typeof NEEDS

/** The properties that decide whether a case can run. */
interface Abilities extends Pick<EngineUnderTest, 'traits' | 'hasServer'> {
  readonly hasNest: boolean
  readonly hasStrangers: boolean
}

/** Whether a transport has a property. */
export function has({ traits, hasServer, hasNest, hasStrangers }: Abilities, need: Need): boolean {
  const { stores } = traits
  switch (need) {
    case 'server':
      return hasServer
    case 'strangers':
      return hasStrangers
    case 'nest':
      return hasNest
    case 'sharesRequests':
      return traits.sharesRequests !== false
    case 'anyPattern':
      return traits.names !== true
    case 'wildcards':
    case 'hearsNobody':
    case 'headers':
    case 'channels':
      return traits[need]
    case 'answerHeaders':
      return traits.answerHeaders === true
    case 'stores':
      return stores !== undefined
    case 'wideStores':
      return stores?.wildcards === true
    case 'startsAll':
      return stores?.start.includes('all') === true
    default:
      return stores?.[need] === true
  }
}

/**
 * Checks whether an engine lacks a need of a case, and logs that the case is skipped. @returns whether it is skipped
 */
export function isLeftOut(engine: EngineUnderTest, what: string, needs: readonly Need[]): boolean {
  const { nest, strangers } = engine
  const abilities = { ...engine, hasNest: nest !== undefined, hasStrangers: strangers !== undefined }
  const lacking = needs.filter((need) => !has(abilities, need))
  if (lacking.length === 0) return false
  console.log(
    `Left out over ${engine.title}: ${what}: the engine has no ${lacking.map((need) => NEEDS[need]).join(', and no ')}`
  )
  return true
}

/** Declares a case. */
export type CaseOf = (name: string, needs: readonly Need[], run: () => Promise<void>) => void

/** Declares cases in which a server starts again. Where that is slow, they run at night. */
export function casesOfRestarts({ slow }: EngineUnderTest, caseOf: CaseOf): CaseOf {
  return isOnPush && slow === 'restart' ? () => {} : caseOf
}

/**
 * Declares cases over an engine, if it has what all of them need and this machine can run it.
 * @param needs what all of the cases need
 */
export function casesOver<Under extends EngineUnderTest>(
  engine: Under,
  what: string,
  needs: readonly Need[],
  declare: (engine: Under, caseOf: CaseOf) => void
): void {
  if (isLeftOut(engine, what, needs) || isMissing(`${what} over ${engine.title}`, engine.missing)) return
  declare(engine, (name, more, run) => {
    if (!isLeftOut(engine, name, more)) it(name, { timeout: PATIENCE }, run)
  })
}
