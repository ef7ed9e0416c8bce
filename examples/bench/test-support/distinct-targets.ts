import { isOurs, ownTargets } from '../peers/targets.ts'

/** One of those that differ only in what stands around our handlers: how calls are made is the same for all of them. */
export const distinctTargets = ownTargets.filter((target) => !isOurs(target) || target === 'elysia')
