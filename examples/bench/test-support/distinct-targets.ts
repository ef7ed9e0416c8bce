import { isOurs, ownTargets } from '../peers/targets.ts'

/**
 * One target for each way to make calls: targets that differ only in additions around our handlers are represented by
 * one.
 */
export const distinctTargets = ownTargets.filter((target) => !isOurs(target) || target === 'elysia')
